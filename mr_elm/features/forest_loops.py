"""Let rows fall through trees, compiled."""
import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats


@jit()
def follow(X: Floats, features: np.ndarray, thresholds: Floats, children: np.ndarray, roots: np.ndarray,
           leaves: np.ndarray) -> None:
    """Write the leaf of each row in each tree, (n, n_trees)."""
    for row in range(len(X)):
        for tree in range(len(roots)):
            node = roots[tree]
            while features[node] >= 0:
                node = children[node] + (1 if X[row, features[node]] > thresholds[node] else 0)
            leaves[row, tree] = children[node]

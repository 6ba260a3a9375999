"""Multiply columns that are leaves of trees, which are 0 or 1, by additions."""

import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

STRIP_COLUMNS = 64  # columns of E that are added together: sums of 2,000 leaves then stay in the second cache, 1 MB


@jit()
def add_leaves(leaves: np.ndarray, E: Floats, weights: Floats, block: Floats) -> None:
    """Write the products of leaves with each other, upper triangle, and with columns of E into [leaves E]'[leaves E].

    leaves : (n, n_trees), each row in increasing order. E : (n, c), rows times the roots of their weights (n,).
    block : (m + c, m + c) of m leaves.
    """
    n, n_trees = leaves.shape
    n_columns = E.shape[1]
    m = len(block) - n_columns
    block[:, :m] = 0.0  # below the diagonal nobody reads it, but sums are rounded there too
    for i in range(n):
        for a in range(n_trees):
            row = block[leaves[i, a]]
            for b in range(a, n_trees):
                row[leaves[i, b]] += weights[i]
    strip = np.empty((m, STRIP_COLUMNS))
    for start in range(0, n_columns, STRIP_COLUMNS):
        size = min(STRIP_COLUMNS, n_columns - start)
        strip[:] = 0.0
        for i in range(n):
            root = np.sqrt(weights[i])
            of_row = E[i, start : start + size]
            for a in range(n_trees):
                of_leaf = strip[leaves[i, a]]
                for c in range(size):
                    of_leaf[c] += root * of_row[c]
        block[:m, m + start : m + start + size] = strip[:, :size]

"""Measure how important columns are to any model: how much larger its error is where a column is shuffled.

Source: Breiman, Random forests, 2001, section 10.
"""

import numpy as np

from mr_elm.model.base import Model
from mr_elm.rows.blocks import Block
from mr_elm.typing import Floats


def permute_columns(model: Model, X: Floats, labels: np.ndarray, seed: int = 0) -> list[float]:
    """Return the share of each column in the errors that shuffles of single columns add; 0 where one adds none.

    X : (n, d) encoded rows. labels : (n,) names of classes, or (n,) or (n, K) targets. The error is the share of wrong
    labels, or the mean squared error of a regression.
    """
    if model.encoding is None:
        starts = list(range(model.n_features + 1))
    else:
        starts = model.encoding.starts
    generator, least = np.random.default_rng(seed), measure_error(model, X, labels)
    added, shuffled = np.zeros(len(starts) - 1), X.copy()
    for _ in range(5):  # shuffles, whose errors are averaged
        order = generator.permutation(len(X))
        for k, (start, stop) in enumerate(zip(starts, starts[1:], strict=False)):
            shuffled[:, start:stop] = X[order, start:stop]
            added[k] += measure_error(model, shuffled, labels) - least
            shuffled[:, start:stop] = X[:, start:stop]
    added = np.maximum(added, 0.0)
    return (added / (added.sum() or 1.0)).tolist()


def measure_error(model: Model, X: Floats, labels: np.ndarray) -> float:
    """Return the share of wrong labels, or the mean squared error."""
    answers = model.predict(X)
    if model.numeric:
        return float(np.mean((answers - labels) ** 2))
    return float(np.mean(np.array(model.classes, object)[answers] != labels))


def name_labels(model: Model, block: Block) -> np.ndarray:
    """Return the labels of a block: targets, or names of classes as the model has them."""
    if model.numeric:
        return block.targets
    return np.array([model.class_of(name) for name in block.names], object)[block.codes]

"""Measure how important columns are to any model: how much larger its error is where a column is shuffled.

Source: Breiman, Random forests, 2001, section 10.
"""

from statistics import fmean

import numpy as np

from mr_elm.errors import warn_unsuitable
from mr_elm.model.base import Model
from mr_elm.rows.blocks import Block
from mr_elm.rows.inputs import describe_columns
from mr_elm.scores.calibration import class_scores
from mr_elm.scores.ranking import Ranking, key_of_number
from mr_elm.typing import Floats


class OneClassError(ValueError):
    """Refuse to measure importance by rows of one class, or of one value of the target."""


def permute_columns(model: Model, X: Floats, labels: np.ndarray, seed: int = 0) -> list[float]:
    """Return the share of each column in the errors that shuffles of single columns add; 0 where one adds none.

    X : (n, d) encoded rows. labels : (n,) names of classes, or (n,) or (n, K) targets. See `measure_error`.
    Raises OneClassError.
    """
    if not model.numeric and len(set(labels) & set(model.classes)) < 2:
        raise OneClassError(
            f'expected rows of two classes at least among the first ones, found {describe_columns(sorted({*labels}))}: '
            f'the classes of the model are {describe_columns(model.classes)}'
        )
    if model.numeric and not np.ptp(labels, axis=0).any():
        raise OneClassError('expected targets that differ among the first rows, found one value')
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
    if not added.any():
        warn_unsuitable('no column is important: this model has no larger error where a column is shuffled')
    return (added / (added.sum() or 1.0)).tolist()


def measure_error(model: Model, X: Floats, labels: np.ndarray) -> float:
    """Return the mean of 1 - AUC over the classes, each against the others, or of a regression the mean squared error.

    The squared errors of a target are divided by its variance: several targets may have different units. A target that
    is the same in all rows does not count. The share of wrong labels would not change while all rows have the label of
    a frequent class.
    """
    if model.numeric:
        variances = np.where(np.ptp(labels, axis=0), labels.var(axis=0), np.inf)
        return float(np.mean((model.predict(X) - labels) ** 2 / variances))
    scores = class_scores(model.decision_function(X), len(model.classes), model.scheme)
    classes = list(zip(model.classes, scores.T, strict=True))
    if len(classes) == 2:  # its first score is 0 for all rows
        classes = classes[1:]
    rankings = [Ranking.of(key_of_number(values), labels == name, np.ones(len(X))) for name, values in classes]
    return 1 - fmean(ranking.area for ranking in rankings if ranking.area is not None)


def name_labels(model: Model, block: Block) -> np.ndarray:
    """Return the labels of a block: targets, or names of classes as the model has them."""
    if model.numeric:
        return block.targets
    return np.array([model.class_of(name) for name in block.names], object)[block.codes]

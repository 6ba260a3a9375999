"""Warn of a machine that says the same of all rows, although their labels differ."""

import numpy as np

from mr_elm.errors import warn_unsuitable
from mr_elm.model.base import Model
from mr_elm.rows.blocks import widen
from mr_elm.typing import Rows, RowWeights

N_ROWS, FEW_ROWS = 500, 16  # that are looked at, at most; that show of most machines that they are not constant


def warn_of_constant(model: Model, X: Rows, labels: np.ndarray, weights: RowWeights = None) -> None:
    """Warn where a model gives rows of its training one class, or one number.

    X : (n, d), not scaled. labels : (n,) or (n, K), in any coding; where all are alike they tell nothing.
    weights : (n,) or None; rows of weight 0 do not count.
    """
    if weights is not None:
        X, labels = X[weights > 0], labels[weights > 0]
    some = choose_rows(labels, model.numeric)
    labels = labels[some]
    if not len(labels) or (labels == labels[0]).all():
        return
    for n in (FEW_ROWS, len(labels)):
        decisions = model.decision_function(widen(X[some[:n]], model.n_features))
        if model.numeric:
            constant = (decisions.std(axis=0) <= 1e-6 * labels.std(axis=0)).all()  # less is rounding
        else:
            answers = model.decide(decisions)
            constant = (answers == answers[0]).all()
        if not constant:
            return
    advice = 'try a larger C or nu, another width of the kernel or size of the weights, or `auto`'
    if model.header.method == 'auto':  # which has none of these options
        advice = 'see whether the columns tell anything about the labels'
    warn_unsuitable(
        f'this machine says the same of all {len(labels):,} rows that were looked at, although their labels differ: '
        + advice
    )


def choose_rows(labels: np.ndarray, numeric: bool) -> np.ndarray:
    """Return the numbers of rows to look at: of each label about as many, or of targets at equal steps."""
    n = len(labels)
    if numeric:
        return np.unique(np.linspace(0, n - 1, min(n, N_ROWS)).astype(int))
    codes = np.unique(labels, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(codes, kind='stable')
    ranks = np.empty(n, int)
    ranks[order] = np.arange(n) - np.searchsorted(codes[order], codes[order])  # of a row among those of its label
    return np.argsort(ranks, kind='stable')[:N_ROWS]

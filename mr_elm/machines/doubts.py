"""Warn of columns that name or number the rows, and of a machine that says the same of all rows."""

import re

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import warn_unsuitable
from mr_elm.model.base import Model
from mr_elm.rows.blocks import widen
from mr_elm.rows.encoding import NUMBER
from mr_elm.sums.summary import Summary
from mr_elm.sums.values import MIN_NAME_ROWS
from mr_elm.typing import Rows, RowWeights

N_ROWS, FEW_ROWS = 500, 16  # that are looked at, at most; that show of most machines that they are not constant
# how columns of numbers or names of rows are called
ID_NAME = re.compile(
    r'(?i:(.*[ _.-])?(id|pid|mrn)|.*[ _.-](no|nr)|index|idx|key|row([ _.-]?(id|no|nr|number))?)|.*[a-z0-9](Id|ID)'
)


def warn_of_numbers(summary: Summary, held_out: float = 0.0, X: Rows | None = None) -> None:
    """Warn of features that name or number the rows.

    They are called like an id, or range and variance are those of whole numbers in a row.
    held_out : share of these numbers that is missing by chance. X : rows in memory, of which the user may have held out
    up to a half: then all of their numbers must be whole and different.
    """
    columns, n = summary.columns, summary.n_rows
    if n < MIN_NAME_ROWS or columns.n != n:
        return
    with np.errstate(over='ignore', invalid='ignore'):  # of numbers that are too large to count rows
        span = columns.maximum - columns.minimum + 1
        share = np.clip(1 - n / span, 0, 0.5) if X is not None else held_out
        chance = 4 * np.sqrt(share / n)  # four standard deviations of range and variance, relative
        has_range = np.abs((1 - share) * span / n - 1) <= chance
        has_variance = np.abs(12 * columns.squares / n / np.maximum(span**2 - 1, 1) - 1) <= chance + 1e-9
    numbered = set(np.flatnonzero(has_range & has_variance).tolist())
    if X is not None:
        numbered = {j for j in numbered if count_whole(X[:, [j]]) == n}
    elif chance > 0.06:  # of so few rows, ages have such a range
        numbered = set()
    if summary.encoding is None:
        names = dict(enumerate(summary.input.get('names') or ()))
    else:  # dates and categories are left out: a row a day is no accident
        columns_by_feature = zip(summary.encoding.starts, summary.encoding.columns, strict=False)
        names = {start: column.name for start, column in columns_by_feature if column.kind == NUMBER}
        numbered &= names.keys()
    for j in sorted(numbered | {j for j, name in names.items() if ID_NAME.fullmatch(name)}):
        name = summary.name_column(j)
        if columns.minimum[j].is_integer() and columns.maximum[j].is_integer():
            cure = f'leave it out with --drop {name}'
            if summary.in_memory and not summary.input['names']:
                cure = 'leave the column out of X'
            elif summary.encoding or not summary.in_memory:
                cure += f', or make categories of its values with --category {name} if rows share them'
            warn_unsuitable(f'column {name} seems to name or number the rows: {cure}')


def count_whole(x: Rows) -> int:
    """Count the different whole numbers of a column."""
    values = np.unique(sp.expand(x))
    return int((values % 1 == 0).sum())


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
    if not model.numeric:
        advice += '; where a class is rare, balanced class weights, or probabilities with a threshold'
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

"""Make a machine of several classes from two-class ones: one against one, or one against all.

A scheme lists machines: which rows each of them sees, and which of these are positive. Pairs run i < j in class order,
j positive; two classes have one machine, the last class positive. Rows that any machine uses are kept once.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI: one against one
with a majority vote. Ours: ties go to the class with the larger sum of decision values; one against all.
"""
from dataclasses import dataclass
from itertools import combinations

import numpy as np

ONE_VS_ONE, ONE_VS_ALL = SCHEMES = 'one-vs-one', 'one-vs-all'


@dataclass(frozen=True)
class Machines:
    """Hold what the machines of all classes found over one set of rows.

    support : numbers of the rows that any machine uses, in increasing order.
    dual_coef : (n_support, P), t_i alpha_i of each machine.
    results : P of `Result`.
    """

    support: np.ndarray
    dual_coef: np.ndarray
    results: list


def class_pairs(n_classes):
    """Return the pairs (i, j) of class numbers, i < j, in the order of their machines."""
    return list(combinations(range(n_classes), 2))


def class_targets(numbers, n_classes):
    """Return T, (N, K), of class numbers (N,): a column of +-1 a class, for two classes one (the last is positive).

    n_classes 0 says that the numbers are targets.
    """
    if not n_classes:
        return np.asarray(numbers, dtype=float)[:, None]
    T = np.where(numbers[:, None] == np.arange(n_classes), 1.0, -1.0)
    return T[:, 1:] if n_classes == 2 else T


def machine_count(n_classes, scheme):
    """Return P, the number of machines."""
    return len(class_pairs(n_classes)) if n_classes == 2 or scheme == ONE_VS_ONE else n_classes


def machines_of(codes, n_classes, scheme=ONE_VS_ONE):
    """Yield (rows, targets) for every machine; codes (N,) are class numbers."""
    if scheme not in SCHEMES:
        raise ValueError(f'multiclass: {" or ".join(SCHEMES)} was expected, {scheme!r} came')
    if n_classes < 2:
        raise ValueError('rows of two classes were expected, all are of one class')
    if n_classes > 2 and scheme == ONE_VS_ALL:
        for k in range(n_classes):
            yield np.arange(len(codes)), np.where(codes == k, 1.0, -1.0)
        return
    members = [np.flatnonzero(codes == k) for k in range(n_classes)]
    for i, j in class_pairs(n_classes):
        rows = np.sort(np.concatenate([members[i], members[j]]))
        yield rows, np.where(codes[rows] == j, 1.0, -1.0)


def fit_machines(codes, n_classes, solve, scheme=ONE_VS_ONE):
    """Solve every machine and join them.

    codes : (N,) class numbers.
    solve : function (rows, targets) -> Result over these rows.
    """
    columns, results = [], []
    for rows, targets in machines_of(codes, n_classes, scheme):
        result = solve(rows, targets)
        used = result.alpha != 0
        columns.append((rows[used], (result.alpha * targets)[used]))
        results.append(result)
    return Machines(*join_columns(columns), results)


def join_columns(columns):
    """Join (rows, coefficients) of every machine: row numbers that any uses, and the matrix of coefficients."""
    support = np.unique(np.concatenate([rows for rows, _ in columns]))
    dual_coef = np.zeros((len(support), len(columns)))
    for p, (rows, values) in enumerate(columns):
        dual_coef[np.searchsorted(support, rows), p] = values
    return support, dual_coef


def votes_and_sums(decisions, n_classes):
    """Return the votes of each class, and its sum of decision values, (n, n_classes) each, from those of pairs."""
    votes, sums = np.zeros((2, len(decisions), n_classes))
    for p, (i, j) in enumerate(class_pairs(n_classes)):
        won = decisions[:, p] > 0
        votes[:, j] += won
        votes[:, i] += ~won
        sums[:, j] += decisions[:, p]
        sums[:, i] -= decisions[:, p]
    return votes, sums


def vote(decisions, n_classes):
    """Return class numbers, (n,), from decision values of pairs, (n, P): most votes, then the largest sum."""
    votes, sums = votes_and_sums(decisions, n_classes)
    tied = votes == votes.max(axis=1, keepdims=True)
    return np.where(tied, sums, -np.inf).argmax(axis=1)


def class_numbers(decisions, n_classes, scheme):
    """Return class numbers, (n,), from decision values, (n, P); of two classes, a tie at zero goes to the first."""
    if decisions.shape[1] == 1:
        return (decisions[:, 0] > 0).astype(int)
    return vote(decisions, n_classes) if scheme == ONE_VS_ONE else decisions.argmax(axis=1)

"""Turn classes into targets of two-class machines, and the decision values of these machines back into classes.

Pairs run i < j in class order, j positive; two classes have one machine, the last class positive. `machines.pairs`
says which rows each machine sees.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI: one against one
with a majority vote. Ours: ties go to the class with the larger sum of decision values; one against all.
"""

from functools import lru_cache
from itertools import combinations

import numpy as np

from mr_elm.typing import Floats

ONE_VS_ONE, ONE_VS_ALL = SCHEMES = 'one-vs-one', 'one-vs-all'


@lru_cache(maxsize=16)
def class_pairs(n_classes: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) of class numbers, i < j, in the order of their machines."""
    return tuple(combinations(range(n_classes), 2))


def class_targets(numbers: np.ndarray, n_classes: int) -> Floats:
    """Return T, (N, K), of class numbers (N,): a column of +-1 a class, for two classes one (the last is positive).

    n_classes 0 says that the numbers are targets, (N,) or (N, K).
    """
    if not n_classes:
        return np.asarray(numbers, dtype=float).reshape(len(numbers), -1)
    T = np.where(numbers[:, None] == np.arange(n_classes), 1.0, -1.0)
    if n_classes == 2:
        return T[:, 1:]
    return T


def machine_count(n_classes: int, scheme: str) -> int:
    """Return P, the number of machines."""
    if n_classes == 2 or scheme == ONE_VS_ONE:
        return n_classes * (n_classes - 1) // 2
    return n_classes


def group_coefficients(dual_coef: Floats, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (rows, columns) of each class: its support vectors, and the machines of its pairs.

    dual_coef : (n, P), of pairs. All other coefficients are 0: the groups hold 2/K of them. A row whose coefficients
    are of no single class is in no group; then the list is empty.
    """
    if n_classes == 2:
        return []
    pairs = np.array(class_pairs(n_classes))
    of_class = (pairs[:, :, None] == np.arange(n_classes)).any(axis=1)
    used = dual_coef != 0
    counts = used @ of_class.astype(float)
    numbers = counts.argmax(axis=1)
    if (counts.max(axis=1) < used.sum(axis=1)).any():
        return []
    return [(np.flatnonzero(numbers == k), np.flatnonzero(of_class[:, k])) for k in range(n_classes)]


def count_votes(decisions: Floats, n_classes: int) -> tuple[np.ndarray, Floats, np.ndarray]:
    """Return the votes of each class and its sum of decision values, (n_classes, n) each, and the class of each row.

    decisions : of pairs, (n, P). The class of a row has most votes, then the largest sum.
    """
    votes, sums = np.zeros((2, n_classes, len(decisions)))
    for (i, j), values in zip(class_pairs(n_classes), np.ascontiguousarray(decisions.T), strict=True):
        won = values > 0
        votes[j] += won
        votes[i] += ~won
        sums[j] += values
        sums[i] -= values
    winner = np.where(votes == votes.max(axis=0), sums, -np.inf).argmax(axis=0)
    return votes, sums, winner


def class_numbers(decisions: Floats, n_classes: int, scheme: str) -> np.ndarray:
    """Return class numbers, (n,), from decision values, (n, P); of two classes, a tie at zero goes to the first."""
    if decisions.shape[1] == 1:
        return (decisions[:, 0] > 0).astype(int)
    if scheme == ONE_VS_ONE:
        return count_votes(decisions, n_classes)[2]
    return decisions.argmax(axis=1)

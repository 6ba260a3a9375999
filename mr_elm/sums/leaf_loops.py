"""Multiply columns that are leaves of trees, which are 0 or 1, by additions."""

from functools import partial

import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

STRIP_COLUMNS = 64  # columns of E that are added together: sums of 2,000 leaves then stay in the second cache, 1 MB


def list_leaf_products(leaves: np.ndarray, E: Floats, weights: Floats, block: Floats) -> list[partial]:
    """Return calls, in any order, that write the products of leaves into [leaves E]'[leaves E]: all but those of E.

    leaves : (n, n_trees), each row in increasing order. E : (n, c), rows times the roots of their weights (n,).
    block : (m + c, m + c) of m leaves. Of the products of leaves with each other it gets the upper triangle; what
    stands below it is 0, because sums are rounded there too.
    """
    roots, strips = np.sqrt(weights), range(0, E.shape[1], STRIP_COLUMNS)
    return [
        partial(add_pairs, leaves, weights, block, E.shape[1]),
        *(partial(add_strip, leaves, E, roots, block, start) for start in strips),
    ]


@jit()
def add_pairs(leaves: np.ndarray, weights: Floats, block: Floats, n_columns: int) -> None:
    """Write the products of leaves with each other, upper triangle."""
    n, n_trees = leaves.shape
    block[:, : len(block) - n_columns] = 0.0
    for i in range(n):
        for a in range(n_trees):
            row = block[leaves[i, a]]
            for b in range(a, n_trees):
                row[leaves[i, b]] += weights[i]


@jit()
def add_strip(leaves: np.ndarray, E: Floats, roots: Floats, block: Floats, start: int) -> None:
    """Write the products of leaves with the columns of a strip of E."""
    n, n_trees = leaves.shape
    m = len(block) - E.shape[1]
    size = min(STRIP_COLUMNS, E.shape[1] - start)
    strip = np.zeros((m, STRIP_COLUMNS))
    for i in range(n):
        root, of_row = roots[i], E[i, start : start + size]
        for a in range(n_trees):
            of_leaf = strip[leaves[i, a]]
            for c in range(size):
                of_leaf[c] += root * of_row[c]
    block[:m, m + start : m + start + size] = strip[:, :size]

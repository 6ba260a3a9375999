"""Solve a machine on distinct rows: a row stands for all that are equal to it and of its class.

Its alpha may be as large as the sum of their C_i. That alpha is shared out again: in proportion to C_i where the
squares of errors count, which is the only optimum; else row by row up to C_i, which leaves most of them at 0. Either
way the machine, its gap and its violation are those of the distinct rows. Rows are equal where a hash of 64 bits is.

Source: ours.
"""
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mr_elm.errors import one_line
from mr_elm.typing import Floats

Found = TypeVar('Found', bound=Any)

# Rows of a class, at least, that repeat others: to put fewer together takes longer than it saves. A class decides for
# itself, so that a machine of two classes is the same alone and among the machines of others.
FEWEST, SHARE = 10, 0.05
ALL = slice(None)


@dataclass(frozen=True)
class EqualRows:
    """Hold which rows stand for all, (n,), which of these each row is equal to, (N,), and C_i of each, (N,)."""

    first: np.ndarray
    groups: np.ndarray
    costs: Floats
    __repr__ = one_line

    @classmethod
    def find(cls, rows: Any, codes: np.ndarray, costs: Floats) -> 'EqualRows | None':
        """Return the EqualRows of a source of kernel rows, None where it cannot tell, or few are equal in each class.

        codes : (N,), class numbers or targets, whole numbers in any case.
        """
        hashes = rows.identify()
        if hashes is None:
            return None
        from mr_elm.features.landmarks import GOLDEN  # and compiled code: both are loaded when they are used
        from mr_elm.solvers.shared import loops
        numbers = codes.astype(np.int64)
        keys = hashes + GOLDEN * numbers.astype(np.uint64)
        first, groups = np.empty((2, len(keys)), np.int64)
        first = first[:loops.group_equal(keys, first, groups)]
        numbers -= numbers.min()
        rows_of = np.bincount(numbers)
        joined = rows_of - np.bincount(numbers[first], minlength=len(rows_of)) >= np.maximum(FEWEST, SHARE * rows_of)
        if not joined.any():
            return None
        if not joined[rows_of > 0].all():  # rows of the other classes stand for themselves
            first, groups = np.unique(np.where(joined[numbers], first[groups], np.arange(len(keys))),
                                      return_inverse=True)
        return cls(first, groups, costs)

    @cached_property
    def totals(self) -> Floats:
        """Return the sum of C_i of each distinct row, (n,)."""
        return self.join(self.costs)

    @cached_property
    def order(self) -> np.ndarray:
        """Return the numbers of all rows, those of each distinct row together, (N,)."""
        return np.argsort(self.groups, kind='stable')

    @cached_property
    def counts(self) -> np.ndarray:
        """Return how many rows each distinct row stands for, (n,)."""
        return np.bincount(self.groups)

    @cached_property
    def before(self) -> Floats:
        """Return the sum of C_i of the equal rows that come before each row, (N,)."""
        from mr_elm.solvers.shared import loops
        before = np.empty(len(self.groups))
        loops.sum_before(self.costs, self.groups, np.zeros(len(self.first)), before)
        return before

    def take(self, rows: Any, codes: np.ndarray) -> tuple[Any, np.ndarray, Floats]:
        """Return the source of the distinct rows, their codes, and the sum of C_i of each."""
        return rows.take(self.first), codes[self.first], self.totals

    def join(self, alpha: Floats) -> Floats:
        """Return the sum of alpha of each distinct row, (n,)."""
        return np.bincount(self.groups, alpha).astype(float)

    def spread(self, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (rows, where): for each of some distinct rows all that are equal to it, and where it is in `distinct`.
        """
        counts, starts = self.counts[distinct], np.cumsum(self.counts) - self.counts
        where = np.repeat(np.arange(len(distinct)), counts)
        within = np.arange(len(where)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.order[starts[distinct[where]] + within], where

    def restore(self, found: Found, share: Callable[[Floats], Floats]) -> Found:
        """Return the Result of all rows, for that of the distinct ones. share : one of the two methods below."""
        return replace(found, alpha=share(found.alpha[self.groups]), decision=found.decision[self.groups])

    def share_in_proportion(self, alpha: Floats, rows: np.ndarray | slice = ALL) -> Floats:
        """Return alpha of some rows, for that of the distinct ones, (m,), in proportion to C_i."""
        totals = self.totals[self.groups[rows]]
        return self.costs[rows] * np.divide(alpha, totals, out=np.zeros(len(alpha)), where=totals > 0)

    def share_in_order(self, alpha: Floats, rows: np.ndarray | slice = ALL) -> Floats:
        """Return alpha of some rows, for that of the distinct ones, (m,), each row up to C_i."""
        costs, full = self.costs[rows], alpha >= self.totals[self.groups[rows]]
        return np.where(full, costs, np.clip(alpha - self.before[rows], 0, costs))

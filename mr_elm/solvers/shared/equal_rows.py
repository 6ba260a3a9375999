"""Solve a machine on distinct rows: a row stands for all that are equal to it and of its class.

Its alpha may be as large as the sum of their C_i. That alpha is shared out again: in proportion to C_i where the
squares of errors count, which is the only optimum; else row by row up to C_i, which leaves most of them at 0. Either
way the machine, its gap and its violation are those of the distinct rows. Rows are equal where a hash of 64 bits is.

Source: ours.
"""
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm.typing import Floats

LOOKED_AT = 256  # rows, of which so many must repeat others that to look for all equal ones pays
REPEATED = 4


@dataclass(frozen=True)
class EqualRows:
    """Hold which rows stand for all, (n,), which of these each row is equal to, (N,), and C_i of each, (N,)."""

    first: np.ndarray
    groups: np.ndarray
    costs: Floats

    @classmethod
    def find(cls, rows: Any, targets: Floats, costs: Floats) -> 'EqualRows | None':
        """Return the EqualRows of a source of kernel rows, None where it cannot tell or few are equal."""
        some = np.unique(np.linspace(0, len(targets) - 1, LOOKED_AT).astype(int))
        keys = mark_rows(rows, targets, some)
        if keys is None or len(some) - len(np.unique(keys)) < REPEATED:
            return None
        all_keys = np.asarray(mark_rows(rows, targets, slice(None)))
        _, first, groups = np.unique(all_keys, return_index=True, return_inverse=True)
        return cls(first, groups, costs)

    @property
    def totals(self) -> Floats:
        """Return the sum of C_i of each distinct row, (n,)."""
        return self.join(self.costs)

    def join(self, alpha: Floats) -> Floats:
        """Return the sum of alpha of each distinct row, (n,)."""
        return np.bincount(self.groups, alpha).astype(float)

    def share_in_proportion(self, alpha: Floats) -> Floats:
        """Return alpha of all rows, (N,), for that of the distinct rows, in proportion to C_i."""
        totals = self.totals
        return self.costs * np.divide(alpha, totals, out=np.zeros(len(alpha)), where=totals > 0)[self.groups]

    def share_in_order(self, alpha: Floats) -> Floats:
        """Return alpha of all rows, (N,), for that of the distinct rows, each row up to C_i."""
        counts = np.bincount(self.groups)
        full, several = alpha >= self.totals, counts > 1
        shared = np.where(full[self.groups], self.costs, np.where(several[self.groups], 0.0, alpha[self.groups]))
        order, ends = np.argsort(self.groups, kind='stable'), np.cumsum(counts)
        for group in np.flatnonzero(several & ~full & (alpha > 0)):
            rest = alpha[group]
            for row in order[ends[group - 1] if group else 0:ends[group]]:
                shared[row] = min(rest, self.costs[row])
                rest -= shared[row]
                if not rest:
                    break
        return shared


def mark_rows(rows: Any, targets: Floats, numbers: np.ndarray | slice) -> np.ndarray | None:
    """Return a number for some rows which equal rows of a class share, None where the source cannot tell."""
    hashes = rows.identify(numbers)
    return None if hashes is None else hashes ^ (targets[numbers] > 0).astype(np.uint64)

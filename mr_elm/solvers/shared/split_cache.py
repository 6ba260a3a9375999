"""Keep kernel rows that were computed once, in float64: rounded, and beside them what rounding took.

A value is v (1 + r 2^-38), v in float32, r a whole number of 16 bits. Steps are made on v alone, as fast as float32;
sums over v and r prove the end, with no second pass over the data.
"""
from collections.abc import Callable
from typing import Any

import numpy as np

from mr_elm.solvers.shared import slab_loops
from mr_elm.solvers.shared.row_cache import RowCache
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats

UNIT = 2.0**-38  # of a value, whose rounding to float32 takes 2^-24 at most: |r| <= 2^14
AT_ONCE = 128    # rows, whose float64 values are still near the core when they are split


def error_of_sum(count: int) -> float:
    """Return the error of a sum of so many values over their sizes: r is cut off, and each addition rounds."""
    return 1.1 * UNIT + count * np.finfo(float).eps


class SplitCache(RowCache):
    """Keep float32 rows as RowCache does, and what their rounding took.

    rows, max_bytes, precious, space : see RowCache.
    """

    def __init__(self, rows: Any, max_bytes: int, precious: Callable[[], np.ndarray] | None, space: Workspace) -> None:
        super().__init__(rows, np.float32, max_bytes * 2 // 3, precious, space)
        self.rest = space.array('rests', self.slab.shape, np.int16)

    def _compute(self, missing: np.ndarray, slots: np.ndarray) -> None:
        values = self.space.array('float64 rows', (AT_ONCE, self.rows.n_samples), np.float64)
        self.space.touched('rests', self.rest[:self._used].nbytes)
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start:start + AT_ONCE]
            self.rows.rows(part, out=values[:len(part)])
            slab_loops.split_rows(values[:len(part)], slots[start:start + AT_ONCE], self.slab, self.rest, UNIT)

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,), but for `error_of_sum` of |K| |weights|; rows not here are not kept."""
        slots, total = self.slot_of[indices], np.zeros(self.rows.n_samples)
        here = slots >= 0
        slab_loops.add_split_rows(self.slab, self.rest, UNIT, slots[here], weights[here], total)
        if not here.all():
            total += self.rows.weighted_sum(indices[~here], weights[~here])
            self.n_computed += int(np.count_nonzero(~here))
        return total

"""Keep kernel rows that were computed once, in float64: rounded, and beside them what rounding took.

k = v (1 + r 2^-38), v float32 and r a whole number of 16 bits, to within 2^-39 |k|. Steps are made on v alone, which is
as fast as float32; sums over v and r prove the end, with no second pass over the rows.
"""
import numpy as np

from . import loops
from .row_cache import RowCache

UNIT = 2.0**-38    # rounding to float32 takes at most 2^-24 of a value: r stays below 2^14
ERROR = 2.0**-39   # of a value, what is lost at most
AT_ONCE = 32       # rows, whose float64 values stay in the core's cache


class SplitCache(RowCache):
    """Keep rows as RowCache does, and what their rounding took.

    rows, max_bytes, precious, space : see RowCache.
    """

    def __init__(self, rows, max_bytes, precious, space):
        super().__init__(rows, np.float32, max_bytes * 2 // 3, precious, space)
        self.rest = self.space.array('rests', self.slab.shape, np.int16)

    def _compute(self, missing, slots):
        buffer = self.space.array('exact rows', (AT_ONCE, self.rows.n_samples), np.float64)
        for start in range(0, len(missing), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            values = self.rows.rows(missing[part], out=buffer[:len(missing[part])])
            loops.split_rows(values, slots[part], self.slab, self.rest, np.float32(1 / UNIT))

    def weighted_sum(self, indices, weights):
        """Return K[:, indices] weights, (n,) float64; rows that are not here are computed, and not kept."""
        slots, total = self.slot_of[indices], np.zeros(self.rows.n_samples)
        here = slots >= 0
        loops.add_split_rows(self.slab, self.rest, UNIT, slots[here], weights[here], total)
        if not here.all():
            total += self.rows.weighted_sum(indices[~here], weights[~here])
            self.n_computed += np.count_nonzero(~here)
        return total

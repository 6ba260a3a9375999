"""Add to pairs of arrays as `exact_sum.add_values` does, compiled: the same operations, and so the same bits."""

import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats


@jit()
def add_upper(high: Floats, low: Floats, values: Floats, step: float, n_rows: int) -> None:
    """Add values, (m, m), of groups of n_rows rows, to the columns from the first row of each group on."""
    inverse = 1 / step
    for i in range(len(values)):
        for j in range(i - i % n_rows, len(values)):
            rounded, before = np.rint(values[i, j] * inverse) * step, high[i, j]
            total = before + rounded
            back = total - before
            rest = (before - (total - back)) + (rounded - back) + low[i, j]
            high[i, j] = total + rest
            low[i, j] = rest - (high[i, j] - total)

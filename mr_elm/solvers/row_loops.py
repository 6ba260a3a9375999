"""Run over the rows of a cache's slab, compiled."""
import numpy as np

from ..compiled import jit

fast = jit(fastmath=True)


@fast
def add_rows(slab, slots, weights, total):
    """Add sum_r weights_r slab[slots_r] to total, in float64, one stretch of columns at a time."""
    stretch = 1024
    part = np.empty(stretch)
    for start in range(0, len(total), stretch):
        stop = min(start + stretch, len(total))
        m, r = stop - start, 0
        part[:m] = 0.0
        while r + 4 <= len(weights):
            w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
            k0, k1 = slab[slots[r], start:stop], slab[slots[r + 1], start:stop]
            k2, k3 = slab[slots[r + 2], start:stop], slab[slots[r + 3], start:stop]
            for j in range(m):
                part[j] += w0 * k0[j] + w1 * k1[j] + w2 * k2[j] + w3 * k3[j]
            r += 4
        while r < len(weights):
            w0, k0 = weights[r], slab[slots[r], start:stop]
            for j in range(m):
                part[j] += w0 * k0[j]
            r += 1
        for j in range(m):
            total[start + j] += part[j]


@fast
def gather_block(slab, slots, columns, t, Q):
    """Fill Q with t_i t_j K_ij of a block, from the rows in `slots`; rising columns keep the reads near each other."""
    n = len(columns)
    for r in range(n):
        row, tr = slab[slots[r]], t[columns[r]]
        for c in range(n):
            Q[r, c] = row[columns[c]] * (tr * t[columns[c]])

"""Find rows of K in a slab, gather blocks of them and add them up, compiled; letters as in `box_qp`.

Rows lie in the slab one a slot; `slot_of[i]` is row i's slot, or -1.
"""
import numpy as np

from mr_elm.compiled import jit
from mr_elm.features.fused import add_rows
from mr_elm.typing import Floats

strict, fast = jit(), jit(fastmath=True)
LINE = 16  # numbers, about what a cache line holds


@fast
def gather_block(slab: np.ndarray, slot_of: np.ndarray, targets: Floats, columns: np.ndarray, Q: np.ndarray) -> None:
    """Fill the start of Q with t_i t_j K_ij of a block, whose rows are in the slab.

    Rising columns keep the reads near each other.
    """
    n, narrow, signs = len(columns), columns.astype(np.int32), targets[columns].astype(Q.dtype)
    for r in range(n):
        row, sign, out = slab[slot_of[columns[r]]], signs[r], Q[r]
        for c in range(n):
            out[c] = row[narrow[c]] * (sign * signs[c])


@fast
def refresh_block(slab: np.ndarray, slot_of: np.ndarray, targets: Floats, columns: np.ndarray, changed: np.ndarray,
                  order: np.ndarray, Q: np.ndarray) -> None:
    """Do the same for a Q that holds the block already, but for the variables in `changed`, by symmetry.

    order : (n,), which puts columns in increasing order.
    """
    n, place, signs = len(columns), order.astype(np.int32), targets[columns].astype(Q.dtype)
    rising, turned, part = columns[order].astype(np.int32), signs[order], np.empty(len(columns), Q.dtype)
    for r in changed:
        row, sign, out = slab[slot_of[columns[r]]], signs[r], Q[r]
        for c in range(n):
            part[c] = row[rising[c]] * (sign * turned[c])
        for c in range(n):
            out[place[c]] = part[c]
    for start in range(0, n, LINE):
        for c in changed:
            row = Q[c]
            for r in range(start, min(start + LINE, n)):
                Q[r, c] = row[r]


@strict
def ask_for(indices: np.ndarray, slot_of: np.ndarray, asked: np.ndarray, clock: int) -> np.ndarray:
    """Return which rows have no slot, and mark the slots of the others as asked for at this time."""
    missing, m = np.empty(len(indices), np.int64), 0
    for i in indices:
        if slot_of[i] < 0:
            missing[m] = i
            m += 1
        else:
            asked[slot_of[i]] = clock
    return missing[:m]


@strict
def move_gradient(slab: np.ndarray, slot_of: np.ndarray, indices: np.ndarray, change: Floats, targets: Floats,
                  asked: np.ndarray, clock: int, gradient: Floats) -> bool:
    """Add Q[:, indices] change to gradient, in place, and mark slots as `ask_for`.

    Does nothing and returns False where a row that is needed has no slot.
    """
    m, slots, weights, total = 0, np.empty(len(indices), np.int64), np.empty(len(indices)), np.zeros(len(gradient))
    for k in range(len(indices)):
        if change[k] != 0:
            slots[m], weights[m] = slot_of[indices[k]], targets[indices[k]] * change[k]
            if slots[m] < 0:
                return False
            asked[slots[m]] = clock
            m += 1
    add_rows(slab, slots[:m], weights[:m], total)
    for j in range(len(gradient)):
        gradient[j] += targets[j] * total[j]
    return True

"""Keep the matrix of the last block: the next one shares most of its variables, only the others are gathered."""
from typing import Any

import numpy as np

from mr_elm.compiled import jit
from mr_elm.solvers.shared import slab_loops
from mr_elm.solvers.shared.row_cache import RowCache
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats

SPARE = 1.1  # the matrix is made so much larger than the block, for later ones
ANEW = 0.2   # share of new variables from which on the whole block is gathered again


class KeptBlock:
    """Hold Q of a block, t_i t_j K_ij, for problems of the same rows and targets.

    space : Workspace the matrix is kept in.
    """

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.matrix: Any = None
        self.place_of: Any = None
        self.members = np.zeros(0, int)

    def bring(self, wanted: np.ndarray, cache: RowCache, targets: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Return (members, Q): the wanted variables in the order of the block, and its matrix.

        wanted : (n,) rising, with rows in the RowCache.
        Q : (m, m), m >= n; its first n rows and columns count.
        """
        n, dtype = len(wanted), cache.slab.dtype
        if self.matrix is None or len(self.matrix) < n or self.matrix.dtype != dtype:
            self._make_room(n, cache, dtype)
        self.space.touched('block', self.matrix[:n].nbytes)
        self.members, order, changed, anew = arrange(wanted, cache.slot_of, (1 - ANEW) * n, self.members, self.place_of)
        known = cache.slab, cache.slot_of, targets, self.members
        if anew:
            slab_loops.gather_block(*known, self.matrix)
        else:
            slab_loops.refresh_block(*known, changed, order, self.matrix)
        return self.members, self.matrix

    def _make_room(self, n: int, cache: RowCache, dtype: np.dtype) -> None:
        n_samples, self.matrix = len(cache.slot_of), None
        side = min(int(SPARE * n) + 1, n_samples)
        self.matrix = self.space.array('block', (side, side), dtype)
        self.members, self.place_of = np.zeros(0, int), np.full(n_samples, -1)


@jit()
def arrange(wanted: np.ndarray, slot_of: np.ndarray, least: float, before: np.ndarray,
            place_of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Give each wanted variable a place in the block: its old one, or one that became vacant.

    wanted : (n,) rising. least : so many must keep their place, else each takes its own in `wanted`.
    before : members of the last block. place_of : (N,), the place of each, -1 of others; it becomes that of the new.
    Returns (members, the places of `wanted`, places to fill anew whose rows are there, whether all are filled anew).
    """
    n, n_kept, n_changed, vacant = len(wanted), 0, 0, 0
    members, order, changed = np.full(n, -1), np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        place = place_of[wanted[k]]
        order[k] = place if place < n and slot_of[wanted[k]] >= 0 else -1
        n_kept += order[k] >= 0
    for i in before:
        place_of[i] = -1
    anew = n_kept < least
    for k in range(n):
        order[k] = k if anew else order[k]
        if order[k] >= 0:
            members[order[k]] = wanted[k]
    for k in range(n):
        if order[k] < 0:
            while members[vacant] >= 0:
                vacant += 1
            members[vacant], order[k] = wanted[k], vacant
            if slot_of[wanted[k]] >= 0:
                changed[n_changed] = vacant
                n_changed += 1
        place_of[wanted[k]] = order[k]
    return members, order, changed[:n_changed], anew

"""Keep the matrix of the last block: the next one shares most of its variables, only the others are gathered."""
from collections.abc import Callable
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
    grows : blocks are ever larger: room for the largest is set aside, of which only what is used takes memory.
    """

    def __init__(self, space: Workspace, grows: bool = False) -> None:
        self.space, self.grows = space, grows
        self.matrix: Any = None
        self.place_of: Any = None
        self.members = np.zeros(0, int)

    def bring(self, wanted: np.ndarray, cache: RowCache, targets: Floats,
              square: Callable[[np.ndarray], np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (members, Q): the wanted variables in the order of the block, and its matrix.

        wanted : (n,) rising, with rows in the RowCache.
        square : function of indices, K between variables whose rows are not there; None when all are.
        Q : (m, m), m >= n; its first n rows and columns count.
        """
        n, dtype = len(wanted), cache.slab.dtype
        if self.matrix is None or len(self.matrix) < n or self.matrix.dtype != dtype:
            self._make_room(n, cache, dtype)
        self.space.touched('block', self.matrix[:n].nbytes)
        least = 0.0 if self.grows else (1 - ANEW) * n
        self.members, order, changed, anew = arrange(wanted, cache.slot_of, least, self.members, self.place_of)
        known = cache.slab, cache.slot_of, targets, self.members
        if anew:
            slab_loops.gather_block(*known, self.matrix)
        else:
            slab_loops.refresh_block(*known, changed, order, self.matrix)
        if square is not None:
            self._complete(cache, targets, square)
        return self.members, self.matrix

    def _complete(self, cache: RowCache, targets: Floats, square: Callable[[np.ndarray], np.ndarray]) -> None:
        """Fill in what rows that are not there would hold: columns of those that are, and the square between them."""
        slots = cache.slot_of[self.members]
        there, absent = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        absent = absent[np.argsort(self.members[absent])]
        slab_loops.refresh_columns(cache.slab, cache.slot_of, targets, self.members, there, absent, self.matrix)
        signs = targets[self.members[absent]].astype(self.matrix.dtype)
        self.matrix[np.ix_(absent, absent)] = square(self.members[absent]) * np.outer(signs, signs)

    def _make_room(self, n: int, cache: RowCache, dtype: np.dtype) -> None:
        n_samples, self.matrix = len(cache.slot_of), None
        side = cache.capacity if self.grows else min(int(SPARE * n) + 1, n_samples)
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

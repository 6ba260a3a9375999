"""Keep the matrix of the last block: the next one shares most of its variables, only the others are gathered."""
from collections.abc import Callable
from typing import Any

import numpy as np

from mr_elm.solvers.shared import loops
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
        place = self.place_of[wanted]
        stays = (place >= 0) & (place < n) & (cache.slot_of[wanted] >= 0)
        self.place_of[self.members] = -1
        if np.count_nonzero(stays) < (0 if self.grows else 1 - ANEW) * n:
            self.members = wanted
            loops.gather_block(cache.slab, cache.slot_of[wanted], wanted, targets[wanted].astype(dtype), self.matrix)
        else:
            vacant = np.ones(n, bool)
            vacant[place[stays]] = False
            changed = np.flatnonzero(vacant)
            self.members = np.empty(n, int)
            self.members[place[stays]], self.members[changed] = wanted[stays], wanted[~stays]
            slots = cache.slot_of[self.members]
            loops.refresh_block(cache.slab, slots, self.members, targets[self.members].astype(dtype),
                                changed[slots[changed] >= 0], self.members.argsort(), self.matrix)
        self.place_of[self.members] = np.arange(n)
        if square is not None:
            self._complete(cache, targets[self.members].astype(dtype), square)
        return self.members, self.matrix

    def _complete(self, cache: RowCache, signs: Floats, square: Callable[[np.ndarray], np.ndarray]) -> None:
        """Fill in what rows that are not there would hold: columns of those that are, and the square between them."""
        slots = cache.slot_of[self.members]
        there, absent = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        absent = absent[np.argsort(self.members[absent])]
        loops.refresh_columns(cache.slab, slots, self.members, signs, there, absent, self.matrix)
        self.matrix[np.ix_(absent, absent)] = square(self.members[absent]) * np.outer(signs[absent], signs[absent])

    def _make_room(self, n: int, cache: RowCache, dtype: np.dtype) -> None:
        n_samples, self.matrix = len(cache.slot_of), None
        side = cache.capacity if self.grows else min(int(SPARE * n) + 1, n_samples)
        self.matrix = self.space.array('block', (side, side), dtype)
        self.members, self.place_of = np.zeros(0, int), np.full(n_samples, -1)

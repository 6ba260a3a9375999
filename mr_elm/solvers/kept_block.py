"""Keep the matrix of the last block: the next one shares most of its variables, only the others are gathered."""
import numpy as np

from . import loops

SPARE = 1.1  # the matrix is made so much larger than the block, for later ones
ANEW = 0.2   # share of new variables from which on the whole block is gathered again


class KeptBlock:
    """Hold Q of a block, t_i t_j K_ij, for problems of the same rows and targets.

    space : Workspace the matrix is kept in.
    """

    def __init__(self, space):
        self.space = space
        self.matrix = self.place_of = None
        self.members = np.zeros(0, int)

    def bring(self, wanted, cache, targets):
        """Return (members, Q): the wanted variables in the order of the block, and its matrix.

        wanted : (n,) rising, with rows in the RowCache.
        Q : (m, m), m >= n; its first n rows and columns count.
        """
        n, dtype = len(wanted), cache.slab.dtype
        if self.matrix is None or len(self.matrix) < n or self.matrix.dtype != dtype:
            self._make_room(n, len(targets), dtype)
        place = self.place_of[wanted]
        stays = (place >= 0) & (place < n)
        self.place_of[self.members] = -1
        if np.count_nonzero(stays) < (1 - ANEW) * n:
            self.members = wanted
            loops.gather_block(cache.slab, cache.slot_of[wanted], wanted, targets[wanted].astype(dtype), self.matrix)
        else:
            changed = np.setdiff1d(np.arange(n), place[stays], assume_unique=True)
            self.members = np.empty(n, int)
            self.members[place[stays]], self.members[changed] = wanted[stays], wanted[~stays]
            loops.refresh_block(cache.slab, cache.slot_of[self.members], self.members,
                                targets[self.members].astype(dtype), changed, self.matrix)
        self.place_of[self.members] = np.arange(n)
        return self.members, self.matrix

    def _make_room(self, n, n_samples, dtype):
        side, self.matrix = min(int(SPARE * n) + 1, n_samples), None
        self.matrix = self.space.array('block', (side, side), dtype)
        self.members, self.place_of = np.zeros(0, int), np.full(n_samples, -1)

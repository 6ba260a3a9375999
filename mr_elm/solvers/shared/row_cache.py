"""Keep kernel rows in memory, within a bound: a slab of rows of K, and for each row its slot."""
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mr_elm.features.kernel_rows import PrecomputedRows
from mr_elm.solvers.shared import slab_loops
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats

SOFT_BYTES = 200_000_000  # the cache grows past it only for rows that are worth it, see RowCache
RETURNS = 4  # times a row may be computed again before memory is the cheaper way
LEAST_ROWS = 64  # kept whatever the bound on memory says, so that a block can be solved


class RowCache:
    """Keep rows of K, without labels, for one solver.

    Memory that was never touched is dear: a row is computed faster than its pages are brought in. So the cache grows
    past SOFT_BYTES only for rows that `precious` names, or when rows come back too often; else those unasked longest
    make room. A ready matrix is its own slab.

    rows : source of kernel rows, (N, N).
    dtype : float32 or float64; that of a ready matrix is its own.
    max_bytes : most memory; at least 64 rows, or all, are kept whatever it says.
    precious : function () -> (N,) bool, the rows worth more memory, or None for all.
    space : Workspace the rows are kept in, or None for one of its own.
    """

    def __init__(self, rows: Any, dtype: DTypeLike, max_bytes: int, precious: Callable[[], np.ndarray] | None = None,
                 space: Workspace | None = None) -> None:
        self.rows, self.precious, self.space, self.n_computed = rows, precious, space or Workspace(), 0
        n = rows.n_samples
        self.is_matrix = isinstance(rows, PrecomputedRows)
        if self.is_matrix:
            self.capacity, self.slab, self.slot_of = n, rows.matrix, np.arange(n)
        else:
            row_bytes = n * np.dtype(dtype).itemsize
            self.capacity = int(min(n, max(max_bytes // row_bytes, LEAST_ROWS)))
            self.slab = self.space.array('rows', (self.capacity, n), dtype)
            self.slot_of = np.full(n, -1)
        some = self.capacity if precious is None else max(SOFT_BYTES // self.slab[:1].nbytes, LEAST_ROWS)
        self._soft = min(self.capacity, some)
        self._row_in = np.full(self.capacity, -1)
        self._asked = np.zeros(self.capacity, np.int64)
        self._seen = np.zeros(n, bool)
        self._used = self._clock = self._again = 0

    @property
    def computed_once(self) -> bool:
        """Tell whether no row was computed again, which may round differently."""
        return self.n_computed == np.count_nonzero(self._seen)

    def ensure(self, indices: np.ndarray) -> None:
        """Bring these rows (distinct, at most `capacity`) into the slab."""
        self._clock += 1
        missing = slab_loops.ask_for(indices, self.slot_of, self._asked, self._clock)
        if len(missing):
            self._fill(missing)

    def _fill(self, missing: np.ndarray) -> None:
        count = len(missing)
        slots = self._slots(count)
        self.space.touched('rows', self.slab[:self._used].nbytes)
        self.slot_of[missing], self._row_in[slots], self._asked[slots] = slots, missing, self._clock
        self._again += int(np.count_nonzero(self._seen[missing]))
        self._seen[missing] = True
        if self._again > RETURNS * self._used:  # rows come back too often: the soft bound is too tight here
            self._soft, self._again = min(self.capacity, 2 * self._soft), 0
        self.n_computed += count
        self._compute(missing, slots)

    def _compute(self, missing: np.ndarray, slots: np.ndarray) -> None:
        if slots[-1] - slots[0] == len(slots) - 1:
            self.rows.rows(missing, out=self.slab[slots[0]:slots[0] + len(slots)])
        else:
            self.slab[slots] = self.rows.rows(missing, self.slab.dtype)

    def _slots(self, count: int) -> np.ndarray:
        """Return slots to write to, in increasing order.

        Untouched ones below the soft bound, then those of rows given up, then untouched ones beyond it.
        """
        if self._used + count > self._soft:
            spare = self._spare()
            if len(spare) < count:
                self._soft = min(self.capacity, self._used + max(count, self._used // 4))
        if self._used + count <= self._soft:
            self._used += count
            return np.arange(self._used - count, self._used)
        if len(spare) < count:
            spare = np.flatnonzero(self._asked[:self._used] < self._clock)
        fresh = np.arange(self._used, min(self._soft, self._used + count - min(count, len(spare))))
        self._used += len(fresh)
        leaving = spare[np.argsort(self._asked[spare], kind='stable')[:count - len(fresh)]]
        self.slot_of[self._row_in[leaving]] = -1
        return np.sort(np.concatenate([leaving, fresh]))

    def _spare(self) -> np.ndarray:
        """Return slots of rows that are neither precious nor asked for just now."""
        free = self._asked[:self._used] < self._clock
        if self.precious is not None:
            free &= ~self.precious()[self._row_in[:self._used]]
        return np.flatnonzero(free)

    def block(self, indices: np.ndarray, targets: Floats) -> np.ndarray:
        """Return Q[indices, indices] from rows already here; indices in increasing order are fastest."""
        Q = np.empty((len(indices), len(indices)), self.slab.dtype)
        slab_loops.gather_block(self.slab, self.slot_of, targets, indices, Q)
        return Q

    def move(self, indices: np.ndarray, change: Floats, targets: Floats, gradient: Floats) -> None:
        """Add Q[:, indices] change to gradient, in place; where a row is not here, rows are fetched in parts."""
        if self._move(indices, change, targets, gradient):
            return
        moved = np.flatnonzero(change)
        for start in range(0, len(moved), self.capacity):
            part = moved[start:start + self.capacity]
            self.ensure(indices[part])
            self._move(indices[part], change[part], targets, gradient)

    def _move(self, indices: np.ndarray, change: Floats, targets: Floats, gradient: Floats) -> bool:
        self._clock += 1
        return slab_loops.move_gradient(self.slab, self.slot_of, indices, change, targets, self._asked, self._clock,
                                        gradient)

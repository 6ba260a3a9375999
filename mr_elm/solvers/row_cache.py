"""Keep rows of K in memory, within a bound: a slab of rows, and for each row of K its slot in the slab, or -1."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mr_elm.compiled import jit
from mr_elm.features.fused import add_rows
from mr_elm.features.kernel_rows import PrecomputedRows
from mr_elm.typing import Floats

KEPT: list[np.ndarray] = []  # memory of the last solve, for the next one: new pages cost up to half of a solve
KEEP_BYTES = 400_000_000  # touched, beyond which memory goes back to the system
MIN_ROWS = 64  # kept whatever the bound on memory says, so that a block can be solved


class RowCache:
    """Keep rows of K, without labels, for one solver; those unasked longest make room. A ready matrix is its own slab.

    rows : source of kernel rows, (N, N).
    dtype : float32 or float64; that of a ready matrix is its own.
    max_bytes : most memory; at least 64 rows, or all, are kept whatever it says.
    """

    def __init__(self, rows: Any, dtype: DTypeLike, max_bytes: int) -> None:
        self.rows, self.n_computed = rows, 0
        n = rows.n_samples
        self.is_matrix = isinstance(rows, PrecomputedRows)
        if self.is_matrix:
            self.capacity, self.slab, self.slot_of = n, rows.matrix, np.arange(n)
        else:
            self.capacity = int(min(n, max(max_bytes // (n * np.dtype(dtype).itemsize), MIN_ROWS)))
            self.slab, self.slot_of = take_memory((self.capacity, n), dtype), np.full(n, -1)
        self._row_in = np.full(self.capacity, -1)
        self._asked = np.zeros(self.capacity, np.int64)
        self._used = self._clock = 0

    def ensure(self, indices: np.ndarray) -> None:
        """Bring these rows (distinct, at most `capacity`) into the slab."""
        self._clock += 1
        slots = self.slot_of[indices]
        self._asked[slots[slots >= 0]] = self._clock
        missing = indices[slots < 0]
        if not len(missing):
            return
        unused = np.arange(self._used, min(self._used + len(missing), self.capacity))
        oldest = np.argsort(self._asked[: self._used], kind='stable')[: len(missing) - len(unused)]
        self.slot_of[self._row_in[oldest]] = -1
        slots = np.concatenate([unused, np.sort(oldest)])
        self._used += len(unused)
        self.slot_of[missing], self._row_in[slots], self._asked[slots] = slots, missing, self._clock
        self.n_computed += len(missing)
        if len(unused) == len(missing):
            self.rows.rows(missing, out=self.slab[unused[0] : self._used])
        else:
            self.slab[slots] = self.rows.rows(missing, self.slab.dtype)

    def give_back(self) -> None:
        """Give the memory of the slab to the next solve; no row may be asked for after it."""
        if not self.is_matrix and not KEPT and self.slab[: self._used].nbytes <= KEEP_BYTES:
            KEPT.append(self.slab.reshape(-1).view(np.uint8))

    def block(self, indices: np.ndarray, targets: Floats, out: np.ndarray | None = None) -> np.ndarray:
        """Return Q[indices, indices] of rows already here; indices in increasing order are fastest.

        out : room for it, of at least so many numbers of the type of the rows, or None.
        """
        n = len(indices)
        if out is None:
            out = np.empty(n * n, self.slab.dtype)
        Q = out[: n * n].reshape(n, n)
        gather_block(self.slab, self.slot_of[indices], indices, targets, Q)
        return Q

    def move(self, indices: np.ndarray, change: Floats, targets: Floats, gradient: Floats) -> None:
        """Add Q[:, indices] change to gradient, in place."""
        moved = np.flatnonzero(change)
        for start in range(0, len(moved), self.capacity):
            part = moved[start : start + self.capacity]
            self.ensure(indices[part])
            total = np.zeros(len(gradient))
            add_rows(self.slab, self.slot_of[indices[part]], targets[indices[part]] * change[part], total)
            gradient += targets * total


def take_memory(shape: tuple[int, int], dtype: DTypeLike) -> np.ndarray:
    """Return an array of any contents, in the memory of the last solve where that is large enough."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    try:
        memory = KEPT.pop()
    except IndexError:
        memory = np.empty(0, np.uint8)
    if memory.nbytes < size:
        memory = np.empty(size, np.uint8)
    return memory[:size].view(dtype).reshape(shape)


@jit(fastmath=True)
def gather_block(slab: np.ndarray, slots: np.ndarray, columns: np.ndarray, targets: Floats, Q: np.ndarray) -> None:
    """Fill Q with t_i t_j K_ij of a block, whose rows are in these slots. Numpy takes three times as long."""
    n, narrow, signs = len(columns), columns.astype(np.int32), targets[columns].astype(Q.dtype)
    for r in range(n):
        row, sign, out = slab[slots[r]], signs[r], Q[r]
        for c in range(n):
            out[c] = row[narrow[c]] * (sign * signs[c])

"""Keep large buffers from one solve to the next: bringing in new pages costs more than computing what they hold."""
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import numpy as np
from numpy.typing import DTypeLike

KEEP_BYTES = 400_000_000  # a buffer that was touched further than this is given back to the system
_idle: list = []


class Workspace:
    """Hand out arrays by name, each on a buffer that is kept and grows when it has to; contents are arbitrary."""

    def __init__(self) -> None:
        self._buffers: dict[str, np.ndarray] = {}
        self._touched: dict[str, int] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return an uninitialised array; the next call with this name may reuse its memory."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].nbytes < size:
            self._buffers.pop(name, None)
            self._buffers[name] = np.empty(size, np.uint8)
        return self._buffers[name][:size].view(dtype).reshape(shape)

    def touched(self, name: str, size: int) -> None:
        """Say how many bytes of a buffer were really used, which may be far fewer than it has."""
        self._touched[name] = max(size, self._touched.get(name, 0))

    def give_large_back(self) -> None:
        """Give buffers that take much memory back to the system."""
        for name in [name for name, size in self._touched.items() if size > KEEP_BYTES]:
            self._buffers.pop(name, None)
            del self._touched[name]

    @property
    def n_bytes(self) -> int:
        """Return how many bytes of the buffers were used."""
        return sum(self._touched.values())


@contextmanager
def borrowed() -> Iterator[Workspace]:
    """Lend a workspace nobody else uses; it is kept for the next one, and those of other threads while they are small.
    """
    try:
        workspace = _idle.pop()
    except IndexError:
        workspace = Workspace()
    try:
        yield workspace
    finally:
        workspace.give_large_back()
        if not _idle or sum(one.n_bytes for one in [*_idle, workspace]) <= KEEP_BYTES:
            _idle.append(workspace)

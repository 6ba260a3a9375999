"""Keep large buffers from one solve to the next: bringing in new pages costs more than computing what they hold."""
import numpy as np

KEEP_BYTES = 400_000_000  # a buffer that was touched further than this is given back to the system
_idle = []


class Workspace:
    """Hand out arrays by name, each on a buffer that is kept and grows when it has to; contents are arbitrary."""

    def __init__(self):
        self._buffers = {}

    def array(self, name, shape, dtype):
        """Return an uninitialised array; the next call with this name may reuse its memory."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].nbytes < size:
            self._buffers.pop(name, None)
            self._buffers[name] = np.empty(size, np.uint8)
        return self._buffers[name][:size].view(dtype).reshape(shape)

    def forget(self, name):
        """Give a buffer back to the system."""
        self._buffers.pop(name, None)


def borrow():
    """Return a workspace nobody else uses."""
    try:
        return _idle.pop()
    except IndexError:
        return Workspace()


def give_back(workspace, touched):
    """Keep the workspace for the next solve; `touched` maps names to the bytes really used of large sparse buffers."""
    for name, size in touched.items():
        if size > KEEP_BYTES:
            workspace.forget(name)
    if not _idle:
        _idle.append(workspace)

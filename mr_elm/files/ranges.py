"""Read files from any position, wherever they are."""
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from mr_elm.files.storage import fetch_file, is_local, store_of


@contextmanager
def open_ranges(path: str) -> Iterator[Any]:
    """Give a file to read from any position: a path of this machine, or an open file."""
    if is_local(path):
        yield path
        return
    store = store_of(path)
    if store.read_range is None:
        with fetch_file(path) as copied:
            yield copied
    elif entry := store.find(path):
        with Ranges(partial(store.read_range, path), entry.size) as stream:
            yield stream
    else:
        raise FileNotFoundError(f'{path}: expected a file, found none')


class Ranges(io.RawIOBase):
    """Read a file that is elsewhere from any position.

    read_range : (first byte, number of bytes) -> bytes. size : of the file.
    """

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        self.read_range, self.size, self.position = read_range, size, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read from any position."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position; returns it. Raises ValueError for one before the file."""
        position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        if position < 0:
            raise ValueError(f'expected a position in the file, found {position}')
        self.position = position
        return self.position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, unless the file ends before. Raises OSError when a range is cut short."""
        length = max(min(len(buffer), self.size - self.position), 0)
        try:
            data = self.read_range(self.position, length) if length else b''
        except OSError as error:  # with a number it is not taken for a damaged file, and the task is tried again
            raise OSError(error.errno or errno.EIO, error.strerror or str(error)) from error
        if len(data) != length:
            raise OSError(errno.EIO, f'expected {length} bytes from byte {self.position}, found {len(data)}')
        buffer[:length] = data
        self.position += length
        return length

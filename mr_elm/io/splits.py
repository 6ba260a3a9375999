"""Read a piece of a file the way Hadoop does, so that every line belongs to exactly one split.

A split (start, length) owns the lines that begin after the first line end at or behind `start` (or at 0) and
not behind `start + length`. Compressed files are one split.
"""
import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from mr_elm.errors import DataFormatError

CHUNK = 4 << 20
RAW = 1 << 16  # bytes of compressed data read at a time
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


class Bz2Members(io.RawIOBase):
    """Decompress a bz2 file to its last member; bz2.open takes a damaged later member for junk and leaves it out."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.member = bz2.BZ2Decompressor()
        self.begun = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of the buffer; 0 at the end of the file. Raises EOFError when a member is cut."""
        data = b''
        while not data:
            raw = b''
            if self.member.eof or self.member.needs_input:
                raw = self.member.unused_data or self.stream.read(RAW)
                if not raw:
                    return self._end()
                self.begun = True
            if self.member.eof:
                self.member = bz2.BZ2Decompressor()
            data = self.member.decompress(raw, len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def _end(self) -> int:
        if self.begun and not self.member.eof:
            raise EOFError('it ends within a member')
        return 0


def open_bz2(stream: BinaryIO, mode: str) -> io.BufferedReader:
    """Decompress an open bz2 file."""
    return io.BufferedReader(Bz2Members(stream), RAW)


OPENERS: dict[str, Callable] = {'.gz': gzip.open, '.bz2': open_bz2}


def is_compressed(path: str) -> bool:
    """Tell whether a name ends in .gz or .bz2."""
    return str(path).endswith(tuple(OPENERS))


def read_split(path: str, start: int = 0, length: int | None = None, name: str | None = None) -> Iterator[bytes]:
    """Yield the lines of one split as chunks of bytes, each ending with a whole line.

    name : what to call the file, where `path` is a copy of it.
    Raises DataFormatError when a compressed file is cut or damaged.
    """
    with open(path, 'rb') as stream:
        yield from read_stream(stream, name or path, start, length)


def read_stream(stream: BinaryIO, name: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
    """Read a split of an open file as `read_split` does; the name tells whether it is compressed."""
    opener = next((OPENERS[end] for end in OPENERS if str(name).endswith(end)), None)
    if opener is None:
        yield from read_plain_split(stream, start, length)
        return
    try:
        with opener(stream, 'rb') as plain:
            yield from read_whole_lines(plain)
    except DAMAGE as error:
        raise DataFormatError(f'{name}: the compressed file is cut short or damaged ({error})') from None
    except OSError as error:
        if error.errno is None:
            raise DataFormatError(f'{name}: the compressed file is damaged ({error})') from None
        raise


def read_whole_lines(stream: BinaryIO, limit: int | None = None) -> Iterator[bytes]:
    """Yield chunks that end with a whole line, until `limit` bytes have been begun or the stream ends."""
    done = 0
    while limit is None or done < limit:
        chunk = stream.read(CHUNK if limit is None else min(CHUNK, limit - done))
        if not chunk:
            return
        if not chunk.endswith(b'\n'):
            chunk += stream.readline()
        done += len(chunk)
        yield chunk


def read_plain_split(stream: BinaryIO, start: int, length: int | None) -> Iterator[bytes]:
    """Yield the chunks of one split of a plain file."""
    skipped = 0
    if start:
        stream.seek(start)
        skipped = len(stream.readline())
    limit = None if length is None else length + 1 - skipped
    if limit is None or limit > 0:
        yield from read_whole_lines(stream, limit)


def count_chunks(chunks: Iterable[bytes], count: Callable[[int], object]) -> Iterator[bytes]:
    """Pass chunks on, and count the bytes of each as it is read."""
    for chunk in chunks:
        count(len(chunk))
        yield chunk

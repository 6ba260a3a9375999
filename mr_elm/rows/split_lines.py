"""Read a piece of a file the way Hadoop does, so that every line belongs to exactly one split.

A split (start, length) owns the lines that begin after the first line end at or behind `start` (or at 0) and
not behind `start + length`. Files that are compressed, or not UTF-8 with plain line ends, are one split.
"""
import bz2
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import Any, BinaryIO, cast

import numpy as np

from mr_elm.errors import DataFormatError

CHUNK = 1 << 20  # bytes of text that are read at a time: they stay in the cache of the processor
LINE_END = ord('\n')
RAW = 1 << 16  # bytes of compressed data read at a time
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile)
MARKS = {b'\xff\xfe\0\0': 'utf-32', b'\0\0\xfe\xff': 'utf-32', b'\xff\xfe': 'utf-16', b'\xfe\xff': 'utf-16'}
HADOOP_READS = ('.gz', '.bz2')  # endings of the names of compressed files that Hadoop knows


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


def open_zstd(stream: BinaryIO, mode: str) -> io.BufferedReader:
    """Decompress an open zstandard file."""
    arrow = import_module('pyarrow')
    return io.BufferedReader(arrow.CompressedInputStream(arrow.PythonFile(stream, 'r'), 'zstd'), RAW)


def open_zip(stream: BinaryIO, mode: str) -> BinaryIO:
    """Decompress the only file of an open zip archive. Raises zipfile.BadZipFile when it holds several."""
    archive = zipfile.ZipFile(stream)
    members = [member for member in archive.infolist() if not member.is_dir() and not member.filename.startswith('__')]
    if len(members) != 1:
        names = ', '.join(member.filename for member in members[:5])
        raise zipfile.BadZipFile(f'expected an archive of one file, it holds {len(members)}: {names}; unpack it')
    return cast(BinaryIO, archive.open(members[0]))


OPENERS: dict[str, Callable] = {'.gz': gzip.open, '.bz2': open_bz2, '.zst': open_zstd, '.zip': open_zip}


def find_opener(path: str) -> Callable | None:
    """Return what decompresses a file of this name, None for plain files."""
    return next((opener for ending, opener in OPENERS.items() if str(path).lower().endswith(ending)), None)


def is_compressed(path: str) -> bool:
    """Tell whether the name of a file says that it is compressed."""
    return find_opener(path) is not None


def hadoop_cuts(path: str, charset: str | None) -> bool:
    """Tell whether Hadoop itself can read the lines of a file."""
    return charset is None and (not is_compressed(path) or str(path).endswith(HADOOP_READS))


def find_charset(first_bytes: bytes) -> str | None:
    """Return the encoding that a text begins to be in; None for UTF-8 with line feeds, which Hadoop reads as well.

    Text with carriage returns only is in an encoding that has to be decoded, too.
    """
    for mark, charset in MARKS.items():
        if first_bytes.startswith(mark):
            return charset
    return 'utf-8' if b'\r' in first_bytes[:-1] and b'\n' not in first_bytes else None


class Transcoder(io.RawIOBase):
    """Read a stream of text in another encoding as UTF-8 with line feeds."""

    def __init__(self, stream: Any, charset: str) -> None:
        self.text = io.TextIOWrapper(stream, charset, newline=None)
        self.rest = b''

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of the buffer; 0 at the end of the file. Raises UnicodeError at bytes that are no text."""
        self.rest = self.rest or self.text.read(RAW).encode()
        piece, self.rest = self.rest[:len(buffer)], self.rest[len(buffer):]
        buffer[:len(piece)] = piece
        return len(piece)


def find_line_ends(text: bytes) -> np.ndarray:
    """Tell which bytes are line ends: (n,) bool."""
    return np.frombuffer(text, np.uint8) == LINE_END


def read_split(path: str, start: int = 0, length: int | None = None, name: str | None = None) -> Iterator[bytes]:
    """Yield the lines of one split of UTF-8 as chunks of bytes, each ending with a whole line.

    name : what to call the file, where `path` is a copy of it.
    Raises DataFormatError when a compressed file is cut or damaged.
    """
    with open(path, 'rb') as stream:
        yield from read_stream(stream, name or path, start, length)


def read_stream(stream: BinaryIO, name: str, start: int = 0, length: int | None = None,
                charset: str | None = None) -> Iterator[bytes]:
    """Read a split of an open file as `read_split` does; the name tells whether it is compressed.

    charset : the encoding of the text, None for UTF-8 with line feeds.
    """
    opener = find_opener(name)
    if opener is None and charset is None:
        yield from read_plain_split(stream, start, length)
        return
    try:
        with opener(stream, 'rb') if opener else nullcontext(stream) as plain:
            yield from read_whole_lines(io.BufferedReader(Transcoder(plain, charset), RAW) if charset else plain)
    except UnicodeError as error:
        raise DataFormatError(f'{name}: expected text in {charset}, found other bytes ({error}): --encoding says how '
                              'the file is written') from None
    except DAMAGE as error:
        raise DataFormatError(f'{name}: the compressed file is cut short or damaged ({error})') from None
    except OSError as error:
        if error.errno is None:
            raise DataFormatError(f'{name}: the compressed file is cut short or damaged ({error})') from None
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

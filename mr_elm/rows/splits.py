"""Cut the files of a data set into splits, find the file of a split, and read one.

Pieces of text are cut the way Hadoop does it, so that every line belongs to exactly one split. A split (start, length)
owns the lines that begin after the first line end at or behind `start` (or at 0) and not behind `start + length`. Files
that are compressed, or not UTF-8 with plain line ends, are one split.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_files import read_parts
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import LineReader
from mr_elm.rows.parsed_rows import ParsedRows
from mr_elm.rows.storage import READ_AHEAD_BYTES, open_ranges, store_of

if TYPE_CHECKING:
    from mr_elm.rows.inputs import InputFile, InputPlan

URI = re.compile(r'(\w+):(?://([^/]*))?(/.*)')
CHUNK_BYTES = 1 << 20  # bytes of text that are read at a time: they stay in the cache of the processor
RAW_BYTES = 1 << 16  # bytes of compressed data read at a time
DAMAGE = (EOFError, zlib.error, zipfile.BadZipFile)  # what zipfile raises
CODECS = {'.gz': 'gzip', '.zst': 'zstd'}  # endings of the names of files -> what pyarrow calls them
COMPRESSED = ('.gz', '.zst', '.bz2', '.zip')
HADOOP_READS = ('.gz', '.bz2')  # endings of the names of compressed files that Hadoop knows
Count = Callable[[int], object]  # called with so many bytes when they are read


def plan_splits(plan: InputPlan, n_maps: int) -> list[list[list[int]]]:
    """Cut the files into the input of at most n_maps tasks of about equal size, in input order.

    Returns a list of tasks, each a list of [file number, start, length]. Compressed files are not cut, others that are
    no text only between their parts.
    """
    share = max(1, -(-plan.size // max(n_maps, 1)))
    tasks: list[list[list[int]]] = [[]]
    room = share
    for number, file in enumerate(plan.files):
        start = 0
        while start < file.size:
            target = start + room
            if find_ending(file.path) or file.format.charset:
                end = file.size
            elif file.cuts:
                _, end = min((abs(cut - target), cut) for cut in (*file.cuts, file.size) if cut > start)
            else:
                end = min(target, file.size)
            tasks[-1].append([number, start, end - start])
            start, room = end, room - (end - start)
            if room <= 0 or start < file.size:
                tasks.append([])
                room = share + (room if file.cuts else 0)
    return [task for task in tasks if task]


def find_file(files: list[InputFile], uri: str) -> int:
    """Return the number of the file that Hadoop calls `uri`."""
    plain = plain_path(uri)
    for number, file in enumerate(files):
        if plain_path(file.uri or file.path) == plain:
            return number
    raise DataFormatError(f'{uri}: expected one of the planned input files')


def plain_path(uri: str) -> str:
    """Reduce a URI to what tells files apart: hdfs:///a and hdfs://host:9000/a are one, ? and # are but letters."""
    match = URI.match(uri)
    if not match:
        return uri
    scheme, host, path = match.groups()
    if scheme in ('hdfs', 'file'):
        return unquote(path)
    if scheme.startswith('s3'):
        return f'{host}{unquote(path)}'
    return uri


def decompress(stream: BinaryIO, name: str) -> Any:
    """Decompress an open file, to its last member, as its name says."""
    import pyarrow as arrow

    ending = find_ending(name)
    if not ending:
        return stream
    if ending == '.zip':
        return open_zip(stream)
    if ending == '.bz2':
        return transform(stream, Bz2Members().expand)
    return io.BufferedReader(arrow.CompressedInputStream(arrow.PythonFile(stream, 'r'), CODECS[ending]), RAW_BYTES)


def transform(stream: BinaryIO, change: Callable[[bytes], bytes]) -> Any:
    """Read a stream whose pieces are changed one by one, the empty one behind the end too."""
    import pyarrow as arrow

    changed = arrow.TransformInputStream(arrow.PythonFile(stream, 'r'), lambda data: change(bytes(data)))
    return io.BufferedReader(changed, RAW_BYTES)


class Bz2Members:
    """Decompress bz2 to its last member: bz2.open leaves a damaged later one out, pyarrow stops at two empty ones."""

    def __init__(self) -> None:
        self.member: bz2.BZ2Decompressor | None = None

    def expand(self, data: bytes) -> bytes:
        """Decompress the next piece. Raises EOFError at the end where a member is cut."""
        if not data and self.member and not self.member.eof:
            raise EOFError('it ends within a member')
        pieces = []
        while data:
            if self.member is None or self.member.eof:
                self.member = bz2.BZ2Decompressor()
            pieces.append(self.member.decompress(data))
            data = self.member.unused_data
        return b''.join(pieces)


def open_zip(stream: BinaryIO) -> Any:
    """Decompress the only file of an open zip archive. Raises zipfile.BadZipFile where that cannot be done."""
    try:
        archive = zipfile.ZipFile(stream)
        members = [file for file in archive.infolist() if not file.is_dir() and not file.filename.startswith('__')]
        if len(members) != 1:
            names = ', '.join(member.filename for member in members[:5])
            raise zipfile.BadZipFile(f'expected an archive of one file, it holds {len(members)}: {names}; unpack it')
        return archive.open(members[0])
    except (ValueError, RuntimeError, struct.error) as error:  # of damaged numbers; of passwords and unknown methods
        raise zipfile.BadZipFile(str(error)) from None


def find_ending(path: str) -> str:
    """Return the ending of the name of a compressed file, '' for plain files."""
    return next((ending for ending in COMPRESSED if str(path).lower().endswith(ending)), '')


def hadoop_cuts(path: str, charset: str | None) -> bool:
    """Tell whether Hadoop itself can read the lines of a file."""
    return charset is None and (not find_ending(path) or str(path).endswith(HADOOP_READS))


def read_stream(
    stream: BinaryIO, name: str, start: int = 0, length: int | None = None, charset: str | None = None
) -> Iterator[bytes]:
    """Yield the lines of one split of an open file as chunks of bytes, each ending with a whole line.

    name : tells whether the file is compressed. charset : the encoding of the text, None for UTF-8 with line feeds.
    Raises DataFormatError when a compressed file is cut or damaged.
    """
    if not find_ending(name) and charset is None:
        yield from read_plain_split(stream, start, length)
        return
    try:
        with decompress(stream, name) as plain:
            text: Any = plain
            if charset:
                text = transform(plain, make_recoder(name, charset))
            yield from read_whole_lines(text)
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # a damaged place is no argument
            raise
        raise DataFormatError(f'{name}: the compressed file is cut short or damaged ({error})') from None


def make_recoder(name: str, charset: str) -> Callable[[bytes], bytes]:
    """Return a function that writes the next piece of a text as UTF-8 with line feeds; the empty one is the last.

    It raises DataFormatError at bytes that are no text. name : of the text, for messages.
    """
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(charset)(), translate=True)

    def recode(data: bytes) -> bytes:
        try:
            return decoder.decode(data, final=not data).encode()
        except UnicodeError as error:
            raise DataFormatError(
                f'{name}: expected text in {charset}, found other bytes ({error}): --encoding says how it is written'
            ) from None

    return recode


def read_whole_lines(stream: BinaryIO, limit: int | None = None) -> Iterator[bytes]:
    """Yield chunks that end with a whole line, until `limit` bytes have been begun or the stream ends."""
    done = 0
    while limit is None or done < limit:
        chunk = stream.read(CHUNK_BYTES if limit is None else min(CHUNK_BYTES, limit - done))
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
    limit = None
    if length is not None:
        limit = length + 1 - skipped
    yield from read_whole_lines(stream, limit)


def count_lines_before(file: InputFile, start: int) -> int:
    """Count the lines, or the rows where these are no lines, in front of a split of a file that begins at `start`."""
    if start == 0:
        return 0
    kind = find_kind(file.format.kind)
    if kind.magic:
        with open_ranges(file.path) as source:
            batches = read_parts(kind.open(source, file.path), file.size, file.format, (0, start))
            return sum(len(batch.block) for _, batch in batches)
    with store_of(file.path).open(file.path) as stream:
        return sum(chunk.count(b'\n') for chunk in read_plain_split(stream, 0, start))


@dataclass(frozen=True)
class SplitReader:
    """Read splits as blocks of rows.

    plan : InputPlan. encoding : Encoding of rows that are tables, or None.
    stop : whether reading ends at the first bad row. block_rows : how many rows of text are read together.
    """

    plan: InputPlan
    encoding: Encoding | None
    stop: bool
    block_rows: int

    def open(self, number: int, start: int, length: int, count: Count) -> tuple[Any, Iterator[Any]]:
        """Return the reader of a split of a file, and the chunks that its `blocks` turns into blocks.

        Where the plan names a folder for parsed rows, the reader keeps them there, or finds them there.
        """
        reader = self.make_reader(number, start)
        if self.plan.parsed is not None:
            path = os.path.join(self.plan.parsed, f'{number}-{start}-{length}')
            reader = ParsedRows(reader, path, length, count)
        return reader, self.read(number, start, length, count)

    def make_reader(self, number: int, start: int) -> Any:
        """Return the reader of a split, which accounts for its lines in `counts`."""
        file = self.plan.files[number]
        reader = find_kind(file.format.kind).reader or LineReader
        return reader(file.format, file.path, start, self.stop, self.block_rows, self.encoding)

    def read(self, number: int, start: int, length: int, count: Count) -> Iterator[Any]:
        """Yield the chunks of whole lines of a split, or its batches where rows are no lines."""
        file = self.plan.files[number]
        path, kind = file.uri or file.path, find_kind(file.format.kind)
        if kind.magic:
            with open_ranges(path) as source:
                parts = kind.open(source, file.path)
                for n_bytes, batch in read_parts(parts, file.size, file.format, (start, length)):
                    count(n_bytes)
                    yield batch
            return
        with store_of(path).open(path, READ_AHEAD_BYTES) as stream:
            for chunk in read_stream(stream, file.path, start, length, file.format.charset):
                start, begin = stream.tell(), start  # of a compressed file, as the size of all rows is
                count(start - begin)
                yield chunk

"""Keep the rows of a split when they are parsed: later passes need not parse them again.

A record is a line of JSON and the bytes behind it: for each block what `packed` says of it, and its arrays. The last
record of a split has no arrays: it holds the counts of the split and its rejected rows. Records stand in a file of this
machine, or wherever an engine keeps them.
"""
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import IO, Any

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block, RejectedRow, RowCounts, widen
from mr_elm.io.formats import RowFormat
from mr_elm.io.packed import count_bytes, describe_block, join_parts, read_parts
from mr_elm.io.splits import count_chunks
from mr_elm.io.store import replace_file

ALIGNMENT = 8  # bytes: the arrays of a record begin at a multiple, or numpy would copy them
Record = tuple[dict, memoryview]  # the line of JSON, and the bytes behind it


class RowKeeper:
    """Make the records of a split. reader : reads the split. split : (file number, start, length)."""

    def __init__(self, reader: Any, split: tuple[int, ...]) -> None:
        self.reader, self.split = reader, split
        self.rejected: dict[int, dict] = {}
        self.n_bytes = 0

    def count(self, n: int) -> None:
        """Count bytes that the reader was given for its next block."""
        self.n_bytes += n

    def keep(self, block: Block) -> bytes:
        """Return the record of a block that the reader has just read."""
        self._note_rejected()  # the caller may empty the list of the reader, or not
        lines = self.reader.row_lines
        header = {**describe_block(block), 'lines': lines.start if isinstance(lines, range) else list(lines)}
        return self._write(header) + join_parts(block, header)

    def close(self, error: str | None = None) -> bytes:
        """Return the last record. error : what made the split unreadable, if anything."""
        self._note_rejected()
        return self._write({'counts': self.reader.counts.to_json(), 'rejected': list(self.rejected.values()),
                            'packing': getattr(self.reader, 'packing', []), 'error': error})

    def _note_rejected(self) -> None:
        self.rejected |= {row.ordinal: vars(row) for row in self.reader.rejected}

    def _write(self, header: dict) -> bytes:
        text = json.dumps({'split': self.split, 'bytes': self.n_bytes, **header}).encode()
        self.n_bytes = 0
        return text.ljust(-(-(len(text) + 1) // ALIGNMENT) * ALIGNMENT - 1) + b'\n'


class KeptRows:
    """Read the records of a split; the same interface as the reader that has read it first.

    form : RowFormat. count : called with the bytes of the input that each record stands for.
    """

    def __init__(self, form: RowFormat, file: str, start: int, count: Callable[[int], object]) -> None:
        self.form, self.count = form, count
        self.counts = RowCounts(file, start)
        self.rejected: list[RejectedRow] = []
        self.packing: list[dict] = []
        self.row_lines: Sequence[int] = ()

    def blocks(self, records: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks. Raises DataFormatError when the split could not be read, or its end is missing."""
        for header, data in records:
            self.count(header['bytes'])
            if 'counts' in header:
                self._close(header)
                return
            block, lines = read_parts(header, data), header['lines']
            self.row_lines = range(lines, lines + len(block)) if isinstance(lines, int) else lines
            self.counts.used += len(block)
            yield replace(block, X=widen(block.X, self.form.n_features or 0))
        raise DataFormatError(f'{self.counts.file}: expected the end of the parsed rows, they were changed')

    def _close(self, end: dict) -> None:
        """Take over the counts of the split, except the rows used: these were counted as they were read."""
        kept = {**end['counts'], 'used': self.counts.used, 'rejected': Counter(end['counts']['rejected'])}
        vars(self.counts).update(kept)
        self.rejected.extend(RejectedRow(**row) for row in end['rejected'])
        self.packing.extend(end['packing'])
        if end['error'] is not None:
            raise DataFormatError(end['error'])


class ParsedRows(KeptRows):
    """Read the rows of a split by a reader; the second time from the file `path`.

    reader, split : as in `RowKeeper`. count : as in `KeptRows`.
    """

    def __init__(self, reader: Any, split: tuple[int, ...], path: str, count: Callable[[int], object]) -> None:
        super().__init__(reader.form, reader.counts.file, reader.counts.start, count)
        self.reader, self.split, self.path = reader, split, path
        self.counts, self.rejected = reader.counts, reader.rejected

    def blocks(self, chunks: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks of the split. chunks : its text, which stays unread where its rows are kept."""
        if not os.path.exists(self.path):
            yield from self._keep(chunks)
            return
        with open(self.path, 'rb') as stream:
            yield from super().blocks(read_records(stream))

    def _keep(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        keeper = RowKeeper(self.reader, self.split)
        with replace_file(self.path) as stream:
            for block in self.reader.blocks(count_chunks(chunks, keeper.count)):
                stream.write(keeper.keep(block))
                self.row_lines = self.reader.row_lines
                yield block
            stream.write(keeper.close())


def read_records(stream: IO[bytes]) -> Iterator[Record]:
    """Yield the records of an open file."""
    while line := stream.readline():
        header = json.loads(line)
        yield header, memoryview(stream.read(0 if 'counts' in header else count_bytes(header)))


def read_record(record: bytes) -> Record:
    """Cut a record behind its line of JSON."""
    start = record.index(b'\n') + 1
    return json.loads(record[:start]), memoryview(record)[start:]


def open_kept(records: Iterable[bytes], files: list[dict], count: Callable[[int], object]) -> Iterator[tuple]:
    """Yield (file number, length, reader, what it reads) for each split whose records these are.

    files : those of the plan. count : as in `KeptRows`.
    """
    whole = map(read_record, records)
    for (number, start, length), some in groupby(whole, lambda record: record[0]['split']):
        file = files[number]
        yield number, length, KeptRows(RowFormat.from_json(file['format']), file['path'], start, count), some

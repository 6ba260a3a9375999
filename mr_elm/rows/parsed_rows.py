"""Keep the rows of a split when they are parsed: later passes need not parse them again.

A record is an Arrow IPC stream of one record batch: a block as of `arrow_blocks`. Its metadata name its split, the
lines of its rows, and the bytes of the input that it stands for. The last record of a split has no rows: its metadata
hold the counts of the split and its rejected rows. Records stand in a file of this machine, one after another, which
later passes map into memory, or wherever an engine keeps them.
"""
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_arrays import refuse_damage
from mr_elm.rows.arrow_blocks import from_batch, read_facts, to_batch, write_facts
from mr_elm.rows.blocks import Block, RejectedRow, RowReader, widen
from mr_elm.rows.options import RowOptions
from mr_elm.store import replace_file

Record = tuple[dict, Any]  # the metadata, and the pyarrow.Table of the rows


class RowKeeper:
    """Make the records of a split. reader : reads the split. split : (file number, start, length)."""

    def __init__(self, reader: Any, split: tuple[int, ...]) -> None:
        self.reader, self.split = reader, split
        self.rejected: dict[int, dict] = {}
        self.n_bytes = 0

    def count(self, n: int) -> None:
        """Count bytes that the reader was given for its next block."""
        self.n_bytes += n

    def keep(self, block: Block) -> Any:
        """Return the record of a block that the reader has just read, as a pyarrow.Buffer."""
        self._note_rejected()  # the caller may empty the list of the reader, or not
        lines = self.reader.row_lines
        batch = to_batch(block, **self._place(), lines=lines.start if isinstance(lines, range) else list(lines))
        return write_record(batch.schema, [batch])

    def close(self, error: str | None = None) -> Any:
        """Return the last record. error : what made the split unreadable, if anything."""
        self._note_rejected()
        facts = {**self._place(), 'counts': self.reader.counts.to_json(), 'rejected': list(self.rejected.values()),
                 'packing': self.reader.packing, 'error': error}
        return write_record(import_module('pyarrow').schema([], write_facts(facts)))

    def _note_rejected(self) -> None:
        self.rejected |= {row.ordinal: vars(row) for row in self.reader.rejected}

    def _place(self) -> dict:
        n_bytes, self.n_bytes = self.n_bytes, 0
        return {'split': self.split, 'bytes': n_bytes}


class KeptRows(RowReader):
    """Read the records of a split. count : called with the bytes of the input that each record stands for."""

    def __init__(self, form: RowOptions, file: str, start: int, count: Callable[[int], object]) -> None:
        super().__init__(form, file, start)
        self.count = count

    def blocks(self, records: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks. Raises DataFormatError when the split could not be read, or its end is missing."""
        for facts, table in records:
            with refuse_damage(f'{self.counts.file}, its rows as they were kept'):
                self.count(facts['bytes'])
                if 'counts' in facts:
                    self._close(facts)
                    return
                [batch] = table.to_batches()
                block, lines = from_batch(batch, facts), facts['lines']
                self.row_lines = range(lines, lines + len(block)) if isinstance(lines, int) else lines
                self.counts.used += len(block)
                block = replace(block, X=widen(block.X, self.form.n_features or 0))
            yield block
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
        with import_module('pyarrow').memory_map(self.path) as source:
            yield from super().blocks(read_records(source, self.path))

    def _keep(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        keeper = RowKeeper(self.reader, self.split)
        with replace_file(self.path) as stream:
            for block in self.reader.blocks(count_chunks(chunks, keeper.count)):
                stream.write(keeper.keep(block))
                self.row_lines = self.reader.row_lines
                yield block
            stream.write(keeper.close())


def write_record(schema: Any, batches: Sequence[Any] = ()) -> Any:
    """Return an Arrow IPC stream as a pyarrow.Buffer."""
    arrow = import_module('pyarrow')
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def read_records(source: Any, name: str) -> Iterator[Record]:
    """Yield the records of an open file. Raises DataFormatError when it is damaged."""
    while source.tell() < source.size():
        with refuse_damage(name):
            record = read_record(source)
        yield record


def read_record(source: Any) -> Record:
    """Read an Arrow IPC stream from a file that stands at its beginning, or from bytes."""
    with import_module('pyarrow').ipc.open_stream(source) as reader:
        return read_facts(reader.schema.metadata), reader.read_all()


def count_chunks(chunks: Iterable[bytes], count: Callable[[int], object]) -> Iterator[bytes]:
    """Pass chunks on, and count the bytes of each as it is read."""
    for chunk in chunks:
        count(len(chunk))
        yield chunk

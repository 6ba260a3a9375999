"""Keep the rows of a split when they are parsed: later passes need not parse them again.

They stand in a file of this machine, which later passes map into memory: a record for each block, one after another. A
record is an Arrow IPC stream of one record batch as of `arrow_blocks`; its metadata name the lines of its rows. The
last record has no rows: its metadata hold the counts of the split and its rejected rows.
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
from mr_elm.store import replace_file


class ParsedRows(RowReader):
    """Read the rows of a split by a reader; the second time from the file `path`.

    length : bytes of the split. count : called with the bytes that records stand for, as these are read instead.
    """

    def __init__(self, reader: Any, path: str, length: int, count: Callable[[int], object]) -> None:
        super().__init__(reader.form, reader.counts.file, reader.counts.start)
        self.reader, self.path, self.length, self.count = reader, path, length, count
        self.counts, self.rejected = reader.counts, reader.rejected

    def blocks(self, chunks: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks of the split. chunks : its text, which stays unread where its rows are kept."""
        if os.path.exists(self.path):
            yield from self._read()
        else:
            yield from self._keep(chunks)

    def _keep(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        rejected: dict[int, RejectedRow] = {}
        with replace_file(self.path) as stream:
            for block in self.reader.blocks(chunks):
                self.row_lines = lines = self.reader.row_lines
                rejected |= {row.ordinal: row for row in self.rejected}  # whom we give the block may empty the list
                batch = to_batch(block, lines=lines.start if isinstance(lines, range) else list(lines))
                stream.write(write_record(batch.schema, [batch]))
                yield block
            rejected |= {row.ordinal: row for row in self.rejected}
            end = {'counts': self.counts.to_json(), 'rejected': list(map(vars, rejected.values()))}
            stream.write(write_record(import_module('pyarrow').schema([], write_facts(end))))

    def _read(self) -> Iterator[Block]:
        name, counted = f'{self.counts.file}, its rows as they were kept', 0
        with import_module('pyarrow').memory_map(self.path) as source:
            for facts, table in read_records(source, name):
                before, counted = counted, self.length * source.tell() // source.size()
                self.count(counted - before)
                with refuse_damage(name):
                    if 'counts' in facts:  # rows are counted as they are read, all else is as it was
                        counts = {**facts['counts'], 'used': self.counts.used}
                        vars(self.counts).update(counts, rejected=Counter(counts['rejected']))
                        self.rejected.extend(RejectedRow(**row) for row in facts['rejected'])
                        return
                    [batch] = table.to_batches()
                    block, self.row_lines = from_batch(batch, facts), facts['lines']
                    if isinstance(self.row_lines, int):
                        self.row_lines = range(self.row_lines, self.row_lines + len(block))
                    block = replace(block, X=widen(block.X, self.form.n_features or 0))
                self.counts.used += len(block)
                yield block
        raise DataFormatError(f'{self.counts.file}: expected the end of the parsed rows, they were changed')


def write_record(schema: Any, batches: Sequence[Any] = ()) -> Any:
    """Return an Arrow IPC stream as a pyarrow.Buffer."""
    import pyarrow as arrow

    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def read_records(source: Any, name: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield (metadata, pyarrow.Table) of the records of an open file. Raises DataFormatError when it is damaged."""
    while source.tell() < source.size():
        with refuse_damage(name), import_module('pyarrow').ipc.open_stream(source) as reader:
            record = read_facts(reader.schema.metadata), reader.read_all()
        yield record

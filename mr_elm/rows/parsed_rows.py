"""Keep the rows of a split when they are parsed: later passes need not parse them again.

They stand in a file of this machine, which later passes map into memory: an Arrow IPC stream of record batches as of
`arrow_blocks`, each with its facts, which name the lines of its rows. The last batch has no rows: its facts are the
counts of the split and its rejected rows.
"""

import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from mr_elm.rows.arrow_arrays import refuse_damage
from mr_elm.rows.arrow_blocks import from_batch, read_facts, to_batch, write_facts
from mr_elm.rows.blocks import Block, RejectedRow, RowReader, widen
from mr_elm.store import replace_file


class ParsedRows(RowReader):
    """Read the rows of a split by a reader; the second time from the file `path`.

    length : bytes of the split. count : called with the bytes that batches stand for, as these are read instead.
    """

    def __init__(self, reader: Any, path: str, length: int, count: Callable[[int], object]) -> None:
        super().__init__(reader.form, reader.counts.file, reader.counts.start)
        self.reader, self.path, self.length, self.count = reader, path, length, count
        self.counts, self.rejected = reader.counts, reader.rejected

    def blocks(self, chunks: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks of the split. chunks : its text, which stays unread where its rows are kept."""
        if os.path.exists(self.path):
            return super().blocks(chunks)
        return self._keep(chunks)

    def _keep(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        import pyarrow as arrow

        rejected: dict[int, RejectedRow] = {}
        batch, writer = arrow.RecordBatch.from_pylist([], arrow.schema([])), None
        with replace_file(self.path) as stream:
            for block in self.reader.blocks(chunks):
                self.row_lines = self.reader.row_lines
                rejected |= {row.ordinal: row for row in self.rejected}  # whom we give the block may empty the list
                batch = to_batch(block, lines=list(self.row_lines))
                writer = writer or arrow.ipc.new_stream(stream, batch.schema)
                writer.write_batch(batch, batch.schema.metadata)
                yield block
            rejected |= {row.ordinal: row for row in self.rejected}
            end = {'counts': vars(self.counts), 'rejected': list(map(vars, rejected.values()))}
            writer = writer or arrow.ipc.new_stream(stream, batch.schema)
            writer.write_batch(batch.slice(0, 0), write_facts(end))
            writer.close()

    def read(self, chunks: Iterable[Any]) -> Iterator[Block]:
        """Yield the blocks that were kept."""
        import pyarrow as arrow

        counted = 0
        name = f'{self.counts.file}, its rows as they were kept'
        with refuse_damage(name), open(self.path, 'rb') as stream:
            pages = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            source = arrow.BufferReader(pages)
            batches = arrow.ipc.open_stream(source)
            while True:
                batch, metadata = batches.read_next_batch_with_custom_metadata()
                facts = read_facts(metadata)
                if 'counts' in facts:  # rows are counted as they are read, all else is as it was
                    self.count(self.length - counted)
                    vars(self.counts).update(facts['counts'], used=self.counts.used)
                    self.counts.rejected = Counter(self.counts.rejected)
                    self.rejected.extend(RejectedRow(**row) for row in facts['rejected'])
                    return
                before, counted = counted, self.length * source.tell() // source.size()
                self.count(counted - before)
                block, self.row_lines = from_batch(batch, facts), facts['lines']
                yield replace(block, X=widen(block.X, self.form.n_features or 0))
                pages.madvise(mmap.MADV_DONTNEED)  # else the memory of the task grows with the split

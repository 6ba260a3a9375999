"""Read the splits of a task, in the formats of the plan."""
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mr_elm.rows.encoding import Encoding
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions
from mr_elm.rows.parsed_rows import ParsedRows
from mr_elm.rows.parts import read_parts
from mr_elm.rows.split_lines import count_chunks
from mr_elm.rows.splits import read_lines
from mr_elm.rows.storage import open_ranges

Count = Callable[[int], object]  # called with so many bytes when they are read


@dataclass(frozen=True)
class SplitReader:
    """Read splits as blocks of rows.

    plan : what `InputPlan.to_json` has made. encoding : Encoding of rows that are tables, or None.
    stop : whether reading ends at the first bad row. block_rows : how many rows of text are read together.
    """

    plan: dict[str, Any]
    encoding: Encoding | None
    stop: bool
    block_rows: int

    def open(self, number: int, start: int, length: int, count: Count) -> tuple[Any, Iterator[Any]]:
        """Return the reader of a split of a file, and the chunks that its `blocks` turns into blocks.

        Where the plan names a folder for parsed rows, the reader keeps them there, or finds them there.
        """
        reader, folder = self.make_reader(number, start), self.plan.get('parsed')
        if folder is not None:
            path = os.path.join(folder, f'{number}-{start}-{length}')
            reader = ParsedRows(reader, (number, start, length), path, count)
        return reader, self.read(number, start, length, count)

    def make_reader(self, number: int, start: int) -> Any:
        """Return the reader of a split, which accounts for its lines in `counts`."""
        file = self.plan['files'][number]
        form = RowOptions.from_json(file['format'])
        return (find_kind(form.kind).reader or LineReader)(
            form, file=file['path'], start=start, stop=self.stop, block_rows=self.block_rows, encoding=self.encoding)

    def read(self, number: int, start: int, length: int, count: Count) -> Iterator[Any]:
        """Yield the chunks of whole lines of a split, or its batches where rows are no lines."""
        file = self.plan['files'][number]
        form = RowOptions.from_json(file['format'])
        kind = find_kind(form.kind)
        if not kind.magic:
            yield from count_chunks(read_lines(file, start, length), count)
            return
        with open_ranges(file['uri']) as source:
            parts = kind.open(source, file['path'])
            for n_bytes, batch in read_parts(source, parts, form, (start, length), self.block_rows):
                count(n_bytes)
                yield batch

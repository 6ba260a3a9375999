"""Read files that are no lines of text, part by part: row groups of Parquet, record batches of Arrow.

A part begins at its share of the file's bytes, so that splits are ranges of bytes as they are of text.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_arrays import refuse_damage
from mr_elm.rows.arrow_columns import ArrowSchema, Batch, BatchMaker, choose_format
from mr_elm.rows.blocks import BLOCK_ROWS, Block, RowReader
from mr_elm.rows.kinds import Kind
from mr_elm.rows.options import RowOptions

Source = Any  # path of a file of this machine, or an open file that can seek
PARQUET = b'PAR1'  # what its files begin and end with
FILE, STREAM = b'ARROW1', b'\xff\xff\xff\xff'
END = STREAM + b'\0\0\0\0'  # of a stream
# bytes of each column that are read at a time: less than a row group, which is fetched whole from elsewhere
BUFFER_BYTES = 1 << 16


class Parts:
    """Read a file in parts.

    source : path of a file of this machine, or an open file that can seek. name : what messages call the file.
    schema : pyarrow.Schema. sizes : how large each part is, in any unit.
    n_rows : the rows of all parts, or None where the end of the file does not say.
    """

    kind: str
    name: str
    schema: Any
    sizes: Sequence[int]
    n_rows: int | None = None

    def choose_format(self, options: RowOptions, folders: tuple[tuple[str, str], ...]) -> RowOptions:
        """Decide how the rows are read; folders : see `RowOptions`. Raises DataFormatError."""
        return choose_format(self.kind, ArrowSchema(self.schema, self.name, folders), options)

    def read(self, numbers: Sequence[int], form: RowOptions, block_rows: int) -> Iterator[tuple[int, Any]]:
        """Yield the rows of neighbouring parts, block_rows together, and the number of the part where they end.

        Raises DataFormatError when a part is damaged.
        """
        import pyarrow as arrow

        maker = BatchMaker(ArrowSchema(self.schema, self.name, form.folders), form)
        waiting: list[Any] = []
        for number in numbers:
            for batch in self.read_part(number, maker.columns, block_rows):
                table = arrow.Table.from_batches([*waiting, batch])
                n_whole = table.num_rows - table.num_rows % block_rows
                for start in range(0, n_whole, block_rows):
                    yield number, maker.make(table.slice(start, block_rows))
                waiting = table.slice(n_whole).to_batches()
        if waiting:
            yield number, maker.make(arrow.Table.from_batches(waiting))

    def read_part(self, number: int, columns: list[str], block_rows: int) -> Iterator[Any]:
        """Yield the record batches of some columns of a part. Raises DataFormatError when it is damaged."""
        raise NotImplementedError


class ParquetParts(Parts):
    """Read a Parquet file by row groups."""

    kind = 'parquet'

    def __init__(self, source: Source, name: str) -> None:
        self.name = name
        with refuse_damage(name):
            self.file = self.open_file(source)
            self.schema = self.file.schema_arrow
            groups = [self.file.metadata.row_group(i) for i in range(self.file.num_row_groups)]
            self.sizes = [max(group.total_byte_size, 0) for group in groups]
            self.n_rows = self.file.metadata.num_rows

    def open_file(self, source: Source) -> Any:
        """Open the file to be read in pieces smaller than a row group."""
        is_path = isinstance(source, str)
        return import_module('pyarrow.parquet').ParquetFile(
            source, page_checksum_verification=True, pre_buffer=not is_path, buffer_size=BUFFER_BYTES if is_path else 0
        )

    def read_part(self, number: int, columns: list[str], block_rows: int) -> Iterator[Any]:
        """Yield the record batches of a row group."""
        with refuse_damage(f'{self.name}, row group {number + 1}'):
            yield from self.file.iter_batches(block_rows, [number], columns, use_threads=False)


class ArrowParts(Parts):
    """Read an Arrow IPC file by record batches, or a stream as one part."""

    kind = 'arrow'

    def __init__(self, source: Source, name: str) -> None:
        import pyarrow as arrow

        self.name = name
        with refuse_damage(name):
            if isinstance(source, str):
                self.stream = arrow.memory_map(source)
            else:
                self.stream = arrow.PythonFile(source, 'r')
            self.is_stream = self.stream.read(len(STREAM)) == STREAM
            if self.is_stream:
                self.stream.seek(-len(END), os.SEEK_END)  # pyarrow takes a cut between two batches for the end
                if self.stream.read() != END:
                    raise DataFormatError(
                        f'{name}: the file is cut short: an Arrow stream ends with a mark, this one has none'
                    )
            self.stream.seek(0)
            self.file = (arrow.ipc.open_stream if self.is_stream else arrow.ipc.open_file)(self.stream)
            self.schema = self.file.schema
            self.sizes = [0] * (1 if self.is_stream else self.file.num_record_batches)

    def read_part(self, number: int, columns: list[str], block_rows: int) -> Iterator[Any]:
        """Yield a record batch, or all of a stream."""
        with refuse_damage(f'{self.name}, record batch {number + 1} or a later one'):
            batches = self.file
            if not self.is_stream:
                batches = [self.file.get_batch(number)]
            for batch in batches:
                batch = batch.select(columns)
                batch.validate(full=True)  # bytes that are no values of their types
                yield batch


def find_cuts(n_bytes: int, sizes: Sequence[int]) -> list[int]:
    """Return the byte at which each part begins: its share of the bytes of the file."""
    ends = np.cumsum([0, *(size + 1 for size in sizes)], dtype=object)
    return [n_bytes * end // ends[-1] for end in ends[:-1]]


def read_parts(
    parts: Parts, n_bytes: int, form: RowOptions, split: tuple[int, int], block_rows: int = BLOCK_ROWS
) -> Iterator[tuple[int, Any]]:
    """Yield the batches of the parts of a file of n_bytes that begin in a split, and how many bytes are new with each.

    split : (start, length).
    """
    done, length = split
    cuts = find_cuts(n_bytes, parts.sizes)
    numbers = [number for number, cut in enumerate(cuts) if done <= cut < done + length]
    for number, batch in parts.read(numbers, form, block_rows):
        end = [*cuts, n_bytes][number + 1]
        yield end - done, batch
        done = end


class BatchReader(RowReader):
    """Turn the batches of one split, also of a pack, into blocks; its rows are counted as lines."""

    def read(self, batches: Iterable[Batch]) -> Iterator[Block | None]:
        """Yield the rows of each batch that can be used."""
        for batch in batches:
            yield self.judge(self.count_lines(len(batch.block)), batch.block, {}, batch.show)


PARQUET_KIND = Kind(reader=BatchReader, magic=(PARQUET,), open=ParquetParts)
ARROW_KIND = Kind(reader=BatchReader, magic=(FILE, STREAM), open=ArrowParts)

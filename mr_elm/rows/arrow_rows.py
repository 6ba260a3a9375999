"""Read the record batches of Arrow IPC files and streams (.arrow, .feather)."""
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import count
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_columns import BatchMaker
from mr_elm.rows.arrow_schema import ArrowSchema, choose_format
from mr_elm.rows.kinds import Kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.parts import Batch, BatchReader, Source, refuse_damage

FILE, STREAM = b'ARROW1', b'\xff\xff\xff\xff'
END = STREAM + b'\0\0\0\0'  # of a stream


class ArrowParts:
    """Read an Arrow IPC file by record batches, or a stream as one part; see `Parts`."""

    def __init__(self, source: Source, name: str) -> None:
        arrow = import_module('pyarrow')
        self.name = name
        with refuse_damage(name):
            is_path = isinstance(source, str)
            self.stream = stream = arrow.memory_map(source) if is_path else arrow.PythonFile(source, 'r')
            self.is_stream = stream.read(len(STREAM)) == STREAM
            if self.is_stream:
                demand_end(stream, name)
            stream.seek(0)
            self.file = (arrow.ipc.open_stream if self.is_stream else arrow.ipc.open_file)(stream)
            self.schema = self.file.schema
            self.sizes: Sequence[int] = [0] * (1 if self.is_stream else self.file.num_record_batches)

    @cached_property
    def n_rows(self) -> int | None:
        """Count the rows of a file without reading their values; None for a stream."""
        if self.is_stream:
            return None
        with refuse_damage(self.name):
            fragment = import_module('pyarrow.dataset').IpcFileFormat().make_fragment(self.stream)
            return fragment.count_rows(use_threads=False)

    def choose_format(self, options: RowOptions, folders: tuple[tuple[str, str], ...]) -> RowOptions:
        """Decide which columns are label, weight and features. Raises DataFormatError when they cannot be."""
        return choose_format('arrow', ArrowSchema(self.schema, self.name, folders), options)

    def read(self, numbers: Sequence[int], form: RowOptions, block_rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield the rows of record batches; see `Parts`."""
        maker = BatchMaker(ArrowSchema(self.schema, self.name, form.folders), form)
        parts = ((number, self.read_part(number, maker.columns)) for number in numbers)
        return maker.make_all(parts, block_rows)

    def read_columns(self, columns: list[str]) -> Iterator[Any]:
        """Yield some columns of all record batches."""
        for number in range(len(self.sizes)):
            yield from self.read_part(number, columns)

    def read_part(self, number: int, columns: list[str]) -> Iterator[Any]:
        """Yield a record batch, or all of a stream. Raises DataFormatError when one is damaged."""
        if self.is_stream:
            yield from self.read_stream(columns)
            return
        with refuse_damage(f'{self.name}, record batch {number + 1}'):
            yield check(self.file.get_batch(number), columns)

    def read_stream(self, columns: list[str]) -> Iterator[Any]:
        """Yield the record batches of a stream. Raises DataFormatError when one is damaged."""
        for number in count(1):
            with refuse_damage(f'{self.name}, record batch {number}'):
                try:
                    batch = check(self.file.read_next_batch(), columns)
                except StopIteration:
                    return
            yield batch


def check(batch: Any, columns: list[str]) -> Any:
    """Return some columns of a record batch. Raises ValueError when their bytes cannot be values of their types."""
    batch = batch.select(columns)
    batch.validate(full=True)
    return batch


def demand_end(stream: Any, name: str) -> None:
    """Raise DataFormatError when a stream has no end mark: pyarrow takes a cut between two batches for the end."""
    stream.seek(-len(END), os.SEEK_END)
    if stream.read() != END:
        raise DataFormatError(f'{name}: the file is cut short: an Arrow stream ends with a mark, this one has none')


KIND = Kind(reader=BatchReader, magic=(FILE, STREAM), open=ArrowParts)

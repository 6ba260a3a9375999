"""Read the row groups of Parquet files."""
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from mr_elm.rows.arrow_columns import BatchMaker
from mr_elm.rows.arrow_schema import ArrowSchema, choose_format
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.rows.kinds import Kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.parts import Batch, BatchReader, Source, refuse_damage

# bytes of each column that are read at a time: less than a row group, which is fetched whole from elsewhere
BUFFER = 1 << 16
PARQUET = b'PAR1'  # what its files begin and end with


class ParquetParts:
    """Read a Parquet file by row groups; see `Parts`."""

    def __init__(self, source: Source, name: str) -> None:
        self.name = name
        with refuse_damage(name):
            self.file = self.open_file(source)
            self.schema = self.file.schema_arrow
            groups = [self.file.metadata.row_group(i) for i in range(self.file.num_row_groups)]
            self.sizes: Sequence[int] = [max(group.total_byte_size, 0) for group in groups]
            self.n_rows: int | None = self.file.metadata.num_rows

    def open_file(self, source: Source) -> Any:
        """Open the file to be read in pieces smaller than a row group."""
        is_path = isinstance(source, str)
        return import_module('pyarrow.parquet').ParquetFile(
            source, page_checksum_verification=True, pre_buffer=not is_path, buffer_size=BUFFER if is_path else 0)

    def choose_format(self, options: RowOptions, folders: tuple[tuple[str, str], ...]) -> RowOptions:
        """Decide which columns are label, weight and features. Raises DataFormatError when they cannot be."""
        return choose_format('parquet', ArrowSchema(self.schema, self.name, folders), options)

    def read(self, numbers: Sequence[int], form: RowOptions, block_rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield the rows of row groups; see `Parts`."""
        maker = BatchMaker(ArrowSchema(self.schema, self.name, form.folders), form)
        groups = ((number, self.read_group(number, maker.columns, block_rows)) for number in numbers)
        return maker.make_all(groups, block_rows)

    def read_columns(self, columns: list[str]) -> Iterator[Any]:
        """Yield the record batches of some columns of all row groups."""
        for number in range(len(self.sizes)):
            yield from self.read_group(number, columns, BLOCK_ROWS)

    def read_group(self, number: int, columns: list[str], block_rows: int) -> Iterator[Any]:
        """Yield the record batches of a row group. Raises DataFormatError when it is damaged."""
        with refuse_damage(f'{self.name}, row group {number + 1}'):
            yield from self.file.iter_batches(block_rows, [number], columns, use_threads=False)


KIND = Kind(reader=BatchReader, magic=(PARQUET,), open=ParquetParts)

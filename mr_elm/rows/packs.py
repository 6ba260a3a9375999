"""Keep rows in files of Parquet whose row groups are blocks, so that nobody parses them again and all tools read them.

The columns of a file are those of `arrow_blocks`, and so are the facts, in the metadata of its footer. Each page has a
checksum, which readers verify; the manifest of the pack has that of each footer.
"""

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_arrays import refuse_damage
from mr_elm.rows.arrow_blocks import from_batch, read_facts, to_batch, write_facts
from mr_elm.rows.arrow_columns import Batch
from mr_elm.rows.arrow_files import PARQUET, BatchReader, ParquetParts, Source
from mr_elm.rows.blocks import Block, EncodedRows, take_rows
from mr_elm.rows.kinds import Kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import MANIFEST, store_of, write_file

MAX_RECORD = 8 << 20  # bytes of features of a row group: a task holds one
DICTIONARIES = ['label', 'part', 'ones.list.element']  # columns with few values
FOOTER_END_BYTES = 8  # bytes behind the footer of Parquet: its length, and PARQUET
FORMAT = {'format': 'mr_elm-pack', 'version': 1}
NEEDED = {'files', 'n_rows', 'labels', 'statistics', 'rejected', 'input', 'task'}


def cut_to_records(block: Block) -> Iterator[Block]:
    """Cut a block into pieces that fit a row group; most blocks are one."""
    rows = -(-len(block) // max(1, -(-measure(block.X) // MAX_RECORD)))
    for start in range(0, len(block), rows):
        if rows < len(block):
            yield take_rows(block, slice(start, start + rows))
        else:
            yield block


def measure(X: Any) -> int:
    """Return the bytes of the features of a block."""
    if isinstance(X, EncodedRows):
        return 8 * X.numbers.size + 4 * X.ones.size
    if sp.issparse(X):
        return 12 * X.nnz
    return 8 * X.size


class PackWriter:
    """Write blocks to a file of Parquet, which is whole when it is closed.

    path : of a file of this machine. dtype : float32 or float64, how features are kept. facts : more of the metadata,
    what JSON can hold. n_rows, n_groups : that were written.
    """

    def __init__(self, path: str, dtype: str = 'float64', **facts: Any) -> None:
        self.path, self.dtype, self.facts = path, dtype, facts
        self.writer: Any = None
        self.n_rows = self.n_groups = 0

    def write(self, block: Block) -> None:
        """Write a block as a row group, or as several where its rows are wide. Blocks are of one kind."""
        for piece in cut_to_records(block):
            batch = to_batch(replace(piece, X=convert(piece.X, self.dtype)))
            facts = read_facts(batch.schema.metadata)
            self.facts |= facts | {'columns': max(facts['columns'], self.facts.get('columns', 0))}
            table = import_module('pyarrow').Table.from_batches([batch]).replace_schema_metadata()
            if self.writer is None:
                self.writer = import_module('pyarrow.parquet').ParquetWriter(
                    self.path,
                    table.schema,
                    compression='none',
                    use_dictionary=DICTIONARIES,
                    write_statistics=False,
                    write_page_checksum=True,
                    data_page_size=2 * MAX_RECORD,
                )
            self.writer.write_table(table, row_group_size=len(piece))
            self.n_rows += len(piece)
            self.n_groups += 1

    def close(self) -> None:
        """Write the footer."""
        if self.writer is not None:
            self.writer.add_key_value_metadata(write_facts(self.facts))
            self.writer.close()


def convert(X: Any, dtype: str) -> Any:
    """Return rows whose numbers are of a type."""
    if isinstance(X, EncodedRows):
        return replace(X, numbers=X.numbers.astype(dtype))
    return X.astype(dtype, copy=False)


class PackParts(ParquetParts):
    """Read a file of a pack by row groups, each a block; see `Parts`."""

    def open_file(self, source: Source) -> Any:
        """Open the file to be read by whole row groups."""
        return import_module('pyarrow.parquet').ParquetFile(source, page_checksum_verification=True)

    def choose_format(self, options: RowOptions, folders: Sequence[tuple[str, str]]) -> RowOptions:
        """Return the RowOptions: a pack says the rest itself."""
        return options.decide('packed')

    def read(self, numbers: Sequence[int], form: RowOptions, block_rows: int) -> Iterator[tuple[int, Any]]:
        """Yield each row group. Raises DataFormatError when one is damaged."""
        with refuse_damage(self.name):
            facts = read_facts(self.file.metadata.metadata)
        for number in numbers:
            with refuse_damage(f'{self.name}, row group {number + 1}'):
                [record_batch] = self.file.read_row_group(number, use_threads=False).combine_chunks().to_batches()
                batch = Batch(from_batch(record_batch, facts), record_batch)
            yield number, batch


def sum_footer(source: Source) -> int:
    """Return the CRC-32 of the footer of a file of Parquet, a path of this machine or an open file."""
    if isinstance(source, str):
        with open(source, 'rb') as stream:
            return sum_footer(stream)
    source.seek(-FOOTER_END_BYTES, os.SEEK_END)
    size = int(np.frombuffer(source.read(FOOTER_END_BYTES), '<u4', 1)[0])
    source.seek(-FOOTER_END_BYTES - size, os.SEEK_END)
    return zlib.crc32(source.read(size))


def write_manifest(folder: str, facts: Mapping[str, Any]) -> None:
    """Close a pack. facts : what JSON can hold; format, version and checksum are added."""
    manifest = {**FORMAT, **facts}
    text = json.dumps({**manifest, 'crc32': checksum(manifest)}, indent=1)
    with write_file(f'{folder}/{MANIFEST}') as local, open(local, 'w') as stream:
        stream.write(text + '\n')


def checksum(manifest: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a manifest, all but its own crc32."""
    plain = {key: value for key, value in manifest.items() if key != 'crc32'}
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


def load_manifest(folder: str) -> dict:
    """Read the manifest of a pack as a dictionary. Raises DataFormatError when it is none."""
    path = f'{folder}/{MANIFEST}'
    try:
        with store_of(path).open(path) as stream:
            manifest = json.load(stream)
        if {**manifest, **FORMAT} != manifest:
            raise ValueError('another format or version')
        if missing := NEEDED - set(manifest):
            raise ValueError(f'without {", ".join(sorted(missing))}')
        if manifest.get('crc32') != checksum(manifest):
            raise ValueError('it was altered: its checksum does not match')
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataFormatError(f'{path}: expected the manifest of a pack ({error})') from None
    return manifest


KIND = Kind(reader=BatchReader, magic=(PARQUET,), open=PackParts)

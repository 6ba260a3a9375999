"""Read blocks of rows that a stage, or a driver, has written as lines for the next stage."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.rows.blocks import Block, RowReader
from mr_elm.rows.kinds import Kind
from mr_elm.rows.text import quote
from mr_elm.rows.wire import WireProtocol, demand_arrays, make_key, split_key

BLOCK = 'block'
LINE = re.compile(r'(block|counts|rejected|error)( [\w%.-]+)*\t[^\t]+\t[0-9a-f]{8}')


def write_block(X: np.ndarray, *coordinates: int | str) -> bytes:
    """Write rows as one line, without its end. coordinates : name the block, perhaps not at all."""
    return WireProtocol().write(make_key(BLOCK, *coordinates), [X])


class WireReader(RowReader):
    """Read the lines of one split, each a block; their rows are counted as lines.

    The coordinates of a block are the label of its rows, with a space between.
    """

    def read(self, chunks: Iterable[bytes]) -> Iterator[Block | None]:
        """Yield the block of each line. Raises DataFormatError with the position of a line that holds none."""
        for line in (line for chunk in chunks for line in chunk.split(b'\n') if line):
            self.counts.records += 1
            try:
                block = self._read(line)
            except ValueError as error:
                where = f'record {self.counts.records} behind byte {self.counts.start}'
                raise DataFormatError(f'{self.counts.file}, {where}: expected rows ({error})') from None
            if block is not None:
                self.row_lines = range(self.counts.lines, self.counts.lines + len(block))
                self.counts.lines += len(block)
            yield block

    def _read(self, line: bytes) -> Block | None:
        key, value = WireProtocol().read(line)
        kind, coordinates = split_key(key)
        if isinstance(value, dict):
            self.packing.append({'kind': kind, 'place': list(map(int, coordinates)), **value})
            return None
        [X] = demand_arrays(value, 1)
        if kind != BLOCK or X.ndim != 2:
            raise DataFormatError(f'expected a block of rows, found {quote(key)}')
        if not coordinates:
            return Block(X)
        return Block(X, (' '.join(coordinates),), np.zeros(len(X), np.int32))


KIND = Kind(
    lambda lines, path, options: options.decide('wire'),
    lambda lines: LINE.fullmatch(next(iter(lines), '')) is not None,
    reader=WireReader,
)

"""Read blocks of rows that a stage, or a driver, has written as lines for the next stage."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.rows.blocks import Block, RowReader
from mr_elm.rows.kinds import Kind
from mr_elm.rows.text import quote
from mr_elm.rows.wire import WireProtocol, make_key, split_key

BLOCK = 'block'
LINE = re.compile(r'(block|counts|rejected|error)( [\w%.-]+)*\t[^\t]+\t[0-9a-f]{8}')


def write_block(X: np.ndarray, *coordinates: int | str) -> bytes:
    """Write rows as one line, without its end. coordinates : name the block, perhaps not at all."""
    return WireProtocol().write(make_key(BLOCK, *coordinates), [X])


class WireReader(RowReader):
    """Read the lines of one split, each a block; their rows are counted as lines.

    The coordinates of a block are the label of its rows, with a space between.
    """

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """Yield the blocks. Raises DataFormatError with the position of a line that is damaged or holds none."""
        for chunk in chunks:
            for line in chunk.split(b'\n'):
                if line:
                    self.counts.records += 1
                    yield from self._read(line)

    def _read(self, line: bytes) -> Iterator[Block]:
        try:
            key, value = WireProtocol().read(line)
        except DataFormatError as error:
            raise DataFormatError(f'{self._position()}: {error}') from None
        kind, coordinates = split_key(key)
        if isinstance(value, dict):
            try:
                self.packing.append({'kind': kind, 'place': [int(c) for c in coordinates], **value})
            except ValueError:
                raise DataFormatError(f'{self._position()}: expected a place in numbers, found {quote(key)}') from None
            return
        if kind != BLOCK or len(value) != 1 or value[0].ndim != 2:
            raise DataFormatError(f'{self._position()}: expected a block of rows, found {kind} of {len(value)} arrays')
        block = Block(value[0])
        if coordinates:
            block = Block(value[0], (' '.join(coordinates),), np.zeros(len(block), np.int32))
        self.row_lines = range(self.counts.lines, self.counts.lines + len(block))
        self.counts.lines += len(block)
        self.counts.used += len(block)
        yield block

    def _position(self) -> str:
        where = ''
        if self.counts.start:
            where = f', behind byte {self.counts.start}'
        return f'{self.counts.file}, record {self.counts.records}{where}'


KIND = Kind(
    lambda lines, path, options: options.decide('wire'),
    lambda lines: LINE.fullmatch(next(iter(lines), '')) is not None,
    reader=WireReader,
)

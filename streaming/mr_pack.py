"""Pack the rows of a data set into binary blocks, one a line."""
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from mrjob.protocol import RawValueProtocol

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block
from mr_elm.io.packed import END_MARK, cut_to_records, decode_end, encode_block, encode_end
from mr_elm.io.wire import make_key, split_key
from mr_elm.streaming.stage import MRRows, Pair, Place


class LinesProtocol(RawValueProtocol):
    """Write values, which are bytes of one line, and nothing else."""

    def write(self, key: str, value: Any) -> bytes:
        """Write a line, without its end."""
        return value


class MRPack(MRRows):
    """Write rows as packed blocks, a line each. There is no reduce step.

    Input:  <split, rows>, text
    Output: <mr_elm-block, JSON TAB base64>
                up to --block-rows rows: the header of the block and its numbers
            <mr_elm-end, JSON>
                a record about the input (see below): its kind, its coordinates as
                the list `place`, and its fields; it closes what a task wrote

    Map:    pack each block.

    docs/wire.md describes both lines to the byte.
    """

    OUTPUT_PROTOCOL = LinesProtocol
    MAP_ONLY = True

    def configure_args(self) -> None:
        """Add how features are kept."""
        super().configure_args()
        self.add_passthru_arg('--dtype', choices=('float32', 'float64'), default='float64',
                              help='how to keep features (default: %(default)s)')

    def map_block(self, block: Block, place: Place) -> Iterator[Pair]:
        """Pack a block."""
        values = block.X.data if sp.issparse(block.X) else block.X
        if self.options.dtype == 'float32' and np.abs(values).max(initial=0) > np.finfo('float32').max:
            raise DataFormatError('expected numbers within the range of float32, found larger ones')
        for piece in cut_to_records(block):
            yield '', encode_block(piece, self.options.dtype, self.numeric)

    @staticmethod
    def watch(lines: Iterable[bytes], take: Callable[[str, Any], object]) -> Iterator[bytes]:
        """Pass on lines that the job has written; `take` gets key and value of the records about the input."""
        for line in lines:
            if line.startswith(END_MARK):
                facts = decode_end(line.rstrip(b'\n'))
                take(make_key(facts.pop('kind'), *facts.pop('place')), facts)
            yield line

    def drain(self) -> Iterable[Pair]:
        """Write the records about the input as end lines."""
        for key, value in super().drain():
            kind, coordinates = split_key(key)
            facts = {'kind': kind, 'place': [int(c) for c in coordinates], **value}
            yield '', encode_end(facts)


if __name__ == '__main__':
    MRPack.run()

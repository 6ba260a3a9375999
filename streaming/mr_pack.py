"""Pack the rows of a data set into binary blocks, one a line."""
from collections.abc import Iterator
from typing import Any

import numpy as np
from mrjob.protocol import RawValueProtocol

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block
from mr_elm.io.packed import cut_to_records, encode_block, encode_end
from mr_elm.io.wire import split_key
from mr_elm.streaming.stage import MRRows, Pair, Place


class PackedProtocol(RawValueProtocol):
    """Write packed blocks, which are bytes of one line, and records about the input as end lines."""

    def write(self, key: str, value: Any) -> bytes:
        """Write a line, without its end."""
        if isinstance(value, bytes):
            return value
        kind, coordinates = split_key(key)
        return encode_end({'kind': kind, 'place': [int(c) for c in coordinates], **value})


class MRPack(MRRows):
    """Write rows as packed blocks, a line each. There are no reducers.

    Input:  <split, rows>, text
    Output: <mr_elm-block, JSON TAB base64>
                up to --block-rows rows: the header of the block and its numbers
            <mr_elm-end, JSON>
                a record about the input (see below): its kind, its coordinates as
                the list `place`, and its fields; it closes what a task wrote

    Map:    pack each block.

    docs/wire.md describes both lines to the byte.
    """

    OUTPUT_PROTOCOL = PackedProtocol
    MAP_ONLY = True
    ENCODED = True

    def configure_args(self) -> None:
        """Add how features are kept."""
        super().configure_args()
        self.add_passthru_arg('--dtype', choices=('float32', 'float64'), default='float64',
                              help='how to keep features (default: %(default)s)')

    def map_block(self, block: Block, place: Place) -> Iterator[Pair]:
        """Pack a block."""
        values = getattr(block.X, 'numbers', block.X.data if sp.issparse(block.X) else block.X)
        if self.options.dtype == 'float32' and np.abs(values).max(initial=0) > np.finfo('float32').max:
            raise DataFormatError('expected numbers within the range of float32, found larger ones')
        for piece in cut_to_records(block):
            yield '', encode_block(piece, self.options.dtype)


if __name__ == '__main__':
    MRPack.run()

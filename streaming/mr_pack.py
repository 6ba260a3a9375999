"""Pack the rows of a data set: each task writes a file of Parquet of its own, whose row groups are blocks."""

import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError
from mr_elm.rows.blocks import Block
from mr_elm.rows.packs import PackWriter, sum_footer
from mr_elm.rows.storage import store_of
from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows, Pair, RowKey

FILE = 'file'


class MRPack(MRRows):
    """Write rows as files of Parquet, one a task. There are no reducers.

    Input:  <split, rows>, text
    Output: <file FILE START, JSON>
                the file that a task wrote to the folder --into, of the rows of the
                split FILE START and those behind it: name; rows; groups, how many
                row groups; footer, the CRC-32 of its footer. A task without rows
                writes none

    Map:    write each block of up to --block-rows rows as a row group.

    Each attempt of a task writes a file of another name. Those that FILE records
    name are the pack; other files in the folder are left-overs.
    docs/wire.md describes the files.
    """

    MAP_ONLY = True
    ENCODED = True
    REQUIRED = ('into',)

    def configure_args(self) -> None:
        """Add where the files go, and how features are kept."""
        super().configure_args()
        self.add_passthru_arg('--into', metavar='FOLDER', help='where tasks write their files')
        self.add_passthru_arg(
            '--dtype',
            choices=('float32', 'float64'),
            default='float64',
            help='how to keep features (default: %(default)s)',
        )

    def map_begin(self) -> None:
        """Start with nothing written."""
        self.first: RowKey = []
        self.stack = ExitStack()

    def map_block(self, block: Block, row_key: RowKey) -> None:
        """Write a block."""
        values = getattr(block.X, 'numbers', block.X.data if sp.issparse(block.X) else block.X)
        if self.options.dtype == 'float32' and np.abs(values).max(initial=0) > np.finfo('float32').max:
            raise DataFormatError('expected numbers within the range of float32, found larger ones')
        if not self.first:
            self.first = row_key[:2]
            self.folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix='mr_elm-'))
            names: Sequence[str] | None = self.plan.form.names
            if self.encoding:
                names = self.encoding.names
            self.writer = PackWriter(
                os.path.join(self.folder, 'rows'),
                self.options.dtype,
                names=names,
                target_names=self.plan.form.target_names,
            )
        self.writer.write(block)

    def map_end(self) -> Iterator[Pair]:
        """Put the file where it belongs, under a name of its own that sorts as its rows do."""
        if not self.first:
            return
        with self.stack:
            self.writer.close()
            number, start = self.first
            name = f'{number:06d}-{start:015d}-{uuid.uuid4().hex}.parquet'
            store = store_of(self.options.into)
            store.make_folder(self.options.into)
            store.put(self.writer.path, f'{self.options.into}/{name}')
            yield (
                make_key(FILE, *self.first),
                {
                    'name': name,
                    'rows': self.writer.n_rows,
                    'groups': self.writer.n_groups,
                    'footer': sum_footer(self.writer.path),
                },
            )


if __name__ == '__main__':
    MRPack.run()

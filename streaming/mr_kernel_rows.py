"""Compute what needs all rows X beside those of a split: rows of the kernel matrix, or their product with vectors."""

from collections.abc import Iterator, Sequence

from mr_elm.features.kernel_tiles import TILE_ROWS
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import KernelModel
from mr_elm.rows.blocks import Block, widen
from mr_elm.rows.wire import make_key
from mr_elm.store import load_arrays, read_json
from mr_elm.streaming.stage import MRRows, demand_width


class MRKernelRows(MRRows):
    """Compute rows of the kernel matrix. There are no reducers, and no shuffle.

    Each task gets all N scaled rows X by --rows.

    Input:  <split, rows>, text or packed
    Output: <tile ROW COLUMN, [K]>
                the kernel values of the rows ROW, ROW + 1, ... of X with the rows
                COLUMN, COLUMN + 1, ..., up to the diagonal: at most (512, 512)

    Map:    scale each block, compare it with X.

    --starts tells which row of X is the first one of a split.
    """

    REQUIRED: tuple[str, ...] = ('rows', 'starts')
    INPUT_FILES = {
        '--rows': 'npz: kernel, scaling and all rows X, like a model',
        '--starts': 'JSON: [file, split start, number of its first row] for each split',
    }
    MAP_ONLY = True

    def map_begin(self) -> None:
        """Load X."""
        header, arrays = load_arrays(self.options.rows)
        self.model = KernelModel(ModelHeader.from_json(header), arrays)
        if self.options.starts is not None:
            self.starts = {(file, start): first for file, start, first in read_json(self.options.starts)}

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Emit the tiles of a block."""
        demand_width(block.X, self.model.n_features)
        X, first = widen(block.X, self.model.n_features), self.starts[row_key[0], row_key[1]] + row_key[2]
        for start in range(0, len(block), TILE_ROWS):
            Z = self.model.scale(X[start : start + TILE_ROWS])
            row = first + start
            for part, tile in self.model.tiles.parts(Z, row + Z.shape[0]):
                yield make_key('tile', row, part.start), [tile]


if __name__ == '__main__':
    MRKernelRows.run()

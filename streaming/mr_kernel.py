"""Compute the kernel matrix from columns of the data: Algorithm 1 of Zhao et al., 2015, entry by entry or in tiles."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from mr_elm.features.kernels import Kernel, row_squares
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.machines.kernel import CACHE_BYTES
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.streaming.stage import MRRows, read_json
from mr_elm.typing import Floats, Rows

TILE = 512  # rows and columns of a tile
ENTRY_BYTES = 57  # of one entry on the wire
COLUMN_GROUPS = 16  # records that columns are cut into, at least, so that tasks can share them


def tile_corners(n_rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first row and column of each tile of the lower triangle."""
    for i in range(0, n_rows, TILE):
        for j in range(0, i + 1, TILE):
            yield i, j


def count_columns(n_rows: int, n_features: int) -> int:
    """Return how many columns make a block."""
    return max(1, min(RECORD_BYTES // (8 * n_rows), n_features // COLUMN_GROUPS))


def choose_step(kernel: Kernel, X: Rows) -> float:
    """Return the grid on which sums of all columns of X are exact: 2^-51 of their bound."""
    bound = (4 if kernel.kind.of_distance else 1) * max(float(row_squares(X).max()), 1e-200)
    return float(2.0 ** (np.ceil(np.log2(bound)) - 51))


def predict_shuffle(n_rows: int, n_features: int, emit: str, n_maps: int) -> tuple[int, int]:
    """Predict the bytes that the stage shuffles, and its records."""
    pairs = n_rows * (n_rows + 1) // 2
    if emit == 'entries':
        return pairs * n_features * ENTRY_BYTES, pairs * n_features
    n_tiles = n_maps * sum(1 for _ in tile_corners(n_rows))
    return int(min(n_tiles * TILE**2, n_maps * n_rows**2) * NUMBER_BYTES), n_tiles


def finish_totals(kernel: Kernel, totals: Floats, same: np.ndarray | bool) -> Floats:
    """Turn sums over all columns, an array, into kernel values; `same` marks a row with itself."""
    if kernel.kind.of_distance:
        totals = np.where(same, 0.0, np.maximum(totals, 0.0))
    kernel.kind.transform(totals, kernel.factor)
    return totals


class MRKernel(MRRows):
    """Compute the kernel matrix from the columns of the data: Algorithm 1.

    Input:  <split, columns>: packed blocks whose rows are columns of the scaled
            data, a feature each; X_i is the number of row i in a column
    Output: --emit tiles: <tile I J, [K]>
                the kernel values of the rows I, I + 1, ... with the rows J, J + 1,
                ...: shape (512, 512), smaller at the end; I >= J are multiples of
                512
            --emit entries: <entry I J, [value]>
                the kernel value of rows I and J, shape (); all I and J

    Map:    the share of each column in the squared distance, (X_i - X_j)^2, or in
            the inner product, X_i X_j, of rows i and j <= i; tiles are summed over
            the columns of the task.
    Reduce: add the shares, apply the kernel, exp(-sum / (2 sigma^2)); entries are
            written as (i, j) and as (j, i).

    Shares in tiles are rounded to a fine grid, on which sums are exact: which task
    gets which column does not change a bit.
    Source: Zhao et al., Kernelized extreme learning machine in distributed
    environment, 2015, Algorithm 1; tiles and other kernels are ours. The paper
    writes the diagonal twice, we write it once.
    """

    REQUIRED = ('kernel',)

    def configure_args(self) -> None:
        """Add the kernel and what is emitted."""
        super().configure_args()
        self.add_passthru_arg(
            '--emit',
            choices=('entries', 'tiles'),
            default='tiles',
            help='write the matrix entry by entry or in tiles (default: %(default)s)',
        )
        self.add_file_arg('--kernel', help='JSON: [name of the kernel, its parameters, grid of the sums]')

    @cached_property
    def kernel(self) -> Kernel:
        """Return the Kernel."""
        return Kernel(*self.description[:2])

    @property
    def step(self) -> float:
        """Return the grid of the sums."""
        return self.description[2]

    @cached_property
    def description(self) -> list:
        """Return what --kernel says: name, parameters, grid."""
        return read_json(self.options.kernel)

    def map_begin(self) -> None:
        """Start without columns."""
        self.columns: list[tuple[Floats, Floats]] = []
        self.n_bytes = 0
        self.of_distance = self.kernel.kind.of_distance

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Emit the shares of some columns, (columns, N), or keep them until they fill the memory of a task."""
        if self.options.emit == 'entries':
            for column in block.X:
                yield from self.multiply_column(column)
        else:
            if self.of_distance:
                centred = block.X - block.X.mean(axis=1, keepdims=True)
            else:
                centred = block.X
            X = np.ascontiguousarray(centred.T)
            self.columns.append((X, row_squares(X) / self.step))
            self.n_bytes += X.nbytes
            if self.n_bytes > CACHE_BYTES:
                yield from self.map_end()
                self.map_begin()

    def multiply_column(self, X: Floats) -> Iterator[tuple[str, object]]:
        """Yield the shares of one column. Source: Algorithm 1, lines 3 to 8."""
        for i in range(len(X)):
            for j in range(i + 1):
                yield make_key('entry', i, j), [(X[i] - X[j]) ** 2 if self.of_distance else X[i] * X[j]]

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit the tiles of the columns that were kept, one after another."""
        for i, j in tile_corners(len(self.columns[0][0]) if self.columns else 0):
            rows, others = slice(i, i + TILE), slice(j, j + TILE)
            shares = (self.compute_share(X, squares, rows, others) for X, squares in self.columns)
            yield make_key('tile', i, j), [sum(shares) * self.step]

    def compute_share(self, X: Floats, squares: Floats, rows: slice, others: slice) -> Floats:
        """Return the share of some columns in a tile, in steps of the grid, whole ones: a step is a power of 2."""
        factor = 1
        if self.of_distance:
            factor = -2
        tile = X[rows] * (factor / self.step) @ X[others].T
        if self.of_distance:
            tile += squares[rows, None]
            tile += squares[others]
        return np.rint(tile, out=tile)

    def reducer(self, key: str, values: Iterable) -> Iterator[tuple[str, object]]:
        """Sum, and turn into kernel values; pass on what else there is."""
        kind, coordinates = split_key(key)
        if kind not in ('entry', 'tile'):
            yield from super().reducer(key, values)
            return
        i, j = map(int, coordinates)
        yield from (self.finish_entry if kind == 'entry' else self.finish_tile)(i, j, values)

    def finish_entry(self, i: int, j: int, values: Iterable) -> Iterator[tuple[str, object]]:
        """Yield an entry and its mirror image. Source: Algorithm 1, lines 10 to 15."""
        total = np.array(math.fsum(float(value) for (value,) in values))
        value = finish_totals(self.kernel, total[None], i == j)[0]
        yield make_key('entry', i, j), [value]
        if i != j:
            yield make_key('entry', j, i), [value]

    def finish_tile(self, i: int, j: int, values: Iterable) -> Iterator[tuple[str, object]]:
        """Yield a tile of kernel values."""
        total = sum(tile for (tile,) in values)
        same = np.eye(*total.shape, dtype=np.bool_) if i == j else False
        yield make_key('tile', i, j), [finish_totals(self.kernel, total, same)]


if __name__ == '__main__':
    MRKernel.run()

"""Compute the kernel matrix from columns of the data: Algorithm 1 of Zhao et al., 2015, entry by entry or in tiles."""
import math
from functools import cached_property

import numpy as np

from mr_elm.features.kernels import Kernel, row_squares
from mr_elm.io.wire import make_key, split_key
from mr_elm.streaming.stage import MRRows, read_json

TILE = 512  # rows and columns of a tile


def tile_corners(n_rows):
    """Yield the first row and column of each tile of the lower triangle."""
    for i in range(0, n_rows, TILE):
        for j in range(0, i + 1, TILE):
            yield i, j


def kernel_value(kernel, totals, same):
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

    def configure_args(self):
        """Add the kernel and what is emitted."""
        super().configure_args()
        self.add_passthru_arg('--emit', choices=('entries', 'tiles'), default='tiles',
                              help='write the matrix entry by entry or in tiles (default: %(default)s)')
        self.add_file_arg('--kernel', help='JSON: [name of the kernel, its parameters, grid of the sums]')

    @cached_property
    def kernel(self):
        """Return the Kernel."""
        return Kernel(*self.described[:2])

    @property
    def step(self):
        """Return the grid of the sums."""
        return self.described[2]

    @cached_property
    def described(self):
        """Return what --kernel says: name, parameters, grid."""
        return read_json(self.options.kernel)

    def map_begin(self):
        """Start without columns."""
        self.columns, self.of_distance = [], self.kernel.kind.of_distance

    def map_block(self, block, place):
        """Emit the shares of some columns, (columns, N), or keep them for the end."""
        if self.options.emit == 'entries':
            for column in block.X:
                yield from self.entries(column)
        else:
            centred = block.X - block.X.mean(axis=1, keepdims=True) if self.of_distance else block.X
            X = np.ascontiguousarray(centred.T)
            self.columns.append((X, row_squares(X) / self.step))

    def entries(self, X):
        """Yield the shares of one column. Source: Algorithm 1, lines 3 to 8."""
        for i in range(len(X)):
            for j in range(i + 1):
                yield make_key('entry', i, j), [(X[i] - X[j])**2 if self.of_distance else X[i] * X[j]]

    def map_end(self):
        """Emit the tiles of the task, one after another."""
        for i, j in tile_corners(len(self.columns[0][0]) if self.columns else 0):
            shares = (self.share(X, squares, slice(i, i + TILE), slice(j, j + TILE)) for X, squares in self.columns)
            yield make_key('tile', i, j), [sum(shares) * self.step]

    def share(self, X, squares, rows, others):
        """Return the share of some columns in a tile, in steps of the grid, whole ones: a step is a power of 2."""
        factor = -2 if self.of_distance else 1
        tile = X[rows] * (factor / self.step) @ X[others].T
        if self.of_distance:
            tile += squares[rows, None]
            tile += squares[others]
        return np.rint(tile, out=tile)

    def reducer(self, key, values):
        """Sum, and turn into kernel values; pass on what else there is."""
        kind, coordinates = split_key(key)
        if kind not in ('entry', 'tile'):
            yield from super().reducer(key, values)
            return
        yield from (self.entry if kind == 'entry' else self.tile)(*map(int, coordinates), values)

    def entry(self, i, j, values):
        """Yield an entry and its mirror image. Source: Algorithm 1, lines 10 to 15."""
        total = np.array(math.fsum(float(value) for value, in values))
        value = kernel_value(self.kernel, total[None], i == j)[0]
        yield make_key('entry', i, j), [value]
        if i != j:
            yield make_key('entry', j, i), [value]

    def tile(self, i, j, values):
        """Yield a tile of kernel values."""
        total = sum(tile for tile, in values)
        same = np.eye(*total.shape, dtype=bool) if i == j else False
        yield make_key('tile', i, j), [kernel_value(self.kernel, total, same)]


if __name__ == '__main__':
    MRKernel.run()

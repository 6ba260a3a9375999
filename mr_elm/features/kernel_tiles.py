"""Compute K(A, B) for fixed rows B, tile by tile: its values, its lower triangle, or its product with some vectors.

Memory beside the result is one tile, whatever the number of rows.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np

from mr_elm import sparse as sp
from mr_elm.features.kernels import Kernel, multiply_transposed, row_squares
from mr_elm.parallel import map_in_threads
from mr_elm.typing import Floats, Rows

TILE_ROWS = 512
TILE_BYTES = 1 << 25  # what sparse rows of a tile may take as dense ones
COLUMNS_AT_ONCE = 512  # the pass over a tile finds the product still in the core's cache, whatever other cores do


class KernelTiles:
    """Serve K(A, B), B (n, d) dense or CSR. Of CSR rows B the columns that hold no number are left out of products."""

    def __init__(self, B: Rows, kernel: Kernel) -> None:
        self.kernel, self.n_rows = kernel, B.shape[0]
        self.columns: np.ndarray | None = None
        if sp.issparse(B):
            self.columns = sp.find_columns(B)
            B = sp.expand_some(sp.take_columns(B, self.columns))
        self.rows, self.is_sparse = B, sp.issparse(B)
        self.transposed: dict[int, Rows] = {}  # first row -> the rows from there on, as columns; of sparse rows

    @cached_property
    def squares(self) -> Floats:
        """Return the squared norms of the rows of B."""
        return row_squares(self.rows)

    def parts(self, A: Rows, stop: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield (slice of columns, K(A, B)[:, slice]) up to column `stop`."""
        row_norms, stop = row_squares(A), self.n_rows if stop is None else stop
        A = self.take_columns(A)
        for left in range(0, stop, COLUMNS_AT_ONCE):
            part = slice(left, min(left + COLUMNS_AT_ONCE, stop))
            if self.is_sparse:
                products = self.multiply(A, part)
            else:
                products = multiply_transposed(A, self.rows[part])
            yield part, self.finish(products, row_norms, self.squares[part])

    def take_columns(self, A: Rows) -> Rows:
        """Return the columns of A that B has; where B is dense, and where they fit, as dense ones."""
        if self.columns is not None:
            A = sp.take_columns(A, self.columns)
        if sp.issparse(A) and not self.is_sparse and (8 * A.shape[1] * TILE_ROWS <= TILE_BYTES or sp.is_crowded(A)):
            return A.toarray()
        return A

    def multiply(self, A: Rows, part: slice) -> Floats:
        """Return the inner products of A with a part of the sparse rows B, (m, n)."""
        if not sp.issparse(A):
            return multiply_transposed(A, self.rows[part])
        if part.start not in self.transposed:  # threads may make it twice, each the same
            self.transposed[part.start] = self.rows[part.start : part.start + COLUMNS_AT_ONCE].T.tocsr()
        return (A @ self.transposed[part.start]).toarray()[:, : part.stop - part.start]

    def finish(self, products: np.ndarray, row_norms: Floats, squares: Floats) -> Floats:
        """Turn inner products (m, n) into kernel values in float64."""
        if not self.kernel.kind.exponent:
            return self.kernel.finish(products, row_norms, squares)
        from mr_elm.features.fused import fill_kernel_tile

        tile = np.empty(products.shape)
        fill_kernel_tile(products, (row_norms, squares), self.kernel.exponential, tile, 0)
        return tile

    def fill(self, A: Rows, out: np.ndarray) -> None:
        """Write K(A, B) into `out`, (m, n)."""
        for part, tile in self.parts(A):
            out[:, part] = tile

    def add_product(self, A: Rows, vectors: Floats, out: Floats) -> Floats:
        """Add K(A, B) vectors, (m, k), to `out`; vectors (n, k)."""
        for part, tile in self.parts(A):
            out += tile @ vectors[part]
        return out


class PairProduct:
    """Serve the product of K(A, B) with the coefficients of pairs, most of which are 0.

    B : (n, d). coefficients : (n, P). groups : (rows, columns) of each class, outside of which they are 0.
    """

    def __init__(self, B: Rows, kernel: Kernel, coefficients: Floats, groups: list) -> None:
        order, ends = np.concatenate([rows for rows, _ in groups]), np.cumsum([len(rows) for rows, _ in groups])
        self.tiles = KernelTiles(B[order], kernel)
        self.pieces: dict[int, list] = {}  # first column of a tile -> (place in it, columns, coefficients)
        for (rows, columns), stop in zip(groups, ends, strict=True):
            weights, first = coefficients[np.ix_(rows, columns)].T, stop - len(rows)
            for left in range(first // COLUMNS_AT_ONCE * COLUMNS_AT_ONCE, stop, COLUMNS_AT_ONCE):
                part = slice(max(first, left), min(stop, left + COLUMNS_AT_ONCE))
                self.pieces.setdefault(left, []).append(
                    (
                        slice(part.start - left, part.stop - left),
                        columns,
                        weights[:, part.start - first : part.stop - first],
                    )
                )

    def add_product(self, A: Rows, out: Floats, start: int) -> None:
        """Add K(A, B) coefficients to the numbers from `start` on of each pair in `out`, (P, n)."""
        from mr_elm.features.fused import add_to_rows

        for part, tile in self.tiles.parts(A):
            for rows, columns, weights in self.pieces[part.start]:
                add_to_rows(weights @ tile[:, rows].T, columns, start, out)


def compute_kernel(A: Rows, B: Rows, kernel: Kernel, out: Floats | None = None) -> Floats:
    """Return K(A, B), (m, n) float64, written into `out` when given."""
    tiles = KernelTiles(B, kernel)
    if out is None:
        out = np.empty((A.shape[0], tiles.n_rows))
    for start in range(0, A.shape[0], TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        tiles.fill(A[rows], out[rows])
    return out


def compute_lower_triangle(Z: Rows, kernel: Kernel) -> Floats:
    """Return an array (N, N) whose lower triangle is that of K(Z, Z); what is above the diagonal is undefined."""
    tiles, out = KernelTiles(Z, kernel), np.empty((Z.shape[0], Z.shape[0]))

    def fill(start: int) -> None:
        rows = slice(start, min(start + TILE_ROWS, len(out)))
        for part, tile in tiles.parts(Z[rows], rows.stop):
            out[rows, part] = tile

    map_in_threads(fill, reversed(range(0, len(out), TILE_ROWS)))  # the longest first
    out[np.diag_indices_from(out)] = kernel.diagonal(tiles.squares)
    return out


def place_tile(omega: Floats, row: int, column: int, tile: Floats) -> int:
    """Put a tile into K(Z, Z); returns how many of its entries are in the lower triangle."""
    omega[row : row + len(tile), column : column + tile.shape[1]] = tile
    return int(np.clip(row + 1 + np.arange(len(tile)) - column, 0, tile.shape[1]).sum())


def make_kernel_product(Z: Rows, kernel: Kernel) -> Callable[[Floats], Floats]:
    """Return the function V -> K(Z, Z) V, which recomputes the tiles of K and stores none."""
    return partial(multiply_rows, Z, KernelTiles(Z, kernel))


def multiply_rows(A: Rows, tiles: KernelTiles, V: Floats) -> Floats:
    """Return K(A, B) V, (m, k). tiles : of B."""
    out = np.zeros((A.shape[0], V.shape[1]))

    def fill(start: int) -> None:
        rows = slice(start, start + TILE_ROWS)
        tiles.add_product(A[rows], V, out[rows])

    map_in_threads(fill, range(0, A.shape[0], TILE_ROWS))
    return out

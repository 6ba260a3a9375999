"""Serve rows of K(X, X) for dense rows X: by products, by differences where features are few, in float32 or float64.

Where cancellation in |u|^2 + |v|^2 - 2 u.v would spoil more than the last digits of float32, distances are computed in
float64, or as sums of squared differences, and only the kernel value is rounded.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mr_elm.features.kernels import Kernel, row_squares
from mr_elm.typing import Floats, Pair

ROWS_AT_ONCE = 256
COLUMNS_AT_ONCE = 1024  # the memory of a tile is small enough not to be given back to the system after each
FEW_FEATURES = 64  # up to here a compiled loop over differences beats a product followed by exp
FEW_ON_DEMAND = 100  # up to here single rows are computed in float64 fast enough not to compute all together
MIRROR_SHARE = 0.25  # of the rows: with fewer of them weighted, reordering costs more than the mirrored half saves
SAFE_EXPONENT = 4.0  # gamma |x|^2 up to which float32 products cost about 1e-6 (root mean square) in the kernel


class KernelSource:
    """Say what a source of kernel rows does unless it knows better; a source has n_samples and rows()."""

    n_samples: int
    rows: Any

    def features(self) -> tuple[Floats, tuple[float, bool]] | None:
        """Return (features, exponential), see `fused`, where single rows of K are quickly computed from them.

        features : (d, n), zeros follow up to a multiple of 4.
        """
        return None

    def factor(self) -> Floats | None:
        """Return Z, (n, d), where K = ZZ'; None where it is not known."""
        return None

    def square(self, out: Floats) -> Floats:
        """Return K of all rows in float64, in `out` where that helps."""
        return self.rows(np.arange(self.n_samples), np.float64, out)


class DenseRows(KernelSource):
    """Serve rows of K(X, X) for X, (n, d) float64.

    squares : |x|^2, (n,), when they are known.
    exact : float32 inner products of these rows are exact, see `multiplies_exactly`.
    """

    def __init__(self, X: Floats, kernel: Kernel, squares: Floats | None = None, exact: bool = False) -> None:
        self.X, self.kernel, self.exact = X, kernel, exact
        self.n_samples = len(X)
        if squares is None:
            self.squares = row_squares(X)
        else:
            self.squares = squares
        self._factor = X.astype(np.float32) if exact else X  # what float64 tiles are multiplied from

    def take(self, subset: np.ndarray) -> 'DenseRows':
        """Return the same of a part of the data."""
        return DenseRows(self.X[subset], self.kernel, self.squares[subset], self.exact)

    def factor(self) -> Floats | None:
        """Return the rows where the kernel is linear, see `KernelSource`."""
        if self.kernel.name == 'linear' and not self.kernel.normalised:
            return self.X
        return None

    def diagonal(self) -> Floats:
        """Return K(x, x), (n,)."""
        return self.kernel.diagonal(self.squares)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return K[indices, :], written into `out` when given."""
        if out is None:
            out = np.empty((len(indices), self.n_samples), dtype)
        if out.dtype == np.float64 or not self._fits_single:
            self._by_product(self._factor, indices, out)
        elif self.kernel.kind.exponent and self.X.shape[1] <= FEW_FEATURES:
            self._by_difference(indices, out)
        else:
            self._by_single_product(indices, out)
        return out

    def features(self) -> tuple[Floats, tuple[float, bool]] | None:
        """Return (features, exponential), None where features are many."""
        if not self.kernel.kind.exponent or self.X.shape[1] > FEW_ON_DEMAND:
            return None
        columns = np.zeros((-(-self.X.shape[1] // 4) * 4, self.n_samples))
        columns[: self.X.shape[1]] = self.X.T
        return columns, self.kernel.exponential

    def tile(self, rows: np.ndarray, columns: np.ndarray, out: Floats | None = None) -> Floats:
        """Return K[rows, columns] in float64, for numbers of rows, in `out` when given."""
        if out is None:
            out = np.empty((len(rows), len(columns)))
        products = np.matmul(self._factor[rows], self._factor[columns].T, out=None if self.exact else out)
        return self._fill_tile(products, (self.squares[rows], self.squares[columns]), out)

    def square(self, out: Floats) -> Floats:
        """Return K of all rows in float64, in `out` where the kernel is an exponential."""
        products = np.matmul(self._factor, self._factor.T, out=None if self.exact else out)
        return self._fill_tile(products, (self.squares, self.squares), out)

    def _fill_tile(self, products: np.ndarray, squares: Pair, out: Floats) -> Floats:
        from mr_elm.features import fused

        if self.kernel.kind.exponent:
            fused.fill_kernel_tile(products, squares, self.kernel.exponential, out, 0)
            return out
        return self.kernel.finish(products.astype(float, copy=False), *squares)

    @cached_property
    def _fits_single(self) -> bool:
        """Tell whether squared distances stay in the range of float32."""
        return bool(self.squares.max(initial=0.0) < 0.1 * np.finfo(np.float32).max)

    @cached_property
    def _transposed(self) -> np.ndarray:
        return np.ascontiguousarray(self.X.T, dtype=np.float32)

    @cached_property
    def _single(self) -> np.ndarray:
        return self._factor.astype(np.float32, copy=False)

    @cached_property
    def _far(self) -> np.ndarray:
        """Return the rows whose norm makes float32 inner products too coarse for the exponential."""
        if self.exact or not self.kernel.kind.of_distance:
            limit = np.inf
        else:
            if self.kernel.takes_root:
                limit = -1.0
            else:
                limit = SAFE_EXPONENT / self.kernel.factor
        return np.flatnonzero(self.squares > limit)

    def _by_difference(self, indices: np.ndarray, out: np.ndarray) -> None:
        from mr_elm.features import fused

        fused.fill_kernel_rows(self._transposed, indices, self.kernel.exponential, out)

    def _by_product(self, X: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
        from mr_elm.features import fused

        A, a_squares = X[indices], self.squares[indices]
        compiled = self.kernel.kind.exponent and out.dtype == np.float64
        room = np.empty(len(A) * min(COLUMNS_AT_ONCE, self.n_samples), X.dtype)
        for start in range(0, self.n_samples, COLUMNS_AT_ONCE):
            part = slice(start, min(start + COLUMNS_AT_ONCE, self.n_samples))
            shape = len(A), part.stop - start
            products = np.matmul(A, X[part].T, out=room[: shape[0] * shape[1]].reshape(shape))
            if compiled:
                fused.fill_kernel_tile(products, (a_squares, self.squares[part]), self.kernel.exponential, out, start)
                continue
            products = products.astype(np.result_type(products, out), copy=False)
            out[:, part] = self.kernel.finish(products, a_squares, self.squares[part])

    def _by_single_product(self, indices: np.ndarray, out: np.ndarray) -> None:
        """Multiply in float32, and again in float64 where both rows have large norms: else K is too small to err."""
        far = self._far
        if 2 * len(far) > self.n_samples:
            self._by_product(self._factor, indices, out)
            return
        self._by_single(indices, out)
        if len(far):
            again = np.flatnonzero(np.isin(indices, far))
        else:
            again = far
        if len(again):
            rows = indices[again]
            values = self.kernel.finish(self.X[rows] @ self.X[far].T, self.squares[rows], self.squares[far])
            out[np.ix_(again, far)] = values

    def _by_single(self, indices: np.ndarray, out: np.ndarray) -> None:
        if not self.kernel.kind.exponent:
            self._by_product(self._single, indices, out)
            return
        from mr_elm.features import fused

        A, a_squares = self._single[indices], self.squares[indices]
        for start in range(0, self.n_samples, COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            fused.fill_single_tile(
                A @ self._single[part].T, (a_squares, self.squares[part]), self.kernel.exponential, out, start
            )

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,) float64."""
        if len(indices) < MIRROR_SHARE * self.n_samples:
            return self._plain_sum(indices, weights)
        return self._mirrored_sum(indices, weights)

    def _plain_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        X, squares, total = self._factor[indices], self.squares[indices], np.zeros(self.n_samples)
        nothing, back = np.zeros(COLUMNS_AT_ONCE), np.zeros(ROWS_AT_ONCE)
        for start in range(0, len(indices), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            for left in range(0, self.n_samples, COLUMNS_AT_ONCE):
                columns = slice(left, left + COLUMNS_AT_ONCE)
                products = X[rows] @ self._factor[columns].T
                m, n = products.shape
                self._add_tile(
                    products,
                    (squares[rows], self.squares[columns]),
                    (weights[rows], nothing[:n]),
                    (total[columns], back[:m]),
                )
        return total

    def _mirrored_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Put the weighted rows first: a tile of two weighted parts serves both, which saves up to half of them."""
        inside = np.zeros(self.n_samples, bool)
        inside[indices] = True
        order = np.concatenate([indices, np.flatnonzero(~inside)])
        X, squares, total = self._factor[order], self.squares[order], np.zeros(self.n_samples)
        mirrored = np.zeros(self.n_samples)
        mirrored[: len(indices)] = weights
        for start in range(0, len(indices), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(indices)))
            mirrored[rows] = 0  # the tile of a part with itself is not mirrored
            for left in range(start, self.n_samples, COLUMNS_AT_ONCE):
                columns = slice(left, left + COLUMNS_AT_ONCE)
                self._add_tile(
                    X[rows] @ X[columns].T,
                    (squares[rows], squares[columns]),
                    (weights[rows], mirrored[columns]),
                    (total[columns], total[rows]),
                )
        result = np.empty_like(total)
        result[order] = total
        return result

    def _add_tile(self, products: np.ndarray, squares: Pair, weights: Pair, sums: Pair) -> None:
        """Add one tile's share to the sums of its columns and of its rows, in place."""
        if self.kernel.kind.exponent:
            from mr_elm.features import fused

            fused.add_kernel_tile(products, squares, self.kernel.exponential, weights, sums)
            return
        tile = self.kernel.finish(products.astype(float, copy=False), *squares)
        sums[0][...] += weights[0] @ tile
        sums[1][...] += tile @ weights[1]


def deliver(values: np.ndarray, dtype: DTypeLike, out: np.ndarray | None) -> np.ndarray:
    """Return rows in the type asked for, or write them into `out`."""
    if out is None:
        return values.astype(dtype, copy=False)
    out[...] = values
    return out

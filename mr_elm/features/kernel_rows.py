"""Serve rows of the kernel matrix of one data set, on demand: of dense or CSR rows, a ready matrix, explicit nodes.

A solver sees `n_samples`, `rows(indices, dtype, out)`, `tile(rows, columns)`, `diagonal()`,
`weighted_sum(indices, weights)`, and `take(subset)`, the same of a part of the data. float64 rows are exact to
rounding; float32 rows differ from them by about 1e-7, where SAFE_EXPONENT is nearly reached about 1e-6.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mr_elm import sparse as sp
from mr_elm.features.kernel_tiles import COLUMNS_AT_ONCE, KernelTiles, compute_kernel, multiply_rows
from mr_elm.features.kernels import Kernel, row_squares
from mr_elm.typing import Floats, Rows

FEW_FEATURES = 64  # up to here a compiled loop over differences beats a product followed by exp
FEW_ON_DEMAND = 100  # up to here single rows are computed in float64 fast enough not to compute all together
SAFE_EXPONENT = 4.0  # gamma |x|^2 up to which float32 products cost about 1e-6 (root mean square) in the kernel


def kernel_rows(X: Rows, kernel: Kernel) -> 'KernelRows':
    """Return the rows of K(X, X) for dense or CSR X, (n, d). Columns that hold no number are left out where most do."""
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        X = sp.expand_some(sp.take_columns(X, sp.find_columns(X)))
    if sp.issparse(X):
        return KernelRows(X, kernel)
    X = np.ascontiguousarray(X, dtype=float)
    if kernel.kind.of_distance:
        mean = X.mean(axis=0)
        if len(X) * (mean @ mean) >= 0.01 * row_squares(X).sum():
            X = X - mean  # distances stay the same and cancel less
    return KernelRows(X, kernel)


class KernelSource:
    """Say what a source of kernel rows does unless it knows better."""

    def features(self) -> tuple[Floats, tuple[float, bool]] | None:
        """Return (features, exponential), see `fused`, where single rows of K are quickly computed from them.

        features : (d, n), zeros follow up to a multiple of 4.
        """
        return None

    def factor(self) -> Floats | None:
        """Return Z, (n, d), where K = ZZ'; None where it is not known."""
        return None


class KernelRows(KernelSource):
    """Serve rows of K(X, X) for X, (n, d) float64, dense or CSR: by products, in float32 also by differences.

    Where cancellation in |u|^2 + |v|^2 - 2 u.v would spoil more than the last digits of float32, distances are computed
    in float64, or as sums of squared differences, and only the kernel value is rounded.
    """

    def __init__(self, X: Rows, kernel: Kernel) -> None:
        self.X, self.kernel, self.tiles = X, kernel, KernelTiles(X, kernel)
        self.n_samples = X.shape[0]

    def take(self, subset: np.ndarray) -> 'KernelRows':
        """Return the same of a part of the data."""
        return KernelRows(self.X[subset], self.kernel)

    def factor(self) -> Floats | None:
        """Return the rows where the kernel is linear, see `KernelSource`."""
        if self.kernel.name == 'linear' and not self.kernel.normalised and not sp.issparse(self.X):
            return self.X
        return None

    def diagonal(self) -> Floats:
        """Return K(x, x), (n,)."""
        return self.kernel.diagonal(self.tiles.squares)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return K[indices, :], written into `out` when given."""
        if out is None:
            out = np.empty((len(indices), self.n_samples), dtype)
        if out.dtype == np.float64 or not self._takes_single:
            self.tiles.fill(self.X[indices], out)
        elif self.X.shape[1] <= FEW_FEATURES:
            from mr_elm.features.fused import fill_kernel_rows

            fill_kernel_rows(self._columns, indices, self.kernel.exponential, out)
        else:
            self._fill_single(indices, out)
        return out

    def tile(self, rows: np.ndarray, columns: np.ndarray) -> Floats:
        """Return K[rows, columns] in float64, for numbers of rows."""
        return compute_kernel(self.X[rows], self.X[columns], self.kernel)

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,) float64."""
        return multiply_rows(self.X, KernelTiles(self.X[indices], self.kernel), weights[:, None])[:, 0]

    def features(self) -> tuple[Floats, tuple[float, bool]] | None:
        """Return (features, exponential), None where features are many."""
        if sp.issparse(self.X) or not self.kernel.kind.exponent or self.X.shape[1] > FEW_ON_DEMAND:
            return None
        return np.ascontiguousarray(self._padded.T), self.kernel.exponential

    @cached_property
    def _takes_single(self) -> bool:
        """Tell whether float32 rows are computed in float32: of exponentials, whose squared distances fit into it."""
        if sp.issparse(self.X) or not self.kernel.kind.exponent:
            return False
        return bool(self.tiles.squares.max(initial=0.0) < 0.1 * np.finfo(np.float32).max)

    @property
    def _padded(self) -> Floats:
        return np.pad(self.X, ((0, 0), (0, -self.X.shape[1] % 4)))

    @cached_property
    def _columns(self) -> np.ndarray:
        return np.ascontiguousarray(self._padded.T, dtype=np.float32)

    @cached_property
    def _single(self) -> np.ndarray:
        return self.X.astype(np.float32)

    @cached_property
    def _far(self) -> np.ndarray:
        """Return the rows whose norm makes float32 inner products too coarse for the exponential."""
        limit = SAFE_EXPONENT / self.kernel.factor
        if self.kernel.takes_root:
            limit = -1.0
        return np.flatnonzero(self.tiles.squares > limit)

    def _fill_single(self, indices: np.ndarray, out: np.ndarray) -> None:
        """Multiply in float32, and again in float64 where both rows have large norms: else K is too small to err."""
        far = self._far
        if 2 * len(far) > self.n_samples:
            self.tiles.fill(self.X[indices], out)
            return
        from mr_elm.features.fused import fill_single_tile

        A, squares = self._single[indices], self.tiles.squares
        for start in range(0, self.n_samples, COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            products = A @ self._single[part].T
            fill_single_tile(products, (squares[indices], squares[part]), self.kernel.exponential, out, start)
        again = np.flatnonzero(np.isin(indices, far))
        if len(again):
            out[np.ix_(again, far)] = self.tile(indices[again], far)


class PrecomputedRows(KernelSource):
    """Serve rows of a ready symmetric matrix K, (n, n) float32 or float64: the problem is then the one of this K."""

    def __init__(self, K: np.ndarray) -> None:
        self.matrix, self.n_samples = np.ascontiguousarray(K), len(K)

    def take(self, subset: np.ndarray) -> 'PrecomputedRows':
        """Return the same of a part of the data."""
        return PrecomputedRows(self.matrix[np.ix_(subset, subset)])

    def diagonal(self) -> Floats:
        """Return K(x, x), (n,)."""
        return self.matrix.diagonal().astype(float)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return K[indices, :], written into `out` when given."""
        return deliver(self.matrix[indices], dtype, out)

    def tile(self, rows: np.ndarray, columns: np.ndarray) -> Floats:
        """Return K[rows, columns] in float64, for numbers of rows."""
        return self.matrix[np.ix_(rows, columns)].astype(float, copy=False)

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,) float64."""
        from mr_elm.features.fused import add_rows

        total = np.zeros(self.n_samples)
        add_rows(self.matrix, indices, weights, total)
        return total


def ready_rows(source: Any, dtype: DTypeLike = np.float32) -> PrecomputedRows:
    """Compute the whole kernel matrix of a source of rows and return its PrecomputedRows."""
    n = source.n_samples
    return PrecomputedRows(source.rows(np.arange(n), dtype))


class NodeRows(KernelSource):
    """Serve rows of H H' for explicit node outputs H, (n, L)."""

    def __init__(self, H: ArrayLike) -> None:
        self.H = np.ascontiguousarray(H, dtype=float)
        self.n_samples = len(self.H)

    def factor(self) -> Floats:
        """Return the node outputs."""
        return self.H

    def take(self, subset: np.ndarray) -> 'NodeRows':
        """Return the same of a part of the data."""
        return NodeRows(self.H[subset])

    def diagonal(self) -> Floats:
        """Return |h(x)|^2, (n,)."""
        return row_squares(self.H)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return (H H')[indices, :], written into `out` when given."""
        return deliver(self.H[indices] @ self.H.T, dtype, out)

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return H (H' weights): the matrix H H' is never formed."""
        return self.H @ (weights @ self.H[indices])


def deliver(values: np.ndarray, dtype: DTypeLike, out: np.ndarray | None) -> np.ndarray:
    """Return rows in the type asked for, or write them into `out`."""
    if out is None:
        return values.astype(dtype, copy=False)
    out[...] = values
    return out

"""Serve rows of the kernel matrix of one data set, on demand: of dense rows, CSR rows, a ready matrix, explicit nodes.

A solver sees `n_samples`, `rows(indices, dtype, out)`, `tile(rows, columns)`, `diagonal()`,
`weighted_sum(indices, weights)`, and `take(subset)`, the same of a part of the data. float64 rows are exact to
rounding; float32 rows differ from them by about 1e-7, where SAFE_EXPONENT in `dense_rows` is nearly reached about 1e-6.
"""

import warnings
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mr_elm import sparse as sp
from mr_elm.errors import NumericalWarning
from mr_elm.features.dense_rows import ROWS_AT_ONCE, DenseRows, KernelSource, deliver
from mr_elm.features.kernels import Kernel, multiplies_exactly, row_squares
from mr_elm.typing import Floats, Rows


def kernel_rows(X: Rows, kernel: Kernel) -> 'DenseRows | SparseRows':
    """Return the rows of K(X, X) for dense or CSR X, (n, d). Columns that hold no number are left out where most do."""
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        X = sp.expand_some(sp.take_columns(X, sp.find_columns(X)))
        if sp.issparse(X):
            return SparseRows(X, kernel)
    X = np.ascontiguousarray(X, dtype=float)
    exact = multiplies_exactly(X)
    if exact or not kernel.kind.of_distance:
        return DenseRows(X, kernel, exact=exact)
    mean, squares = X.mean(axis=0), row_squares(X)
    if len(X) * (mean @ mean) < 0.01 * squares.sum():  # to centre them would not pay
        return DenseRows(X, kernel, squares)
    return DenseRows(X - mean, kernel)  # distances stay the same and cancel less


class SparseRows(KernelSource):
    """Serve rows of K(X, X) for CSR X, which stay sparse: what is dense are the kernel values."""

    def __init__(self, X: Rows, kernel: Kernel) -> None:
        self.X, self.kernel = X, kernel
        self.n_samples = X.shape[0]
        self.squares = row_squares(X)

    def take(self, subset: np.ndarray) -> 'SparseRows':
        """Return the same of a part of the data."""
        return SparseRows(self.X[subset], self.kernel)

    def diagonal(self) -> Floats:
        """Return K(x, x), (n,)."""
        return self.kernel.diagonal(self.squares)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return K[indices, :], written into `out` when given."""
        products = (self.X[indices] @ self._transposed).toarray()
        return deliver(self.kernel.finish(products, self.squares[indices], self.squares), dtype, out)

    @cached_property
    def _transposed(self) -> Rows:
        return self.X.T.tocsr()

    def tile(self, rows: np.ndarray, columns: np.ndarray, out: Floats | None = None) -> Floats:
        """Return K[rows, columns] in float64, for numbers of rows; `out` is not used."""
        return self.kernel.tile(self.X[rows], self.X[columns])

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,) float64."""
        total = np.zeros(self.n_samples)
        for start in range(0, len(indices), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            total += weights[part] @ self.rows(indices[part])
        return total


class PrecomputedRows(KernelSource):
    """Serve rows of a ready symmetric matrix K, (n, n) float32 or float64: the problem is then the one of this K.

    Warns when K is not positive semidefinite on a sample of the rows. Raises ValueError when it is not square and
    symmetric there.
    """

    def __init__(self, K: ArrayLike, checked: bool = False) -> None:
        K = np.ascontiguousarray(K)
        if K.dtype in (np.float32, np.float64):
            self.matrix = K
        else:
            self.matrix = K.astype(float)
        self.n_samples = len(K)
        if not checked:
            demand_kernel(self.matrix)

    def take(self, subset: np.ndarray) -> 'PrecomputedRows':
        """Return the same of a part of the data."""
        return PrecomputedRows(self.matrix[np.ix_(subset, subset)], checked=True)

    def diagonal(self) -> Floats:
        """Return K(x, x), (n,)."""
        return self.matrix.diagonal().astype(float)

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return K[indices, :], written into `out` when given."""
        return deliver(self.matrix[indices], dtype, out)

    def tile(self, rows: np.ndarray, columns: np.ndarray, out: Floats | None = None) -> Floats:
        """Return K[rows, columns] in float64, for numbers of rows; `out` is not used."""
        return self.matrix[np.ix_(rows, columns)].astype(float, copy=False)

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return K[:, indices] weights, (n,) float64."""
        from mr_elm.features.fused import add_rows

        total = np.zeros(self.n_samples)
        add_rows(self.matrix, indices, weights, total)
        return total


def ready_rows(source: KernelSource, dtype: DTypeLike = np.float32) -> PrecomputedRows:
    """Compute the whole kernel matrix of a source of rows and return its PrecomputedRows."""
    n = source.n_samples
    matrix = np.empty((n, n), dtype)
    return PrecomputedRows(source.rows(np.arange(n), matrix.dtype, matrix), checked=True)


def demand_kernel(K: np.ndarray) -> None:
    """Raise ValueError unless K is square and, on a sample, symmetric; warn when it is not positive there."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f'expected a square matrix as kernel, found shape {K.shape}')
    sample = np.unique(np.linspace(0, len(K) - 1, min(len(K), 400)).astype(int))
    part = K[np.ix_(sample, sample)].astype(float)
    if not np.allclose(part, part.T, rtol=1e-4, atol=1e-6 * np.abs(part).max(initial=0.0)):
        raise ValueError('expected a symmetric matrix as kernel, K(u, v) and K(v, u) differ')
    if len(part):
        values = np.linalg.eigvalsh(part)
    else:
        values = np.zeros(1)
    if values[0] < -1e-6 * max(values[-1], -values[0]):  # rounding makes smaller negative ones
        warnings.warn(
            f'the kernel is not positive on these rows (an eigenvalue of {values[0]:.3g} beside '
            f'{values[-1]:.3g}): the dual is not convex, and what is found need not be its minimum',
            NumericalWarning,
            stacklevel=3,
        )


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

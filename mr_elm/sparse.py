"""Meet sparse rows by the names of scipy.sparse, which is imported for the first of them, and work on their columns.

A process that has dense rows, such as most tasks, starts a third sooner without it.
"""

from typing import Any

import numpy as np

DENSE_BYTES = 1 << 23  # CSR rows become dense where they take no more than this,
DENSE_SHARE = 0.1  # where more than this share of their values is not zero,
MAX_DENSE_BYTES = 1 << 29  # or where they take no more than this and more than
MIN_DENSE_SHARE = 0.01  # this share is not zero
DENSE_PRODUCT_SHARE = 0.2  # share of their values, from which rows that meet a dense matrix are better dense
NAMES = 'csr_matrix', 'hstack', 'random', 'vstack'  # others of scipy.sparse that this package uses


def issparse(X: Any) -> bool:
    """Return whether X is a sparse matrix."""
    if not hasattr(X, 'tocsr'):
        return False
    import scipy.sparse

    return scipy.sparse.issparse(X)


def multiplies_faster_dense(X: Any) -> bool:
    """Tell whether products of these CSR rows take less time when they are dense ones."""
    n_values = max(X.shape[0] * X.shape[1], 1)
    share, n_bytes = X.nnz / n_values, 8 * n_values
    return share > DENSE_SHARE or n_bytes <= DENSE_BYTES or (share > MIN_DENSE_SHARE and n_bytes <= MAX_DENSE_BYTES)


def is_crowded(X: Any) -> bool:
    """Tell whether CSR rows are multiplied faster as dense ones with a matrix that is dense anyway."""
    return bool(X.nnz > DENSE_PRODUCT_SHARE * X.shape[0] * X.shape[1])


def expand(X: Any) -> Any:
    """Return CSR rows as dense ones; other rows as they are."""
    if issparse(X):
        return X.toarray()
    return X


def compact(X: Any) -> np.ndarray:
    """Return rows as dense ones without columns of CSR rows that hold no number, where most do not."""
    columns = None
    if issparse(X):
        columns = find_columns(X)
    return expand(take_columns(X, columns))


def expand_some(X: Any) -> Any:
    """Return CSR rows as dense ones where these multiply faster; other rows as they are."""
    if issparse(X) and multiplies_faster_dense(X):
        return X.toarray()
    return X


def shrink(X: Any) -> Any:
    """Return CSR rows as dense ones where these take less memory; other rows as they are."""
    if issparse(X) and X.data.nbytes + X.indices.nbytes + X.indptr.nbytes >= 8 * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


def find_columns(X: Any) -> np.ndarray | None:
    """Return the columns of CSR rows that hold a number, in increasing order; None where half of all columns do."""
    if X.nnz < X.shape[1]:
        columns = np.unique(X.indices)
    else:
        columns = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
    if 2 * len(columns) < X.shape[1]:
        return columns
    return None


def take_columns(X: Any, columns: np.ndarray | None) -> Any:
    """Return some columns of rows, dense or CSR. Time does not grow with the width.

    columns : in increasing order, None for all.
    """
    if columns is None:
        return X
    if not issparse(X):
        return X[:, columns]
    places = np.searchsorted(columns, X.indices)
    if len(columns):
        kept = columns[np.minimum(places, len(columns) - 1)] == X.indices
    else:
        kept = np.zeros(X.nnz, bool)
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return like_rows(X, X.data[kept], places[kept], ends, len(columns))


def multiply_columns(X: Any, factors: np.ndarray) -> Any:
    """Return CSR rows whose columns are multiplied by factors, (d,) or (). A column of factor 0 holds no number."""
    factors = np.asarray(factors)
    Z = like_rows(X, X.data * (factors if factors.ndim == 0 else factors[X.indices]), X.indices, X.indptr, X.shape[1])
    if not Z.data.all():
        Z = Z.copy()
        Z.eliminate_zeros()
    return Z


def like_rows(X: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> Any:
    """Return CSR rows of these parts, as many as X has, whose numbers stand in the order of X."""
    import scipy.sparse

    Z = scipy.sparse.csr_matrix((data, indices.astype(np.int32, copy=False), indptr), shape=(X.shape[0], width))
    Z.has_sorted_indices = X.has_sorted_indices
    return Z


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    import scipy.sparse

    return getattr(scipy.sparse, name)

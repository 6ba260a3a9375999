"""Meet sparse rows by the names of scipy.sparse, which is imported for the first of them.

A process that has dense rows, such as most tasks, starts a third sooner without it.
"""
from typing import Any

import numpy as np

NAMES = 'csr_matrix', 'hstack', 'random', 'vstack'  # others of scipy.sparse that this package uses


def issparse(X: Any) -> bool:
    """Return whether X is a sparse matrix."""
    if isinstance(X, np.ndarray):
        return False
    import scipy.sparse
    return scipy.sparse.issparse(X)


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    import scipy.sparse
    return getattr(scipy.sparse, name)

"""Meet dense linear algebra by the names of scipy.linalg, and distances, which are imported for the first of them.

A process that solves nothing, such as most tasks, starts a third sooner without it.
"""

from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

from mr_elm.arithmetic import limit_latecomers

DISTANCES = 'cdist', 'pdist'  # of scipy.spatial, which imports scipy.linalg
LAPACK = 'dpocon', 'dpotrf', 'dpotrs', 'dtrtri'
NAMES = (
    'cho_factor',
    'cho_solve',
    'cholesky',
    'eigh',
    'get_blas_funcs',
    'get_lapack_funcs',
    'lstsq',
    'solve_triangular',
)  # others of scipy.linalg that this package uses
LOADING = Lock()


@cache
def load() -> ModuleType:
    """Import scipy.linalg, whose BLAS is not that of numpy, and limit it as `one_thread` says.

    Whatever else needs that BLAS, such as numba, is to call this before.
    """
    with LOADING:
        import scipy.linalg.cython_blas
        import scipy.linalg.cython_lapack

        limit_latecomers()
        return scipy.linalg


def __getattr__(name: str) -> Any:
    if name in DISTANCES:
        load()
        return getattr(import_module('scipy.spatial.distance'), name)
    if name not in NAMES + LAPACK:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(load().lapack if name in LAPACK else load(), name)

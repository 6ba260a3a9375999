"""Meet dense linear algebra by the names of scipy.linalg, and distances, which are imported for the first of them.

A process that solves nothing, such as most tasks, starts a third sooner without it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

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
NEEDLESS = 'f2py', 'ma', 'testing'  # parts of numpy: scipy asks for all of its names, and these take long to import
LOADING = Lock()


@cache
def load() -> ModuleType:
    """Import scipy.linalg, whose BLAS is not that of numpy, and limit it as `one_thread` says.

    Whatever else needs that BLAS, such as numba, is to call this before.
    """
    with LOADING:
        with nullcontext() if 'scipy.linalg' in sys.modules else hidden(np, NEEDLESS):
            import scipy.linalg.cython_blas
            import scipy.linalg.cython_lapack
        limit_latecomers()
        return scipy.linalg


@contextmanager
def hidden(module: ModuleType, names: tuple[str, ...]) -> Iterator[None]:
    """Keep a module from importing parts of itself when it is asked for their names."""
    absent = [name for name in names if name not in vars(module)]
    vars(module).update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            if vars(module)[name] is None:
                delattr(module, name)


def __getattr__(name: str) -> Any:
    if name in DISTANCES:
        load()
        return getattr(import_module('scipy.spatial.distance'), name)
    if name not in NAMES + LAPACK:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(load().lapack if name in LAPACK else load(), name)

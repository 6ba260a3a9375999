"""Meet dense linear algebra by the names of scipy.linalg, which is imported for the first of them.

A process that solves nothing, such as most tasks and those that predict, starts a third sooner without it.
"""
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from mr_elm.arithmetic import count_threads, limit_threads

LAPACK = 'dpocon', 'dpotrf', 'dpotrs', 'dtrtri'
NAMES = ('cho_factor', 'cho_solve', 'cholesky', 'cython_blas', 'cython_lapack', 'eigh', 'get_blas_funcs', 'lstsq',
         'solve_triangular')  # others of scipy.linalg that this package uses
NEEDLESS = 'f2py', 'ma', 'testing'  # parts of numpy: scipy asks for all of its names, and these take long to import


@cache
def load() -> ModuleType:
    """Import scipy.linalg; its BLAS, which is not that of numpy, may use as many threads: see `one_thread`."""
    known, before = 'scipy.linalg' in sys.modules, threadpool_info()
    with hidden(np, NEEDLESS):
        import scipy.linalg.cython_blas
        import scipy.linalg.cython_lapack
    if not known:
        limit_threads(count_threads(before))
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
    if name not in NAMES + LAPACK:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(load().lapack if name in LAPACK else load(), name)

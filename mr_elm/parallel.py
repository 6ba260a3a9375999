"""Spread independent pieces of work over threads with one thread of BLAS each: no bit depends on how many there are."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from mr_elm import linalg

Item = TypeVar('Item')
Found = TypeVar('Found')


def map_in_threads(function: Callable[[Item], Found], items: Iterable[Item], n_threads: int | None) -> list[Found]:
    """Return [function(item) for item in items], computed by so many threads.

    n_threads : None for this thread, in which BLAS takes as many of its own as it was told to.
    """
    if n_threads is None:
        return list(map(function, items))
    with one_blas_thread():
        if n_threads == 1:
            return list(map(function, items))
        with ThreadPoolExecutor(n_threads) as threads:
            return list(threads.map(function, items))


def sum_in_threads(function: Callable[[Item], np.ndarray], items: Sequence[Item], n_threads: int | None) -> np.ndarray:
    """Return the sum of function(item), added in the order of the items, of which there is one at least.

    A few results are in memory together where there are threads.
    """
    if n_threads is None:
        together = 1
    else:
        together = min(n_threads, 8)  # results wait to be added
    total = None
    for start in range(0, len(items), together):
        for result in map_in_threads(function, items[start : start + together], n_threads):
            if total is None:
                total = result
            else:
                total = total + result
    assert total is not None
    return total


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread; `arithmetic.one_thread` sees libraries that come later too."""
    return find_blas().limit(limits=1, user_api='blas')


@cache
def find_blas() -> ThreadpoolController:
    """Find the libraries that are loaded, once: to look for them takes longer than a small fit."""
    linalg.load()  # it brings a BLAS of its own, which must be found too
    return ThreadpoolController()

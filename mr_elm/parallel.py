"""Spread independent pieces of work over threads with one thread of BLAS each: no bit depends on how many there are.

Whoever knows how many threads a computation may take says so around it, by `using_threads`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

from mr_elm import linalg
from mr_elm.arithmetic import find_libraries

Item = TypeVar('Item')
Found = TypeVar('Found')


# how many threads may be used; None for the one that asks, in which BLAS takes as many of its own as it was told to
N_THREADS: ContextVar[int | None] = ContextVar('n_threads', default=None)


@contextmanager
def using_threads(n_threads: int | None) -> Iterator[None]:
    """Give a context in which work is spread over so many threads; see N_THREADS."""
    before = N_THREADS.set(n_threads)
    try:
        yield
    finally:
        N_THREADS.reset(before)


def map_in_threads(function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Return [function(item) for item in items], computed by the threads that may be used; each of them is one."""
    n_threads = N_THREADS.get()
    if n_threads is None:
        return list(map(function, items))
    with one_blas_thread():
        if n_threads == 1:
            return list(map(function, items))
        with ThreadPoolExecutor(n_threads, initializer=N_THREADS.set, initargs=(1,)) as threads:
            return list(threads.map(function, items))


def sum_in_threads(function: Callable[[Item], np.ndarray], items: Sequence[Item]) -> np.ndarray:
    """Return the sum of function(item), added in the order of the items, of which there is one at least.

    A few results are in memory together where there are threads.
    """
    together = min(N_THREADS.get() or 1, 8)  # results wait to be added
    total = None
    for start in range(0, len(items), together):
        for result in map_in_threads(function, items[start : start + together]):
            if total is None:
                total = result
            else:
                total = total + result
    assert total is not None
    return total


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread; `arithmetic.one_thread` sees libraries that come later too."""
    linalg.load()  # it brings a BLAS of its own, which must be found too
    return find_libraries().limit(limits=1, user_api='blas')

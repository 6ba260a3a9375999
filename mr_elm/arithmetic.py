"""Describe the BLAS library and limit it to one thread, which both change the last bits; measure how fast it is."""
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits


def has_compiler() -> bool:
    """Tell whether this process has loaded numba already: it takes 100 MB, and compiled code has the same bits."""
    return 'numba' in sys.modules


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS uses one thread."""
    before = threadpool_info()
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        if len(threadpool_info()) > len(before):
            limit_threads(count_threads(before))  # of a library that came meanwhile, see `linalg.load`


def count_threads(libraries: list[dict]) -> int | None:
    """Return how many threads BLAS may use, the least if libraries differ; None where none is known."""
    return min((info['num_threads'] for info in libraries if info['user_api'] == 'blas'), default=None)


def limit_threads(threads: int | None) -> None:
    """Let BLAS use so many threads from now on."""
    threadpool_limits(limits=threads, user_api='blas')


def describe_blas() -> str:
    """Name the BLAS libraries loaded and the processor type that each chose its kernels for."""
    found = {' '.join(str(info[key]) for key in ('internal_api', 'version', 'architecture') if info.get(key))
             for info in threadpool_info() if info['user_api'] == 'blas'}
    return ', '.join(sorted(found))


def estimate_seconds(compute: Callable[[np.ndarray], object], size: float, sample: int = 500) -> float:
    """Return about how long `compute` takes on a matrix (size, size), by the time it takes on a smaller one here.

    compute : function of a symmetric positive matrix, in time proportional to size^3; it may overwrite the matrix.
    sample : size of the smaller matrix. Returns 0 where `size` is not even twice as much, which takes no time.
    """
    if size < 2 * sample:
        return 0.0
    root = np.random.default_rng(0).standard_normal((sample, sample))
    seconds = []
    for _ in range(2):  # the first run wakes the library up
        matrix = root @ root.T + sample * np.eye(sample)
        start = time.perf_counter()
        compute(matrix)
        seconds.append(time.perf_counter() - start)
    return min(seconds) * (size / sample)**3

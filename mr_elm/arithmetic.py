"""Describe the BLAS library and limit it to one thread, which both change the last bits; measure how fast it is."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

OPEN: list[ExitStack] = []  # one for each `one_thread` that has not ended, the outermost first


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS uses one thread, also a library that comes meanwhile: see `limit_latecomers`."""
    with threadpool_limits(limits=1), ExitStack() as latecomers:
        OPEN.append(latecomers)
        try:
            yield
        finally:
            OPEN.remove(latecomers)


def limit_latecomers() -> None:
    """Let libraries that have just been loaded use one thread too, until the end of the outermost `one_thread`."""
    if OPEN:
        OPEN[0].enter_context(threadpool_limits(limits=1))


def describe_blas() -> str:
    """Name the BLAS libraries loaded and the processor type that each chose its kernels for."""
    found = {
        ' '.join(str(info[key]) for key in ('internal_api', 'version', 'architecture') if info.get(key))
        for info in threadpool_info()
        if info['user_api'] == 'blas'
    }
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
    return min(seconds) * (size / sample) ** 3

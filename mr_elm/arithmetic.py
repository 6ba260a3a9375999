"""Describe the BLAS library and limit it to one thread, which both change the last bits; measure how fast it is."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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

"""Describe the BLAS library and limit it to one thread, which both change the last bits; measure how fast it is."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

OPEN: list[ExitStack] = []  # one for each `one_thread` that has not ended, the outermost first
find_libraries = cache(ThreadpoolController)  # until `limit_latecomers`: to look for them takes 3 ms (2026-11-28)


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS uses one thread, also a library that comes meanwhile: see `limit_latecomers`."""
    with find_libraries().limit(limits=1), ExitStack() as latecomers:
        OPEN.append(latecomers)
        try:
            yield
        finally:
            OPEN.remove(latecomers)


def limit_latecomers() -> None:
    """Let libraries that have just been loaded use one thread too, until the end of the outermost `one_thread`."""
    find_libraries.cache_clear()
    if OPEN:
        OPEN[0].enter_context(find_libraries().limit(limits=1))


def describe_blas() -> str:
    """Name the BLAS libraries loaded and the processor type that each chose its kernels for."""
    found = {
        ' '.join(str(info[key]) for key in ('internal_api', 'version', 'architecture') if info.get(key))
        for info in find_libraries().info()
        if info['user_api'] == 'blas'
    }
    return ', '.join(sorted(found))

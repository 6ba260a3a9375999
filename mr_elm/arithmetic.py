"""Describe the BLAS library, and limit it to one thread: both change the last bits of results."""
from threadpoolctl import threadpool_info, threadpool_limits


def one_thread() -> threadpool_limits:
    """Return a context in which BLAS uses one thread."""
    return threadpool_limits(limits=1)


def describe_blas() -> str:
    """Name the BLAS libraries loaded and the processor type that each chose its kernels for."""
    found = {' '.join(str(info[key]) for key in ('internal_api', 'version', 'architecture') if info.get(key))
             for info in threadpool_info() if info['user_api'] == 'blas'}
    return ', '.join(sorted(found))

"""Sum up a Gram, factor a positive matrix A = U'U in its place, block row by block row, and divide by U, in threads.

    U_kk'U_kk = A_kk        U_kj = U_kk'^-1 A_kj        A_ij <- A_ij - U_ki'U_kj,  k < i <= j

Columns are cut into strips that do not depend on the number of threads.
"""
import ctypes
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from mr_elm import linalg
from mr_elm.parallel import map_in_threads, one_blas_thread
from mr_elm.typing import Floats

WIDTH = 256  # of a block row and of a strip: large enough for a fast product, small enough to share the work evenly


def factor_upper(A: Floats, n_threads: int | None) -> int:
    """Put U into the upper triangle of A (N, N), Fortran order; returns 0, or the row where A is not positive.

    A : float64 or float32.
    """
    n = len(A)
    failed = factor_diagonal(A, 0, min(WIDTH, n))
    for start in range(0, n, WIDTH):
        if failed:
            return failed
        stop = min(start + WIDTH, n)
        strips = [(left, min(left + WIDTH, n)) for left in range(stop, n, WIDTH)][::-1]  # the longest first
        map_in_threads(partial(solve_strip, A, start, stop), strips, n_threads)
        strips = strips[-1:] + strips[:-1]  # the one with the next block on the diagonal first
        failed = sum(map_in_threads(partial(update_strip, A, start, stop), strips, n_threads))
    return failed


def factor_diagonal(A: Floats, start: int, stop: int) -> int:
    """Put U_kk in the place of A_kk, of the rows start to stop; returns 0, or the row where A is not positive."""
    with one_blas_thread():
        failed = factor_positive(A[start:stop, start:stop], b'U')
    return start + failed if failed > 0 else 0


def solve_strip(A: Floats, start: int, stop: int, strip: tuple[int, int]) -> None:
    """Turn A_kj into U_kj; k are the rows start to stop, j the columns of the strip."""
    (left, right), n = strip, len(A)
    call('trsm', b'L', b'U', b'T', b'N', stop - start, right - left, 1.0, A[start:, start:], n, A[start:, left:], n)


def update_strip(A: Floats, start: int, stop: int, strip: tuple[int, int]) -> int:
    """Subtract U_ki'U_kj from A_ij for all i up to j, and factor the next block on the diagonal, if it is in the strip.

    Other threads update other strips meanwhile. Returns 0, or the row where A is not positive.
    """
    (left, right), n = strip, len(A)
    call('gemm', b'T', b'N', right - stop, right - left, stop - start, -1.0, A[start:, stop:], n, A[start:, left:], n,
         1.0, A[stop:, left:], n)
    return factor_diagonal(A, left, right) if left == stop else 0


def divide_columns(F: Floats, U: Floats) -> None:
    """Put U'^-1 F in the place of F (N, m), some columns of an array row by row; U (N, N), Fortran order, upper."""
    n, m = F.shape
    call('trsm', b'R', b'U', b'N', b'N', m, n, 1.0, U, n, F, F.strides[0] // F.itemsize)


def add_gram(A: Floats, E: Floats, factor: float, n_threads: int) -> None:
    """Add factor E'E to the upper triangle of A (N, N), Fortran order; E (n, N) of the same type, row by row."""
    n = len(A)
    strips = [(left, min(left + WIDTH, n)) for left in range(0, n, WIDTH)][::-1]  # the longest first
    map_in_threads(partial(add_strip, A, E, factor), strips, n_threads)


def add_strip(A: Floats, E: Floats, factor: float, strip: tuple[int, int]) -> None:
    """Add factor E'E to the columns of a strip of A, down to the diagonal."""
    (left, right), n = strip, len(A)
    call('gemm', b'N', b'T', right, right - left, len(E), factor, E, n, E[:, left:], n, 1.0, A[:, left:], n)


def factor_positive(A: Floats, triangle: bytes) -> int:
    """Put the Cholesky factor of A into its triangle b'L' or b'U'; returns 0, or the row where A is not positive.

    A : (n, n), float64 or float32, Fortran order or a square of such an array; only that triangle is read and written.
    """
    failed = np.zeros(1, np.int32)
    call('potrf', triangle, len(A), A, stride(A), failed)
    return int(failed[0])


def solve_factored(factor: Floats, triangle: bytes, right: Floats) -> None:
    """Put (L L')^-1 right in the place of right, (n,), for what `factor_positive` left."""
    n, failed = len(factor), np.zeros(1, np.int32)
    call('potrs', triangle, n, 1, factor, stride(factor), right, n, failed)


def stride(A: Floats) -> int:
    """Return how many numbers the columns of an array in Fortran order are apart."""
    return max(A.strides[1] // A.itemsize, 1)


def call(name: str, *arguments: bytes | int | float | np.ndarray) -> None:
    """Call a routine for the type of its arrays of floats, which stand for where they begin."""
    double = all(argument.dtype != np.float32 for argument in arguments if isinstance(argument, np.ndarray))
    find_routine(f'{"d" if double else "s"}{name}')(*(make_pointer(argument, double) for argument in arguments))


def make_pointer(argument: bytes | int | float | np.ndarray, double: bool) -> ctypes.c_void_p:
    """Return a pointer to an argument, as Fortran wants it. double : whether numbers have 8 bytes."""
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    kind: Callable = {bytes: ctypes.c_char, int: ctypes.c_int,
                      float: ctypes.c_double if double else ctypes.c_float}[type(argument)]
    return ctypes.cast(ctypes.pointer(kind(argument)), ctypes.c_void_p)


@cache
def find_routine(name: str) -> Callable:
    """Find a routine of the BLAS or LAPACK that scipy uses."""
    capsules = {**linalg.cython_blas.__pyx_capi__, **linalg.cython_lapack.__pyx_capi__}
    capsule = ctypes.py_object(capsules[name])
    find_name, find_address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    find_name.restype, find_address.restype = ctypes.c_char_p, ctypes.c_void_p
    address = find_address(capsule, ctypes.c_char_p(find_name(capsule)))
    return ctypes.CFUNCTYPE(None)(address)

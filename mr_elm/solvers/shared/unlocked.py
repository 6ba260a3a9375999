"""Call BLAS and LAPACK without Python's lock, which scipy's own functions hold, so that other threads go on."""
import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from mr_elm import linalg
from mr_elm.typing import Floats


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

"""Compile loops with numba, and keep the machine code for the next process where a folder can be written."""
from collections.abc import Callable
from typing import Any

import numba

INNER = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}  # of loops that only other loops call
LOOPS: list = []  # all that `jit` has compiled


def jit(**options: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles a loop; division by zero gives infinity, as LLVM must see to vectorise it."""
    def decorate(function: Callable) -> Callable:
        try:
            loop = numba.njit(cache=True, error_model='numpy', **options)(function)
        except RuntimeError:  # code in an archive, on a node without a folder to write to
            loop = numba.njit(error_model='numpy', **options)(function)
        LOOPS.append(loop)
        return loop
    return decorate


def inline(function: Callable) -> Callable:
    """Compile a function into the loops that call it."""
    return numba.njit(inline='always')(function)

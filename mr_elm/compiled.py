"""Compile loops with numba, and keep the machine code for the next process where a folder can be written.

The first loop that has to be compiled is announced to the logger of this module: the first fit then takes longer.
"""
import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

LOG = logging.getLogger(__name__)
ONCE = 'compiling loops once for this computer: up to 10 s'  # the solvers of the duals, on a processor of 2020

INNER = {'no_cpython_wrapper': True}  # of loops that only other loops call
LOOPS: list = []  # all that `jit` has compiled


class Announcer(event.Listener):
    """Announce the first loop that is compiled, not those that are loaded."""

    announced = False

    def on_start(self, event: Any) -> None:
        """Announce it."""
        if not self.announced:
            LOG.info(ONCE)
        Announcer.announced = True

    def on_end(self, event: Any) -> None:
        """Do nothing: the time is announced before."""


event.register('numba:compile', Announcer())


def jit(**options: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles a loop, which other threads run beside.

    Division by zero gives infinity, as LLVM must see to vectorise it.
    """
    def decorate(function: Callable) -> Callable:
        said = {'nogil': True, 'error_model': 'numpy', 'no_cfunc_wrapper': True, **options}
        try:
            loop = numba.njit(cache=True, **said)(function)
        except RuntimeError:  # code in an archive, on a node without a folder to write to
            loop = numba.njit(**said)(function)
        LOOPS.append(loop)
        return loop
    return decorate


def inline(function: Callable) -> Callable:
    """Compile a function into the loops that call it."""
    return numba.njit(inline='always')(function)

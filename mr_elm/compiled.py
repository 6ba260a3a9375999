"""Compile loops with numba, and keep the machine code for the next process where a folder can be written.

The first loop that has to be compiled is announced to the logger of this module: the first fit then takes longer. Loops
use the widest vectors that a processor has.
"""
import logging
from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path
from typing import Any
from zlib import crc32

import numba
from numba.core import event
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from mr_elm import linalg

linalg.load()  # numba uses its BLAS
LOG = logging.getLogger(__name__)
ONCE = 'compiling loops once for this computer: up to 10 s'  # the solvers of the duals, on a processor of 2020

INNER = {'no_cpython_wrapper': True}  # of loops that only other loops call
MARK = b'mr_elm.compiled import'  # of a file with loops
LOOPS: list = []  # all that `jit` has compiled
WIDE = '"prefer-vector-width"="512"'  # LLVM prefers 256 bits on processors of Intel that have 512: up to a fifth slower


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


class WideLower(Lower):
    """Write a loop in the language of LLVM, with a wish for wide vectors."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin the function."""
        super().setup_function(fndesc)
        set.add(self.function.attributes, WIDE)  # their own `add` refuses attributes that have a value


@register_pass(mutates_CFG=True, analysis_only=False)
class WideLowering(NativeLowering):
    """Do numba's step from types to LLVM, by `WideLower`."""

    _name = 'wide_lowering'
    lowering_class = WideLower


class WideCompiler(Compiler):
    """Compile by numba's passes, with `WideLowering` in the place of its own."""

    def define_pipelines(self) -> list:
        """Return the passes."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [(WideLowering if step is NativeLowering else step, name)
                               for step, name in pipeline.passes]
            pipeline.finalize()
        return pipelines


def jit(**options: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles a loop, which other threads run beside.

    Division by zero gives infinity, as LLVM must see to vectorise it.
    """
    def decorate(function: Callable) -> Callable:
        said = {'nogil': True, 'error_model': 'numpy', 'no_cfunc_wrapper': True, 'pipeline_class': WideCompiler,
                **options}
        try:
            loop = numba.njit(cache=True, **said)(function)
            mark_with_all_loops(loop)
        except RuntimeError:  # code in an archive, on a node without a folder to write to
            loop = numba.njit(**said)(function)
        LOOPS.append(loop)
        return loop
    return decorate


def mark_with_all_loops(loop: Any) -> None:
    """Let kept machine code be used as long as no file with loops has changed: it holds what it calls in other files.

    numba itself looks at the file of the loop alone.
    """
    index = loop._cache._cache_file
    index._source_stamp = index._source_stamp, digest_loops()


@cache
def digest_loops() -> int:
    """Return a checksum of all files with loops, 0 in an archive."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob('*.py')))
    return reduce(lambda digest, text: crc32(text, digest), (text for text in texts if MARK in text), 0)


def inline(function: Callable) -> Callable:
    """Compile a function into the loops that call it."""
    return numba.njit(inline='always')(function)

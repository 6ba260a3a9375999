"""Compile loops with numba, and keep the machine code for the next process where a folder can be written.

The first loop that has to be compiled is announced to the logger of this module: the first fit then takes longer.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path
from typing import Any
from zlib import crc32

import numba
from numba.core import event

from mr_elm import linalg

linalg.load()  # numba imports it with the first loop that is called
LOG = logging.getLogger(__name__)
ONCE = 'compiling loops once for this computer: up to 10 s'  # the solvers of the duals, on a processor of 2020
ALWAYS = (
    'compiling loops, which cannot be kept for the next command, because {} cannot be written: set NUMBA_CACHE_DIR to '
    'a folder that can be written'
)

INNER = {'no_cpython_wrapper': True}  # of loops that only other loops call
PACKAGE = Path(__file__).parent  # no folder where the code is in an archive
ROOMS = 'features', 'solvers', 'sums'  # folders with loops, and with the constants that these take
LOOPS: list = []  # all that `jit` has compiled


class Announcer(event.Listener):
    """Announce the first loop that is compiled, not those that are loaded."""

    announced = False
    text = ONCE

    def on_start(self, event: Any) -> None:
        """Announce it."""
        if not self.announced:
            LOG.info(self.text)
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
            keep_while_unchanged(loop)
        except (RuntimeError, OSError):  # code in an archive, on a node without a folder to write to
            loop = numba.njit(**said)(function)
            Announcer.text = ALWAYS.format(os.environ.get('NUMBA_CACHE_DIR') or f'{PACKAGE} or ~/.cache/numba')
        LOOPS.append(loop)
        return loop

    return decorate


def keep_while_unchanged(loop: Any) -> None:
    """Let kept machine code be used as long as all files are the same that a loop may call; numba looks at its own.

    Raises OSError where nothing can be kept.
    """
    if hasattr(loop, '_cache'):  # it has none where NUMBA_DISABLE_JIT is set
        if not PACKAGE.is_dir():  # numba has tried to write elsewhere, but not beside an archive
            loop._cache._impl.locator.ensure_cache_path()
        index = loop._cache._cache_file
        index._source_stamp = index._source_stamp, digest_sources()


@cache
def digest_sources() -> int:
    """Return a checksum of this file and of the rooms with loops, or of the archive that holds the package."""
    files = [PACKAGE.parent]
    if PACKAGE.is_dir():
        files = [Path(__file__), *(path for room in ROOMS for path in sorted(PACKAGE.glob(f'{room}/**/[!.]*.py')))]
    return reduce(lambda digest, path: crc32(path.read_bytes(), digest), files, 0)


def inline(function: Callable) -> Callable:
    """Compile a function into the loops that call it."""
    return numba.njit(inline='always')(function)

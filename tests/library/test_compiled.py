"""Loops are compiled for the widest vectors that a processor has, and anew when one that they call has changed."""
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

import mr_elm
from mr_elm.compiled import LOOPS, WIDE, WideCompiler
from mr_elm.solvers.shared import slab_loops


def test_a_loop_wishes_for_wide_vectors_and_computes_the_same():
    def add(values):
        total = 0.0
        for value in values:
            total += value
        return total

    wide, plain = numba.njit(pipeline_class=WideCompiler)(add), numba.njit(add)
    values = np.linspace(0, 1, 1000)
    assert wide(values) == plain(values) == add(values)
    assert [WIDE in code for loop in (wide, plain) for code in loop.inspect_llvm().values()] == [True, False]


def test_all_loops_are_compiled_so():
    assert slab_loops.gather_block in LOOPS
    assert {loop._compiler.pipeline_class for loop in LOOPS} == {WideCompiler}


def test_a_loop_is_compiled_anew_when_one_that_it_calls_has_changed_and_only_then(tmp_path):
    def run():
        done = subprocess.run([sys.executable, '-c', SHOW], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    package = tmp_path / 'mr_elm'
    package.mkdir()
    for name in ('__init__', 'compiled', 'linalg', 'arithmetic'):
        shutil.copy(Path(mr_elm.__file__).parent / f'{name}.py', package)
    (package / 'outer.py').write_text(OUTER)
    (package / 'inner.py').write_text(INNER.format(1))
    assert [run(), run()] == [['1', 'compiled'], ['1', 'loaded']]
    (package / 'other.py').write_text('')
    assert run() == ['1', 'loaded']
    (package / 'inner.py').write_text(INNER.format(2))
    assert [run(), run()] == [['2', 'compiled'], ['2', 'loaded']]


INNER = 'from mr_elm.compiled import inline\n\n\n@inline\ndef give():\n    return {}\n'
OUTER = """
from mr_elm.compiled import jit
from mr_elm.inner import give


@jit()
def take():
    return give()
"""
SHOW = """
import sys
sys.path.insert(0, '')
from mr_elm.outer import take
print(take(), 'loaded' if take.stats.cache_hits else 'compiled')
"""

"""Loops are compiled for the widest vectors that a processor has."""
import numba
import numpy as np

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

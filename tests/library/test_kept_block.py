"""The matrix of a block is that of its variables, however much of the last block's it keeps."""
import numpy as np
import pytest

from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers.shared.kept_block import KeptBlock
from mr_elm.solvers.shared.row_cache import RowCache
from mr_elm.solvers.shared.workspace import Workspace

N = 200
RNG = np.random.default_rng(0)
X, TARGETS = RNG.standard_normal((N, 3)), RNG.choice([-1.0, 1.0], N)


def follow_blocks():
    """Yield blocks of which each keeps some of the last one's variables: all, most, few, or none."""
    block = np.arange(0, N, 4)
    for share in (1.0, 0.95, 0.9, 0.5, 0.9, 0.0, 1.0):
        kept = block[RNG.random(len(block)) < share]
        others = np.setdiff1d(np.arange(N), block)
        size = RNG.integers(20, 60)
        block = np.union1d(kept, RNG.choice(others, max(size - len(kept), 1), replace=False))
        yield block


@pytest.mark.parametrize('dtype', ['float32', 'float64'])
@pytest.mark.parametrize('grows', [False, True])
def test_the_matrix_is_that_of_the_wanted_variables(dtype, grows):
    rows, space = kernel_rows(X, make_kernel('gaussian', gamma=0.3)), Workspace()
    K = rows.rows(np.arange(N)) * np.outer(TARGETS, TARGETS)
    cache, kept = RowCache(rows, dtype, 10**9, None, space), KeptBlock(space, grows)
    for wanted in follow_blocks():
        cache.ensure(wanted)
        members, Q = kept.bring(wanted, cache, TARGETS)
        assert sorted(members) == wanted.tolist()
        assert np.allclose(Q[:len(members), :len(members)], K[np.ix_(members, members)], rtol=0, atol=1e-6)


def test_variables_whose_rows_are_not_there_take_columns_and_a_square():
    rows, space = kernel_rows(X, make_kernel('gaussian', gamma=0.3)), Workspace()
    K = rows.rows(np.arange(N)) * np.outer(TARGETS, TARGETS)
    cache, kept = RowCache(rows, 'float32', 10**9, None, space), KeptBlock(space, True)
    for wanted in follow_blocks():
        cache.ensure(wanted[::2])
        members, Q = kept.bring(wanted, cache, TARGETS, lambda some: rows.take(some).rows(np.arange(len(some))))
        assert np.allclose(Q[:len(members), :len(members)], K[np.ix_(members, members)], rtol=0, atol=1e-6)
        assert (cache.slot_of[wanted] < 0).any()


def test_a_variable_that_stays_keeps_its_place():
    rows, space = kernel_rows(X, make_kernel('gaussian', gamma=0.3)), Workspace()
    cache, kept = RowCache(rows, 'float32', 10**9, None, space), KeptBlock(space)
    cache.ensure(np.arange(N))
    before = kept.bring(np.arange(50), cache, TARGETS)[0].copy()
    after = kept.bring(np.r_[0:20, 25:50, 60:65], cache, TARGETS)[0]
    stays = (before < 20) | (before >= 25)
    assert np.array_equal(before[stays], after[stays]) and set(after[~stays]) == set(range(60, 65))

"""The block of `sparse_elm_blocks` holds the free variables and the worst violators of both sides."""

import numpy as np
import pytest

from mr_elm.features.kernel_rows import PrecomputedRows, kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers import sparse_elm_blocks
from mr_elm.solvers.box import BoxQP, Settings, free_variables, violations
from mr_elm.solvers.sparse_elm_blocks import BlockSearch

N, GOAL = 1500, 0.3


def draw_search(seed, met_share=0.6, **settings):
    """Draw a search at a point: a third of the variables at each bound, a third free; rows of some are there."""
    random = np.random.default_rng(seed)
    t, weights = random.choice([-1.0, 1.0], N), random.uniform(0.5, 2, N)
    rows = kernel_rows(random.standard_normal((N, 2)), make_kernel('gaussian', gamma=1.0))
    search = BlockSearch(BoxQP(rows, t, 1.0, weights), Settings(**settings))
    search.alpha = weights * random.choice([0.0, 0.5, 1.0], N)
    search.gradient = random.standard_normal(N)
    met = np.flatnonzero(random.random(N) < met_share)[: search.cache.capacity]
    search.cache.ensure(met)
    return search, np.isin(np.arange(N), met)


@pytest.mark.parametrize('seed', range(10))
def test_free_variables_that_were_met_are_in_it_and_the_worst_new_violators_of_each_side(seed):
    search, met = draw_search(seed)
    misfit = violations(search.alpha, search.gradient, search.problem.upper)
    free, rises = free_variables(search.alpha, search.problem.upper), search.problem.targets * search.gradient < 0
    block = search.choose_block(GOAL)
    assert (np.diff(block) > 0).all() and set(np.flatnonzero(met & free)) <= set(block)
    new = block[~met[block]]
    assert 0 < len(new) <= sparse_elm_blocks.MAX_NEW
    for side in (rises, ~rises):
        left = np.setdiff1d(np.flatnonzero(~met & side), new)
        assert misfit[left].max() <= misfit[new[side[new]]].min()
        assert misfit[new].min() > 0.5 * GOAL


def test_no_more_variables_are_taken_than_rows_can_be_there():
    for seed, size in enumerate((1, 10**6, 4 * 10**6)):
        search, _ = draw_search(seed, 0.2, cache_bytes=size)
        assert len(search.choose_block(0.0)) <= search.cache.capacity


def test_where_one_side_has_no_violator_its_next_ones_join_in():
    search, _ = draw_search(0, 1.0)
    search.alpha[:], t = 0.0, search.problem.targets
    search.gradient = -t * np.abs(search.gradient)  # only positive rows violate
    assert {1.0, -1.0} == set(t[search.choose_block(0.1)])


def test_rows_of_the_longest_time_unasked_make_room_and_all_are_what_the_source_says():
    random = np.random.default_rng(0)
    X, t = random.standard_normal((200, 3)), random.choice([-1.0, 1.0], 200)
    rows = kernel_rows(X, make_kernel('gaussian', gamma=0.3))
    K = rows.rows(np.arange(200))
    Q = K * np.outer(t, t)
    cache = sparse_elm_blocks.RowCache(rows, 'float32', 100 * 200 * 4)
    for count in (90, 60, 100, 30, 100):
        wanted = np.sort(random.choice(200, count, replace=False))
        cache.ensure(wanted)
        assert np.allclose(cache.block(wanted, t), Q[np.ix_(wanted, wanted)], atol=1e-6)
        there = np.flatnonzero(cache.slot_of >= 0)
        assert len(there) <= 100 and np.allclose(cache.slab[cache.slot_of[there]], K[there], atol=1e-6)
        before, change, gradient = cache.n_computed, random.standard_normal(200), np.zeros(200)
        cache.ensure(wanted)
        assert cache.n_computed == before
        cache.move(np.arange(200), change, t, gradient)
        assert np.allclose(gradient, t * (K @ (t * change)), atol=1e-5)
    assert sparse_elm_blocks.RowCache(PrecomputedRows(K), 'float32', 1).slab is not None

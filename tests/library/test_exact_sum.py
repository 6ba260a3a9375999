"""Exact sums: the order of additions never shows, and what leaves was never there."""

import numpy as np
import pytest
from reference.sums import exact_sum, to_grid

from mr_elm.sums.exact_sum import (
    CHUNK_ENTRIES,
    EXACT_ROWS,
    add_pair,
    add_triangle,
    add_values,
    choose_step,
    two_sum,
)


def summed(blocks, step):
    high, low = np.zeros((2, *blocks[0].shape))
    for block in blocks:
        add_values(high, low, block, step)
    return high, low


def bits(pair):
    return [np.ascontiguousarray(part).tobytes() for part in pair]


def numbers(rng, shape, bound=1.0):
    """Draw numbers of all magnitudes below a bound."""
    return rng.uniform(-bound, bound, shape) * 2.0 ** -rng.integers(0, 60, shape)


@pytest.mark.parametrize('bound', [1e-300, 1e-30, 0.7, 1.0, 1.5, 1e9, 1e30, 1e200])
def test_the_grid_is_a_power_of_two_far_below_the_bound(bound):
    step = choose_step(bound)
    assert np.frexp(step)[0] == 0.5 and np.isfinite(1 / step)
    assert step >= bound * 2.0**-66
    assert step < max(bound, 1e-269) * 2.0**-65


@pytest.mark.parametrize('bound', [0.0, 5e-324])
def test_a_bound_of_nothing_still_gives_a_grid(bound):
    assert choose_step(bound) > 0 and np.isfinite(1 / choose_step(bound))


def test_two_sum_loses_nothing():
    rng = np.random.default_rng(0)
    a, b = numbers(rng, (2, 1000), 1e10)
    s, e = two_sum(a, b)
    assert np.array_equal(s, a + b)
    assert all(exact_sum([x, y]) == exact_sum([u, v]) for x, y, u, v in zip(a, b, s, e, strict=True))


@pytest.mark.parametrize('bound', [1e-30, 1.0, 3.0, 1e20])
def test_high_and_low_hold_the_sum_of_the_rounded_values_exactly(bound):
    rng, step = np.random.default_rng(1), choose_step(bound)
    blocks = numbers(rng, (300, 7), bound) * rng.choice([1, 4096], (300, 1))
    high, low = summed(blocks, step)
    for j in range(7):
        assert exact_sum([high[j], low[j]]) == sum(to_grid(x, step) for x in blocks[:, j])
    assert np.array_equal(high + low, high)


@pytest.mark.parametrize('seed', range(20))
def test_an_addition_is_exact_and_normalised_also_where_numbers_cancel(seed):
    rng, step = np.random.default_rng(seed), choose_step(1.0)
    high, low = summed(numbers(rng, (5, 4000)) * 2.0 ** rng.integers(0, 15, 4000), step)
    near = high * rng.choice([-2, -1.5, -1, -0.5, 1, 2.0**-50, -(2.0**-53), 2.0**20], 4000)
    near += np.spacing(high) * rng.integers(-3, 4, 4000) * rng.choice([0, 0.5, 1], 4000)
    expected = [exact_sum([x, y, to_grid(z, step)]) for x, y, z in zip(high, low, near, strict=True)]
    add_values(high, low, near, step)
    assert [exact_sum([x, y]) for x, y in zip(high, low, strict=True)] == expected
    assert np.array_equal(high + low, high)


@pytest.mark.parametrize('seed', range(20))
def test_any_order_and_any_grouping_give_the_same_bits(seed):
    rng, step = np.random.default_rng(seed), choose_step(1e6)
    blocks = numbers(rng, (40, 5), 1e6)
    blocks[rng.integers(40)] = 1e6  # an outlier
    expected = bits(summed(blocks, step))
    groups = np.array_split(rng.permutation(40), np.sort(rng.integers(0, 41, rng.integers(0, 8))))
    pairs = [summed(blocks[group], step) for group in groups if len(group)]
    while len(pairs) > 1:
        other = pairs.pop(rng.integers(len(pairs)))
        add_pair(*pairs[rng.integers(len(pairs))], *other)
    assert bits(pairs[0]) == expected


@pytest.mark.parametrize('seed', range(10))
def test_what_leaves_gives_the_old_bits_back(seed):
    rng, step = np.random.default_rng(seed), choose_step(1.0)
    old, new = numbers(rng, (2, 30, 6))
    new[3] = 4096.0
    pair, leaving = summed(old, step), summed(new, step)
    add_pair(*pair, *leaving)
    add_pair(*pair, *(-part for part in leaving))
    assert bits(pair) == bits(summed(old, step))


@pytest.mark.parametrize('seed', range(5))
def test_the_total_of_as_many_rows_as_are_promised_is_exact(seed):
    rng, step, bound = np.random.default_rng(seed), choose_step(1.0), 1
    pair, total = np.zeros((2, 1)), 0
    while total < EXACT_ROWS * bound / 2:  # double the total, and add a large number and one of the last bits
        add_pair(*pair, *pair.copy())
        total *= 2
        for number in rng.uniform(0.5, 1, (2, 1)) * [[1], [2.0**-14]]:
            add_values(*pair, number, step)
            total += to_grid(number[0], step)
        assert exact_sum(pair[:, 0]) == total
    assert EXACT_ROWS * bound == 2.0**104 * step


def test_the_plain_sum_would_have_shown_its_order():
    blocks = numbers(np.random.default_rng(0), (40, 50))
    assert (blocks.cumsum(axis=0)[-1] != blocks[::-1].cumsum(axis=0)[-1]).any()


@pytest.mark.parametrize('m', [1, 2, 7, 130, 200])
def test_a_triangle_is_added_like_its_entries(m):
    values = numbers(np.random.default_rng(m), (m, m))
    high, low = np.zeros((2, m, m))
    for _ in range(3):
        add_triangle(high, low, values, choose_step(1.0))
    expected = summed([values] * 3, choose_step(1.0))
    upper = np.triu_indices(m)
    assert bits([high[upper], low[upper]]) == bits([part[upper] for part in expected])
    assert m < 130 or m * m > CHUNK_ENTRIES  # both sides of the cut are tried

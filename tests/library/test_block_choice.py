"""The block of `block_rule` holds the free variables and the worst violators of both sides."""
import numpy as np
import pytest

from mr_elm.solvers.box.block_choice import BlockChoice, Point, survey
from mr_elm.solvers.box.box_qp import free_variables, violations

N = 300


def draw_point(seed, met_share=0.6):
    """Draw a point: a third of the variables at each bound, a third free; some are met."""
    random = np.random.default_rng(seed)
    upper = random.uniform(0.5, 2, N)
    a = upper * random.choice([0.0, 0.5, 1.0], N)
    slot_of = np.where(random.random(N) < met_share, np.arange(N), -1)
    return Point(a, random.standard_normal(N), upper, random.choice([-1.0, 1.0], N), slot_of)


def take_worst(candidates, score, count):
    """Return the count candidates of the largest scores, as a set: sort all."""
    return set(sorted(candidates, key=lambda i: -score[i])[:count])


@pytest.mark.parametrize('seed', range(20))
def test_it_takes_what_sorting_all_candidates_says(seed):
    point, goal, count, room = draw_point(seed), 0.3, 20, 120
    a, g, upper, t, slot_of = point
    misfit, met, free = violations(a, g, upper), slot_of >= 0, free_variables(a, upper)
    rising = -t * g
    sides = [np.flatnonzero((misfit > 0.5 * goal) & ~met & side) for side in (rising > 0, rising <= 0)]
    new = take_worst(set().union(*(take_worst(side, misfit, count // 2) for side in sides)), misfit, count)
    kept = set(np.flatnonzero(met & free))
    left = max(room - len(kept), room // 2) - len(new)
    old = met & ~free
    raises = np.flatnonzero(old & np.where(t > 0, a < upper, a > 0))
    lowers = np.flatnonzero(old & np.where(t > 0, a > 0, a < upper))
    numbers = [int(np.sum(rising[raises] > 0.1 * goal)), int(np.sum(-rising[lowers] > 0.1 * goal))]
    few, half = int(0.1 * max(numbers)), (left + 1) // 2
    worst = (take_worst(raises, rising, min(max(numbers[0], few), half))
             | take_worst(lowers, -rising, min(max(numbers[1], few), half)))
    found = BlockChoice(N).choose(point, goal, count, room, N)
    assert found.tolist() == sorted(new | kept | set(sorted(worst)[:left]))


def test_no_variable_is_taken_twice_and_no_more_than_there_is_room_for():
    choice = BlockChoice(N)
    for seed in range(50):
        point, capacity = draw_point(seed, 0.2), 40 + seed
        block = choice.choose(point, 0.0, 30, 200, capacity)
        assert len(set(block.tolist())) == len(block) <= capacity
        assert (np.diff(block) > 0).all()


def test_where_one_side_has_no_violator_its_next_ones_join_in():
    point = draw_point(0, 1.0)
    a, g, upper, t, slot_of = point
    one_sided = point._replace(a=np.zeros(N), g=-t * np.abs(g))  # only positive rows violate
    block = BlockChoice(N).choose(one_sided, 0.1, 20, 100, N)
    assert {1.0, -1.0} == set(t[block])


@pytest.mark.parametrize('seed', range(5))
def test_the_worst_violation_is_that_of_all(seed):
    a, g, upper, *_ = draw_point(seed)
    worst, square, n_support = survey(a, g, upper)
    assert worst == violations(a, g, upper).max()
    assert square == pytest.approx(a @ a, rel=1e-12)
    assert n_support == np.count_nonzero(a)
    for value in (np.nan, -np.nan, np.inf, -np.inf):
        for share in (0.0, 0.5, 1.0):
            g[seed], a[seed] = value, share * upper[seed]
            np.testing.assert_equal(survey(a, g, upper)[0], violations(a, g, upper).max())

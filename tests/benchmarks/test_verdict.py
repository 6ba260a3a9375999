"""Verdicts: one rule of value, aim and steady runs, for benchmarks, tables and scaling experiments."""
from math import inf, nan

import pytest

from mr_elm.scaling.verdict import COUNTED, Claim, at_least, at_most, describe_claim, judge, measure_movement, tabulate

STEADY_RUNS, MOVED_BY_11_PERCENT = [2.0, 2.1, 2.18], [2.0, 2.22, 2.1]


@pytest.mark.parametrize('value, aim, verdict', [
    (0.9, at_most(1.0), 'met'), (1.0, at_most(1.0), 'met'), (1.1, at_most(1.0), 'missed'),
    (0.9, at_least(1.0), 'missed'), (1.0, at_least(1.0), 'met'), (1.1, at_least(1.0), 'met')])
def test_a_value_meets_its_aim_on_the_right_side_of_the_limit(value, aim, verdict):
    assert judge(value, aim, COUNTED) == verdict
    assert judge(value, aim, [STEADY_RUNS, STEADY_RUNS]) == verdict


@pytest.mark.parametrize('value', [0.5, 2.0])
@pytest.mark.parametrize('runs', [[MOVED_BY_11_PERCENT, STEADY_RUNS], [STEADY_RUNS, MOVED_BY_11_PERCENT],
                                  [STEADY_RUNS, STEADY_RUNS, MOVED_BY_11_PERCENT]])
def test_no_side_may_move_by_more_than_a_tenth(value, runs):
    assert judge(value, at_most(1.0), runs) == 'not measurable'


def test_one_run_does_not_show_that_it_is_steady():
    assert judge(0.5, at_most(1.0), [[2.0], STEADY_RUNS]) == 'not measurable'


def test_what_could_not_be_reached_is_missed_however_the_runs_moved():
    assert judge(None, at_least(5.0), COUNTED) == judge(None, at_most(5.0), [MOVED_BY_11_PERCENT]) == 'missed'


def test_where_there_is_nothing_to_compare_there_is_nothing_to_measure():
    assert judge(nan, at_least(1.0), COUNTED) == 'not measurable'


def test_movement_is_that_of_the_side_that_moved_most():
    assert measure_movement([[4.0, 5.0], [3.0, 2.0, 2.5]]) == 0.5
    assert measure_movement([[1.0, 1.0]]) == measure_movement(COUNTED) == 0.0
    assert measure_movement([[0.0, 1.0]]) == measure_movement([[1.0]]) == inf


def test_a_table_shows_value_aim_verdict_and_steadiness():
    rows = [Claim('fit', 1.257, at_most(1.3), [[1.0, 1.04], [2.0, 2.02]], 'one core'),
            Claim('bytes', 3.0, at_most(2.8), COUNTED, '30 bytes'), Claim('labels', None, at_least(5.0), COUNTED),
            Claim('one place', nan, at_least(0.5), [[1.0]])]
    assert tabulate(map(describe_claim, rows)).splitlines()[2:] == [
        '| fit | 1.26 | at most 1.3 | met | one core; runs moved by 4% |',
        '| bytes | 3.00 | at most 2.8 | **missed** | 30 bytes |',
        '| labels | not reached | at least 5 | **missed** |  |',
        '| one place |  | at least 0.5 | not measurable | steadiness unknown |']

"""Verdicts: one rule of value, aim and steady runs, for benchmarks, tables and scaling experiments."""
import json
from dataclasses import asdict
from math import inf, nan

import pytest

from benchmarks.verdict import (
    COUNTED,
    FASTER,
    Claim,
    at_least,
    at_most,
    count_verdicts,
    judge,
    measure_movement,
    read_claim,
    tabulate,
)

STEADY_RUNS, MOVED_BY_11_PERCENT = [2.0, 2.1, 2.18], [2.0, 2.22, 2.1]


@pytest.mark.parametrize('value, aim, verdict', [
    (0.9, at_most(1.0), 'met'), (1.0, at_most(1.0), 'met'), (1.1, at_most(1.0), 'missed'),
    (0.9, at_least(1.0), 'missed'), (1.0, at_least(1.0), 'met'), (1.1, at_least(1.0), 'met')])
def test_a_value_meets_its_aim_on_the_right_side_of_the_limit(value, aim, verdict):
    assert judge(value, aim, COUNTED) == verdict
    assert judge(value, aim, [STEADY_RUNS, STEADY_RUNS]) == verdict


@pytest.mark.parametrize('runs', [[MOVED_BY_11_PERCENT, STEADY_RUNS], [STEADY_RUNS, MOVED_BY_11_PERCENT],
                                  [STEADY_RUNS, STEADY_RUNS, MOVED_BY_11_PERCENT], [[2.0], STEADY_RUNS]])
@pytest.mark.parametrize('aim', [at_most(1.0), at_least(1.0), FASTER])
def test_unsteady_runs_of_any_side_never_meet_an_aim_and_excuse_no_miss(aim, runs):
    good, bad = (0.5, 2.0) if aim.at_most else (2.0, 0.5)
    assert judge(good, aim, runs) == 'unsteady' and judge(bad, aim, runs) == 'missed'


@pytest.mark.parametrize('value, verdict', [(0.90, 'missed'), (0.92, 'even'), (1.0, 'even'), (1.09, 'even'),
                                            (1.11, 'met')])
def test_a_race_is_even_within_a_tenth(value, verdict):
    assert judge(value, FASTER, [STEADY_RUNS, STEADY_RUNS]) == verdict
    assert judge(value, FASTER, [STEADY_RUNS, MOVED_BY_11_PERCENT]) == ('missed' if value < 0.91 else 'unsteady')


def test_what_could_not_be_reached_is_missed_however_the_runs_moved():
    assert judge(None, at_least(5.0), COUNTED) == judge(None, at_most(5.0), [MOVED_BY_11_PERCENT]) == 'missed'


def test_where_there_is_nothing_to_compare_there_is_nothing_to_measure():
    assert judge(nan, at_least(1.0), COUNTED) == 'not measured'


def test_movement_is_that_of_the_side_that_moved_most():
    assert measure_movement([[4.0, 5.0], [3.0, 2.0, 2.5]]) == 0.5
    assert measure_movement([[1.0, 1.0]]) == measure_movement(COUNTED) == 0.0
    assert measure_movement([[0.0, 1.0]]) == measure_movement([[1.0]]) == inf


def test_a_table_shows_value_aim_verdict_and_steadiness():
    rows = [Claim('fit', 1.257, at_most(1.3), [[1.0, 1.04], [2.0, 2.02]], 'one core'),
            Claim('bytes', 3.0, at_most(2.8), COUNTED, '30 bytes'), Claim('labels', None, at_least(5.0), COUNTED),
            Claim('one run', 0.7, at_least(0.5), [[1.0]]), Claim('race', 1.0, FASTER, [[1.0, 1.2]])]
    assert tabulate(rows).splitlines()[2:] == [
        '| fit | 1.26 | at most 1.3 | met | one core; runs moved by 4% |',
        '| bytes | 3.00 | at most 2.8 | **missed** | 30 bytes |',
        '| labels | not reached | at least 5 | **missed** |  |',
        '| one run | 0.70 | at least 0.5 | unsteady | one run |',
        '| race | 1.00 | faster | unsteady | runs moved by 20% |']
    assert count_verdicts(rows) == '1 met, 2 missed, 2 unsteady'


@pytest.mark.parametrize('claim', [Claim('fit', 1.2, FASTER, [[1.0, 1.04], [2.0, 2.02]], 'note', 'a : b'),
                                   Claim('bytes', None, at_most(2.8), COUNTED)])
def test_a_claim_that_went_through_json_is_the_same_claim(claim):
    again = read_claim(json.loads(json.dumps(asdict(claim))))
    assert again == claim and again.steadiness == claim.steadiness

"""The harness: both sides run alike and in turn, every run is kept, and one rule judges all of them."""

import json
import math
import subprocess
import sys
import time
from functools import partial

import pytest

from benchmarks import harness, machine
from benchmarks.clocks import read_processor_clock, time_call
from benchmarks.harness import (
    COUNTED,
    FASTER,
    NORMAL,
    POINTS,
    QUICK,
    SHARE,
    TIME_IS_UP,
    WALL,
    Aim,
    Bench,
    Case,
    Pair,
    Race,
    Results,
    run_all,
    run_race,
)

STEADY, MOVED = [2.0, 2.1, 2.18], [2.0, 2.22, 2.1]


def row_of(ours=(1.0,) * 3, theirs=(1.0,) * 3, **other):
    """Return a row as a race keeps it."""
    return {
        'set': 'a',
        'setting': '',
        'ours': list(ours),
        'theirs': list(theirs),
        'our_scores': [],
        'their_scores': [],
        'others': 0.0,
        'rows': 10,
        **other,
    }


def race_of(*cases, unit=COUNTED, minutes=1.0, aim=None, warm=False):
    """Return a race of some cases."""
    aims = (aim or Aim(SHARE, 1, 'as small'),)
    return Race('race', 'ours', 'theirs', 'Both count.', lambda bench: iter(cases), aims, minutes, unit, warm)


@pytest.fixture
def bench(tmp_path):
    return Bench(NORMAL, str(tmp_path))


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / 'race.json')


def test_both_sides_run_in_turn_and_equally_often_after_a_run_that_does_not_count(bench, results, monkeypatch):
    monkeypatch.setitem(harness.LEAST_SECONDS, NORMAL, 0.0)
    log = []
    pair = Pair(lambda trial: log.append(('ours', trial)), lambda trial: log.append(('theirs', trial)))
    run_race(race_of(Case('a', lambda: pair), unit=WALL, warm=True), bench, results)
    assert log == [('ours', 0), ('theirs', 0)] + [(side, trial) for trial in range(3) for side in ('ours', 'theirs')]
    assert [len(results.rows[0][side]) for side in ('ours', 'theirs')] == [3, 3]


def test_a_score_is_taken_after_the_clock_has_stopped(bench, results, monkeypatch):
    monkeypatch.setitem(harness.LEAST_SECONDS, NORMAL, 0.0)

    def score(value):
        time.sleep(0.05)
        return value

    pair = Pair(lambda trial: partial(score, 0.5 + trial), lambda trial: partial(score, 0.25))
    run_race(race_of(Case('a', lambda: pair), unit=WALL), bench, results)
    (row,) = results.rows
    assert row['our_scores'] == [0.5, 1.5, 2.5] and row['their_scores'] == [0.25] * 3 and max(row['ours']) < 0.05
    assert Aim(POINTS, 0, '').value(results.rows) == pytest.approx(125)


def test_a_short_call_is_repeated_until_its_mean_can_be_trusted():
    now, calls = [0.0], []

    def action():
        calls.append(now[0])
        now[0] += 0.04
        return len(calls)

    assert time_call(action, lambda: now[0], 0.1) == (pytest.approx(0.04), 3)


def test_the_seconds_of_child_processes_count():
    code = 'sum(range(10_000_000))'
    seconds, _ = time_call(lambda: subprocess.run([sys.executable, '-c', code], check=True), read_processor_clock, 0)
    assert seconds > 0.05


@pytest.mark.parametrize('kind, value', [(FASTER, 2.0), (SHARE, 0.5)])
def test_times_are_the_least_of_each_side_and_the_mean_over_cases_is_geometric(kind, value):
    rows = [
        row_of((2.1, 2.0, 2.2), (4.0, 4.4, 4.2)),
        row_of((1.0, 1.0, 1.1), (8.0, 8.0, 9.0)),
        row_of((4.0, 4.0, 4.0), (2.0, 2.0, 2.0)),
    ]
    aim = Aim(kind, 1, '')
    ratios = [math.log(aim.value_of(row)) for row in rows]
    assert aim.value(rows[:1]) == pytest.approx(value)
    assert math.log(aim.value(rows)) == pytest.approx(sum(ratios) / 3)


@pytest.mark.parametrize(
    'kind, wanted, ours, theirs, verdict',
    [
        (SHARE, 1.25, 1.2, 1.0, 'met'),
        (SHARE, 1.25, 1.3, 1.0, 'missed'),
        (FASTER, 2, 1.0, 2.1, 'met'),
        (FASTER, 2, 1.0, 1.9, 'missed'),
        (FASTER, 1, 1.0, 1.05, 'even'),
        (FASTER, 1, 1.0, 0.95, 'even'),
        (FASTER, 1, 1.0, 0.85, 'missed'),
        (FASTER, 1, 1.0, 1.2, 'met'),
    ],
)
def test_a_verdict_is_computed_against_the_wanted_figure(kind, wanted, ours, theirs, verdict):
    aim = Aim(kind, wanted, '')
    assert aim.verdict([row_of((ours,) * 3, (theirs,) * 3)]) == verdict
    assert aim.verdict([]) == 'not yet measured'


def test_what_moved_or_shared_the_machine_never_meets_an_aim_and_excuses_no_miss():
    for row in (row_of(MOVED, (4.0,) * 3), row_of(others=0.6, theirs=(2.0,) * 3)):
        assert Aim(FASTER, 1.5, '').verdict([row]) == 'unsteady' and Aim(FASTER, 3, '').verdict([row]) == 'missed'
    assert Aim(FASTER, 1.5, '').verdict([row_of(STEADY, (4.0,) * 3)]) == 'met'


def test_an_aim_counts_its_own_setting_alone():
    rows = [row_of(setting='a'), row_of(setting='b', theirs=(9.0,) * 3)]
    assert Aim(FASTER, 1, '', 'a').value(rows) == 1 and Aim(FASTER, 1, '', 'b').value(rows) == pytest.approx(9)


def test_a_case_begins_only_within_the_minutes_and_what_is_left_out_is_named(bench, results):
    def fail():
        raise FileNotFoundError('expected a.npz, none has it')

    cases = Case('a', fail), Case('b', lambda: Pair(lambda trial: 1, lambda trial: 2), 'C 1')
    run_race(race_of(*cases), bench, results)
    assert [row['set'] for row in results.rows] == ['b'] and results.left_out == {'a': 'expected a.npz, none has it'}
    run_race(race_of(Case('c', fail), minutes=-1), bench, results)
    assert results.left_out['c'] == TIME_IS_UP


def test_a_stopped_run_goes_on_and_another_commit_begins_anew(tmp_path, monkeypatch):
    measured = []

    def case(name):
        return Case(name, lambda: measured.append(name) or Pair(lambda trial: 1, lambda trial: 2))

    for names in ('a', 'ab'):
        run_all([race_of(*map(case, names))], tmp_path, QUICK)
    assert measured == ['a', 'b']
    kept = json.loads((tmp_path / 'race.json').read_text())
    assert [row['set'] for row in kept['rows']] == ['a', 'b']
    assert all(kept['machine'][name] for name in ('processor', 'cores', 'memory', 'numpy', 'BLAS', 'when', 'commit'))
    monkeypatch.setattr(machine, 'read_commit', lambda: 'another')
    run_all([race_of(case('b'))], tmp_path, QUICK)
    assert measured == ['a', 'b', 'b'] and len(json.loads((tmp_path / 'race.json').read_text())['rows']) == 1


def test_changes_and_other_programs_keep_it_from_measuring(tmp_path, monkeypatch):
    race = race_of(Case('a', lambda: Pair(lambda trial: 1, lambda trial: 2)))
    monkeypatch.setattr(machine, 'read_commit', lambda: 'abc1234-dirty')
    with pytest.raises(ValueError, match='without changes, found abc1234-dirty'):
        run_all([race], tmp_path, NORMAL)
    run_all([race], tmp_path, QUICK)
    monkeypatch.setattr(machine, 'measure_busy', iter([0.9, 0.6, 0.4]).__next__)
    machine.wait_until_quiet()
    monkeypatch.setattr(machine, 'measure_busy', lambda: 0.75)
    with pytest.raises(ValueError, match='at most 50% of its cores, found 75%'):
        machine.wait_until_quiet(patience=0)


def test_what_other_programs_use_is_a_share_of_the_cores_without_our_own(monkeypatch):
    assert 0 <= machine.measure_busy(0.05) <= 1
    ticks = machine.os.sysconf('SC_CLK_TCK')
    times = iter([[0] * 8, [10 * ticks, 0, 0, 10 * ticks, 0, 0, 0, 0]])
    monkeypatch.setattr(machine.Load, 'read', staticmethod(lambda: next(times)))
    assert machine.Load().share_of_others(own_seconds=4.0) == pytest.approx(0.3)

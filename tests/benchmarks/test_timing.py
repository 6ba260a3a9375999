"""Timing: both sides run alike, in turn and equally often, and are summed up by the same statistic."""
import time

import pytest

from benchmarks.bench.context import FULL, Bench
from mr_elm.scaling.timing import Seconds, compare, judge_ratio, measure_in_turn, measure_processor
from mr_elm.scaling.verdict import at_least, at_most

WARM = 0.01  # seconds of an uncounted run: less than any that counts, so that counting it would show


@pytest.fixture
def actions(monkeypatch):
    """Make actions that take the seconds given, one after another, by clocks of their own; `log` names their runs.

    Of each second, half is the processor's.
    """
    now, log = [0.0], []
    monkeypatch.setattr(time, 'perf_counter', lambda: now[0])
    monkeypatch.setattr(time, 'process_time', lambda: now[0] / 2)

    def make(name, *seconds):
        durations = iter(seconds)

        def action():
            log.append(name)
            now[0] += next(durations)
        return action

    make.log = log
    return make


def test_actions_run_in_turn(actions):
    runs = measure_in_turn([actions('a', 1.0, 2.0), actions('b', 3.0, 4.0), actions('c', 5.0, 6.0)], 2)
    assert actions.log == ['a', 'b', 'c', 'a', 'b', 'c']
    assert runs == [pytest.approx([1.0, 2.0]), pytest.approx([3.0, 4.0]), pytest.approx([5.0, 6.0])]


def test_what_is_measured_of_an_action_can_be_chosen():
    assert measure_in_turn(['tile', 'row'], 2, len) == [[4, 4], [3, 3]]


def test_processor_seconds_are_measured_twice_in_turn(actions):
    runs = measure_processor([actions('a', 1.0, 2.0), actions('b', 3.0, 4.0)])
    assert runs == [pytest.approx([0.5, 1.0]), pytest.approx([1.5, 2.0])]
    assert actions.log == ['a', 'b', 'a', 'b']


def test_a_comparison_warms_and_repeats_both_sides_alike(actions):
    row = compare('fit', actions('ours', WARM, 2.0, 2.1, 2.0), actions('peer', WARM, 4.0, 4.1, 4.0), at_most(1.0))
    assert sorted(actions.log[:2]) == ['ours', 'peer']
    assert actions.log[2:] == ['ours', 'peer'] * 3
    assert row.runs == [pytest.approx([2.0, 2.1, 2.0]), pytest.approx([4.0, 4.1, 4.0])]


@pytest.mark.parametrize('aim, value', [(at_most(1.0), 0.5), (at_least(1.0), 2.0)])
def test_a_ratio_is_that_of_the_least_of_both_sides(actions, aim, value):
    row = compare('fit', actions('ours', WARM, 2.1, 2.0, 2.15), actions('peer', WARM, 4.3, 4.2, 4.0), aim)
    assert row.value == pytest.approx(value) and row.verdict == 'met'
    assert row.note == '2.00 s against 4.00 s'
    slower = judge_ratio('fit', [4.0, 4.3], [2.0, 2.1], aim)
    assert slower.value == pytest.approx(1 / value) and slower.verdict == 'missed'


@pytest.mark.parametrize('ours, peer, verdict', [
    ((2.0, 2.1, 2.0), (4.0, 4.3, 4.1), 'met'), ((2.0, 2.3, 2.0), (4.0, 4.3, 4.1), 'not measurable'),
    ((2.0, 2.1, 2.0), (4.0, 4.6, 4.1), 'not measurable')])
def test_a_comparison_of_which_a_side_moved_is_not_measurable(actions, ours, peer, verdict):
    assert compare('fit', actions('ours', WARM, *ours), actions('peer', WARM, *peer), at_most(1.0)).verdict == verdict


def test_seconds_are_measured_once(tmp_path):
    ran = []
    for _ in range(2):
        seconds = Seconds(tmp_path / 'seconds.json').of('a', lambda: ran.append(1))
        assert seconds >= 0
    assert len(ran) == 1


@pytest.mark.parametrize('size', ['normal', FULL])
def test_fits_of_a_benchmark_run_twice_in_turn(actions, tmp_path, size):
    with Bench(tmp_path, size) as bench:
        runs = bench.runs('fit', actions('ours', 1.0, 2.0), actions('peer', 3.0, 4.0))
    assert runs == [pytest.approx([0.5, 1.0]), pytest.approx([1.5, 2.0])]
    assert actions.log == ['ours', 'peer', 'ours', 'peer']


def test_a_full_benchmark_goes_on_with_the_runs_that_are_there(actions, tmp_path):
    with Bench(tmp_path, FULL) as bench:
        first = bench.runs('fit', actions('ours', 1.0, 2.0), actions('peer', 3.0, 4.0))
        assert bench.runs('fit', actions('ours'), actions('peer')) == first

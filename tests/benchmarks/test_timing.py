"""Timing: both sides run alike, in turn and equally often, and are summed up by the same statistic."""
import subprocess
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from benchmarks.timing import (
    compare,
    judge_ratio,
    measure_in_turn,
    measure_processor,
    processor_seconds,
    show_seconds,
)
from benchmarks.verdict import at_least, at_most

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
    assert row.runs == [pytest.approx([1.0, 1.05, 1.0]), pytest.approx([2.0, 2.05, 2.0])]


def test_a_short_action_is_repeated_until_its_mean_can_be_trusted(actions):
    (seconds,), = measure_in_turn([actions('short', 0.02, 0.08, 0.04, 0.08, 9.0)], 1, processor_seconds)
    assert seconds == pytest.approx(0.0275) and actions.log == ['short'] * 4


def test_the_seconds_of_child_processes_count_system_time_included():
    code = 'import os; [os.read(0, 100) for _ in range(300_000)]'  # most of it in the system

    def work():
        subprocess.run([sys.executable, '-c', code], stdin=subprocess.DEVNULL, check=True)

    before = getrusage(RUSAGE_CHILDREN)
    seconds = processor_seconds(work)
    after = getrusage(RUSAGE_CHILDREN)
    assert after.ru_stime > before.ru_stime
    assert seconds >= 0.9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 2


@pytest.mark.parametrize('aim, value', [(at_most(1.0), 0.5), (at_least(1.0), 2.0)])
def test_a_ratio_is_that_of_the_least_of_both_sides(actions, aim, value):
    row = compare('fit', actions('ours', WARM, 2.1, 2.0, 2.15), actions('peer', WARM, 4.3, 4.2, 4.0), aim)
    assert row.value == pytest.approx(value) and row.verdict == 'met'
    assert row.note == '1.00 s against 2.00 s'
    slower = judge_ratio('fit', [4.0, 4.3], [2.0, 2.1], aim)
    assert slower.value == pytest.approx(1 / value) and slower.verdict == 'missed'


@pytest.mark.parametrize('seconds, text', [(1.0 - 1e-9, '1.00 s'), (0.99, '990 ms'), (0.00123, '1.23 ms')])
def test_seconds_are_written_with_three_digits(seconds, text):
    assert show_seconds(seconds) == text


@pytest.mark.parametrize('ours, peer, verdict', [
    ((2.0, 2.1, 2.0), (4.0, 4.3, 4.1), 'met'), ((2.0, 2.3, 2.0), (4.0, 4.3, 4.1), 'unsteady'),
    ((2.0, 2.1, 2.0), (4.0, 4.6, 4.1), 'unsteady')])
def test_a_comparison_of_which_a_side_moved_is_unsteady(actions, ours, peer, verdict):
    assert compare('fit', actions('ours', WARM, *ours), actions('peer', WARM, *peer), at_most(1.0)).verdict == verdict

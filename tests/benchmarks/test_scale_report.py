"""The page of a scaling experiment: an aim and a computed verdict for every curve, the same aim for every runner."""
import pytest
from reference.scale_runs import run_of

from benchmarks.machine import describe
from benchmarks.scaling.report import write_report
from benchmarks.verdict import RULES


def runs_of(experiment, places, runner='local', **other):
    """Make two runs of each place; places : (nodes, rows, seconds), a tuple of seconds where the runs differ."""
    return [run_of(experiment, nodes, rows, second, repeat=repeat, runner=runner, **other)
            for nodes, rows, seconds in places
            for repeat, second in enumerate(seconds if isinstance(seconds, tuple) else (seconds, seconds))]


@pytest.fixture
def verdicts(tmp_path):
    """Write the page of some runs: (measured, aim, verdict) for each line of its table of verdicts."""
    def read(experiment, runs):
        lines = write_report(experiment, runs, {}, tmp_path).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith('| what | measured | target | verdict |'))
        rows = lines[start + 2:lines.index('', start)]
        return [tuple(cell.strip() for cell in row.split('|')[2:5]) for row in rows]
    return read


@pytest.mark.parametrize('seconds, measured, verdict', [(6.2, '1.61', 'met'), (6.3, '1.59', '**missed**')])
@pytest.mark.parametrize('runner', ['local', 'hadoop', 'emr'])
def test_two_nodes_are_to_be_four_fifths_of_twice_as_fast_on_every_runner(verdicts, seconds, measured, verdict, runner):
    runs = runs_of('speedup', [(1, 100, 10.0), (2, 100, seconds)], runner)
    assert verdicts('speedup', runs) == [(measured, 'at least 1.6', verdict)]


def test_every_place_of_every_curve_is_judged_by_its_own_ideal(verdicts):
    runs = runs_of('speedup', [(1, 100, 12.0), (2, 100, 6.0), (4, 100, 4.0)])
    runs += runs_of('speedup', [(2, 100, 8.0), (4, 100, 4.0)], 'hadoop')
    assert verdicts('speedup', runs) == [('2.00', 'at least 1.6', 'met'), ('3.00', 'at least 3.2', '**missed**'),
                                         ('2.00', 'at least 1.6', 'met')]


@pytest.mark.parametrize('seconds, verdict', [(11.7, 'met'), (11.9, '**missed**')])
def test_scaleup_is_to_keep_most_of_the_speed(verdicts, seconds, verdict):
    (_, aim, found), = verdicts('scaleup', runs_of('scaleup', [(1, 100, 10.0), (2, 200, seconds)]))
    assert (aim, found) == ('at least 0.85', verdict)


def test_the_aim_of_a_scaleup_follows_the_work_of_the_method(verdicts):
    runs = runs_of('scaleup', [(1, 100, 10.0), (2, 200, 20.0)], method='mr-kelm-cg')
    assert verdicts('scaleup', runs) == [('0.50', 'at least 0.425', 'met')]


@pytest.mark.parametrize('seconds, deviation, verdict', [
    ((6.8, 10.2, 17.2, 32.2), '0.06', 'met'), ((23.3, 25.8, 35.2, 54.1), '0.43', '**missed**')])
@pytest.mark.parametrize('runner', ['local', 'hadoop'])
def test_increments_of_sizeup_are_to_be_alike_on_every_runner(verdicts, seconds, deviation, verdict, runner):
    runs = runs_of('sizeup', [(2, 250 * m, s) for m, s in zip((1, 2, 4, 8), seconds, strict=True)], runner)
    assert verdicts('sizeup', runs) == [(deviation, 'at most 0.1', verdict)]


@pytest.mark.parametrize('first, second', [((10.0, 11.2), 5.0), (10.0, (5.0, 5.6))])
def test_a_setting_whose_runs_moved_is_unsteady_and_says_so(verdicts, tmp_path, first, second):
    (_, _, found), = verdicts('speedup', runs_of('speedup', [(1, 100, first), (2, 100, second)]))
    text = (tmp_path / 'speedup.md').read_text()
    assert found == 'unsteady' and text.count(' | **runs moved by 12%** |') == 1 and text.endswith(RULES + '\n')


def test_each_run_names_the_machine_and_commit_that_it_was_measured_on(tmp_path):
    def machine(**other):
        return {**describe(), 'commit': 'abc', 'when': '2026-01-01 10:00 UTC', 'load': '0.5', **other}

    sessions = {'first': machine(), 'second': machine(commit='def', cores='99', when='2026-01-02 10:00 UTC'),
                'unused': machine(commit='xyz')}
    runs = [run_of(session='first'), run_of(nodes=2, session='second')]
    text = write_report('speedup', runs, sessions, tmp_path).read_text()
    assert 'commit def, 2026-01-02 10:00 UTC, load 0.5\n' in text and 'xyz' not in text
    assert 'commit abc, 2026-01-01 10:00 UTC, load 0.5 (another machine, another commit)\n' in text


def test_a_sizeup_is_unsteady_when_runs_of_any_size_moved(verdicts):
    runs = runs_of('sizeup', [(1, 100, 1.0), (1, 200, (2.0, 2.3)), (1, 400, 4.15)])
    (_, _, found), = verdicts('sizeup', runs)
    assert found == 'unsteady'


def test_increments_are_those_of_medians(verdicts):
    runs = runs_of('sizeup', [(1, 100, (9.2, 10.0, 10.1)), (1, 200, (20.0, 20.0, 20.1)), (1, 400, (40.0, 40.0, 41.0))])
    (measured, _, _), = verdicts('sizeup', runs)
    assert measured == '0.00'


def test_one_run_of_a_place_decides_nothing(verdicts):
    runs = [run_of(nodes=1, seconds=10.0), run_of(nodes=2, seconds=5.0)]
    assert verdicts('speedup', runs) == [('2.00', 'at least 1.6', 'unsteady')]


@pytest.mark.parametrize('experiment, places', [('speedup', 1), ('scaleup', 1), ('sizeup', 2)])
def test_too_few_places_decide_nothing(verdicts, experiment, places):
    runs = runs_of(experiment, [(1, 100 * m, 10.0 * m) for m in range(1, places + 1)])
    (measured, _, found), = verdicts(experiment, runs)
    assert (measured, found) == ('', 'not measured')

"""Speedup, sizeup and scaleup: what is run, what is written down, and what comes out of it."""
import csv
import json
from argparse import Namespace
from dataclasses import replace

import pytest
from reference.scale_runs import run_of

from benchmarks.scaling import study
from benchmarks.scaling.aims import find_increments
from benchmarks.scaling.methods import METHODS, Problem
from benchmarks.scaling.ratios import make_curves
from benchmarks.scaling.runs import TYPES, append_run, demand_same_model, read_runs, write_runs
from benchmarks.scaling.study import plan_points

SMALL = ('--sizes', 9000, '--features', 4, '--hidden', 6, '--repeats', 1, '-q')


@pytest.fixture(scope='module')
def measured(scaling, tmp_path_factory):
    """Measure a small speedup once: the folder of what was written."""
    folder = tmp_path_factory.mktemp('scale')
    assert scaling('speedup', '--nodes', 1, 2, '-o', folder, *SMALL).status == 0
    return folder


def test_a_run_is_a_line_whose_stages_add_up(measured):
    runs = read_runs(measured / 'speedup.csv')
    assert [(run.method, run.nodes, run.rows, run.maps, run.jobs) for run in runs] == [
        ('pesvm', 1, 9000, 1, 1), ('pesvm', 2, 9000, 2, 1)]
    for run in runs:
        stages = run.start_seconds, run.map_seconds, run.reduce_seconds, run.driver_seconds
        assert min(stages) >= 0 and run.seconds == pytest.approx(sum(stages), abs=0.01)
        assert [len(tasks) for tasks in run.tasks] == [run.maps]
        assert max(run.tasks[0]) <= run.map_seconds + 0.01
    assert runs[0].model == runs[1].model and runs[1].shuffle_bytes > 1.5 * runs[0].shuffle_bytes > 0


def test_every_run_names_the_session_that_says_where_it_was_measured(measured):
    sessions = json.loads((measured / 'speedup.sessions.json').read_text())
    machine, = (sessions[name] for name in {run.session for run in read_runs(measured / 'speedup.csv')})
    assert all(machine[name] for name in ('processor', 'cores', 'memory', 'Python', 'numpy', 'BLAS', 'when'))
    assert machine['when'] in (measured / 'speedup.md').read_text()


def without_sessions(path):
    """Return the runs of a file without their sessions, which differ with the time."""
    return [replace(run, session='') for run in read_runs(path)]


@pytest.mark.parametrize('method', ['mr-kelm-svd', 'mr-kelm-entries', 'oelm', 'sphere-svm'])
def test_methods_of_every_paper_are_measured(scaling, tmp_path, method):
    words = ('--method', method, '--nodes', 1, '--sizes', 90, '--features', 4, '--repeats', 1, '-o', tmp_path, '-q')
    assert scaling('speedup', *words).status == 0
    run, = read_runs(tmp_path / 'speedup.csv')
    assert (run.method, run.rows, run.features) == (method, 90, 4) and run.seconds > 0 and run.shuffle_bytes > 0


def test_figures_and_a_page_come_with_it(measured):
    assert (measured / 'speedup.png').read_bytes()[:4] == b'\x89PNG'
    assert '</svg>' in (measured / 'speedup.svg').read_text()
    assert '| 2 | 9,000 |' in (measured / 'speedup.md').read_text()


def test_resume_runs_what_is_not_there(measured, scaling, tmp_path, monkeypatch):
    one, two = read_runs(measured / 'speedup.csv')
    write_runs(tmp_path / 'speedup.csv', [one])
    asked = []

    def measure(point, *_):
        asked.append(point.nodes)
        return two

    monkeypatch.setattr(study, 'measure', measure)
    monkeypatch.setattr(study, 'draw', lambda *_: [])
    words = ('speedup', '--nodes', 1, 2, '-o', tmp_path, *SMALL)
    assert scaling(*words, '--resume').status == 0 and asked == [2]
    assert without_sessions(tmp_path / 'speedup.csv') == [replace(run, session='') for run in (one, two)]
    assert scaling(*words, '--resume').status == 0 and asked == [2]
    assert scaling(*words).status == 0 and asked == [2, 1, 2]


def test_runs_of_other_runners_and_methods_stay(scaling, tmp_path, monkeypatch):
    others = [run_of(runner='hadoop'), run_of(method='piesvm', model='of others')]
    write_runs(tmp_path / 'speedup.csv', [*others, run_of(seconds=99.0)])
    monkeypatch.setattr(study, 'measure', lambda point, *_: run_of(seconds=1.0))
    monkeypatch.setattr(study, 'draw', lambda *_: [])
    assert scaling('speedup', '--nodes', 1, '-o', tmp_path, *SMALL).status == 0
    assert without_sessions(tmp_path / 'speedup.csv') == [*others, run_of(seconds=1.0)]


def test_another_model_of_the_same_rows_is_an_error(scaling, tmp_path, monkeypatch):
    monkeypatch.setattr(study, 'measure', lambda point, *_: run_of(nodes=point.nodes, rows=9000,
                                                                   model=f'of {point.nodes}'))
    done = scaling('speedup', '--nodes', 1, 2, '-o', tmp_path, *SMALL)
    assert done.status == 1 and 'of 1, as on 1 nodes of local, found of 2' in done.err
    done = scaling('speedup', '--nodes', 1, 2, '-o', tmp_path, *SMALL, '--resume')
    assert done.status == 1 and 'of 1, as on 1 nodes of local, found of 2' in done.err
    demand_same_model([run_of(), run_of(rows=200, model='b'), run_of(method='piesvm', model='c')])


def test_runs_survive_a_file(tmp_path):
    runs = [run_of(), run_of(nodes=2, seconds=0.1 + 0.2, map_tasks='')]
    write_runs(tmp_path / 'runs.csv', runs[:1])
    append_run(tmp_path / 'runs.csv', runs[1])
    assert read_runs(tmp_path / 'runs.csv') == runs
    assert next(csv.reader((tmp_path / 'runs.csv').open())) == list(TYPES)
    whole = (tmp_path / 'runs.csv').read_bytes()
    (tmp_path / 'cut.csv').write_bytes(whole[:-3])
    assert read_runs(tmp_path / 'cut.csv') == runs[:1]
    (tmp_path / 'other.csv').write_text('a,b\n1,2\n')
    with pytest.raises(ValueError, match='runs of speedup'):
        read_runs(tmp_path / 'other.csv')


@pytest.mark.parametrize('experiment, expected', [
    ('speedup', [(1, 800), (2, 800), (4, 800)]), ('scaleup', [(1, 800), (2, 1600), (4, 3200)]),
    ('sizeup', [(4, 800)])])
def test_what_is_run(experiment, expected):
    options = Namespace(method=['pesvm'], nodes=[1, 2, 4], sizes=[800], repeats=2, features=None, hidden=None,
                        partitions=[1])
    points = plan_points(experiment, options)
    assert [(point.nodes, point.problem.rows) for point in points] == expected + expected[::-1]
    assert {(point.problem.features, point.problem.hidden) for point in points} == {(50, 1000)}


def test_ratios_are_of_medians_and_ideals_follow_the_work():
    seconds = {1: (10.0, 11.0, 30.0), 2: (6.0, 5.0, 5.5)}
    runs = [run_of(nodes=n, seconds=s, repeat=k) for n in seconds for k, s in enumerate(seconds[n])]
    (one, two), = make_curves('speedup', runs).values()
    assert (one.value, two.value, two.ideal) == (1.0, 2.0, 2.0) and two.least == 11 / 6 and two.largest == 11 / 5
    assert two.map_only == 8.0 / 2.5
    curve, = make_curves('speedup', [run_of(nodes=4), run_of(nodes=2)]).values()
    assert [ratio.x for ratio in curve] == [2, 4]
    sizes = [run_of('sizeup', rows=100 * m, seconds=2.0 + m) for m in (1, 2, 4)]
    assert len(make_curves('sizeup', [*sizes, run_of('sizeup', nodes=2), run_of('sizeup', features=5)])) == 3
    assert len(make_curves('speedup', [run_of(rows=10_000_000), run_of(rows=10_000_001)])) == 2
    curve, = make_curves('sizeup', sizes).values()
    assert [ratio.ideal for ratio in curve] == [1, 2, 4] and find_increments(curve) == pytest.approx([1, 1])
    grown = [replace(run_of('scaleup', nodes=n, rows=100 * n), method='mr-kelm-cg') for n in (1, 2)]
    assert [ratio.ideal for ratio in next(iter(make_curves('scaleup', grown).values()))] == [1, 0.5]


def test_a_place_must_be_there(scaling, tmp_path):
    assert 'S3' in scaling('speedup', '-r', 'emr', '-o', tmp_path, *SMALL).err
    assert scaling('speedup', '--sizes', 'many', '-o', tmp_path).status == 2


@pytest.mark.parametrize('name', METHODS)
def test_a_method_tells_what_it_costs(name):
    """Twice the rows are more work, and what is sent does not shrink with the tasks."""
    method, p = METHODS[name], METHODS[name].default
    twice = Problem(2 * p.rows, p.features, p.hidden)
    assert method.work(twice) >= 2 * method.work(p) > 0
    assert method.emit(p, 4) >= method.emit(p, 2) >= 0 and method.solve(twice) >= method.solve(p) >= 0
    assert method.reducers(p, 400) >= method.reducers(p, 2) >= 1

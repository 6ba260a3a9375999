"""Speedup, sizeup and scaleup: what is run, what is written down, and what comes out of it."""

import json
from argparse import Namespace

import pytest

from benchmarks.scaling import experiments
from benchmarks.scaling.experiments import MEANING, demand_same_model, list_points, make_curves, read_jobs, write_tables

SMALL = ('--sizes', 9000, '--features', 4, '--hidden', 6, '--repeats', 1)


def run_of(nodes=1, rows=100, seconds=10.0, **other):
    """Return a run of PESVM on local."""
    return {
        'runner': 'local',
        'method': 'pesvm',
        'nodes': nodes,
        'rows': rows,
        'features': 4,
        'hidden': 6,
        'repeat': 0,
        'seconds': seconds,
        'jobs': {'Gram': seconds - 3},
        'model': 'a',
        **other,
    }


def read(folder):
    return json.loads((folder / 'speedup.json').read_text())['rows']


def test_runs_are_kept_with_a_figure_and_a_page_and_resumed(scaling, tmp_path, monkeypatch):
    words = ('speedup', '--nodes', 1, 2, '-o', tmp_path, *SMALL)
    assert scaling(*words).status == 0
    one, two = read(tmp_path)
    assert [(run['method'], run['nodes'], run['rows'], list(run['jobs'])) for run in (one, two)] == [
        ('pesvm', 1, 9000, ['Gram']),
        ('pesvm', 2, 9000, ['Gram']),
    ]
    assert one['model'] == two['model'] and one['seconds'] > one['jobs']['Gram'] > 0
    assert (tmp_path / 'speedup.png').read_bytes()[:4] == b'\x89PNG'
    assert '| 2 | 9,000 |' in (tmp_path / 'speedup.md').read_text()
    asked = []
    monkeypatch.setattr(experiments, 'measure', lambda point, *_: asked.append(point['nodes']) or {**two, **point})
    assert scaling(*words, '--resume').status == 0 and asked == [] and read(tmp_path) == [one, two]
    assert scaling(*words).status == 0 and asked == [1, 2]


@pytest.mark.parametrize(
    'method, job', [('piesvm', 'Gram'), ('mr-kelm-svd', 'kernel'), ('mr-kelm-entries', 'products')]
)
@pytest.mark.usefixtures('commands_here')
def test_methods_of_the_papers_are_measured(scaling, tmp_path, method, job):
    words = ('--method', method, '--nodes', 1, '--sizes', 60, '--features', 3, '--hidden', 4, '--repeats', 1)
    assert scaling('speedup', *words, '-o', tmp_path).status == 0
    (run,) = read(tmp_path)
    assert (run['method'], run['rows'], run['features']) == (method, 60, 3) and job in run['jobs']


def test_another_model_of_the_same_rows_is_an_error(scaling, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, 'measure', lambda point, *_: run_of(**{**point, 'model': f'of {point["nodes"]}'}))
    done = scaling('speedup', '--nodes', 1, 2, '-o', tmp_path, *SMALL)
    assert done.status == 1 and 'of 1, as on 1 node of local, found of 2' in done.err
    demand_same_model([run_of(), run_of(rows=200, model='b'), run_of(method='piesvm', model='c')])


@pytest.mark.parametrize(
    'experiment, expected',
    [
        ('speedup', [(1, 800), (2, 800), (4, 800)]),
        ('scaleup', [(1, 800), (2, 1600), (4, 3200)]),
        ('sizeup', [(4, 800)]),
    ],
)
def test_what_is_run(experiment, expected):
    options = Namespace(
        runner='local', method=['pesvm'], nodes=[1, 2, 4], sizes=[800], repeats=2, features=None, hidden=None
    )
    points = list(list_points(experiment, options))
    assert [(point['nodes'], point['rows']) for point in points] == expected + expected[::-1]
    assert {(point['features'], point['hidden']) for point in points} == {(50, 1000)}


def test_ratios_are_of_medians_and_ideals_follow_the_work():
    seconds = {1: (10.0, 11.0, 30.0), 2: (6.0, 5.0, 5.5)}
    ((one, two),) = make_curves('speedup', [run_of(n, seconds=s) for n in seconds for s in seconds[n]]).values()
    assert (one['value'], two['value'], two['ideal']) == (1.0, 2.0, 2.0)
    assert (two['least'], two['largest'], two['jobs']) == (11 / 6, 11 / 5, 8.0 / 2.5)
    sizes = [run_of(rows=100 * m, seconds=2.0 + m) for m in (1, 2, 4)]
    (curve,) = make_curves('sizeup', sizes).values()
    assert [point['ideal'] for point in curve] == [1, 2, 4] and [point['value'] for point in curve] == [1, 4 / 3, 2]
    grown = [run_of(n, 100 * n, method='mr-kelm-svd') for n in (1, 2)]
    assert [point['ideal'] for point in next(iter(make_curves('scaleup', grown).values()))] == [1, 0.5]
    assert len(make_curves('speedup', [run_of(rows=10_000_000), run_of(rows=10_000_001)])) == 2


@pytest.mark.parametrize('experiment', MEANING)
def test_a_table_has_a_line_a_setting(experiment):
    assert '| 1 | 100 | 1.00 | 1.00 to 1.00 | 1.00 | 1.00 | 10.0 | 1 |' in '\n'.join(
        write_tables(experiment, [run_of()])
    )


def test_the_seconds_of_jobs_are_read_from_what_the_command_says():
    said = (
        'rows.csv: commas\nproduct: 9 rows, 0.1 MB in 0.2 s, 0.4 MB/s\nkernel by tiles: 5 rows, 1 MB in 1.5 s, 1 MB/s\n'
    )
    assert read_jobs(said + said) == {'product': 0.4, 'kernel by tiles': 3.0}


def test_a_place_must_be_there_and_words_must_be_known(scaling, tmp_path):
    assert 'S3' in scaling('speedup', '-r', 'emr', '-o', tmp_path, *SMALL).err
    assert scaling('speedup', '--sizes', 'many', '-o', tmp_path).status == 2 and scaling('simulate').status == 2

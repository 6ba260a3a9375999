"""The experiments of the papers: each part runs on few rows, goes on where it was stopped, and is laid out."""

import json

import numpy as np
import pytest

from benchmarks import papers
from benchmarks.harness import QUICK, Bench, Results
from benchmarks.pages import describe_part
from benchmarks.papers import PARTS, Run, run_parts, split_as_published, split_folds
from benchmarks.tables import tabulate


@pytest.mark.parametrize('name', ['sparse-elm', 'sparse-elm-figures', 'sphere-svm', 'oelm'])
def test_a_part_runs_and_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.delenv('MR_ELM_DATA', raising=False)
    if name == 'sparse-elm':
        monkeypatch.setattr(papers, 'BOUNDS', (1.0, 10.0))
    run_parts([name], tmp_path, small=True)
    kept = json.loads((tmp_path / f'papers-{name}.json').read_text())
    assert kept['rows'] and kept['left_out'] == {} and kept['machine']['commit']
    text = '\n'.join(describe_part(PARTS[name], Results.read(tmp_path / f'papers-{name}.json'), tmp_path))
    assert 'Measured on' in text and ('| --- |' in text or '.svg)' in text)
    if name == 'sparse-elm':
        assert {row['method'].partition(',')[0] for row in kept['rows']} == {
            'SVC',
            'sparse ELM by Algorithm 1',
            'sparse ELM by block',
            'sparse ELM by coordinate',
            'unified ELM',
        }


def test_a_stopped_part_goes_on_where_it_was(tmp_path):
    run_parts(['oelm'], tmp_path, small=True)
    path = tmp_path / 'papers-oelm.json'
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, 'rows': whole['rows'][1:]}))
    run_parts(['oelm'], tmp_path, small=True)
    again = json.loads(path.read_text())['rows']
    assert again[:-1] == whole['rows'][1:] and again[-1]['rule'] == whole['rows'][0]['rule']


def test_the_active_set_is_told_by_iteration(tmp_path):
    run = Run(Results(tmp_path / 'oelm.json'), Bench(QUICK, str(tmp_path)))
    papers.measure_oelm(run)
    for row in run.results.rows:
        free, bound, when = np.array(row['active']).T
        assert len(free) == row['Newton systems']
        assert row['most free'] == free.max() and row['free at the end'] == free[-1]
        assert (free + bound <= row['rows']).all() and (np.diff(when) >= 0).all()


def test_a_set_that_was_published_in_parts_keeps_them_and_others_are_halved():
    y = np.repeat([0, 1], 500)
    parts = list(split_as_published(2, 'leukemia', y))
    assert [sorted(train) for train, _ in parts] == [list(range(38))] * 2 and list(parts[0][0]) != list(parts[1][0])
    ((train, test),) = split_as_published(1, 'iris', y)
    assert len(train) == len(test) == 500 and set(train) | set(test) == set(range(1000)) and y[train].sum() == 250


def test_each_row_of_a_set_is_tested_in_one_outer_fold():
    y = np.repeat([0, 1], 50)
    assert sorted(row for _, test in split_folds(5, 'iris', y) for row in test) == list(range(100))


def test_means_are_over_what_all_methods_have():
    rows = [
        {'method': 'a', 'set': 'x', 's': 1.0},
        {'method': 'a', 'set': 'x', 's': 3.0},
        {'method': 'a', 'set': 'y', 's': 99.0},
        {'method': 'b', 'set': 'x', 's': 5.0},
    ]
    assert tabulate(('method',), ('s',), 'set', rows).splitlines()[2:] == [
        '| a | 2 |',
        '| b | 5 |',
        '',
        'Means over x.',
    ]

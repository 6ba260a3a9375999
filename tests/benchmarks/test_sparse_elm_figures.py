"""Figures 2 to 7 of the sparse ELM paper: every training is kept, and drawn where it belongs."""
import csv
import re
import sys

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from benchmarks.public_sets import read_set
from benchmarks.tables import sparse_elm_figures as figures
from benchmarks.tables.split import split_halves
from mr_elm.estimators import SparseELMClassifier


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Draw the figures of iris from few trainings; a run that was killed in the middle goes on."""
    path = tmp_path_factory.mktemp('figures') / 'out.csv'
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv('MR_ELM_DATA', raising=False)
        patch.setattr(figures, 'SIZES', (5, 50))
        patch.setattr(figures, 'PAPER', (0.1, 10.0))
        patch.setattr(figures, 'NODES', {'sine': 'sine', 'rbf': 'Gaussian'})
        patch.setattr(sys, 'argv', ['figures', str(path.with_suffix('.md')), 'iris', 'nowhere', '--trials', '2'])
        kept = figures.KeptRows(path, figures.COLUMNS)
        figures.measure_set('iris', 1, kept)
        path.write_text(path.read_text()[:-20])  # killed while it wrote
        kept.rows.pop()
        figures.main()
    assert rows_of(path.parent)[:len(kept.rows)] == kept.rows
    return path.parent


def rows_of(folder):
    with open(folder / 'out.csv', newline='') as stream:
        return list(csv.DictReader(stream))


def test_the_page_shows_the_figures_of_a_set_and_says_what_the_paper_has_lost(folder):
    page = (folder / 'out.md').read_text()
    shown = re.findall(r'!\[([^]]+)\]\(([^)]+)\)', page)
    assert [name for _, name in shown] == ['out-iris-nodes.svg', 'out-iris-sigma.svg', 'out-iris-hidden.svg']
    assert all(text.startswith('iris: ') and len(text) > 60 for text, _ in shown)
    for _, name in shown:
        assert (folder / name).read_text().lstrip().startswith('<?xml')
        assert (folder / name).with_suffix('.png').read_bytes().startswith(b'\x89PNG')
    assert 'Our copy of the paper' in page and '* nowhere is in no folder' in page


def test_a_stopped_run_goes_on_and_trains_nothing_twice(folder):
    rows = rows_of(folder)
    assert len({tuple(row[column] for column in figures.COLUMNS[:6]) for row in rows}) == len(rows)
    n_methods, n_nodes, n_trials = 4, 2, 2
    assert len(rows) == n_trials * (n_methods * n_nodes * 2 + 2 * 2 + 2 * (2 * 2))


def test_a_kept_accuracy_is_that_of_the_machine_on_its_half(folder):
    row = next(row for row in rows_of(folder)
               if (row['method'], row['C'], row['sigma']) == ('sparse ELM', '10', '0.1'))
    X, y = read_set('iris')
    train, test = split_halves(y, 0)
    scaler = MinMaxScaler((-1, 1)).fit(X.toarray()[train])
    machine = SparseELMClassifier(sigma=0.1, C=10.0, scale='none').fit(scaler.transform(X.toarray()[train]), y[train])
    expected = [np.mean(machine.predict(scaler.transform(X.toarray()[part])) == y[part]) for part in (train, test)]
    assert [float(row['train_accuracy']), float(row['accuracy'])] == pytest.approx(expected, abs=1e-5)


def test_curves_are_means_over_the_trials():
    rows = [{'method': 'a', 'n_hidden': '10', 'accuracy': '0.5'}, {'method': 'a', 'n_hidden': '10', 'accuracy': '1'},
            {'method': 'b', 'n_hidden': '10', 'accuracy': '0'}]
    assert figures.mean_accuracies(rows, 'a', 'accuracy', 'n_hidden') == {(10.0,): 0.75}

"""Tuning MR-KELM scores every candidate by leave-one-out, the same for any splits."""

import csv
import json

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import StandardScaler

from mr_elm.scores.selection import select_sample

GRID = ('--sigma', '0.5,2', '--C', '0.5,50')


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=60) > 0.3) * 1 + (X[:, 2] > 0) * 1


@pytest.fixture
def tune(elm, tmp_path):
    """Tune quietly: (what is printed, the table)."""

    def run(path, *options):
        out = tmp_path / 'table.csv'
        done = elm('tune', 'mr-kelm', path, *GRID, '--scale', 'none', '--table', out, '--overwrite', '-q', *options)
        assert (done.status, done.err) == (0, '')
        with open(out) as stream:
            return json.loads(done.out), [[float(cell) for cell in line] for line in list(csv.reader(stream))[1:]]

    return run


def held_out(X, T, sigma, C, center=False):
    ridge = KernelRidge(alpha=1 / C, kernel='rbf', gamma=1 / (2 * sigma**2))
    if center:
        ridge = TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))
    return cross_val_predict(ridge, X, T, cv=LeaveOneOut())


def test_scores_are_those_of_brute_force_and_the_best_is_trained(tune, dense, table, tmp_path, model_of):
    X, labels = table
    best, scores = tune(dense, '--model', tmp_path / 'm.npz', '--figure', tmp_path / 'map.png')
    T = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    assert [line[:2] for line in scores] == [[sigma, C] for sigma in (0.5, 2.0) for C in (0.5, 50.0)]
    for sigma, C, accuracy in scores:
        assert accuracy == pytest.approx((held_out(X, T, sigma, C).argmax(axis=1) == labels).mean())
    assert best['accuracy'] == max(line[2] for line in scores)
    parameters = model_of(tmp_path / 'm.npz')[0]['parameters']
    assert (parameters['sigma'], parameters['C']) == (best['sigma'], best['C'])
    assert (tmp_path / 'map.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize('share', [1, 0.5])
def test_balanced_classes_are_scored_by_balanced_accuracy(tune, dense, table, share):
    X, labels = table
    weights = len(X) / (3 * np.bincount(labels)[labels])  # of all rows, not of the sample
    rows = select_sample(X, share, 0)
    X, labels, weights = X[rows], labels[rows], weights[rows]
    T = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    best, scores = tune(dense, '--class-weight', 'balanced', '--sample', round(60 * share))
    for sigma, C, accuracy in scores:
        ridge, predicted = KernelRidge(alpha=1 / C, kernel='rbf', gamma=1 / (2 * sigma**2)), []
        for rest, row in LeaveOneOut().split(X):
            predicted += [ridge.fit(X[rest], T[rest], weights[rest]).predict(X[row]).argmax()]
        assert accuracy == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert best['balanced_accuracy'] == max(line[2] for line in scores) and 'accuracy' not in best


def test_numbers_are_scored_by_their_error(tune, write, csv_of, table):
    X = table[0]
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    best, scores = tune(write('numbers.csv', csv_of(y.tolist(), X)), '--task', 'regression')
    for sigma, C, rmse in scores:
        assert rmse == pytest.approx(np.sqrt(np.mean((held_out(X, y, sigma, C, center=True) - y) ** 2)))
    assert best['rmse'] == min(line[2] for line in scores)


def test_splits_do_not_show(tune, dense, maps):
    assert tune(dense, *maps(3)) == tune(dense)


def test_rows_too_many_for_a_decomposition_are_refused(elm, dense):
    done = elm('tune', 'mr-kelm', dense, *GRID, '--memory', 0.05, '-q')
    assert done.status == 1 and 'at most 45 rows' in done.err and '--sample 45' in done.err


@pytest.mark.parametrize(
    'options, said',
    [
        (('--C', '1,x'), '--C'),
        (('--sigma', '0'), '--sigma'),
        (('--degree', '2'), '--degree'),
        (('--task', 'regression', '--figure', 'x.png'), '--figure'),
    ],
)
def test_wrong_grids_are_wrong_usage(elm, dense, options, said):
    done = elm('tune', 'mr-kelm', dense, *options)
    assert done.status == 2 and said in done.err

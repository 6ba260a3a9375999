"""The ESVM estimators solve by passes over rows in memory: the machine of the command, and that of the sums."""

import warnings

import numpy as np
import pytest

from mr_elm.errors import ConvergenceWarning
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, to_estimator
from mr_elm.machines import passes
from mr_elm.model.file import read_model

N = 400
MAPS = pytest.mark.parametrize('map', ['sigmoid', 'nystrom', 'leaves', 'leaves+nystrom'])
RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, size=(N, 4))
LABELS = (X[:, 0] > 0.7) * 1 + (np.sin(3 * X[:, 1]) + X[:, 2] > 0) * 1
TARGETS = 1000 + np.where(X[:, 0] > 0.3, 2.0, 0.0) + np.sin(3 * X[:, 1])
BOTH = pytest.mark.parametrize(
    'kind, y', [(ESVMClassifier, LABELS), (ESVMRegressor, TARGETS)], ids=['classes', 'numbers']
)


def make(kind, map, **more):
    return kind(map=map, n_hidden=40, leaves=96, nu=3, **more)


def values(model):
    return model.to_model().decision_function(X)


@pytest.fixture
def command(elm, write, csv_of, tmp_path):
    """Train by the command: the model."""

    def command(y, map, *words):
        hidden = () if map == 'leaves' else ('--hidden', 40)
        leaves = ('--leaves', 96) if map.startswith('leaves') else ()
        rows = write('t.csv', csv_of(y.tolist(), X))
        done = elm(
            'train',
            'pesvm',
            rows,
            '--model',
            tmp_path / 'm.npz',
            '-q',
            '--nu',
            3,
            '--map',
            map,
            *hidden,
            *leaves,
            '--solver',
            'passes',
            *words,
        )
        assert (done.status, done.err) == (0, ''), done.err
        return read_model(tmp_path / 'm.npz')

    return command


@MAPS
@BOTH
def test_passes_find_what_sums_find(kind, y, map):
    wanted = values(make(kind, map).fit(X, y))
    found = make(kind, map, solver='passes', tol=1e-11).fit(X, y)
    assert np.abs(values(found) - wanted).max() <= 1e-7 * np.abs(wanted).max()
    parameters = found.to_model().header.parameters
    assert parameters['solver'] == 'passes' and parameters['residual'] <= 1e-11 and found.to_model().sums is None


@MAPS
@BOTH
def test_they_are_those_of_the_command(kind, y, map, command):
    task = ('--task', 'regression') if kind is ESVMRegressor else ()
    model, fitted = command(y, map, *task), make(kind, map, solver='passes').fit(X, y)
    wanted, header = model.decision_function(X), fitted.to_model().header
    assert np.abs(values(fitted) - wanted).max() <= 1e-6 * np.abs(wanted).max()
    for name in ('passes', 'precondition_rows', 'tolerance'):
        assert header.parameters[name] == model.header.parameters[name]
    assert fitted.n_iter_ == header.parameters['passes'] > make(kind, map).fit(X, y).n_iter_ == 1


def test_a_sample_preconditions(command, monkeypatch):
    monkeypatch.setitem(passes.SAMPLE, 'nystrom', 3)
    model = command(LABELS, 'nystrom')
    fitted = make(ESVMClassifier, 'nystrom', solver='passes').fit(X, LABELS)
    assert fitted.to_model().header.parameters['precondition_rows'] == model.header.parameters['precondition_rows'] < N
    wanted = model.decision_function(X)
    assert np.abs(values(fitted) - wanted).max() <= 1e-3 * np.abs(wanted).max()


@pytest.mark.parametrize('seed', [0, 3])
def test_probabilities_and_intervals_are_of_a_fold(command, seed):
    model = command(LABELS, 'nystrom', '--probabilities', '--tolerance', '1e-9', '--seed', seed)
    options = {'solver': 'passes', 'tol': 1e-9, 'seed': seed}
    fitted = make(ESVMClassifier, 'nystrom', probabilities=True, **options).fit(X, LABELS)
    assert np.allclose(fitted.predict_proba(X), model.labelling.probabilities(model.decision_function(X)), atol=1e-5)
    words = '--task', 'regression', '--intervals', '--overwrite', '--seed', seed
    model = command(TARGETS, 'nystrom', *words)
    fitted = make(ESVMRegressor, 'nystrom', solver='passes', intervals=True, seed=seed).fit(X, TARGETS)
    assert np.allclose(fitted.to_model().arrays['interval_residuals'], model.arrays['interval_residuals'], atol=1e-4)
    low, high = fitted.predict_interval(X, 0.9).T
    assert ((low <= TARGETS) & (high >= TARGETS)).mean() > 0.85


def test_weights_several_targets_and_sets_of_labels():
    w = RNG.uniform(0.1, 3, N)
    T, sets = np.column_stack([TARGETS, X[:, 1] * X[:, 2]]), np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0]) * 1
    for kind, y, weights in (
        (ESVMRegressor, TARGETS, w),
        (ESVMClassifier, LABELS, w),
        (ESVMRegressor, T, None),
        (ESVMClassifier, sets, None),
    ):
        wanted = values(make(kind, 'nystrom').fit(X, y, weights))
        found = values(make(kind, 'nystrom', solver='passes', tol=1e-11).fit(X, y, weights))
        assert np.abs(found - wanted).max() <= 1e-6 * np.abs(wanted).max()


def test_many_nodes_are_solved_by_passes_as_by_the_command(monkeypatch):
    monkeypatch.setattr('mr_elm.machines.passes.MOST_GRAM_NODES', 30)
    assert make(ESVMClassifier, 'nystrom').fit(X, LABELS).to_model().sums is None
    assert make(ESVMClassifier, 'nystrom', solver='gram').fit(X, LABELS).to_model().sums is not None
    assert make(ESVMClassifier, 'nystrom').partial_fit(X, LABELS).to_model().sums is not None


def test_rows_cannot_come_and_the_message_says_why():
    model = make(ESVMClassifier, 'nystrom', solver='passes').fit(X, LABELS)
    with pytest.raises(ValueError, match="solver='gram'"):
        model.partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="solver: expected 'gram' for partial_fit"):
        make(ESVMClassifier, 'nystrom', solver='passes').partial_fit(X, LABELS)
    with pytest.raises(ValueError, match='solver: expected one of gram, passes, found .cg.'):
        make(ESVMClassifier, 'nystrom', solver='cg').fit(X, LABELS)


def test_a_fit_like_another_begins_where_that_one_ended():
    first = make(ESVMRegressor, 'nystrom', solver='passes').fit(X, TARGETS)
    again = make(ESVMRegressor, 'nystrom', solver='passes', tol=1e-3).fit(X, TARGETS, like=first)
    assert again.to_model().header.parameters['passes'] <= 2
    assert np.allclose(values(again), values(first), atol=1e-3)


def test_too_few_passes_are_told(monkeypatch):
    monkeypatch.setattr(passes, 'SAMPLE_OF_OTHERS', 2)
    with pytest.warns(ConvergenceWarning, match='stopped after 2 passes'):
        make(ESVMClassifier, 'sigmoid', solver='passes', tol=1e-14, max_iter=2).fit(X, LABELS)


def test_a_model_by_passes_becomes_an_estimator_and_a_second_fit_by_sums_has_sums(command):
    estimator = to_estimator(command(LABELS, 'nystrom'))
    assert (
        estimator.solver == 'passes'
        and to_estimator(make(ESVMClassifier, 'nystrom').fit(X, LABELS).to_model()).solver is None
    )
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert estimator.fit(X, LABELS).to_model().sums is None
        assert estimator.set_params(solver='gram').fit(X, LABELS).to_model().sums is not None

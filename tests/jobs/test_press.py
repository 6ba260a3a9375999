"""Leave-one-out from leverages is leave-one-out by brute force."""

import json
import re

import numpy as np
import pytest

from mr_elm.estimators import ELMRegressor, ESVMRegressor

N = 60
NO_LEVERAGES = (
    "expected a smaller nu, or C of elm: leverages and leave-one-out need an I/nu + E'E that is positive definite in "
    'floating point: train the model again'
)


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] + rng.normal(size=N) > 0.3) * 1 + (X[:, 1] > 0.2)


def brute_force(arrays, X, T, nu, weights, bias, center=False):
    """Train without each row in turn, on the nodes of a model: (N, K). center : targets less the mean of these rows."""
    Z = (X - arrays['feature_offset']) * arrays['feature_scale'] @ arrays['hidden_weights'].T + arrays['hidden_biases']
    E = 1 / (1 + np.exp(-Z))
    E = np.c_[E, -np.ones(N)] if bias else E
    left = np.empty(T.shape)
    for i in range(N):
        rest = np.arange(N) != i
        A = (E[rest].T * weights[rest]) @ E[rest] + np.eye(E.shape[1]) / nu
        mean = np.average(T[rest], axis=0, weights=weights[rest]) if center else 0.0
        left[i] = mean + E[i] @ np.linalg.solve(A, (E[rest].T * weights[rest]) @ (T[rest] - mean))
    return left


@pytest.mark.parametrize('method', ['pesvm', 'elm'])
@pytest.mark.parametrize('k', [2, 3])
def test_classes(elm, write, csv_of, table, tmp_path, model_of, method, k, maps):
    X, labels = table[0], np.minimum(table[1], k - 1)
    path, model = write('rows.csv', csv_of(labels, X)), tmp_path / 'm.npz'
    nu = '--nu' if method == 'pesvm' else '--C'
    elm('train', method, path, '--hidden', 12, nu, 50, '--model', model, '-q')
    T = np.where(labels[:, None] == np.arange(k), 1.0, -1.0)
    wanted = brute_force(model_of(model)[1], X, T, 50, np.ones(N), method == 'pesvm').argmax(axis=1)
    scores = json.loads(elm('evaluate', model, path, '--leave-one-out', '--json', *maps(3)).out)
    assert scores['accuracy'] == (wanted == labels).mean() and scores['rows'] == N
    assert scores['accuracy'] < json.loads(elm('evaluate', model, path, '--json').out)['accuracy']


@pytest.mark.parametrize('method, nu', [('pesvm', '--nu'), ('elm', '--C')])
def test_weighted_targets(elm, write, csv_of, table, rng, tmp_path, model_of, method, nu):
    X, weights = table[0], rng.uniform(0.5, 4, N)
    y = X[:, 0] ** 2 + X[:, 1]
    path, model = write('rows.csv', csv_of(y.tolist(), np.c_[weights, X])), tmp_path / 'm.npz'
    elm(
        'train',
        method,
        path,
        '--hidden',
        12,
        nu,
        5,
        '--task',
        'regression',
        '--weight-column',
        1,
        '--model',
        model,
        '-q',
    )
    left = brute_force(model_of(model)[1], X, y[:, None], 5, weights, method == 'pesvm', center=True)[:, 0]
    scores = json.loads(elm('evaluate', model, path, '--leave-one-out', '--json').out)
    assert np.isclose(scores['rmse'], np.sqrt(np.average((left - y) ** 2, weights=weights)), rtol=1e-8)


def test_other_rows_are_refused(elm, write, csv_of, table, tmp_path):
    X, labels = table
    path, model = write('rows.csv', csv_of(labels, X)), tmp_path / 'm.npz'
    elm('train', 'pesvm', path, '--hidden', 12, '--model', model, '-q')
    done = elm('evaluate', model, write('few.csv', csv_of(labels[:9], X[:9])), '--leave-one-out', '-q')
    assert done.status == 1 and 'the 60 rows' in done.err
    elm('train', 'oelm', path, '--model', tmp_path / 'dual.npz', '-q')
    done = elm('evaluate', tmp_path / 'dual.npz', path, '--leave-one-out', '-q')
    assert done.status == 1 and 'keeps no sums' in done.err


def test_rows_of_a_class_never_seen_are_refused_by_its_name(elm, write, csv_of, table, tmp_path):
    X, labels = table
    path, model = write('rows.csv', csv_of(labels, X)), tmp_path / 'm.npz'
    elm('train', 'pesvm', path, '--hidden', 12, '--model', model, '-q')
    other = write('other.csv', csv_of([*labels[:-1], 9], X))
    done = elm('evaluate', model, other, '--leave-one-out', '-q')
    assert done.status == 1 and "expected rows that the model was trained on, found rows with the label '9'" in done.err


@pytest.mark.parametrize('method, nu', [('pesvm', '--nu'), ('elm', '--C')])
def test_a_nu_too_large_for_leverages_is_refused_before_the_rows_are_read(
    elm, write, csv_of, table, tmp_path, method, nu
):
    path, model = write('rows.csv', csv_of(table[1], table[0])), tmp_path / 'm.npz'
    assert elm('train', method, path, '--hidden', 100, nu, 1e300, '--model', model, '-q').status == 0
    for words in (('evaluate', model, path, '--leave-one-out'), ('predict', model, path, '--leverage', '-o', 'out')):
        done = elm(*words, '-q')
        assert done.status == 1 and f'mr-elm: {model}: {NO_LEVERAGES}' in done.err
    done = elm('update', model, path, '--calibrate', path, '--model', tmp_path / 'new.npz')
    assert done.status == 1 and f'mr-elm: {path}: {NO_LEVERAGES}' in done.err and 'scores' not in done.err


@pytest.mark.parametrize('method, nu', [('pesvm', '--nu'), ('elm', '--C')])
@pytest.mark.parametrize('words', [('--probabilities',), ('--task', 'regression', '--intervals')], ids=lambda w: w[-1])
def test_rows_are_not_scored_by_a_nu_too_large_for_leverages(elm, write, csv_of, table, tmp_path, method, nu, words):
    path, model = write('rows.csv', csv_of(table[1], table[0])), tmp_path / 'm.npz'
    done = elm('train', method, path, '--hidden', 100, nu, 1e300, *words, '--model', model)
    assert done.status == 1 and f'mr-elm: {path}: {NO_LEVERAGES}' in done.err and 'scores' not in done.err
    assert not model.exists()


@pytest.mark.parametrize('kind, nu', [(ESVMRegressor, 'nu'), (ELMRegressor, 'C')])
@pytest.mark.filterwarnings('ignore')
def test_an_estimator_says_the_same_of_such_a_nu(table, kind, nu):
    with pytest.raises(ValueError, match=f'^{re.escape(NO_LEVERAGES)}$'):
        kind(n_hidden=100, intervals=True, **{nu: 1e300}).fit(*table)

"""Estimators and models: the way there and back changes nothing, and what was fitted here is read by mr-elm."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from mr_elm.cli import main
from mr_elm.estimators import (
    ELMClassifier,
    ELMRegressor,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
    to_estimator,
)
from mr_elm.model.file import read_model

RNG = np.random.default_rng(3)
X, NEW = RNG.standard_normal((2, 120, 3))
NUMBERS = np.where(X[:, 0] > 0.4, 10, np.where(X[:, 1] > 0, 9, -1))
WORDS = np.array(['red', 'green', 'blue'])[np.unique(NUMBERS, return_inverse=True)[1]]
TARGETS = X[:, 0] * 3 + X[:, 1] ** 2
CLASSIFIERS = [
    ESVMClassifier(n_hidden=20),
    ESVMClassifier('rff', 20, class_weight={'red': 2.0}),
    ELMClassifier(n_hidden=20),
    SparseELMClassifier(),
    SparseELMClassifier('sigmoid', n_hidden=20),
    SparseELMClassifier('laplacian', multiclass='one-vs-all'),
    OELMClassifier('polynomial', degree=2),
    SphereSVMClassifier(),
    KernelELMClassifier(C=np.int64(3)),
    SphereSVMClassifier('linear', normalise=True, class_weight='balanced'),
]
REGRESSORS = [
    ESVMRegressor(n_hidden=20),
    ELMRegressor(n_hidden=20),
    ELMRegressor('identity'),
    KernelELMRegressor('linear'),
    KernelELMRegressor(),
]
METHODS = [
    ('pesvm', '--hidden', 20),
    ('pesvm', '--hidden', 20, '--map', 'nystrom'),
    ('elm', '--hidden', 20),
    ('pesvm', '--hidden', 20, '--class-weight', 'balanced'),
    ('sparse-elm',),
    ('oelm', '--kernel', 'linear'),
    ('sparse-elm', '--kernel', 'sigmoid', '--hidden', 20),
    ('sphere-svm',),
    ('mr-kelm',),
    ('mr-kelm', '--solver', 'cg'),
]
TASKS = [('pesvm', '--hidden', 20), ('elm', '--hidden', 20), ('mr-kelm',)]


def bits(model, rows=NEW):
    return model.model_.decision_function(rows).tobytes()


def write(path, X, y):
    path.write_text(
        ''.join(f'{label},{",".join(map(repr, row))}\n' for label, row in zip(y.tolist(), X.tolist(), strict=True))
    )
    return path


def run(*arguments):
    assert main([*map(str, arguments), '-q']) == 0


@pytest.mark.parametrize('estimator', [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_what_was_fitted_here_is_read_by_the_command_line(estimator, tmp_path):
    y = TARGETS if estimator in REGRESSORS else WORDS
    fitted = estimator.fit(X, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    again = to_estimator(read_model(tmp_path / 'm.npz'))
    assert type(again) is type(fitted) and bits(again) == bits(fitted)
    assert again.predict(NEW).tolist() == fitted.predict(NEW).tolist()
    header = again.to_model().header.to_json()
    assert {**header, **fitted.to_model().header.to_json()} == header
    run('predict', tmp_path / 'm.npz', write(tmp_path / 'new.csv', NEW, y), '-o', tmp_path / 'said')
    said = (tmp_path / 'said').read_text().splitlines()
    if y is TARGETS:
        assert np.allclose(np.array(said, float), fitted.predict(NEW), rtol=0, atol=1e-8)
    else:
        assert said == fitted.predict(NEW).tolist()


@pytest.mark.parametrize(
    'method, y',
    [*((method, NUMBERS) for method in METHODS), *((m, TARGETS) for m in TASKS)],
    ids=lambda value: '' if isinstance(value, np.ndarray) else ' '.join(map(str, value)),
)
def test_what_was_trained_by_jobs_predicts_here(method, y, tmp_path):
    task = ('--task', 'regression') if y is TARGETS else ()
    rows = write(tmp_path / 'rows.csv', 5 + 2 * X, y)
    run('train', *method, rows, *task, '--model', tmp_path / 'm.npz')
    run('predict', tmp_path / 'm.npz', rows, '-o', tmp_path / 'said')
    model = read_model(tmp_path / 'm.npz')
    estimator = to_estimator(model)
    said = np.loadtxt(tmp_path / 'said', dtype=y.dtype)
    assert np.allclose(estimator.predict(5 + 2 * X), said, rtol=0, atol=1e-8)
    assert estimator.score(sp.csr_matrix(5 + 2 * X), y) > 0.6
    back = estimator.to_model()
    assert back.header.parameters == model.header.parameters and back.header.classes == model.header.classes
    assert all(back.arrays[name].tobytes() == model.arrays[name].tobytes() for name in model.arrays)


@pytest.mark.parametrize('y', [NUMBERS, TARGETS], ids=['classes', 'targets'])
def test_a_model_lives_on_here_and_there(y, tmp_path):
    task = ('--task', 'regression') if y is TARGETS else ()
    first, second = (
        write(tmp_path / f'{k}.csv', X[part], y[part]) for k, part in (('a', slice(60)), ('b', slice(60, None)))
    )
    run('train', 'pesvm', first, *task, '--hidden', 20, '--model', tmp_path / 'a.npz')
    run('update', tmp_path / 'a.npz', second, '--model', tmp_path / 'ab.npz')
    there = to_estimator(read_model(tmp_path / 'ab.npz', sums=True))
    here = to_estimator(read_model(tmp_path / 'a.npz', sums=True)).partial_fit(X[60:], y[60:])
    assert np.allclose(here.predict(NEW), there.predict(NEW), rtol=0, atol=1e-8)
    here.to_model().save(tmp_path / 'here.npz')
    assert [event['action'] for event in here.to_model().header.history] == ['train', 'update']
    run('forget', tmp_path / 'here.npz', second, '--model', tmp_path / 'back.npz')
    assert bits(to_estimator(read_model(tmp_path / 'back.npz', sums=True))) == bits(here.forget(X[60:], y[60:]))


def test_landmarks_keep_their_width_where_rows_come(tmp_path):
    run(
        'train',
        'pesvm',
        write(tmp_path / 'a.csv', X[:60], TARGETS[:60]),
        '--task',
        'regression',
        '--map',
        'nystrom',
        '--weight-scale',
        2,
        '--hidden',
        20,
        '--scale',
        'none',
        '--model',
        tmp_path / 'a.npz',
    )
    living = to_estimator(read_model(tmp_path / 'a.npz', sums=True)).partial_fit(X[60:], TARGETS[60:])
    living.to_model().save(tmp_path / 'ab.npz')
    landmarks, sigma = living.to_model().arrays['landmarks'], np.sqrt(X[:60].var(axis=0).sum()) / 2
    E, F = (np.c_[rbf_kernel(rows, landmarks, gamma=1 / (2 * sigma**2)), -np.ones(120)] for rows in (X, NEW))
    wanted = TARGETS.mean() + F @ np.linalg.solve(np.eye(21) + E.T @ E, E.T @ (TARGETS - TARGETS.mean()))
    assert np.allclose(living.predict(NEW), wanted, rtol=0, atol=1e-9)
    assert np.allclose(read_model(tmp_path / 'ab.npz', sums=True).predict(NEW), wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    'options',
    [
        {},
        {'map': 'rbf', 'weight_scale': 2.0, 'seed': 3},
        {'map': 'tanh', 'weight_scale': 0.5, 'weights': 'uniform', 'seed': 4},
    ],
    ids=str,
)
def test_a_fitted_estimator_merges_with_a_model_of_jobs(options, tmp_path):
    said = [text for name, value in options.items() for text in (f'--{name.replace("_", "-")}', value)]
    run(
        'train',
        'pesvm',
        write(tmp_path / 'a.csv', X[:60], WORDS[:60]),
        '--hidden',
        20,
        *said,
        '--model',
        tmp_path / 'a.npz',
    )
    first = to_estimator(read_model(tmp_path / 'a.npz', sums=True))
    clone(first).fit(X[60:], WORDS[60:], like=first).to_model().save(tmp_path / 'b.npz')
    run('merge', tmp_path / 'a.npz', tmp_path / 'b.npz', '--model', tmp_path / 'ab.npz')
    whole = ESVMClassifier(n_hidden=20, **options).fit(X, WORDS, like=first)
    merged = to_estimator(read_model(tmp_path / 'ab.npz', sums=True))
    assert np.allclose(merged.decision_function(NEW), whole.decision_function(NEW), rtol=0, atol=1e-8)


def test_a_clone_fits_anew_what_a_model_was_fitted_by():
    for estimator in CLASSIFIERS:
        fitted = estimator.fit(X, WORDS)
        assert bits(clone(to_estimator(fitted.to_model())).fit(X, WORDS)) == bits(fitted)

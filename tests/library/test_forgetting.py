"""An estimator that has forgotten a row holds it nowhere, or refuses to; its landmarks are those of the commands."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference.commands import elm, succeed

from mr_elm.errors import AccountingError
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, to_estimator
from mr_elm.features.nodes import LANDMARK_NODES, MAPS
from mr_elm.features.scaling import SCALES
from mr_elm.machines.forgetting import list_row_parts
from mr_elm.model.file import read_model

N, D = 90, 4
CITIES = np.array(['Bern', 'Oslo', 'Rome'])


@pytest.fixture(params=['dense', 'sparse', 'frame'])
def rows(request, rng):
    """Draw rows: (X as the estimator takes it, how to encode, features as a matrix)."""
    X = rng.standard_normal((N, D))
    if request.param == 'dense':
        return X, 'refuse', X
    if request.param == 'sparse':
        X[rng.random((N, D)) < 0.3] = 0
        return sp.csr_matrix(X), 'refuse', X
    cities = rng.integers(0, 3, N)
    frame = pd.DataFrame(X, columns=list('abcd')).assign(city=CITIES[cities])
    return frame, 'auto', np.column_stack([X, cities[:, None] == np.arange(3), np.zeros(N)])


def take(X, rows):
    return X.iloc[rows] if hasattr(X, 'iloc') else X[rows]


def place(X, arrays):
    Z = (X - arrays['feature_offset']) * arrays['feature_scale']
    metric = arrays.get('feature_metric')
    if metric is None:
        return Z
    return Z * metric if metric.ndim == 1 else Z @ metric.T


def are_landmarks(X, arrays):
    return np.abs(place(X, arrays)[:, None] - arrays['landmarks']).max(axis=2).min(axis=1) < 1e-12


def demand_absent(row, estimator):
    """Demand that no array of the estimator or of its model is a row, scaled or not."""
    arrays = estimator.to_model().arrays
    stored = [*arrays.values(), *(value for value in vars(estimator).values() if isinstance(value, np.ndarray))]
    for array in stored:
        vectors = np.atleast_2d(array)
        for vector in (row, place(row, arrays)):
            if vectors.dtype == float and vectors.shape[-1] == len(vector):
                assert np.abs(vectors - vector).max(axis=1).min() > 1e-9


@pytest.mark.parametrize('scale', SCALES)
@pytest.mark.parametrize('nodes', MAPS)
def test_a_row_that_left_is_nowhere_in_the_estimator(rows, nodes, scale):
    X, encode, features = rows
    y = (features[:, 0] + features[:, 1] > 0).astype(int)
    model = ESVMClassifier(map=nodes, n_hidden=20, scale=scale, encode=encode).fit(X, y)
    numbers = features[:, :D]
    inside = ((numbers > numbers.min(axis=0)) & (numbers < numbers.max(axis=0))).all(axis=1)
    if nodes == 'nystrom':
        stored = are_landmarks(features, model.model_.arrays)
        assert stored.sum() == 20
        before = model.decision_function(X)
        with pytest.raises(AccountingError, match='cannot forget 20 of these 21 rows: they are landmarks'):
            leaving = np.append(np.flatnonzero(stored), np.flatnonzero(~stored)[0])
            model.forget(take(X, leaving), 1 - y[leaving])
        assert np.array_equal(model.decision_function(X), before) and model.n_rows_ == N
        inside &= ~stored
    leaving = np.flatnonzero(inside)[:5]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model.forget(take(X, leaving), y[leaving])
    for k in leaving:
        demand_absent(features[k], model)


@pytest.mark.parametrize('kernel', LANDMARK_NODES)
@pytest.mark.parametrize('metric', ['none', 'diagonal', 'full'])
@pytest.mark.parametrize('landmarks', ['rows', 'synthetic'])
def test_any_kernel_and_metric_forget(rng, kernel, metric, landmarks):
    X = rng.standard_normal((N, D))
    y = np.sin(X[:, 0]) + X[:, 1]
    model = ESVMRegressor(map='nystrom', kernel=kernel, landmarks=landmarks, n_hidden=20, metric=metric)
    model = model.fit(X, y)
    stored = are_landmarks(X, model.model_.arrays)
    assert stored.sum() == (20 if landmarks == 'rows' else 0)
    if landmarks == 'rows':
        with pytest.raises(AccountingError, match='20 of these 90 rows'):
            model.forget(X, y)
    leaving = ~stored & (np.arange(N) < 60)
    model.forget(X[leaving], y[leaving])
    for row in X[leaving]:
        demand_absent(row, model)


@pytest.mark.parametrize('landmarks', ['rows', 'synthetic'])
@pytest.mark.parametrize('kernel', ['gaussian', 'product-laplacian'])
def test_landmarks_are_those_of_the_commands(rows, tmp_path, landmarks, kernel):
    X, encode, features = rows
    y = (features[:, 0] > 0).astype(int)
    if encode == 'auto':
        path = tmp_path / 'rows.csv'
        X.assign(y=y)[['y', *X.columns]].to_csv(path, index=False)
    elif sp.issparse(X):
        path = tmp_path / 'rows.libsvm'
        path.write_text(
            ''.join(
                f'{label} ' + ' '.join(f'{j}:{x!r}' for j, x in enumerate(row, 1) if x) + '\n'
                for label, row in zip(y, features.tolist(), strict=True)
            )
        )
    else:
        path = tmp_path / 'rows.csv'
        path.write_text(
            ''.join(f'{label},' + ','.join(map(repr, row)) + '\n' for label, row in zip(y, X.tolist(), strict=True))
        )
    succeed(
        elm(
            'train',
            'pesvm',
            path,
            '--encode',
            encode,
            '--map',
            'nystrom',
            '--kernel',
            kernel,
            '--landmarks',
            landmarks,
            '--hidden',
            '20',
            '--seed',
            '3',
            '--model',
            tmp_path / 'm.npz',
            '-q',
        )
    )
    there = to_estimator(read_model(tmp_path / 'm.npz', sums=True))
    here = ESVMClassifier(map='nystrom', kernel=kernel, landmarks=landmarks, n_hidden=20, seed=3, encode=encode)
    here.fit(X, y)
    assert np.allclose(here.model_.arrays['landmarks'], there.model_.arrays['landmarks'], rtol=0, atol=1e-12)
    assert np.allclose(here.decision_function(X), there.decision_function(X), rtol=0, atol=1e-8)
    assert there.get_params()['landmarks'] == landmarks and there.get_params()['kernel'] == kernel
    assert here.to_model().header.parameters.get('landmarks') == there.to_model().header.parameters.get('landmarks')
    for model in (here, there):
        if landmarks == 'rows':
            with pytest.raises(AccountingError, match='20 of these 90 rows'):
                model.forget(X, y)
        else:
            assert model.forget(take(X, np.arange(30)), y[:30]).n_rows_ == N - 30


def test_rows_of_weight_0_are_no_landmarks(rng):
    X, y = rng.standard_normal((N, D)), np.arange(N) % 2
    weights = (np.arange(N) >= 30) * 1.5
    for landmarks in ('rows', 'synthetic'):
        some, few = (
            ESVMClassifier(map='nystrom', landmarks=landmarks, n_hidden=70).fit(X[part], y[part], weights[part])
            for part in (slice(0, N), slice(30, N))
        )
        assert np.allclose(some.model_.arrays['landmarks'], few.model_.arrays['landmarks'], rtol=0, atol=1e-12)


def test_what_was_fitted_to_rows_that_left_is_left_out(rng):
    X = rng.standard_normal((N, D))
    y = X[:, 0] + 0.3 * rng.standard_normal(N)
    sure = ESVMClassifier(n_hidden=15, probabilities=True).fit(X, y > 0)
    with pytest.warns(UserWarning, match='left out, they may have been fitted to rows that left'):
        sure.forget(X[:9], y[:9] > 0)
    assert 'calibration' not in sure.to_model().arrays
    with pytest.raises(ValueError, match=r'a model with probabilities: .* call calibrate\(X, y\) to fit them again'):
        sure.predict_proba(X)
    assert np.allclose(sure.calibrate(X[9:], y[9:] > 0).predict_proba(X).sum(axis=1), 1)
    bounds = ESVMRegressor(n_hidden=15, intervals=True).fit(X, y)
    with pytest.warns(UserWarning, match='left out'):
        bounds.forget(X[:9], y[:9])
    assert 'interval_residuals' not in bounds.to_model().arrays
    with pytest.raises(ValueError, match=r'a model with intervals: .* call calibrate\(X, y\) to fit them again'):
        bounds.predict_interval(X)
    assert np.isfinite(bounds.calibrate(X[9:], y[9:]).predict_interval(X)).all()


def test_bounds_of_scaling_that_leave_are_named(rng):
    X, y = rng.standard_normal((N, D)), np.arange(N) % 2
    with pytest.warns(UserWarning, match='the smallest or the largest value of 1 features'):
        largest = [X[:, 2].argmax()]
        ESVMClassifier(n_hidden=9, scale='minmax').fit(X, y).forget(X[largest], y[largest])


def test_indicators_and_categories_of_a_table_are_counted_as_what_they_are(rng):
    frame = pd.DataFrame({'a': rng.standard_normal(N), 'b': rng.standard_normal(N), 'city': CITIES[np.arange(N) % 3]})
    frame['at'] = pd.date_range('2020-01-01', periods=N, freq='12h')  # at two hours of the day
    fitted = ESVMClassifier(n_hidden=9, scale='minmax', encode='auto').fit(frame, np.arange(N) % 2)
    parts = {part: n for part, (n, _) in list_row_parts(fitted.to_model()).items()}
    assert parts == {'scaling': 2 * 3, 'encoding': 3 + 2}  # no bound of an indicator is of a row


@pytest.mark.parametrize(
    'parameters, what',
    [
        ({'landmarks': 'some'}, 'landmarks: expected one of rows, synthetic'),
        ({'kernel': 'linear'}, 'kernel: expected one of gaussian'),
        ({'landmarks': 'synthetic', 'map': 'sine'}, 'expected map nystrom'),
        ({'kernel': 'laplacian', 'map': 'rbf'}, 'expected map nystrom'),
    ],
    ids=str,
)
def test_landmarks_that_cannot_be_are_refused(rng, parameters, what):
    with pytest.raises(ValueError, match=what):
        ESVMClassifier(**{'map': 'nystrom', **parameters}).fit(rng.standard_normal((N, D)), np.arange(N) % 2)

"""The importance of columns: tr(M_cc S_cc), of gradients only along directions in which rows move."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from mr_elm.errors import ModelFormatError
from mr_elm.estimators import (
    ELMRegressor,
    ESVMClassifier,
    ESVMRegressor,
    to_estimator,
)
from mr_elm.estimators.tables import learn_encoding
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.metric import FeatureColumns
from mr_elm.features.nodes import draw_nodes
from mr_elm.features.scaling import choose_scaling
from mr_elm.machines.metric import learn_steps, measure_importance
from mr_elm.machines.sample import SampleRows
from mr_elm.model.file import read_model, save_model
from mr_elm.rows.frames import read_frame
from mr_elm.sums.statistics import ColumnStatistics

N, L, K = 80, 12, 2
# Categories share (other) where they are rare; the last two columns never change, so nothing depends on them.
WIDTHS = {'number': 1, 'gap': 2, 'colour': 4, 'town': 4, 'flag': 3, 'same': 2, 'still': 1}


def make_table(n=N):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            'number': rng.normal(2, 5, n),
            'gap': np.where(rng.random(n) < 0.2, np.nan, rng.uniform(0, 9, n)),
            'colour': rng.choice(['red', 'green', 'blue'], n, p=[0.7, 0.2, 0.1]),
            'town': rng.choice(['Bari', 'Como', 'Pisa', 'Roma', 'Asti'], n, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
            'flag': rng.choice(['no', 'yes'], n, p=[0.9, 0.1]),
            'same': 'x',
            'still': 1.0,
        }
    )


def encode(table, weights=None):
    """Return (encoding, encoded rows, FeatureColumns, offset, scale) of a table."""
    frame = read_frame(table)
    encoding = learn_encoding(frame, weights, 3)
    rows = np.asarray(encoding.encode(frame.table).spread())
    statistics = ColumnStatistics.of(rows, weights)
    return (
        encoding,
        rows,
        FeatureColumns.of(statistics, encoding),
        *choose_scaling('standard', statistics, encoding.indicators),
    )


def make_layer(kind, rows, offset, scale, metric=None):
    W, b = draw_nodes('rbf' if kind == 'nystrom' else kind, L, rows.shape[1], seed=2)
    return HiddenLayer(kind, W, b, offset, scale).pass_metric(metric)


def gradients_by_differences(layer, rows, B, step=1e-5):
    """Return the gradient of each output at each row by the scaled features, (n, K, d), from values on both sides."""

    def f(X):
        return layer.evaluate(X, np.empty((len(X), layer.n_hidden))) @ B[:-1]

    found = np.zeros((len(rows), B.shape[1], rows.shape[1]))
    for j in np.flatnonzero((layer.scale != 0) & (np.ptp(rows, axis=0) > 0)):
        move = np.eye(rows.shape[1])[j] * step / layer.scale[j]
        found[:, :, j] = (f(rows + move) - f(rows - move)) / (2 * step)
    return found


@pytest.mark.parametrize('metric', ['none', 'diagonal', 'full'])
@pytest.mark.parametrize('kind', ['tanh', 'rbf', 'laplacian'])
@pytest.mark.parametrize('weighted', [False, True])
def test_importance_is_the_trace_of_gradients_times_covariance(kind, metric, weighted):
    table, rng = make_table(), np.random.default_rng(5)
    weights = rng.uniform(0.2, 3, N) if weighted else None
    encoding, X, columns, offset, scale = encode(table, weights)
    assert [column.width for column in encoding.columns] == list(WIDTHS.values())
    d, w = X.shape[1], np.ones(N) if weights is None else weights
    A = {'none': None, 'diagonal': rng.uniform(0.5, 2, d), 'full': rng.normal(size=(5, d))}[metric]
    layer, B = make_layer(kind, X, offset, scale, A), rng.normal(size=(L + 1, K))

    gradients = gradients_by_differences(layer, X, B)
    M = np.einsum('n,nki,nkj->ij', w / w.sum(), gradients, gradients)
    S = np.cov((X - offset) * scale, rowvar=False, bias=True, aweights=w)
    P = np.eye(d)
    expected = []
    for start, stop in zip(encoding.starts, encoding.starts[1:], strict=False):
        expected.append(np.trace(M[start:stop, start:stop] @ S[start:stop, start:stop]))
    for name in ('colour', 'town', 'flag', 'same'):
        place = list(WIDTHS).index(name)
        used = [j for j in range(encoding.starts[place], encoding.starts[place + 1]) if np.ptp(X[:, j]) > 0]
        P[np.ix_(used, used)] -= 1 / max(len(used), 1)
    features = (P @ M @ P).diagonal() * S.diagonal()

    found = measure_importance(layer, SampleRows(X, np.ones((N, 1)), 0, weights, columns), B)
    assert np.allclose(found.columns, expected / np.sum(expected), rtol=1e-5, atol=1e-8)
    assert np.allclose(found.features, features / features.sum(), rtol=1e-5, atol=1e-8)
    assert np.isclose(sum(found.columns), 1) and found.columns[-2:] == [0, 0]


@pytest.mark.parametrize('kind', ['diagonal', 'full'])
def test_a_constant_for_all_indicators_of_a_column_changes_nothing(kind):
    encoding, X, columns, offset, scale = encode(make_table())
    rng = np.random.default_rng(5)
    layer, T = make_layer('tanh', X, offset, scale), rng.choice([-1.0, 1.0], (N, 1))
    weights, biases = layer.weights.copy(), layer.biases.copy()
    for _, part in columns.categories:  # one of them is 1 in each row: the bias takes away what the weights add
        more = 3 * rng.normal(size=L)
        weights[:, part] += more[:, None] * (scale[part] != 0)
        biases -= more * (scale[part] != 0).any()
    rows, found = SampleRows(X, T, 2, None, columns), []
    for each in (layer, replace(layer, weights=weights, biases=biases)):
        plain, step = learn_steps(each, rows, 10.0, kind, 1)
        A = step.metric
        found.append((measure_importance(each, rows, plain.output_weights), np.diag(A**2) if A.ndim == 1 else A.T @ A))
    (one, metric), (other, moved) = found
    assert np.allclose(metric, moved, rtol=1e-6, atol=1e-8)
    assert np.allclose(one.columns, other.columns, rtol=1e-6) and np.allclose(one.features, other.features, rtol=1e-6)
    if kind == 'full':  # no row moves along the indicators of a column together
        for _, part in columns.categories:
            assert np.abs(metric[part].sum(axis=0)).max() < 0.01


def test_numbers_have_the_variance_of_all_rows_of_the_training():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    T = X @ [[2.0], [1.0], [0.0]]
    layer = HiddenLayer('identity', np.eye(3), np.zeros(3), np.zeros(3), np.ones(3))
    known = FeatureColumns.of(ColumnStatistics.of(X * [1, 4, 1]))  # the sample is narrow where the rows are wide
    found = measure_importance(layer, SampleRows(X, T, 0, None, known), np.array([[2.0], [1.0], [0.0], [0.0]]))
    expected = np.array([4, 1, 0]) * (X * [1, 4, 1]).var(axis=0)
    assert np.allclose(found.features, expected / expected.sum()) and found.columns == found.features


# Columns that matter, and columns that do not


def draw_table(seed, n):
    """Draw a table of columns of both kinds: (table, score, names of the columns that the score depends on)."""
    rng = np.random.default_rng(seed)

    def draw(k, skewed=False):
        shares = 2.0 ** -np.arange(k) if skewed else np.ones(k)
        return rng.choice(k, n, p=shares / shares.sum())

    numbers = {
        'income': rng.normal(3e4, 1e4, n),
        'age': rng.uniform(20, 60, n),
        'noise': rng.uniform(0, 5, n),
        'late': rng.exponential(size=n),
    }
    codes = {
        'plan': draw(3),
        'city': draw(10),
        'member': (rng.random(n) < 0.2) * 1,
        'channel': draw(4),
        'device': draw(10, skewed=True),
        'flag': (rng.random(n) < 0.1) * 1,
        'region': draw(6, skewed=True),
    }
    score = (
        2e-4 * (numbers['income'] - 3e4)
        + 0.1 * (numbers['age'] - 40)
        + 1.2 * (codes['plan'] - 1)
        + np.linspace(-0.6, 0.6, 10)[codes['city']]
        + 1.75 * codes['member']
        + 0.3 * rng.normal(size=n)
    )
    texts = {name: np.array([f'{name}{code}' for code in values]) for name, values in codes.items()}
    return pd.DataFrame({**numbers, **texts}), score, ['income', 'age', 'plan', 'city', 'member']


def permute_columns(model, table, y, names):
    """Return how much worse a model scores rows in which one column is shuffled, for each of some columns."""
    rng, best, worse = np.random.default_rng(0), model.score(table, y), []
    for name in names:
        shuffled = [model.score(table.assign(**{name: rng.permutation(table[name])}), y) for _ in range(2)]
        worse.append(best - np.mean(shuffled))
    return worse


@pytest.mark.parametrize(
    'estimator',
    [
        ESVMClassifier(n_hidden=150, nu=10, metric='diagonal'),
        ESVMClassifier(n_hidden=150, nu=10, metric='full'),
        ESVMRegressor(n_hidden=150, nu=10, metric='diagonal'),
    ],
    ids=str,
)
def test_columns_that_matter_rank_before_all_others_and_as_permutations_say(estimator):
    agreements = []
    for seed in range(10):
        table, score, relevant = draw_table(seed, 900)
        y = score if 'Regressor' in type(estimator).__name__ else np.where(score > 0.5, 'yes', 'no')
        model = estimator.set_params(seed=seed, encode='auto').fit(table[:600], y[:600])
        share = dict(zip(table.columns, model.feature_importances_, strict=True))
        rest = [share[name] for name in table if name not in relevant]
        assert min(share[name] for name in relevant) > max(rest) and np.isclose(sum(share.values()), 1)
        worse = permute_columns(model, table[600:], y[600:], relevant)
        agreements.append(spearmanr([share[name] for name in relevant], worse).statistic)
    assert np.mean(agreements) >= 0.9


def test_rows_of_weight_0_do_not_count():
    table, score, _ = draw_table(0, 300)
    y = np.where(score > 0.5, 'yes', 'no')
    more, weights = pd.concat([table, *[table.assign(age=1e6)] * 20]), np.repeat([1.0, 0.0], [300, 6000])
    estimator = ESVMClassifier(n_hidden=40, nu=10, encode='auto', metric='diagonal')
    few = estimator.fit(table, y).feature_importances_
    assert np.allclose(estimator.fit(more, np.tile(y, 21), weights).feature_importances_, few, rtol=1e-6)


# In the header


@pytest.fixture(scope='module')
def fitted():
    table, score, _ = draw_table(0, 300)
    return ELMRegressor(n_hidden=30, C=10, encode='auto', metric='diagonal').fit(table, score)


def test_a_model_keeps_the_shares_of_its_training(fitted, tmp_path):
    fitted.to_model().save(tmp_path / 'm.npz')
    model = read_model(tmp_path / 'm.npz')
    assert model.importance == fitted.model_.importance and len(model.importance.features) == model.n_features
    assert np.array_equal(to_estimator(model).feature_importances_, fitted.feature_importances_)
    assert len(fitted.feature_importances_) == fitted.n_features_in_


@pytest.mark.parametrize(
    'change',
    [
        {'columns': [1.0]},
        {'features': None},
        {'columns': [1.0, *[float('nan')] * 10]},
        {'columns': [2.0, -1.0, *[0.0] * 9]},
        {'columns': ['1', *['0'] * 10]},
    ],
)
def test_shares_that_do_not_fit_are_refused(fitted, tmp_path, change):
    model = fitted.to_model()
    shares = {**model.header.parameters['importance'], **change}
    save_model(tmp_path / 'm.npz', model.header.change_parameters(importance=shares), model.arrays)
    with pytest.raises(ModelFormatError, match='m.npz: expected a whole model'):
        read_model(tmp_path / 'm.npz')

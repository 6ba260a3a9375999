"""ESVM: the closed form is ridge regression on [Phi, -e], however the sums were made."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.utils.class_weight import compute_class_weight

from mr_elm.errors import AccountingError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.rows.blocks import Block
from mr_elm.solvers import ridge as esvm
from mr_elm.solvers.ridge import TrainingRows, collect_sums, expand, finish, leading_sums
from mr_elm.sums.gram import SQUARES, TARGETS, GridSteps
from mr_elm.sums.statistics import Classes, LabelTable, class_weights, row_weights
from tests.reference.esvm import fit_esvm

N, D, L = 150, 4, 12
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
WEIGHTS = RNG.uniform(0.1, 5, N)
TARGETS_OF = {'unit': np.sin(X[:, 0]) + X[:, 1], 'large': 1e9 * X[:, 0], 'small': 1e-9 * X[:, 1], 'zero': np.zeros(N)}


def make_layer(kind='sigmoid', n_hidden=L):
    return HiddenLayer(kind, *draw_nodes(kind, n_hidden, D, seed=1), np.zeros(D), np.ones(D))


def make_classes(k):
    """Draw labels of k classes of unequal sizes: (Classes, codes)."""
    codes = np.append(np.arange(k), np.random.default_rng(k).integers(0, k, N - k) * (RNG.random(N - k) < 0.7))
    counts = np.bincount(codes, minlength=k).tolist()
    return Classes.of(LabelTable({f'c{i}': [counts[i], [0, 0, i]] for i in range(k)})), codes


def signs(codes, k):
    return np.where(codes[:, None] == np.arange(k), 1.0, -1.0)[:, 1 if k == 2 else 0 :]


def ridge(layer, X, T, nu, weights=None):
    E = np.hstack([layer.evaluate(X, np.empty((X.shape[0], layer.n_hidden))), -np.ones((X.shape[0], 1))])
    model = Ridge(alpha=1 / nu, fit_intercept=False, solver='svd').fit(E, T, sample_weight=weights)
    return E @ np.atleast_2d(model.coef_).T


def decision(layer, X, solution):
    return expand(layer, X) @ solution.output_weights


@pytest.mark.parametrize('kind', ['sigmoid', 'relu', 'multiquadric'])
@pytest.mark.parametrize('k', [2, 3, 7])
@pytest.mark.parametrize('nu', [1e-3, 1.0, 1e3])
@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['plain', 'weighted'])
def test_classifiers_are_ridge_regression_of_signs(kind, k, nu, weights):
    layer, (classes, codes) = make_layer(kind), make_classes(k)
    sums, solution = fit_esvm(layer, TrainingRows(X, codes, classes, weights), nu)
    assert solution.output_weights.shape == (L + 1, 1 if k == 2 else k)
    assert sums.counts.tolist() == np.bincount(codes).tolist()
    assert np.allclose(decision(layer, X, solution), ridge(layer, X, signs(codes, k), nu, weights), atol=1e-9)


@pytest.mark.parametrize('k', [32, 33, 60])
@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['plain', 'weighted'])
def test_few_and_many_classes_solve_the_normal_equations(k, weights):
    layer, (classes, codes), nu = make_layer(), make_classes(k), 2.0
    sums, solution = fit_esvm(layer, TrainingRows(X, codes, classes, weights), nu)
    E = np.c_[1 / (1 + np.exp(-X @ layer.weights.T - layer.biases)), -np.ones(N)]
    W, T = np.diag(np.ones(N) if weights is None else weights), signs(codes, k)
    wanted = np.linalg.solve(np.eye(L + 1) / nu + E.T @ W @ E, E.T @ W @ T)
    assert np.allclose(E @ solution.output_weights, E @ wanted, rtol=0, atol=1e-10)
    assert np.allclose(sums.class_sums, (codes == np.arange(k)[:, None]) @ W @ E, rtol=1e-12, atol=1e-12)
    assert sums.counts.tolist() == np.bincount(codes).tolist()


@pytest.mark.parametrize('scale', TARGETS_OF)
@pytest.mark.parametrize('nu', [1e-3, 1.0, 1e3])
@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['plain', 'weighted'])
def test_regression_is_ridge_regression(scale, nu, weights):
    layer, targets = make_layer(), TARGETS_OF[scale]
    sums, solution = fit_esvm(layer, TrainingRows(X, targets, None, weights), nu)
    expected = ridge(layer, X, targets, nu, weights)
    assert np.allclose(decision(layer, X, solution), expected, rtol=0, atol=1e-9 * np.abs(targets).max())
    assert np.allclose(sums.counts, np.average(targets**2, weights=weights) * (N if weights is None else weights.sum()))


def test_grids_follow_the_sizes_of_targets_and_weights():
    X, y, weights = np.zeros((2, 1)), np.array([-3.0, 2]), np.array([0.5, 0.25])
    assert TrainingRows(X, y, sample_weight=weights).choose_steps(7.0) == GridSteps.of(7.0, 3.0, 0.5)
    assert TrainingRows(X, y).choose_steps(7.0, (-2.0,)) == GridSteps.of(7.0, 4.0, 1.0, (-2.0,))
    assert TrainingRows(X, np.array([0, 7]), make_classes(8)[0]).choose_steps(1.0) == GridSteps.of(1.0)


@pytest.mark.parametrize('task', ['classes', 'regression'])
def test_weights_are_repeated_rows(task):
    layer, (classes, codes), times = make_layer(), make_classes(3), RNG.integers(1, 5, N)
    y, classes = (TARGETS_OF['unit'], None) if task == 'regression' else (codes, classes)
    _, once = fit_esvm(layer, TrainingRows(X, y, classes, times.astype(float)))
    _, often = fit_esvm(layer, TrainingRows(np.repeat(X, times, axis=0), np.repeat(y, times), classes))
    assert np.allclose(decision(layer, X, once), decision(layer, X, often), atol=1e-10)


def test_balanced_weights_are_those_of_scikit_learn():
    layer, (classes, codes) = make_layer(), make_classes(4)
    expected = compute_class_weight('balanced', classes=np.arange(4), y=codes)
    weights = row_weights(Block(X, tuple(classes.names), codes), class_weights('balanced', classes))
    assert np.allclose(weights, expected[codes], rtol=1e-15)
    _, solution = fit_esvm(layer, TrainingRows(X, codes, classes, weights), 5.0)
    assert np.allclose(decision(layer, X, solution), ridge(layer, X, signs(codes, 4), 5.0, expected[codes]), atol=1e-9)


def test_class_weights_and_row_weights_multiply_for_every_spelling():
    classes = Classes.of(LabelTable({'1': [2, [0, 0, 0]], '+1': [1, [0, 0, 5]], '-1': [1, [0, 0, 9]]}))
    block = Block(np.zeros((3, 1)), ('+1', '-1'), np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]))
    assert np.allclose(row_weights(block, class_weights('balanced', classes)), [1 * 4 / 6, 2 * 4 / 2, 3 * 4 / 6])
    assert class_weights(None, classes) is None and row_weights(block) is block.weights
    assert row_weights(Block(np.zeros((1, 1)), ('a',), np.zeros(1, int))) is None


@pytest.mark.parametrize('kind', ['sigmoid', 'rff', 'rbf', 'relu'])
def test_sparse_rows_train_what_dense_rows_train(kind):
    layer, (classes, codes) = make_layer(kind), make_classes(3)
    rows = np.where(RNG.random(X.shape) < 0.3, X, 0)
    _, dense = fit_esvm(layer, TrainingRows(rows, codes, classes))
    _, sparse = fit_esvm(layer, TrainingRows(sp.csr_matrix(rows), codes, classes))
    assert np.allclose(decision(layer, rows, sparse), decision(layer, rows, dense), atol=1e-9)


@pytest.mark.parametrize('size', [1, 4, 149, 150, 1000])
def test_any_block_size_trains_the_same(size, monkeypatch):
    layer, (classes, codes) = make_layer(), make_classes(3)
    _, expected = fit_esvm(layer, TrainingRows(X, codes, classes))
    monkeypatch.setattr(esvm, 'BLOCK_ROWS', size)
    _, found = fit_esvm(layer, TrainingRows(X, codes, classes))
    assert np.allclose(decision(layer, X, found), decision(layer, X, expected), atol=1e-10)


@pytest.mark.parametrize('task', ['classes', 'regression'])
@pytest.mark.parametrize('n_hidden', [1, 5, L])
def test_the_leading_sums_are_those_of_fewer_nodes(task, n_hidden):
    classes, codes = make_classes(3)
    rows = TrainingRows(X, codes, classes) if task == 'classes' else TrainingRows(X, TARGETS_OF['unit'])
    sums, _ = fit_esvm(make_layer(), rows)
    fewer = make_layer(n_hidden=n_hidden)
    _, expected = fit_esvm(fewer, rows)
    leading = leading_sums(sums, n_hidden)
    found = finish(leading, 1.0, task == 'regression')
    assert np.allclose(decision(fewer, X, found), decision(fewer, X, expected), atol=1e-10)
    kept = [*range(n_hidden), L]
    for part in ('gram', 'gram_low'):
        assert np.array_equal(getattr(leading, part), getattr(sums, part)[kept][:, kept])
    for part in ('class_sums', 'class_sums_low'):
        assert np.array_equal(getattr(leading, part), getattr(sums, part)[:, kept])


def test_spellings_of_one_class_are_added_up():
    classes = Classes.of(LabelTable({'1': [2, [0, 0, 0]], '+1': [1, [0, 0, 5]], '-1': [4, [0, 0, 9]]}))
    named = {
        '1': np.array([[1.0, 2, 2], [0, 0, 0]]),
        '+1': np.array([[10.0, 20, 1], [0, 0, 0]]),
        '-1': np.array([[-5.0, 7, 4], [0, 0, 0]]),
    }
    sums = collect_sums(np.eye(2), np.zeros((2, 2)), named, classes)
    assert sums.class_sums.tolist() == [[-5, 7], [11, 22]] and sums.counts.tolist() == [4, 3]


def test_a_label_that_no_pass_before_has_seen_is_an_error():
    classes = Classes.of(LabelTable({'a': [1, [0, 0, 0]], 'b': [1, [0, 0, 1]]}))
    with pytest.raises(AccountingError, match="'late'"):
        collect_sums(np.eye(2), np.zeros((2, 2)), {'a': np.zeros((2, 3)), 'late': np.zeros((2, 3))}, classes)


def test_classes_called_like_the_sums_of_a_regression_are_classes():
    classes = Classes.of(LabelTable({TARGETS: [75, [0, 0, 0]], SQUARES: [75, [0, 0, 1]]}))
    layer, codes = make_layer(), np.arange(N) % 2
    _, solution = fit_esvm(layer, TrainingRows(X, codes, classes))
    assert np.allclose(decision(layer, X, solution), ridge(layer, X, signs(codes, 2), 1.0), atol=1e-9)


def test_expanded_rows_end_in_minus_one_and_use_the_buffer_given():
    layer, buffer = make_layer(), np.full(N * (L + 1), np.nan)
    E = expand(layer, X[:7], buffer=buffer)
    assert np.shares_memory(E, buffer) and (E[:, -1] == -1).all() and np.isnan(buffer[7 * (L + 1) :]).all()
    assert np.array_equal(E, expand(layer, X[:7]))

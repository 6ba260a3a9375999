"""Estimators: scikit-learn's own checks, several classes, every kernel."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import (
    ELMClassifier,
    ELMRegressor,
    KernelELMRegressor,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
    to_estimator,
)
from mr_elm.estimators.values import numbered_classes
from mr_elm.features.kernels import KERNELS
from mr_elm.features.nodes import draw_nodes
from mr_elm.machines.options import RANDOM_NODES
from mr_elm.model.file import read_model, save_model

CLASSIFIERS = [SparseELMClassifier, OELMClassifier, ELMClassifier]


@pytest.fixture(scope='module')
def blobs():
    X, y = make_blobs(300, centers=5, cluster_std=2.5, n_features=4, random_state=0)
    return X / X.std(axis=0), np.array(list('edcba'))[y]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('kind', [*CLASSIFIERS, ELMRegressor, SphereSVMClassifier])
def test_scikit_learn_is_content(kind):
    estimator = kind(n_hidden=60) if kind in (ELMClassifier, ELMRegressor) else kind()
    assert [row['check_name'] for row in check_estimator(estimator, on_fail=None) if row['status'] == 'failed'] == []


def test_pairs_are_machines_of_their_own(blobs):
    X, y = blobs
    model = SparseELMClassifier(sigma=1, C=3, tol=1e-8, scale='none').fit(X, y)
    values = model.model_.decision_function(X)
    for p, pair in enumerate(combinations(range(5), 2)):
        rows = np.isin(y, model.classes_[list(pair)])
        alone = SparseELMClassifier(sigma=1, C=3, tol=1e-8, scale='none').fit(X[rows], y[rows])
        assert np.allclose(values[:, p], alone.decision_function(X), rtol=0, atol=1e-6)
    assert model.dual_coef_.shape == (len(np.unique(model.support_)), 10)


@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
def test_the_largest_decision_value_is_the_class_predicted(scheme, blobs):
    X, y = blobs
    model = SparseELMClassifier(multiclass=scheme).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.7
    assert np.array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))


def name_of_nodes(estimator):
    """Return the parameter that names the nodes: of the dual they stand in for a kernel."""
    return 'map' if estimator is ELMClassifier else 'kernel'


@pytest.mark.parametrize('estimator', CLASSIFIERS)
@pytest.mark.parametrize('weights', ['normal', 'uniform'])
def test_nodes_are_drawn_as_asked_for_and_the_model_says_how(estimator, weights, blobs):
    nodes = {'n_hidden': 7, 'seed': 3, 'weight_scale': 0.25, 'weights': weights}
    fitted = estimator(**{name_of_nodes(estimator): 'sine'}, **nodes).fit(*blobs)
    drawn = draw_nodes('sine', 7, 4, 3, 0.25, weights)
    assert all(
        np.array_equal(one, other)
        for one, other in zip(drawn, (fitted.model_.layer.weights, fitted.model_.layer.biases), strict=True)
    )
    again = to_estimator(fitted.to_model())
    assert (again.weight_scale, again.weights) == (0.25, weights)


@pytest.mark.parametrize('estimator', CLASSIFIERS)
@pytest.mark.parametrize('arguments', [{'weight_scale': 0}, {'weight_scale': np.nan}, {'weights': 'even'}])
def test_nodes_that_cannot_be_drawn_are_refused(estimator, arguments, blobs):
    with pytest.raises(ValueError, match='expected'):
        estimator(**{name_of_nodes(estimator): 'sine'}, **arguments).fit(*blobs)


@pytest.mark.parametrize('kernel', [*KERNELS, *RANDOM_NODES])
@pytest.mark.parametrize('estimator', [SparseELMClassifier, OELMClassifier])
def test_every_kernel_learns_from_dense_and_sparse_rows_and_is_saved(kernel, estimator, blobs, tmp_path):
    X, y = blobs
    X, thin = X / 3, sp.csr_matrix(X / 3)
    dense, sparse = (estimator(kernel=kernel, degree=2, n_hidden=40, C=10).fit(rows, y) for rows in (X, thin))
    values = dense.decision_function(X)
    assert np.mean(dense.predict(X) == y) > 0.5
    assert np.allclose(sparse.decision_function(thin), values, rtol=0, atol=0.01 * np.abs(values).max())
    save_model(tmp_path / 'm.npz', dense.model_.header, dense.model_.arrays)
    again = read_model(tmp_path / 'm.npz')
    assert again.decision_function(X).tobytes() == dense.model_.decision_function(X).tobytes()
    assert np.array_equal(np.array(again.classes)[again.predict(X)], dense.predict(X))


def test_class_weights_are_row_weights(blobs):
    X, y = blobs
    by_class = SparseELMClassifier(sigma=1, class_weight={'a': 4.0}, tol=1e-8, scale='none').fit(X, y)
    by_row = SparseELMClassifier(sigma=1, tol=1e-8, scale='none').fit(X, y, np.where(y == 'a', 4.0, 1.0))
    assert np.allclose(by_class.decision_function(X), by_row.decision_function(X), rtol=0, atol=1e-5)


def test_both_methods_and_all_rules_find_one_machine(blobs):
    X, y = blobs
    kinds = [
        (SparseELMClassifier, 'block'),
        (SparseELMClassifier, 'paper'),
        (OELMClassifier, 'oelm'),
        (OELMClassifier, 'bas'),
    ]
    values = [
        estimator(sigma=1, tol=1e-6, rule=rule).fit(X, y).model_.decision_function(X) for estimator, rule in kinds
    ]
    assert all(np.allclose(value, values[0], rtol=0, atol=1e-5) for value in values)


def test_the_kernel_elm_is_kernel_ridge():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((150, 3)), rng.standard_normal((150, 2))
    ours = KernelELMRegressor(sigma=1, C=20, scale='none').fit(X, y).predict(X)
    ridge = KernelRidge(alpha=1 / 20, kernel='rbf', gamma=0.5).fit(X, y - y.mean(axis=0))
    assert np.allclose(ours, y.mean(axis=0) + ridge.predict(X), atol=1e-8)


@pytest.mark.parametrize(
    'arguments',
    [
        {'C': 0},
        {'C': -1},
        {'sigma': 0},
        {'sigma': -2},
        {'kernel': 'gauss'},
        {'rule': 'fast'},
        {'rule': 'bas'},
        {'multiclass': 'all'},
        {'tol': 0},
        {'kernel': 'sigmoid', 'n_hidden': 0},
    ],
)
def test_bad_parameters_are_refused(arguments, blobs):
    with pytest.raises(ValueError, match='expected'):
        SparseELMClassifier(**arguments).fit(*blobs)


@pytest.mark.parametrize('estimator', CLASSIFIERS)
def test_one_class_is_refused(estimator, blobs):
    with pytest.raises(ValueError, match='one class'):
        estimator().fit(blobs[0], np.ones(len(blobs[0])))


@pytest.mark.parametrize(
    'labels',
    [
        np.array([-100, 100, 3], np.int8),
        np.array([2, 1, 2], np.uint64),
        np.array([3.0, -1.0, 3.0]),
        np.array([2**63 + 5, 2**63, 2**63], np.uint64),
        np.array([1e15, 2.0, 2.0]),
        np.array([True, False, True]),
        np.array(['b', 'a', 'b']),
    ],
    ids=str,
)
def test_classes_are_numbered_in_increasing_order(labels):
    labels = np.repeat(labels, 3)
    classes, codes = numbered_classes(labels)
    assert classes.dtype == labels.dtype and classes.tolist() == sorted(set(labels.tolist()))
    assert (classes[codes] == labels).all()

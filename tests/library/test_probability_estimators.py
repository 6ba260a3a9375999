"""Probabilities of the estimators: scikit-learn's own checks, models of files, rows that come and leave."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import (
    ELMClassifier,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
    to_estimator,
)
from mr_elm.estimators.probabilities import leave_equal_rows_out
from mr_elm.machines.press import HeldOut
from mr_elm.model.file import read_model

CLASSIFIERS = [
    ESVMClassifier(n_hidden=60, probabilities=True),
    ELMClassifier(n_hidden=60, probabilities=True),
    KernelELMClassifier(probabilities=True),
    SparseELMClassifier(probabilities=True),
    OELMClassifier('sigmoid', n_hidden=40, probabilities=True),
    SparseELMClassifier(multiclass='one-vs-all', probabilities=True),
    SphereSVMClassifier(probabilities=True),
]
ALL = pytest.mark.parametrize('estimator', CLASSIFIERS, ids=str)


@pytest.fixture(scope='module')
def table():
    """Draw rows of three classes that overlap: (X, labels)."""
    X, y = make_moons(240, noise=0.3, random_state=0)
    return X, np.array(list('abc'))[y + (X[:, 0] > 1.2) * (y == 1)]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('estimator', [each for each in CLASSIFIERS if not isinstance(each, OELMClassifier)], ids=str)
def test_scikit_learn_is_content(estimator):
    assert [
        row['check_name'] for row in check_estimator(clone(estimator), on_fail=None) if row['status'] == 'failed'
    ] == []


@ALL
def test_probabilities_are_there_only_when_they_are_asked_for(estimator, table):
    plain = clone(estimator).set_params(probabilities=False).fit(*table)
    assert not hasattr(plain, 'predict_proba') and not hasattr(plain, 'predict_log_proba')
    fitted = clone(estimator).fit(*table)
    P = fitted.predict_proba(table[0])
    assert np.allclose(P.sum(axis=1), 1) and np.allclose(np.log(P), fitted.predict_log_proba(table[0]))
    assert np.array_equal(fitted.classes_[P.argmax(axis=1)], fitted.predict(table[0]))
    assert np.array_equal(fitted.decision_function(table[0]).argmax(axis=1), P.argmax(axis=1))


@ALL
def test_probabilities_of_new_rows_are_better_than_the_shares_of_the_classes(estimator, table):
    X, y = table
    P = clone(estimator).fit(X[:160], y[:160]).predict_proba(X[160:])
    shares = np.tile([np.mean(y[:160] == name) for name in 'abc'], (80, 1))
    assert log_loss(y[160:], P) < 0.75 * log_loss(y[160:], shares)


@ALL
def test_a_model_keeps_the_probabilities(estimator, table, tmp_path):
    X, y = table
    fitted = clone(estimator).fit(X, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    model = read_model(tmp_path / 'm.npz')
    again = to_estimator(model)
    assert np.allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    assert np.array_equal(np.array(model.classes)[model.predict(X)], fitted.predict(X))


@pytest.mark.parametrize(
    'estimator',
    [
        ESVMClassifier(n_hidden=30, probabilities=True),
        ELMClassifier(n_hidden=30, probabilities=True),
        KernelELMClassifier(sigma=0.5**0.5, probabilities=True),
        SparseELMClassifier(sigma=0.5**0.5, tol=1e-8, probabilities=True),
    ],
    ids=str,
)
def test_a_row_of_weight_two_counts_as_two_rows(estimator, table):
    X, y = table[0][:90], table[1][:90]
    weights = 1.0 + (np.arange(90) % 3 == 0)
    rows = np.repeat(np.arange(90), weights.astype(int))
    weighted, repeated = clone(estimator).fit(X, y, weights), clone(estimator).fit(X[rows], y[rows])
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize('weighted', [False, True])
def test_leave_one_out_leaves_out_equal_rows_of_the_same_label_and_no_others(weighted):
    rng = np.random.default_rng(4)
    H, labels = rng.standard_normal((20, 3)), np.arange(20) % 3
    H[[4, 7, 5]] = H[1]  # 4 and 7 have the label of 1, 5 has another
    w = rng.uniform(0.5, 2, 20) if weighted else np.ones(20)
    T = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)

    def train(kept):
        WH = w[kept, None] * H[kept]
        return np.linalg.solve(WH.T @ H[kept] + np.eye(3) / 2, WH.T @ T[kept])

    values = np.array([H[i] @ train(np.arange(20) != i) for i in range(20)])
    leverages = w * np.einsum('ij,jk,ik->i', H, np.linalg.inv((w[:, None] * H).T @ H + np.eye(3) / 2), H)
    found = leave_equal_rows_out(HeldOut(labels, w, values, leverages), H, 3).decisions
    for i in range(20):
        rest = (H[i] != H).any(axis=1) | (labels != labels[i])
        assert np.allclose(found[i], H[i] @ train(rest))


def test_the_unified_elm_on_nodes_has_the_leave_one_out_scores_of_its_kernel(table):
    X, y = table
    nodes = ELMClassifier(n_hidden=25, C=5, scale='none', weights='uniform', probabilities=True).fit(X, y)
    H = nodes.model_.layer.evaluate(X, np.empty((len(X), 25)))
    weights = np.linspace(0.5, 2, len(X))
    for w in (None, weights):
        kernel = KernelELMClassifier('linear', C=5, scale='none', probabilities=True).fit(H, y, w)
        assert np.allclose(
            clone(nodes).fit(X, y, w).model_.arrays['calibration'], kernel.model_.arrays['calibration'], atol=1e-5
        )


def test_probabilities_are_kept_when_rows_come_and_made_anew_on_demand(table):
    X, y = table
    grown = ESVMClassifier(n_hidden=30, probabilities=True).fit(X[:120], y[:120])
    before = grown.model_.arrays['calibration']
    grown.partial_fit(X[120:], y[120:])
    assert np.array_equal(grown.model_.arrays['calibration'], before)
    whole = clone(grown).fit(X, y, like=grown)
    assert np.allclose(grown.calibrate(X, y).predict_proba(X), whole.predict_proba(X), atol=1e-6)
    grown.partial_fit(X[:1], ['new'])
    with pytest.raises(ValueError, match='expected a model with probabilities'):
        grown.predict_proba(X)
    assert len(grown.predict(X)) == len(X)


def test_intervals_of_an_estimator_are_those_of_its_model(tmp_path, table):
    X = table[0]
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    assert not hasattr(ESVMRegressor().fit(X, y), 'predict_interval')
    fitted = ESVMRegressor(n_hidden=30, intervals=True).fit(X[:160], y[:160])
    bounds = fitted.predict_interval(X[160:], 0.8)
    assert bounds.shape == (80, 2) and np.allclose(bounds.mean(axis=1), fitted.predict(X[160:]))
    assert 0.6 < np.mean((bounds[:, 0] <= y[160:]) & (y[160:] <= bounds[:, 1])) < 0.95
    assert (np.diff(fitted.predict_interval(X[160:], 0.9)) > np.diff(bounds)).all()
    again = to_estimator(fitted.to_model())
    assert np.allclose(again.predict_interval(X[160:], 0.8), bounds)
    grown = fitted.partial_fit(X[160:], y[160:])
    whole = clone(grown).fit(X, y, like=grown)
    assert not np.allclose(grown.predict_interval(X, 0.8), whole.predict_interval(X, 0.8))
    assert np.allclose(grown.calibrate(X, y).predict_interval(X, 0.8), whole.predict_interval(X, 0.8), atol=1e-6)


@pytest.mark.filterwarnings('ignore')
def test_scikit_learn_is_content_with_intervals():
    assert [
        row['check_name']
        for row in check_estimator(ESVMRegressor(intervals=True), on_fail=None)
        if row['status'] == 'failed'
    ] == []


def test_a_solver_without_leave_one_out_refuses_probabilities(table):
    with pytest.raises(ValueError, match='expected the solver cholesky or svd, found cg'):
        KernelELMClassifier(solver='cg', probabilities=True).fit(*table)

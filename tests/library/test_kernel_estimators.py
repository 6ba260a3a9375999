"""The kernel ELM as estimators: scikit-learn's own checks, every solver, leave-one-out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import KernelELMClassifier, KernelELMRegressor
from mr_elm.estimators.kelm import SOLVERS
from mr_elm.features.kernels import KERNELS
from mr_elm.model.file import read_model, save_model


@pytest.fixture(scope='module')
def blobs():
    X, y = make_blobs(90, centers=3, cluster_std=2.5, n_features=4, random_state=0)
    return X / X.std(axis=0), np.array(list('cba'))[y]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('estimator', [KernelELMClassifier, KernelELMRegressor])
def test_scikit_learn_is_content(estimator):
    assert [row['check_name'] for row in check_estimator(estimator(), on_fail=None) if row['status'] == 'failed'] == []


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_is_kernel_ridge(solver, blobs):
    X = blobs[0]
    Y, weights = np.sin(X[:, :2]), np.random.default_rng(0).uniform(0.5, 2, len(X))
    ours = KernelELMRegressor(sigma=1, scale='none', C=20, solver=solver).fit(X, Y, weights).predict(X)
    mean = np.average(Y, axis=0, weights=weights)
    ridge = KernelRidge(alpha=1 / 20, kernel='rbf', gamma=0.5).fit(X, Y - mean, weights)
    assert np.allclose(ours, mean + ridge.predict(X), atol=1e-6)


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('solver', SOLVERS)
def test_every_kernel_learns_from_dense_and_sparse_rows_and_is_saved(kernel, solver, blobs, tmp_path):
    X, y = blobs[0] / 3, blobs[1]
    dense, sparse = (KernelELMClassifier(kernel, C=10, solver=solver).fit(rows, y) for rows in (X, sp.csr_matrix(X)))
    assert np.mean(dense.predict(X) == y) > 0.6
    assert np.allclose(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-6)
    save_model(tmp_path / 'm.npz', dense.model_.header, dense.model_.arrays)
    again = read_model(tmp_path / 'm.npz')
    assert np.array_equal(np.array(again.classes)[again.predict(X)], dense.predict(X))


def test_leave_one_out_is_that_of_scikit_learn(blobs):
    X, y = blobs
    plain = KernelELMClassifier(sigma=(0.5 / 0.3) ** 0.5, scale='none', C=5)
    held_out = cross_val_predict(plain, X, y, cv=LeaveOneOut())
    for solver in ('cholesky', 'svd'):
        told = KernelELMClassifier(sigma=(0.5 / 0.3) ** 0.5, scale='none', C=5, solver=solver, leave_one_out=True).fit(
            X, y
        )
        assert told.loo_score_ == np.mean(held_out == y)


@pytest.mark.parametrize('target', ['none', 'log'])
@pytest.mark.parametrize('several', [False, True])
def test_the_leave_one_out_score_of_a_regression_is_r2_as_scikit_learn_scores(target, several, blobs):
    X, rows = blobs[0], np.arange(90)
    plain = KernelELMRegressor(sigma=(0.5 / 0.3) ** 0.5, scale='none', C=5, target=target)
    y = np.exp(np.column_stack([X[:, 0] * X[:, 1], X[:, 2] - X[:, 3]]) / 4)
    if not several:
        y = y[:, 0]
    held_out = cross_val_predict(plain, X, y, cv=LeaveOneOut())
    fitted = clone(plain).set_params(leave_one_out=True).fit(X, y)
    assert fitted.loo_score_ == pytest.approx(r2_score(y, held_out), rel=1e-9)
    weights = np.arange(len(X)) % 3 + 1
    left_out = [clone(plain).fit(X[k != rows], y[k != rows], weights[k != rows]).predict(X[[k]])[0] for k in rows]
    again = clone(fitted).fit(X, y, weights)
    assert again.loo_score_ == pytest.approx(r2_score(y, left_out, sample_weight=weights), rel=1e-9)


def test_class_weights_are_row_weights(blobs):
    X, y = blobs
    by_class = KernelELMClassifier(sigma=1, scale='none', class_weight={'a': 4.0}).fit(X, y)
    by_row = KernelELMClassifier(sigma=1, scale='none').fit(X, y, np.where(y == 'a', 4.0, 1.0))
    assert np.allclose(by_class.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize(
    'arguments',
    [
        {'C': 0},
        {'sigma': 0},
        {'kernel': 'sigmoid'},
        {'solver': 'lu'},
        {'solver': 'cg', 'leave_one_out': True},
        {'solver': 'cg', 'probabilities': True},
    ],
)
def test_bad_parameters_are_refused(arguments, blobs):
    with pytest.raises(ValueError, match='expected'):
        KernelELMClassifier(**arguments).fit(*blobs)

"""Estimators learn a metric in `fit`: what it finds, what it changes, and that models keep it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mr_elm.estimators import (
    ELMClassifier,
    ELMRegressor,
    ESVMClassifier,
    ESVMRegressor,
    to_estimator,
)
from mr_elm.model.file import read_model

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 8))
LABELS = np.where(X[:, 2] * X[:, 5] > 0, 'yes', 'no')
TARGETS = np.sin(2 * X[:, 2]) + X[:, 5] ** 2
CLASSIFIERS = [
    ESVMClassifier(nu=100),
    ELMClassifier(C=100),
]
REGRESSORS = [ESVMRegressor(nu=100), ELMRegressor(C=100)]
ALL = pytest.mark.parametrize('estimator', CLASSIFIERS + REGRESSORS, ids=str)


def fit(estimator, rows=X, **parameters):
    y = TARGETS if estimator.__class__.__name__.endswith('Regressor') else LABELS
    return clone(estimator).set_params(**parameters).fit(rows, y[: rows.shape[0]])


@ALL
@pytest.mark.parametrize('metric', ['diagonal', 'full'])
def test_the_features_that_matter_are_the_most_important(estimator, metric):
    importance = fit(estimator, metric=metric).feature_importances_
    assert importance.shape == (8,) and np.isclose(importance.sum(), 1)
    assert sorted(np.argsort(importance)[-2:]) == [2, 5] and importance[[2, 5]].sum() > 0.6


@ALL
def test_without_a_metric_there_is_no_importance(estimator):
    for one in (fit(estimator), clone(estimator)):
        assert not hasattr(one, 'feature_importances_')


@ALL
def test_a_model_file_and_the_estimator_of_it_keep_the_metric(estimator, tmp_path):
    fitted = fit(estimator, metric='full')
    fitted.to_model().save(tmp_path / 'm.npz')
    again = to_estimator(read_model(tmp_path / 'm.npz'))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(again.feature_importances_, fitted.feature_importances_)
    assert again.metric == 'full'


@ALL
def test_the_order_of_the_rows_does_not_matter(estimator):
    order = np.random.default_rng(1).permutation(len(X))
    one = fit(estimator, metric='diagonal')
    y = (TARGETS if estimator in REGRESSORS else LABELS)[order]
    other = clone(estimator).set_params(metric='diagonal').fit(X[order], y)
    assert np.allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)


@pytest.mark.parametrize('estimator', [ESVMClassifier(nu=100), ESVMClassifier(map='nystrom', nu=100)], ids=str)
def test_a_metric_predicts_new_rows_better(estimator):
    rows = np.random.default_rng(9).standard_normal((600, 8))
    y = np.where(rows[:, 2] * rows[:, 5] > 0, 'yes', 'no')
    plain, behind = ((fit(estimator, metric=metric).predict(rows) != y).mean() for metric in ('none', 'diagonal'))
    assert behind < 0.7 * plain


def test_sparse_rows_stay_sparse_behind_a_diagonal():
    rows = sp.csr_matrix(np.where(RNG.random(X.shape) < 0.6, X, 0))
    model = fit(ESVMClassifier(nu=10), rows, metric='full').model_
    assert model.arrays['feature_metric'].shape == (8,)


def test_several_targets_share_a_metric():
    model = ELMRegressor(C=100, metric='diagonal').fit(X, np.column_stack([TARGETS, X[:, 0]]))
    assert sorted(np.argsort(model.feature_importances_)[-3:]) == [0, 2, 5]


def test_rows_come_and_leave_behind_the_metric_of_the_first():
    model = ESVMClassifier(n_hidden=30, metric='diagonal').fit(X[:200], LABELS[:200])
    metric, old = model.layer_.metric, model.decision_function(X)
    model.partial_fit(X[200:], LABELS[200:])
    assert np.array_equal(model.layer_.metric, metric) and not np.array_equal(model.decision_function(X), old)
    model.forget(X[200:], LABELS[200:])
    assert model.decision_function(X).tobytes() == old.tobytes()


def test_a_grid_search_chooses_the_metric():
    search = GridSearchCV(ESVMClassifier(n_hidden=100, nu=100), {'metric': ['none', 'diagonal']}, cv=3)
    assert search.fit(X, LABELS).best_params_ == {'metric': 'diagonal'}


def test_what_cannot_be_learned_is_refused():
    with pytest.raises(ValueError, match='expected one of none, diagonal, full'):
        fit(ESVMClassifier(metric='round'))
    with pytest.raises(ValueError, match='these nodes have no slope'):
        fit(ELMClassifier('hardlimit', metric='full'))

"""The extreme SVM as an estimator: scikit-learn's own checks; rows come, leave and merge exactly."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.errors import AccountingError, NumericalWarning, UnsuitableWarning
from mr_elm.estimators import ESVMClassifier, ESVMRegressor
from mr_elm.solvers.increment import sum_arrays
from mr_elm.sums.gram import expand

N = 300
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, 4))
LABELS = np.array(list('abc'))[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
TARGETS = 40 * X[:, 0] + X[:, 2] ** 2
PARTS = [slice(0, 100), slice(100, 101), slice(101, N)]
BOTH = pytest.mark.parametrize(
    'estimator, y',
    [(ESVMClassifier(n_hidden=30), LABELS), (ESVMRegressor(n_hidden=30), TARGETS)],
    ids=['classes', 'targets'],
)


def values(model):
    return model.model_.decision_function(X)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('estimator', [ESVMClassifier(n_hidden=60), ESVMRegressor(n_hidden=60)], ids=repr)
def test_scikit_learn_is_content(estimator):
    assert [row['check_name'] for row in check_estimator(estimator, on_fail=None) if row['status'] == 'failed'] == []


@pytest.mark.parametrize('weights', [None, RNG.uniform(0.1, 5, N)], ids=['plain', 'weighted'])
def test_it_is_ridge_regression_on_its_nodes(weights):
    model = ESVMRegressor(n_hidden=30, scale='none', nu=3).fit(X, TARGETS, weights)
    E = expand(model.layer_, X)
    mean = np.average(TARGETS, weights=weights)
    ridge = Ridge(alpha=1 / 3, fit_intercept=False, solver='svd').fit(E, TARGETS - mean, weights)
    assert np.allclose(model.predict(X), ridge.predict(E) + mean, atol=1e-8)


@BOTH
@pytest.mark.parametrize('order', list(itertools.permutations(range(3))))
def test_batches_in_any_order_are_all_rows_at_once(estimator, y, order):
    model = clone(estimator)
    for k in order:
        classes = {'classes': ['a', 'b']} if y is LABELS else {}
        model.partial_fit(X[PARTS[k]], y[PARTS[k]], **classes)
    assert np.allclose(values(model), values(clone(estimator).fit(X, y, like=model)), atol=1e-8)


@BOTH
def test_rows_that_leave_as_they_came_give_the_old_bits_back(estimator, y, monkeypatch):
    monkeypatch.setattr('mr_elm.solvers.ridge.BLOCK_ROWS', 40)  # the sums of several blocks have low parts
    first = clone(estimator).fit(X[:100], y[:100]).partial_fit(X[100:150], y[100:150])
    old, sums = values(first), sum_arrays(first.sums_)
    first.partial_fit(X[150:], y[150:]).forget(X[150:], y[150:])
    assert values(first).tobytes() == old.tobytes() and first.n_rows_ == 150
    assert sums['gram_low'].any()
    assert all(part.tobytes() == sums[name].tobytes() for name, part in sum_arrays(first.sums_).items())


@BOTH
def test_estimators_fitted_apart_merge(estimator, y):
    one = clone(estimator).fit(X[:120], y[:120])
    other = clone(estimator).fit(X[120:], y[120:], like=one)
    assert other.n_rows_ == N - 120
    assert np.allclose(values(one.merge(other)), values(clone(estimator).fit(X, y, like=other)), atol=1e-8)
    for others in (clone(estimator).fit(X[120:], y[120:]), clone(estimator).set_params(seed=3, scale='none').fit(X, y)):
        with pytest.raises(ValueError, match='expected the same feature offset as in this estimator'):
            one.merge(others)


@BOTH
def test_nodes_of_another_estimator_need_the_same_parameters(estimator, y):
    one = clone(estimator).fit(X[:120], y[:120])
    with pytest.raises(ValueError, match='like: expected an estimator with n_hidden=20, found 30'):
        clone(estimator).set_params(n_hidden=20).fit(X[120:], y[120:], like=one)


@BOTH
def test_uniform_weights_on_unscaled_rows_do_not_depend_on_the_rows(estimator, y):
    one, other = (
        clone(estimator).set_params(scale='none', weights='uniform').fit(X[part], y[part])
        for part in (slice(120), slice(120, N))
    )
    assert one.merge(other).n_rows_ == N


def test_a_class_comes_late_and_goes():
    two, third = LABELS != 'c', LABELS == 'c'
    model = ESVMClassifier(n_hidden=30).fit(X[two], LABELS[two])
    old = values(model)
    model.partial_fit(X[third], LABELS[third])
    assert model.classes_.tolist() == ['a', 'b', 'c']
    assert np.allclose(values(model), values(ESVMClassifier(n_hidden=30).fit(X, LABELS, like=model)), atol=1e-8)
    model.forget(X[third], LABELS[third])
    assert model.classes_.tolist() == ['a', 'b'] and values(model).tobytes() == old.tobytes()


@BOTH
def test_rows_that_were_never_there_cannot_leave(estimator, y):
    model = clone(estimator).fit(X[:100], y[:100])
    old = values(model)
    for rows in (X[100:], 50 * X[:30]):
        with pytest.raises(AccountingError):
            model.forget(rows, y[: len(rows)])
    assert values(model).tobytes() == old.tobytes()


def test_rows_cannot_leave_under_a_label_that_they_did_not_come_with():
    model = ESVMClassifier(n_hidden=30, scale='none').fit(X, LABELS)
    others = np.flatnonzero(LABELS != 'c')[: (LABELS == 'c').sum() + 1]
    with pytest.raises(AccountingError, match="than the model was trained on: of class 'c', .* where it has "):
        model.forget(X[others], np.full(len(others), 'c'))


def test_a_class_does_not_vanish_with_rows_that_are_not_its_own():
    labels = np.where(np.arange(100) < 3, 'c', LABELS[:100])
    labels[3:][labels[3:] == 'c'] = 'a'
    model = ESVMClassifier(n_hidden=10, scale='none').fit(X[:100], labels)
    old = values(model)
    with pytest.raises(AccountingError, match='without rows, but with a sum'):
        model.forget(X[10:13], ['c', 'c', 'c'])
    assert values(model).tobytes() == old.tobytes() and model.classes_.tolist() == ['a', 'b', 'c']
    assert model.forget(X[2::-1], ['c', 'c', 'c']).classes_.tolist() == ['a', 'b']


def test_sparse_rows_and_large_targets_later():
    model = ESVMRegressor(map='relu', n_hidden=20).fit(sp.csr_matrix(X[:9]), np.zeros(9))
    model.partial_fit(X[9:], 1e12 * TARGETS[9:])
    whole = clone(model).fit(X, np.append(np.zeros(9), 1e12 * TARGETS[9:]), like=model)
    assert np.allclose(model.predict(X), whole.predict(X), rtol=1e-8, atol=1e3)


def grid_of(model):
    return np.array(model.to_model().header.parameters['grid'])


def test_the_grids_of_an_estimator_follow_rows_far_larger():
    """Sums are exact up to 2^104 steps of their grids, so that large rows need coarse ones."""
    model = ESVMRegressor(map='relu', n_hidden=20, scale='none', nu=1e-25).fit(X[:9], TARGETS[:9])
    model.partial_fit(1e9 * X[9:], 1e9 * TARGETS[9:])
    E, t = np.abs(expand(model.layer_, 1e9 * X[9:])).max(), 1e9 * np.abs(TARGETS[9:]).max()
    assert (N * np.array([E * E, E * t, t * t]) <= 2.0**104 * grid_of(model)).all()


@BOTH
def test_the_grids_of_an_estimator_follow_the_weights_of_rows(estimator, y):
    weights = np.where(np.arange(N) == 7, 900.0, 1.0)
    plain, weighted = (grid_of(clone(estimator).fit(X, y, how))[0] for how in (None, weights))
    assert (plain, weighted) == (2.0**-66, 1024 * 2.0**-66)


@BOTH
@pytest.mark.parametrize('size', [0.01, 1.0, 100.0])
def test_estimators_of_rows_of_other_sizes_merge_on_the_finer_grids(estimator, y, size):
    one = clone(estimator).set_params(map='relu').fit(X[:100], y[:100])
    other = clone(one).fit(size * X[100:], y[100:], like=one)
    old, grids = values(one), np.minimum(grid_of(one), grid_of(other))
    assert np.array_equal(grid_of(one.merge(other)), grids)
    one.forget(size * X[100:], y[100:])
    assert np.allclose(values(one), old, rtol=0, atol=1e-6 * np.abs(old).max())
    if size <= 1 and y is LABELS:  # these rows leave on the grids, and from the origin, that they came on
        assert values(one).tobytes() == old.tobytes()


def test_estimators_of_sizes_too_far_apart_merge_on_the_coarser_grids():
    one, other = (ESVMRegressor(n_hidden=20).fit(X[:100], times * TARGETS[:100]) for times in (1, 1e12))
    grids = np.maximum(grid_of(one), grid_of(other))
    assert np.array_equal(grid_of(clone(one).fit(X[:100], TARGETS[:100]).merge(other)), grids)
    assert np.array_equal(grid_of(other.merge(one)), grids)


@pytest.mark.parametrize('order', list(itertools.permutations(range(3))))
def test_large_targets_after_small_ones_are_summed_in_any_order(order):
    model, large = ESVMRegressor(n_hidden=20, scale='none').fit(X[:9], np.zeros(9)), 1e12 * TARGETS
    for k in order:
        model.partial_fit(X[PARTS[k]], large[PARTS[k]])
    back = ESVMRegressor(n_hidden=20, scale='none').fit(X[:9], np.zeros(9))
    for part in PARTS:
        back.partial_fit(X[part], large[part])
    assert model.sums_.counts.tobytes() == back.sums_.counts.tobytes()
    assert model.sums_.class_sums_low.tobytes() == back.sums_.class_sums_low.tobytes()
    assert np.allclose(model.sums_.counts, large @ large, rtol=1e-12)


def doubts(change, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        change(*arguments)
    return any(
        issubclass(warning.category, NumericalWarning) and 'rounding errors may show' in str(warning.message)
        for warning in caught
    )


@BOTH
def test_a_nu_is_doubtful_where_the_ridge_is_below_the_rounding_errors_of_the_sums(estimator, y):
    estimator = clone(estimator).set_params(weights='uniform', scale='none')  # nodes that do not depend on the rows
    model = clone(estimator)
    assert not doubts(model.fit, X, y)
    E = expand(model.layer_, X)
    limit, limit_of_all = (1 / (1000 * 2.0**-53 * (rows**2).sum()) for rows in (E[:100], E))
    assert not doubts(model.set_params(nu=0.99 * limit_of_all).fit, X, y)
    assert doubts(model.set_params(nu=1.01 * limit_of_all).fit, X, y)
    model.set_params(nu=np.sqrt(limit * limit_of_all))
    assert not doubts(model.fit, X[:100], y[:100])
    assert doubts(model.partial_fit, X[100:], y[100:])
    assert doubts(model.forget, X[100:], y[100:])  # the errors stay
    once_large = clone(estimator).fit(X, y).forget(X[10:], y[10:])
    assert not doubts(model.fit, X[:100], y[:100]) and doubts(model.merge, once_large)
    assert not doubts(model.fit, X[:100], y[:100]) and not doubts(model.merge, clone(estimator).fit(X[:10], y[:10]))


def test_a_warning_names_the_line_that_called_an_estimator():
    X, y = np.repeat([[1.0, 2.0], [1.0, 2.0001]], 10, axis=0), np.arange(20) % 2
    with pytest.warns(UnsuitableWarning, match='says the same') as caught:
        ESVMClassifier(n_hidden=5).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}

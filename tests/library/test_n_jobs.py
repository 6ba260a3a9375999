"""However many threads share the work, not a bit of a model or of a prediction changes."""

import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.arithmetic import find_libraries
from mr_elm.estimators import (
    ELMClassifier,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.parallel import N_THREADS, map_in_threads, using_threads
from mr_elm.solvers.cholesky import factor_upper

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9000, 6))
Y = (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0.4)
CASES = {
    'gram': (ESVMClassifier(n_hidden=30), 9000),
    'gram of targets': (ESVMRegressor(n_hidden=30), 9000),
    'nodes': (ELMClassifier(n_hidden=30), 9000),
    'cholesky': (KernelELMClassifier(), 700),
    'passes': (KernelELMClassifier(solver='cg', rank=50), 700),
    'svd': (KernelELMRegressor(solver='svd'), 300),
    'small pairs': (SparseELMClassifier(), 300),
    'pairs': (SparseELMClassifier(rule='paper', tol=0.1), 300),
    'classes against all': (SparseELMClassifier(multiclass='one-vs-all', C=10), 300),
    'pairs on nodes': (SparseELMClassifier(kernel='sigmoid', n_hidden=20), 300),
    'newton': (OELMClassifier(), 300),
    'balls': (SphereSVMClassifier(), 300),
}


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('case', CASES)
def test_any_number_of_threads_gives_the_same_bits(case):
    estimator, n_rows = CASES[case]
    found = []
    for n_jobs in (1, 2, 3):
        fitted = clone(estimator).set_params(n_jobs=n_jobs).fit(X[:n_rows], Y[:n_rows])
        arrays = {name: array.tobytes() for name, array in fitted.to_model().arrays.items()}
        found.append((arrays, fitted._values(X).tobytes()))
    assert found[0] == found[1] == found[2]


def test_rows_that_come_and_leave_in_threads_leave_the_same_sums():
    one, two = (ESVMClassifier(n_hidden=20, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    two.partial_fit(X[:5000], Y[:5000]).forget(X[:5000], Y[:5000])
    assert np.array_equal(one.sums_.gram, two.sums_.gram) and np.array_equal(one.sums_.gram_low, two.sums_.gram_low)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'estimator',
    [ESVMClassifier(n_hidden=60, n_jobs=2), KernelELMRegressor(n_jobs=2), SparseELMClassifier(n_jobs=2)],
    ids=repr,
)
def test_scikit_learn_is_content_with_threads(estimator):
    check_estimator(estimator)


def test_n_jobs_means_what_it_means_in_joblib(monkeypatch):
    def observe(function, items):
        asked.append(N_THREADS.get())
        return list(map(function, items))

    asked = []
    monkeypatch.setattr('mr_elm.estimators.jobs.map_in_threads', observe)
    monkeypatch.setattr('mr_elm.estimators.jobs.BLOCK_ROWS', 4)
    fitted = ESVMClassifier(n_hidden=5).fit(X[:50], Y[:50])
    fitted.set_params(n_jobs=3).predict(X[:9])
    with parallel_config(n_jobs=4):
        fitted.set_params(n_jobs=None).predict(X[:9])
    fitted.set_params(n_jobs=None).predict(X[:9])  # nobody asks for threads: BLAS takes its own
    assert asked == [3, 4, None]
    with pytest.raises(ValueError, match='n_jobs'):
        fitted.set_params(n_jobs=0).predict(X[:9])


def test_results_stand_in_the_order_of_the_items_and_each_thread_has_one_of_blas():
    def observe(number):
        together.wait()
        return number, {library['num_threads'] for library in find_libraries().info() if library['user_api'] == 'blas'}

    together = threading.Barrier(3, timeout=30)
    with using_threads(3):
        assert map_in_threads(observe, range(3)) == [(number, {1}) for number in range(3)]


def test_a_thread_of_several_spreads_nothing_itself():
    with using_threads(2):
        assert map_in_threads(lambda number: N_THREADS.get(), range(3)) == [1, 1, 1]
    assert N_THREADS.get() is None


@pytest.mark.parametrize('n_threads', [None, 1, 2])
def test_an_error_in_a_thread_reaches_the_caller(n_threads):
    with pytest.raises(ZeroDivisionError), using_threads(n_threads):
        map_in_threads(lambda number: 1 / number, [1, 0])


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_of_several_errors_that_of_the_first_item_is_raised(error):
    def fail(number):
        together.wait()
        raise error(number)

    together = threading.Barrier(2, timeout=30)
    with pytest.raises(error, match='^0$'), using_threads(2):
        map_in_threads(fail, range(2))


@pytest.mark.parametrize('n', [1, 255, 256, 257, 700])
def test_the_factor_in_strips_is_the_cholesky_factor(n):
    root = RNG.standard_normal((n, n))
    A = root @ root.T / n + np.eye(n)
    U = np.asfortranarray(np.triu(A) + np.tril(np.full((n, n), np.nan), -1))  # what is below the diagonal is not read
    with using_threads(2):
        assert factor_upper(U) == 0
    assert np.allclose(np.triu(U), np.linalg.cholesky(A).T, rtol=0, atol=1e-12)


@pytest.mark.parametrize('row', [0, 100, 400, 599])
def test_a_matrix_that_is_not_positive_is_found_at_its_row(row):
    A = np.eye(600)
    A[row, row] = -1
    with using_threads(2):
        assert factor_upper(np.asfortranarray(A)) == row + 1

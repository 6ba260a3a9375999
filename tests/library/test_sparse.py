"""Rows of many columns that hold few numbers cost what their numbers cost: in products, in estimators, in models."""

import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm import sparse
from mr_elm.estimators import (
    ELMClassifier,
    ESVMClassifier,
    KernelELMClassifier,
    KernelELMRegressor,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernel_tiles import compute_kernel, compute_lower_triangle
from mr_elm.features.kernels import make_kernel
from mr_elm.features.nodes import draw_nodes
from mr_elm.features.scaling import scale_rows
from mr_elm.machines.nodes import place_landmarks
from mr_elm.model.file import read_model

N, D, WIDE = 60, 30, 200_000
KERNELS = ({'kernel': 'gaussian'}, {'kernel': 'laplacian'}, {'kernel': 'linear'}, {'kernel': 'polynomial', 'degree': 2})
DUAL = SparseELMClassifier, OELMClassifier, SphereSVMClassifier, KernelELMClassifier
NYSTROM = {'map': 'nystrom', 'n_hidden': 20}
ESTIMATORS = [
    *((kind, given) for kind in DUAL for given in KERNELS),
    *((ESVMClassifier, {**NYSTROM, 'kernel': kernel}) for kernel in ('gaussian', 'laplacian', 'product-laplacian')),
    (ELMClassifier, NYSTROM),
]


def make_words(rng, n=N, d=D):
    """Return rows (n, d) of few numbers, and classes that depend on them."""
    X = rng.integers(1, 4, (n, d)) * (rng.random((n, d)) < 0.2).astype(float)
    X[:, 0] += np.arange(n) % 2
    X[:, 1] = 2.0  # a column that is constant, and not 0
    return X, np.arange(n) % 2


def spread(X, width=WIDE):
    """Return rows as CSR ones of a width: their columns stand far from each other, all others hold no number."""
    X = sp.csr_matrix(X)
    return sp.csr_matrix((X.data, X.indices * (width // X.shape[1]) + 3, X.indptr), shape=(X.shape[0], width))


def measure_peak(work):
    """Return what a call returns, and the most bytes that it had at once."""
    tracemalloc.start()
    try:
        found = work()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def make(kind, given, scale='none'):
    """Return an estimator of a width that does not depend on the features; see ESTIMATORS."""
    width = {'sigma': 3.0} if given.get('kernel') in ('gaussian', 'laplacian') and 'map' not in given else {}
    balls = {'normalise': True} if kind is SphereSVMClassifier and 'sigma' not in width else {}
    return kind(**given, **width, **balls, scale=scale)


@pytest.mark.parametrize('columns', [np.arange(0, 30, 4), np.array([29]), np.arange(0)])
def test_columns_are_taken_as_scipy_takes_them(rng, columns):
    X = sp.csr_matrix(make_words(rng)[0])
    found = sparse.take_columns(X, columns)
    assert found.shape == (N, len(columns)) and (found != X[:, columns]).nnz == 0
    assert (sparse.take_columns(X.toarray(), columns) == found.toarray()).all()


def test_columns_that_hold_numbers_are_found_where_most_do_not(rng):
    X, columns = make_words(rng)[0], 3 + np.arange(D) * (WIDE // D)
    assert (sparse.find_columns(spread(X)) == columns).all()
    assert sparse.find_columns(sp.csr_matrix(X)) is None
    assert (sparse.compact(spread(X)) == X).all()


def test_columns_of_factor_0_hold_no_number(rng):
    X, factors = make_words(rng)[0], rng.normal(size=D) * (np.arange(D) % 3 > 0)
    found = sparse.multiply_columns(sp.csr_matrix(X), factors)
    assert (found.toarray() == X * factors).all() and found.data.all()
    assert (sparse.multiply_columns(sp.csr_matrix(X), np.array(2.0)).toarray() == X * 2).all()


def test_rows_that_are_shifted_have_numbers_where_columns_vary(rng):
    X, used = make_words(rng)[0], 3 + np.arange(D) * (WIDE // D)
    offset, scale = np.zeros(WIDE), np.zeros(WIDE)
    offset[used], scale[used] = rng.normal(size=D), 2.0
    Z = scale_rows(spread(X), offset, scale)
    assert Z.nnz == X.size and (Z[:, used].toarray() == (X - offset[used]) * 2).all()


@pytest.mark.parametrize('given', KERNELS)
@pytest.mark.parametrize('share', [0, 1])
def test_kernels_of_wide_rows_are_those_of_their_columns_that_hold_numbers(rng, monkeypatch, given, share):
    if share:  # they stay sparse, and are no dense ones of fewer columns
        monkeypatch.setattr(sparse, 'DENSE_BYTES', 0)
        monkeypatch.setattr(sparse, 'DENSE_SHARE', 1)
        monkeypatch.setattr(sparse, 'MIN_DENSE_SHARE', 1)
    X, kernel = make_words(rng)[0], make_kernel(given['kernel'], 4.0, degree=given.get('degree'))
    wide, K, some = spread(X), compute_kernel(X, X, kernel), np.array([5, 40, 2])
    source = kernel_rows(wide, kernel)
    assert sparse.issparse(source.X) == bool(share)
    for found, wanted in (
        (source.rows(some), K[some]),
        (source.tile(some, some[::-1]), K[np.ix_(some, some[::-1])]),
        (source.weighted_sum(some, np.ones(3)), K[:, some].sum(axis=1)),
        (compute_kernel(wide[:7], wide, kernel), K[:7]),
        (compute_kernel(wide, wide[:7], kernel), K[:, :7]),
        (np.tril(compute_lower_triangle(wide, kernel)), np.tril(K)),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('kind', ['sigmoid', 'rbf', 'nystrom', 'laplacian', 'product-laplacian'])
@pytest.mark.parametrize('shifted', [False, True])
def test_nodes_of_wide_rows_are_those_of_dense_ones(rng, kind, shifted):
    d = 3000
    X, offset, scale = spread(make_words(rng)[0], d), rng.normal(size=d) * shifted, rng.uniform(0.5, 2, d)
    if kind in ('sigmoid', 'rbf'):
        weights, biases = draw_nodes(kind, 40, d)
    else:
        weights, offset = place_landmarks(X[:40], offset, scale)
        assert sp.issparse(weights)
        biases = np.full(40, 30.0)
    layer = HiddenLayer(kind, weights, biases, offset, scale)
    dense = HiddenLayer(kind, sparse.expand(weights), biases, offset, scale)
    wanted = dense.evaluate(X.toarray(), np.empty((N, 40)))
    for rows in (X, X.toarray()):
        np.testing.assert_allclose(layer.evaluate(rows, np.empty((N, 40))), wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize('kind, given', ESTIMATORS)
@pytest.mark.parametrize('scale', ['none', 'standard'])
def test_an_estimator_of_wide_rows_decides_as_that_of_their_columns(rng, kind, given, scale):
    """Random choices hash positions of features: landmarks are all rows, or their number is that of the rows."""
    X, y = make_words(rng)
    given = {**given, 'n_hidden': N} if 'map' in given else given
    narrow, wide = (make(kind, given, scale).fit(rows, y) for rows in (X, spread(X)))
    for rows in (slice(None), slice(1)):
        np.testing.assert_allclose(
            wide.decision_function(spread(X)[rows]), narrow.decision_function(X[rows]), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize('kind, given', ESTIMATORS)
def test_memory_and_model_of_wide_rows_grow_with_their_numbers(rng, kind, given, tmp_path):
    """A dense copy of the rows has 96 MB; a vector of the features has 1.6 MB, of which statistics take some."""
    X, y = make_words(rng)
    wide = spread(X)
    make(kind, given).fit(wide, y)  # loads what is compiled
    estimator, peak = measure_peak(lambda: make(kind, given).fit(wide, y))
    assert peak < 16 * 8 * WIDE
    _, peak = measure_peak(lambda: estimator.decision_function(wide[:1]))
    assert peak < 4 * 8 * WIDE
    model = estimator.to_model()
    assert model.arrays['feature_offset'].shape == model.arrays['feature_scale'].shape == ()
    model.save(tmp_path / 'm.npz')
    assert os.path.getsize(tmp_path / 'm.npz') < 60_000
    again = read_model(tmp_path / 'm.npz')
    assert again.decision_function(wide).tobytes() == model.decision_function(wide).tobytes()


def test_a_regression_of_wide_rows_stays_sparse_too(rng):
    X, _ = make_words(rng)
    y = X[:, 3] - X[:, 4]
    narrow, wide = (KernelELMRegressor('linear', scale='none', C=10).fit(rows, y) for rows in (X, spread(X)))
    np.testing.assert_allclose(wide.predict(spread(X)), narrow.predict(X), rtol=1e-8, atol=1e-8)
    assert 'support_vectors_data' in wide.to_model().arrays

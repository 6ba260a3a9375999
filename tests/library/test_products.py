"""Sums of a pass, E'W E D and E'W T, are those of numpy, for any slices of the rows; sizes of tiles."""

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.rows.blocks import Block
from mr_elm.sums import product
from mr_elm.sums.gram import (
    ONES,
    SQUARES,
    TARGETS,
    GridSteps,
    TargetSums,
    cut_slices,
    cut_tile,
    expand,
    measure_tiles,
)
from mr_elm.sums.product import PassSums, ProductSum, expand_slices

N, D, L, K = 50, 4, 7, 2


@pytest.fixture
def layer():
    """Return a layer of Gaussians."""
    return HiddenLayer('rbf', *draw_nodes('rbf', L, D, 3), np.zeros(D), np.ones(D))


@pytest.fixture(params=[1, 3 * (L + 1), 10 * (L + 1), 1 << 22], ids=['rows', 'threes', 'tens', 'whole'])
def sliced(request, monkeypatch):
    """Let so many numbers of E be in memory together."""
    monkeypatch.setattr(product, 'EXPANDED_NUMBERS', request.param)


def test_slices_are_all_rows_in_their_order(layer, rng, sliced):
    X = rng.normal(size=(N, D))
    found, memory = np.full((N, L + 1), np.nan), None
    for rows, E in expand_slices(layer, X):
        assert np.isnan(found[rows]).all() and E.size <= max(product.EXPANDED_NUMBERS, L + 1)
        assert memory is None or np.shares_memory(E, memory)
        found[rows], memory = E, E
    np.testing.assert_allclose(found, expand(layer, X), rtol=1e-13)


@pytest.mark.parametrize('weighted', [False, True])
def test_a_product_is_that_of_numpy(layer, rng, sliced, weighted):
    X, B = rng.normal(size=(N, D)), rng.normal(size=(L + 1, K))
    w = rng.uniform(0.2, 3, N) if weighted else None
    total = ProductSum(B, GridSteps.of(1.0, 1.0, 3.0))
    for rows, E in expand_slices(layer, X):
        total.add(E, None if w is None else w[rows])
    E = expand(layer, X)
    expected = E.T @ ((np.ones(N) if w is None else w)[:, None] * (E @ B))
    np.testing.assert_allclose(total.high + total.low, expected, rtol=1e-11, atol=1e-11)
    assert total.n_rows == N


@pytest.fixture(params=[False, True], ids=['plain', 'weighted'])
def drawn(request, layer, rng):
    """Draw rows, narrower ones than those of the training, as sparse rows may be: (X, weights or None, E, W)."""
    X = sp.csr_matrix(rng.normal(size=(N, D - 1)))
    weights = rng.uniform(0.2, 3, N) if request.param else None
    E = expand(layer, np.c_[X.toarray(), np.zeros(N)])
    return X, weights, E, np.diag(np.ones(N) if weights is None else weights)


def check(sums, name, expected):
    """Compare a sum, high and low part, with that of numpy."""
    np.testing.assert_allclose(sums[name].sum(axis=0), expected, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize('shape', [(N,), (N, 3)], ids=['one', 'three'])
@pytest.mark.parametrize('centred', [False, True])
def test_a_pass_sums_up_targets_counted_from_their_origin(layer, rng, sliced, drawn, shape, centred):
    X, weights, E, W = drawn
    T, D = rng.normal(size=shape) + 5, rng.normal(size=(L + 1, 2))
    origin = (4.0, 5.0, 6.0)[: T[0].size] if centred else ()
    steps = GridSteps.of(1.0, 9.0, 3.0, origin)
    sums = PassSums(layer, D, steps, TargetSums(steps, numeric=True))
    for rows in (slice(0, 20), slice(20, N)):
        part = None if weights is None else weights[rows]
        sums.add(Block(X[rows], targets=T[rows], weights=part), part)
    np.testing.assert_allclose(sums.product.high + sums.product.low, E.T @ W @ E @ D, rtol=1e-11, atol=1e-11)
    shifted = T - np.array(origin).reshape(T.shape[1:]) if centred else T
    check(sums.targets.sums, TARGETS, shifted.T @ W @ E)
    check(sums.targets.sums, SQUARES, np.atleast_1d(W.diagonal() @ shifted**2))
    assert set(sums.targets.sums) == {TARGETS, SQUARES, *[ONES] * centred}
    if centred:
        check(sums.targets.sums, ONES, W.diagonal() @ E)
    assert sums.targets.n_rows == sums.product.n_rows == N


@pytest.mark.parametrize('separator', [None, ';'])
def test_a_pass_sums_up_rows_by_their_labels(layer, sliced, drawn, separator):
    X, weights, E, W = drawn
    names, codes = ('a', 'b', 'b;a', 'c'), np.arange(N) % 3  # no row is of c
    steps = GridSteps.of(1.0, 1.0, 3.0)
    sums = PassSums(layer, np.zeros((L + 1, 1)), steps, TargetSums(steps, False, separator))
    sums.add(Block(X, names, codes, weights), weights)
    holders = {'a': codes == 0, 'b': codes == 1, 'b;a': codes == 2}
    if separator:
        holders = {'a': codes != 1, 'b': codes != 0}
    for label, rows in holders.items():
        check(sums.targets.sums, label, np.append((W @ E)[rows].sum(axis=0), rows.sum()))
    assert not any(pair.any() for label, pair in sums.targets.sums.items() if label not in holders)
    assert sums.targets.n_rows == N


def test_a_pass_without_targets_sums_up_the_product_alone(layer, drawn, rng):
    X, weights, E, W = drawn
    D = rng.normal(size=(L + 1, 2))
    sums = PassSums(layer, D, GridSteps.of(1.0, 1.0, 3.0), None)
    sums.add(Block(X, ('a',), np.zeros(N, int)), weights)
    np.testing.assert_allclose(sums.product.high + sums.product.low, E.T @ W @ E @ D, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize('scale', [1e-30, 1, 1e30])
def test_the_step_of_a_product_is_that_of_the_bound_on_its_terms(rng, scale):
    D, steps = scale * rng.normal(size=(L + 1, 9)), GridSteps.of(2.0, 1.0, 3.0)
    bound = 3 * 2 * 2 * np.abs(D).sum(axis=0).max()  # on w e (e D)
    assert bound <= ProductSum(D, steps).step * 2.0**66 <= 4 * bound
    assert ProductSum(D[:, :0], steps).high.shape == (L + 1, 0)


@pytest.mark.parametrize('m, tile', [(5, 2), (6, 3), (4, 9), (1, 1)])
def test_tiles_are_as_large_as_they_are_measured(m, tile):
    matrix = np.arange(m * m, dtype=float).reshape(m, m)
    tiles = [(i, j, len(cut_tile(matrix[part], i == j))) for i, j, part in cut_slices(m, tile)]
    assert repr(list(measure_tiles(m, tile))) == repr(tiles) and sum(n for *_, n in tiles) >= m * (m + 1) // 2

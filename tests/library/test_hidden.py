"""Hidden nodes: what each computes, how they are drawn, and how large they can get."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import nodes as twin
from sklearn.metrics.pairwise import rbf_kernel

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import make_kernel
from mr_elm.features.nodes import LANDMARK_NODES, MAPS, NODES, draw_nodes
from mr_elm.features.scaling import choose_scaling
from mr_elm.sparse import DENSE_PRODUCT_SHARE
from mr_elm.sums.statistics import ColumnStatistics

D, L, N = 5, 9, 40


def make_rows(case, rng):
    X = rng.standard_normal((N, D)) * [1, 10, 0.1, 1, 1]
    if case == 'offset':
        return X + [0, 1e5, -1e4, 0, 5]
    if case == 'constant':
        X[:, 2] = 7.3
    if case in ('sparse', 'crowded'):
        return np.where(rng.random((N, D)) < (0.1 if case == 'sparse' else 0.6), X, 0)
    return X


def make_layer(kind, X, scale, seed=0, n_hidden=L):
    offset, factor = choose_scaling(scale, ColumnStatistics.of(X))
    W, b = draw_nodes('rbf' if kind in LANDMARK_NODES.values() else kind, n_hidden, X.shape[1], seed)
    return HiddenLayer(kind, W, b, offset, factor)


def rounding(layer, Z):
    """Bound what rounding can do to the nodes of rows Z: their products, or their squared distances."""
    largest = np.maximum(1, np.abs(Z).max())
    return 4e-15 * largest ** (2 if NODES[layer.kind].family == 'distance' else 1)


def evaluate(layer, X):
    return layer.evaluate(X, np.full((X.shape[0], layer.n_hidden), np.nan))


@pytest.mark.parametrize('kind', NODES)
@pytest.mark.parametrize('scale', ['standard', 'minmax', 'none'])
@pytest.mark.parametrize('case', ['plain', 'offset', 'constant', 'sparse', 'crowded'])
def test_every_map_is_its_naive_twin_on_dense_and_sparse_rows(kind, scale, case):
    X = make_rows(case, np.random.default_rng(0))
    layer = make_layer(kind, X, scale)
    expected = np.array(twin.evaluate(kind, X, layer.weights, layer.biases, layer.offset, layer.scale))
    assert np.allclose(evaluate(layer, X), expected, rtol=1e-13, atol=rounding(layer, (X - layer.offset) * layer.scale))
    # The offset is folded into the nodes of sparse rows: one far from zero costs digits.
    moved = np.vstack([X, X - layer.offset]) * layer.scale
    assert np.allclose(evaluate(layer, sp.csr_matrix(X)), expected, rtol=1e-13, atol=rounding(layer, moved))


@pytest.mark.parametrize('kind', NODES)
@pytest.mark.parametrize('density', [0.0, DENSE_PRODUCT_SHARE / 2, 2 * DENSE_PRODUCT_SHARE, 1.0])
def test_sparse_rows_are_dense_rows(kind, density):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((N, D)) < density, rng.standard_normal((N, D)), 0)
    layer = make_layer(kind, make_rows('plain', rng), 'standard')
    assert np.allclose(evaluate(layer, sp.csr_matrix(X)), evaluate(layer, X), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize('kind', NODES)
def test_rows_and_layer_stay_as_they_are(kind):
    X = make_rows('plain', np.random.default_rng(2))
    layer = make_layer(kind, X, 'standard')
    parts = [X, layer.weights, layer.biases, layer.offset, layer.scale]
    before = [part.copy() for part in parts]
    evaluate(layer, X)
    evaluate(layer, sp.csr_matrix(X))
    assert all(np.array_equal(a, b) for a, b in zip(parts, before, strict=True))


@pytest.mark.parametrize('kind', NODES)
def test_a_row_is_mapped_alike_in_any_block_and_into_part_of_a_larger_array(kind):
    X = make_rows('plain', np.random.default_rng(3))
    layer = make_layer(kind, X, 'standard')
    whole, room = evaluate(layer, X), np.full((N, layer.n_hidden + 1), -7.0)
    layer.evaluate(X, room[:, :-1])
    assert np.array_equal(room[:, :-1], whole) and (room[:, -1] == -7).all()
    assert np.allclose(
        np.vstack([evaluate(layer, X[i : i + 7]) for i in range(0, N, 7)]), whole, rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize('kind', sorted(set(MAPS) - {'nystrom', 'identity'}))
@pytest.mark.parametrize('weights', ['normal', 'uniform'])
def test_the_first_nodes_never_depend_on_how_many_follow(kind, weights):
    W, b = draw_nodes(kind, 300, D, seed=4, weights=weights)
    for n in (1, 17, 299):
        fewer, biases = draw_nodes(kind, n, D, seed=4, weights=weights)
        assert np.array_equal(fewer, W[:n]) and np.array_equal(biases, b[:n])
    other, other_biases = draw_nodes(kind, 300, D, seed=5, weights=weights)
    assert not np.isin(other, W).any() and not np.isin(other_biases, b).any()


@pytest.mark.parametrize('kind, weights', [('sigmoid', 'uniform'), ('sigmoid', 'normal'), ('rbf', 'normal')])
def test_weights_and_biases_are_drawn_independently(kind, weights):
    W, b = draw_nodes(kind, 20_000, 1, weights=weights)
    assert abs(np.corrcoef(W[:, 0], b)[0, 1]) < 0.03


@pytest.mark.parametrize('s', [0.25, 1.0, 2.5])
def test_nodes_are_spread_as_the_weight_scale_says(s):
    W, b = draw_nodes('sigmoid', 20_000, 10, weight_scale=s)
    assert s != 1 or np.array_equal(draw_nodes('sigmoid', 20_000, 10)[0], W)
    assert np.isclose(W.std() * np.sqrt(10), s, rtol=0.02) and abs(W.mean()) < 0.01 * s
    assert np.abs(b).max() <= s and np.isclose(b.std(), s / np.sqrt(3), rtol=0.02)
    W, b = draw_nodes('sigmoid', 20_000, 10, weight_scale=s, weights='uniform')
    for drawn in (W, b):
        assert s * 0.999 < np.abs(drawn).max() <= s and np.isclose(drawn.std(), s / np.sqrt(3), rtol=0.02)


# An rbf node is exp(-|z - a|^2 / (2 sigma^2 u)), a multiquadric one sqrt(|z - a|^2 + (sigma u)^2); sigma = sqrt(d) / s
# and u is uniform(0.5, 1.5). The test computes u from the values that the nodes have at z = 0.
@pytest.mark.parametrize('kind', ['rbf', 'multiquadric'])
@pytest.mark.parametrize('s', [0.25, 1.0, 2.5])
@pytest.mark.parametrize('d', [3, 10])
def test_widths_are_spread_around_that_of_the_weight_scale(kind, s, d):
    centres, widths = draw_nodes(kind, 20_000, d, weight_scale=s)
    values = evaluate(HiddenLayer(kind, centres, widths, np.zeros(d), np.ones(d)), np.zeros((1, d)))[0]
    sigma, squares = np.sqrt(d) / s, (centres**2).sum(axis=1)
    u = -squares / np.log(values) / (2 * sigma**2) if kind == 'rbf' else np.sqrt(values**2 - squares) / sigma
    assert 0.4999 < u.min() < 0.501 and 1.499 < u.max() < 1.5001
    assert abs(u.mean() - 1) < 0.01 and np.isclose(u.std(), 1 / np.sqrt(12), rtol=0.02)
    assert np.abs(centres.mean(axis=0)).max() < 0.05 and np.allclose(centres.std(axis=0), 1, atol=0.05)


@pytest.mark.parametrize('s', [0.5, 1.0])
def test_random_fourier_features_approach_the_gaussian_kernel(s):
    X = np.random.default_rng(6).standard_normal((20, D))
    W, b = draw_nodes('rff', 100_000, D, weight_scale=s)
    phi = evaluate(HiddenLayer('rff', W, b, np.zeros(D), np.ones(D)), X)
    assert np.allclose(2 * phi @ phi.T / len(W), rbf_kernel(X, gamma=s**2 / (2 * D)), atol=0.02)


def test_landmarks_give_the_gaussian_kernel():
    X = np.random.default_rng(7).standard_normal((N, D))
    layer = HiddenLayer('nystrom', X[:L], np.full(L, 2 * 1.7**2), np.zeros(D), np.ones(D))
    assert np.allclose(evaluate(layer, X), rbf_kernel(X, X[:L], gamma=1 / (2 * 1.7**2)), rtol=1e-12)
    assert np.allclose(np.diag(evaluate(layer, X)), 1, atol=1e-12)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_laplacian_landmarks_give_the_laplacian_kernel_and_exactly_1_where_a_row_is_a_landmark(wrap):
    X = np.random.default_rng(7).standard_normal((N, D)) + 3
    layer = HiddenLayer('laplacian', X[:L], np.full(L, 1.7), np.zeros(D), np.ones(D))
    expected = [[np.exp(-np.linalg.norm(x - a) / 1.7) for a in X[:L]] for x in X]
    assert np.allclose(evaluate(layer, wrap(X)), expected, rtol=1e-12)
    assert (np.diag(evaluate(layer, wrap(X))) == 1).all()
    assert np.allclose(compute_kernel(X, X[:L], make_kernel('laplacian', sigma=1.7)), expected, rtol=1e-12)


@pytest.mark.parametrize('kind', NODES)
@pytest.mark.parametrize('scale', ['standard', 'minmax', 'none'])
def test_no_node_exceeds_its_bound_within_the_range_of_the_rows(kind, scale):
    rng = np.random.default_rng(8)
    X = make_rows('offset', rng)
    layer, low, high = make_layer(kind, X, scale), X.min(axis=0), X.max(axis=0)
    corners = np.where(rng.random((500, D)) < 0.5, low, high)
    values = np.abs(evaluate(layer, np.vstack([X, corners])))
    bound = layer.bound(low, high)
    assert bound >= 1 and values.max() <= bound * (1 + 1e-9)
    assert bound == 1 if NODES[kind].bounded else bound < 10 * values.max()


@pytest.mark.parametrize('kind', ['relu', 'multiquadric'])
def test_the_bound_of_small_nodes_is_1_and_that_of_large_ones_what_the_farthest_row_reaches(kind):
    layer = HiddenLayer(kind, np.array([[0.25, 0.5]]), np.array([0.125]), np.zeros(2), np.ones(2))
    assert layer.bound(np.zeros(2), np.full(2, 0.25)) == 1
    far = np.full(2, 16.0)
    assert np.isclose(layer.bound(-far, far), evaluate(layer, np.vstack([far, -far])).max(), rtol=1e-12)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_no_squared_distance_is_negative_however_it_is_rounded(wrap):
    X = np.random.default_rng(9).standard_normal((N, D)) + 1e6
    rbf, multiquadric = (
        HiddenLayer(kind, X, np.full(N, 1e-6), np.zeros(D), np.ones(D)) for kind in ('rbf', 'multiquadric')
    )
    assert evaluate(rbf, wrap(X)).max() <= 1
    assert evaluate(multiquadric, wrap(X)).min() >= 1e-6


@pytest.mark.parametrize('value', [1e300, -1e300])
def test_bounded_nodes_stay_bounded_far_out(value):
    X = np.full((2, D), value)
    for kind in ('sigmoid', 'tanh', 'hardlimit'):
        layer = make_layer(kind, make_rows('plain', np.random.default_rng(9)), 'none')
        with np.errstate(over='ignore', invalid='ignore'):
            assert (np.abs(evaluate(layer, X)) <= 1).all()


@pytest.mark.parametrize('width', [D - 1, D + 1])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('kind', ['tanh', 'rbf'])
def test_rows_of_another_width_are_refused_with_both_widths(width, wrap, kind):
    layer = make_layer(kind, make_rows('plain', np.random.default_rng(0)), 'standard')
    with pytest.raises(ValueError, match=f'expected rows of {D} features, found rows of {width}'):
        evaluate(layer, wrap(np.ones((3, width))))

"""Kernels and rows of their matrices against the formulas, written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual as twin
from scipy.spatial.distance import cdist

from mr_elm.features.kernel_rows import KernelRows, NodeRows, PrecomputedRows, kernel_rows
from mr_elm.features.kernel_tiles import COLUMNS_AT_ONCE, PairProduct, compute_kernel, place_tile
from mr_elm.features.kernels import KERNELS, make_kernel

GIVEN = {'gaussian': {'sigma': 1.7}, 'laplacian': {'sigma': 1.7}, 'polynomial': {'degree': 4}, 'linear': {}}


@pytest.fixture(params=[5, 90])
def X(request):
    return np.random.default_rng(0).standard_normal((300, request.param)) / np.sqrt(request.param / 5)


def formula(name, A, B):
    return twin.KERNELS[name](A, B, **GIVEN[name])


def test_every_kernel_has_its_formula():
    assert set(GIVEN) == set(twin.KERNELS) == set(KERNELS)


@pytest.mark.parametrize('name', KERNELS)
@pytest.mark.parametrize('wrap_a', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('wrap_b', [np.asarray, sp.csr_matrix])
def test_a_tile_is_the_formula(name, wrap_a, wrap_b, X):
    tile = compute_kernel(wrap_a(X[:40]), wrap_b(X[30:90]), make_kernel(name, **GIVEN[name]))
    wanted = formula(name, X[:40], X[30:90])
    assert np.allclose(tile, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize('name', KERNELS)
@pytest.mark.parametrize('source', ['dense', 'csr', 'csr kept sparse'])
@pytest.mark.parametrize('dtype, tolerance', [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_rows_are_the_formula(name, source, dtype, tolerance, X):
    K, kernel = formula(name, X, X), make_kernel(name, **GIVEN[name])
    rows = {
        'dense': lambda: kernel_rows(X, kernel),
        'csr': lambda: kernel_rows(sp.csr_matrix(X), kernel),
        'csr kept sparse': lambda: KernelRows(sp.csr_matrix(X), kernel),
    }[source]()
    wanted, scale = np.array([3, 0, 299, 17]), np.abs(K).max()
    assert np.allclose(rows.rows(wanted, dtype), K[wanted], rtol=0, atol=tolerance * scale)
    assert np.allclose(rows.diagonal(), K.diagonal(), rtol=0, atol=1e-12 * scale)
    assert np.allclose(
        rows.take(wanted).rows(np.array([1, 2])), K[np.ix_([0, 299], wanted)], rtol=0, atol=1e-12 * scale
    )


@pytest.mark.parametrize('name', KERNELS)
@pytest.mark.parametrize('count', [1, 140, 300])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_a_weighted_sum_is_the_product(name, count, wrap, X):
    rng, K = np.random.default_rng(1), formula(name, X, X)
    some, weights = rng.choice(300, count, replace=False), rng.standard_normal(count)
    got = kernel_rows(wrap(X), make_kernel(name, **GIVEN[name])).weighted_sum(some, weights)
    assert np.allclose(got, K[:, some] @ weights, rtol=0, atol=1e-11 * np.abs(K).max() * count)


@pytest.mark.parametrize('d, tolerance', [(70, 1e-6), (20, 1e-4)])  # of few features, the features are rounded too
def test_float32_rows_survive_distant_outliers(d, tolerance):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, d))
    X[:5] = 1000 + 0.1 * rng.standard_normal((5, d))
    rows, K = kernel_rows(X, make_kernel('gaussian', gamma=0.5)), twin.gaussian(X, X, 0.5)
    assert np.allclose(rows.rows(np.arange(8), np.float32), K[:8], rtol=0, atol=tolerance)
    rounding = 1e-15 * (X**2).sum(axis=1).max()
    assert np.allclose(rows.rows(np.arange(8)), K[:8], rtol=0, atol=rounding)
    assert np.allclose(rows.weighted_sum(np.arange(8), np.ones(8)), K[:8].sum(axis=0), rtol=0, atol=8 * rounding)


@pytest.mark.parametrize('name', ['gaussian', 'laplacian'])
def test_rows_far_from_the_origin_have_the_kernel_of_their_differences(name, X):
    K = formula(name, X, X)
    for moved in (X + 2.0**20, sp.csr_matrix(X + 2.0**20)):
        rows = kernel_rows(moved, make_kernel(name, **GIVEN[name]))
        assert np.allclose(rows.rows(np.arange(300)), K, rtol=0, atol=1e-8)
        assert np.allclose(rows.rows(np.arange(300), np.float32), K, rtol=0, atol=2e-6)


# Inner products of whole numbers are exact in float32 while squared norms are below 2^24, and only then.
@pytest.mark.parametrize('largest', [2300, 3500])
def test_inner_products_of_whole_numbers_are_exact_whatever_their_size(largest):
    X = np.random.default_rng(3).integers(-largest, largest + 1, (600, 3)).astype(float)
    K, rows = X @ X.T, kernel_rows(X, make_kernel('linear'))
    assert ((X**2).sum(axis=1).max() < 2**24) == (largest == 2300)
    assert np.array_equal(rows.rows(np.arange(600)), K)
    assert np.array_equal(rows.weighted_sum(np.arange(9), np.ones(9)), K[:9].sum(axis=0))
    assert np.array_equal(compute_kernel(X[:50], X, make_kernel('linear')), K[:50])


@pytest.mark.parametrize('name', KERNELS)
def test_tiles_of_whole_numbers_and_others_are_the_formula(name):
    rng = np.random.default_rng(3)
    whole, other = rng.integers(0, 3, (600, 8)).astype(float), rng.standard_normal((40, 8))
    for A, B in ((other, whole), (whole, other), (5000 * whole[:40] + 1, whole)):
        K = formula(name, A, B)
        found = compute_kernel(A, B, make_kernel(name, **GIVEN[name]))
        assert np.allclose(found, K, rtol=0, atol=1e-12 * max(1, np.abs(K).max()))


GAMMA = 4.0


def rows_at(distance, d=70):
    """Draw 300 rows near the mean and 160 with GAMMA |x|^2 = distance, in bundles: (X, numbers of the latter)."""
    rng = np.random.default_rng(5)
    near = rng.standard_normal((150, d)) * np.sqrt(0.5 / d)
    far = np.repeat(rng.standard_normal((10, d)), 8, axis=0) + rng.standard_normal((80, d)) * np.sqrt(0.1 / distance)
    far *= np.sqrt(distance) / np.linalg.norm(far, axis=1, keepdims=True)
    return np.vstack([near, -near, far, -far]) / np.sqrt(GAMMA), np.arange(300, 460)


def float32_errors(X):
    """Return the errors of all float32 rows of the Gaussian kernel, asked for in any order."""
    order, errors = np.random.default_rng(6).permutation(len(X)), np.zeros((len(X), len(X)))
    rows = kernel_rows(X, make_kernel('gaussian', gamma=GAMMA)).rows(order, np.float32)
    errors[order] = np.abs(rows - twin.gaussian(X[order], X, GAMMA))
    return errors


@pytest.mark.parametrize('distance', [1.0, 3.9])
def test_float32_rows_near_the_mean_are_right_to_about_1e_6(distance):
    X, _ = rows_at(distance)
    errors = float32_errors(X)
    assert np.sqrt((errors**2).mean()) < 1e-6 and errors.max() < 1e-5


# Of rows with gamma |x|^2 > 4 the digits of |u|^2 + |v|^2 - 2 u.v that float32 loses are too many.
@pytest.mark.parametrize('distance', [4.1, 39.0, 1e6])
def test_float32_rows_far_from_the_mean_are_computed_in_float64(distance):
    X, far = rows_at(distance)
    errors, block = float32_errors(X), np.ix_(far, far)
    assert errors[block].max() < 2.0**-24 and errors.max() < 5e-6
    products, squares = X.astype(np.float32) @ X.T.astype(np.float32), (X**2).sum(axis=1).astype(np.float32)
    plain = np.exp(-np.float32(GAMMA) * np.maximum(np.add.outer(squares, squares) - 2 * products, 0))
    assert np.abs(plain - twin.gaussian(X, X, GAMMA))[block].max() > 10 * 2.0**-24


@pytest.mark.parametrize('name', ['gaussian', 'laplacian'])
def test_rows_of_whole_numbers_are_the_formula(name):
    X = np.random.default_rng(3).integers(0, 2, (150, 100)).astype(float)
    K = twin.KERNELS[name](X, X, 4.0)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6)):
        rows = kernel_rows(X, make_kernel(name, sigma=4))
        assert np.allclose(rows.rows(np.arange(150), dtype), K, rtol=0, atol=tolerance)


def test_ready_matrices_and_node_outputs_are_rows_too():
    H = np.random.default_rng(3).standard_normal((50, 7))
    some, weights = np.array([4, 9, 30]), np.array([1.0, -2.0, 0.5])
    for rows in (PrecomputedRows(H @ H.T), NodeRows(H)):
        assert np.allclose(rows.rows(some), (H @ H.T)[some], atol=1e-12)
        assert np.allclose(rows.diagonal(), (H**2).sum(axis=1), atol=1e-12)
        assert np.allclose(rows.weighted_sum(some, weights), (H @ H.T)[:, some] @ weights, atol=1e-12)
        part = rows.take(some[::-1])
        assert np.allclose(part.rows(np.array([0, 2])), (H @ H.T)[np.ix_([30, 4], [30, 9, 4])], atol=1e-12)
        assert np.allclose(part.diagonal(), (H[[30, 9, 4]] ** 2).sum(axis=1), atol=1e-12)


def test_gamma_and_sigma_are_one_width():
    D = cdist(np.zeros((1, 2)), np.ones((3, 2)))
    for kernel in (make_kernel('gaussian', gamma=0.125), make_kernel('gaussian', sigma=2), make_kernel('gaussian', 4)):
        assert np.allclose(compute_kernel(np.zeros((1, 2)), np.ones((3, 2)), kernel), np.exp(-(D**2) / 8), rtol=1e-14)


def test_the_default_degree_is_3():
    A = np.array([[0.5, 2.0]])
    assert compute_kernel(A, A, make_kernel('polynomial')) == pytest.approx((1 + 4.25) ** 3)


def test_a_degree_is_a_whole_number_however_it_is_given():
    kernel = make_kernel('polynomial', degree=4.0)
    assert type(kernel.parameters['degree']) is int


@pytest.mark.parametrize(
    'name, given, reason',
    [
        ('gaussian', {'sigma': 0}, 'sigma: expected a finite number above 0, found 0'),
        ('gaussian', {'sigma': -1}, 'sigma: .* found -1'),
        ('gaussian', {'gamma': np.inf}, 'gamma: .* found inf'),
        ('gaussian', {'gamma': np.nan}, 'gamma: .* found nan'),
        ('gaussian', {'sigma': 1, 'gamma': 1}, 'found both'),
        ('laplacian', {'gamma': 1}, 'expected sigma with the laplacian kernel, found gamma'),
        ('polynomial', {'degree': 0}, 'degree: '),
        ('polynomial', {'degree': 1.5}, 'degree: expected a whole number, found 1.5'),
        ('linear', {'sigma': 1}, 'expected no parameter with the linear kernel, found sigma'),
        ('gauss', {}, "expected one of gaussian, .*, found 'gauss'"),
        ('gaussian', {}, 'sigma: .* found None'),
    ],
)
def test_bad_parameters_are_refused(name, given, reason):
    with pytest.raises(ValueError, match=reason):
        make_kernel(name, **given)


def test_the_last_tile_of_a_product_is_contiguous_as_the_others_are():
    from mr_elm.features import fused

    X, kernel = np.random.default_rng(0).standard_normal((1500, 5)), make_kernel('gaussian', gamma=0.2)
    kernel_rows(X[:1024], kernel).rows(np.arange(5))
    compiled, some = len(fused.fill_kernel_tile.signatures), np.arange(0, 1500, 7)
    assert np.allclose(kernel_rows(X, kernel).rows(some), compute_kernel(X[some], X, kernel), rtol=0, atol=1e-12)
    assert len(fused.fill_kernel_tile.signatures) == compiled


def test_a_product_with_the_coefficients_of_pairs_is_that_with_all_of_them(X):
    """The rows of the classes are mixed, and those of one class are cut between two tiles."""
    rng = np.random.default_rng(4)
    B, kernel = np.vstack([X] * 4), make_kernel('gaussian', sigma=2.0)
    classes = rng.choice(3, len(B), p=[0.1, 0.6, 0.3])
    pairs = [(0, 1), (0, 2), (1, 2)]
    groups = [(np.flatnonzero(classes == k), np.array([k in pair for pair in pairs]).nonzero()[0]) for k in range(3)]
    assert len(groups[1][0]) + len(groups[0][0]) > COLUMNS_AT_ONCE
    coefficients = np.zeros((len(B), 3))
    for rows, columns in groups:
        coefficients[np.ix_(rows, columns)] = rng.standard_normal((len(rows), len(columns)))
    out = np.ones((3, 50))
    PairProduct(B, kernel, coefficients, groups).add_product(X[:40], out, 10)
    wanted = formula_of_gaussian(X[:40], B) @ coefficients
    assert np.allclose(out[:, 10:], 1 + wanted.T, rtol=1e-12) and (out[:, :10] == 1).all()


def formula_of_gaussian(A, B):
    return np.exp(-(cdist(A, B) ** 2) / 8)


def test_tiles_fill_a_kernel_matrix_and_count_its_lower_triangle():
    K = np.arange(42.0).reshape(6, 7)[:, :6]
    omega, counts = np.zeros((6, 6)), {}
    for row, column, n, m in ((0, 0, 2, 3), (2, 0, 4, 3), (0, 3, 4, 3), (4, 3, 2, 3)):
        counts[row, column] = place_tile(omega, row, column, K[row : row + n, column : column + m])
    assert np.array_equal(omega, K)
    lower = np.tril(np.ones((6, 6)))
    assert counts == {
        (0, 0): lower[:2, :3].sum(),
        (2, 0): lower[2:, :3].sum(),
        (0, 3): lower[:4, 3:].sum(),
        (4, 3): lower[4:, 3:].sum(),
    }

"""Kernel values too small for a normal number are 0: a row far from all others has the decision value of the bias."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm import estimators
from mr_elm.features import fused
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_rows import KernelRows, kernel_rows
from mr_elm.features.kernel_tiles import KernelTiles, compute_kernel, compute_lower_triangle
from mr_elm.features.kernels import exponentiate, make_kernel
from mr_elm.features.nodes import NODES

# function -> (its type, the power that it computes, its relative error as it says)
EXPONENTIALS = {
    fused.exponentiate_negative: (np.float64, np.exp, 4e-16),
    fused.exponentiate_negative_single: (np.float32, np.exp, 1.2e-7),
}
EXPONENTIAL_KERNELS = 'gaussian', 'laplacian'
FAR = np.array([[1e3, -1e3], [1e6, 0], [-1e19, 1e19], [1e100, 1e100], [-1e160, 0], [1e300, 1e300]])


def grid(dtype, power):
    """Return numbers <= 0 down to -1e6, dense near 0 and at both sides of where the power is no normal number."""
    least = np.log(np.finfo(dtype).tiny) if power is np.exp else np.log2(np.finfo(dtype).tiny)
    border = least + np.arange(-500, 500) * float(np.spacing(dtype(abs(least))))
    wide = least + np.linspace(-70, 1, 5001)  # numbers that are not normal end 52 powers of 2 below it
    return np.concatenate(
        [[0.0, -0.0], -np.geomspace(1e-30, 1e6, 20001), np.linspace(2 * least, 0, 20001), wide, border]
    ).astype(dtype)


@pytest.mark.parametrize('function', EXPONENTIALS, ids=lambda function: function.__name__)
def test_an_exponential_has_the_error_that_it_says_and_is_0_below_the_least_normal_number(function):
    dtype, power, error = EXPONENTIALS[function]
    x = grid(dtype, power)
    found, wanted = x.copy(), power(x.astype(np.longdouble))
    function(found)
    normal = wanted >= np.finfo(dtype).tiny
    assert normal.any() and (found[~normal] == 0).all()
    assert float(np.abs(found[normal] / wanted[normal] - 1).max()) <= error


@pytest.mark.parametrize('dtype', [np.float64, np.float32])
def test_the_exponential_of_numpy_has_the_same_border(dtype):
    x = grid(dtype, np.exp)
    found, wanted = x.copy(), np.exp(x.astype(np.longdouble))
    exponentiate(found)
    assert np.array_equal(found == 0, wanted < np.finfo(dtype).tiny)


@pytest.mark.parametrize('function', [*EXPONENTIALS, exponentiate], ids=lambda function: function.__name__)
def test_infinity_gives_0_and_nan_stays_nan(function):
    dtype, *_ = EXPONENTIALS.get(function, (np.float64,))
    x = np.array([-np.inf, np.nan, 0] * 40, dtype)
    function(x)
    assert np.array_equal(x, [0, np.nan, 1] * 40, equal_nan=True)


@pytest.mark.parametrize('name', EXPONENTIAL_KERNELS)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_every_tile_of_far_rows_is_0(name, wrap, rng):
    near, kernel = rng.normal(size=(600, 2)), make_kernel(name, sigma=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        A, B = wrap(FAR), wrap(near)
        assert not compute_kernel(A, B, kernel).any()
        assert not compute_kernel(B, A, kernel).any()
        assert not KernelTiles(B, kernel).add_product(A, rng.normal(size=(600, 1)), np.zeros((len(FAR), 1))).any()
        K = np.tril(compute_lower_triangle(wrap(np.vstack([FAR[:4], near])), kernel))
    assert np.array_equal(K[:, :4], np.eye(604, 4))


@pytest.mark.parametrize('name', EXPONENTIAL_KERNELS)
@pytest.mark.parametrize('dtype', [np.float64, np.float32])
@pytest.mark.parametrize('d', [2, 90])
@pytest.mark.parametrize('sparse', [False, True])
def test_rows_that_a_solver_asks_for_are_0_far_away(name, dtype, d, sparse, rng):
    """d = 2: float32 rows by differences; 90: by products."""
    X = rng.normal(size=(300, d))
    X[:3] = [[1e3], [1e6], [-1e100]]
    kernel = make_kernel(name, sigma=0.1 * np.sqrt(d))
    rows = KernelRows(sp.csr_matrix(X), kernel) if sparse else kernel_rows(X, kernel)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        K = rows.rows(np.arange(3), dtype)
        few = rows.weighted_sum(np.arange(3), np.array([1.0, -2, 3]))
        many = rows.weighted_sum(np.arange(299), np.append([1.0, -2, 3], np.zeros(296)))
    assert not np.triu(K, 1).any() and not np.tril(K, -1).any()
    assert not few[3:].any() and not many[3:].any()


DUAL = [estimators.SparseELMClassifier, estimators.OELMClassifier, estimators.SphereSVMClassifier]
KELM = [(estimators.KernelELMClassifier, solver) for solver in ({}, {'solver': 'svd'}, {'solver': 'cg'})]


@pytest.mark.parametrize(
    'machine',
    [*[(kind, {}) for kind in DUAL], *KELM],
    ids=lambda machine: '-'.join([machine[0].__name__, *machine[1].values()]),
)
@pytest.mark.parametrize('name', EXPONENTIAL_KERNELS)
@pytest.mark.parametrize('n_classes', [2, 3])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_a_far_row_has_the_decision_value_of_the_bias_and_0_is_of_the_first_class(machine, name, n_classes, wrap, rng):
    kind, options = machine
    y = np.repeat(np.arange(n_classes), [60, 30, 20][:n_classes])
    X = rng.normal(size=(len(y), 2)) + 4 * y[:, None]
    fitted = kind(kernel=name, sigma=0.5, **options).fit(wrap(X), y)
    model = fitted.to_model()
    bias = model.arrays['intercept']
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        values = model.decision_function(wrap(FAR))
        labels = fitted.predict(wrap(FAR))
    assert (values == values[0]).all() and (kind is estimators.SphereSVMClassifier) == bias.any()
    if not bias.any():
        assert not values.any() and not labels.any()


@pytest.mark.parametrize('n', [60, 1500])
def test_rows_that_are_all_far_from_each_other_train_as_a_kernel_of_ones_and_zeros(n, rng):
    """K = I: alpha of the sparse ELM is min(C, 1), dual_coef of the kernel ELM is t / (1 + 1/C)."""
    X, y = rng.permutation(n)[:, None] * [1.0, 0], np.arange(n) % 3 == 0
    t = np.where(y, 1.0, -1.0)
    for C in 0.5, 10.0:
        machines = {
            estimators.SparseELMClassifier: min(C, 1),
            estimators.OELMClassifier: min(C, 1),
            estimators.KernelELMClassifier: 1 / (1 + 1 / C),
        }
        for kind, size in machines.items():
            model = kind(sigma=1e-5, C=C).fit(X, y).model_
            order = model.support_vectors[:, 0].argsort()
            found, wanted = model.arrays['dual_coef'][order, 0], size * t[X[:, 0].argsort()]
            assert np.allclose(found, wanted, rtol=1e-6)


def far_nodes(kind, rng):
    """Return a layer of distance nodes on rows that are not scaled."""
    return HiddenLayer(kind, rng.normal(size=(300, 2)), np.full(300, 0.5), np.zeros(2), np.ones(2))


@pytest.mark.parametrize('kind', [kind for kind, node in NODES.items() if node.family == 'distance' and node.bounded])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_distance_nodes_are_0_far_away(kind, wrap, rng):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        values = far_nodes(kind, rng).evaluate(wrap(FAR), np.full((len(FAR), 300), np.nan))
    assert not values.any()

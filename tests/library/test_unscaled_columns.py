"""Linear and polynomial kernels on columns of very different size: the optimum, or a warning soon."""

import warnings

import numpy as np
import pytest

from mr_elm.errors import ConvergenceWarning
from mr_elm.estimators import OELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.features.kernel_rows import NodeRows, kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import solve_dual
from mr_elm.solvers.interior import find_near_minimum

MODERATE = {'two sizes': [1e5, 1, 1], 'ten columns': [1e5] + [1] * 9, 'small ones': [30, 1, 1e-3, 2, 0.1]}
HOPELESS = {'beyond float64': [1e5, 1, 1e-3, 30, 1e9], 'huge': [1e60, 1, 1]}


def make_rows(n, sizes):
    """Draw rows whose second column tells the classes, with errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, len(sizes))) * sizes
    return X, np.where(X[:, 1] / sizes[1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def gap_of(X, t, alpha, C):
    """Return the duality gap of a linear machine over the size of its objective, from its primal form."""
    w = (alpha * t).astype(np.longdouble) @ X
    loss = C * np.maximum(0, 1 - t * (X.astype(np.longdouble) @ w)).sum()
    return float((w @ w + loss - alpha.sum()) / (alpha.sum() - 0.5 * w @ w))


@pytest.mark.parametrize('name', MODERATE)
@pytest.mark.parametrize('n', [80, 300, 1500])
def test_a_linear_machine_reaches_its_optimum(name, n):
    X, t = make_rows(n, MODERATE[name])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = solve_dual(BoxQP(kernel_rows(X, make_kernel('linear')), t, 1.0), 'block', Settings())
    assert found.converged and found.n_iter <= 120 and gap_of(X, t, found.alpha, 1.0) < 1e-3


@pytest.mark.filterwarnings('always::mr_elm.errors.ConvergenceWarning')
@pytest.mark.parametrize('name', MODERATE)
@pytest.mark.parametrize('n', [80, 300, 1500])
def test_the_active_set_reaches_it_or_says_soon_that_it_does_not(name, n):
    X, t = make_rows(n, MODERATE[name])
    with warnings.catch_warnings(record=True) as caught:
        found = solve_dual(BoxQP(kernel_rows(X, make_kernel('linear')), t, 1.0), 'newton', Settings())
    assert found.n_iter <= 120 and found.converged != bool(caught)
    assert not found.converged or gap_of(X, t, found.alpha, 1.0) < 1e-3


@pytest.mark.parametrize('kind', [SparseELMClassifier, OELMClassifier])
@pytest.mark.parametrize('name, kernel', [*((name, 'linear') for name in HOPELESS), ('beyond float64', 'polynomial')])
@pytest.mark.parametrize('n', [60, 1050])  # one block, and several
def test_what_rounding_forbids_ends_soon_with_a_warning(kind, name, kernel, n):
    X, t = make_rows(n, HOPELESS[name])
    X = X if kernel == 'linear' else X / 1e4
    with pytest.warns(ConvergenceWarning, match='scale the features'):
        machine = kind(kernel, scale='none').fit(X, t)
    assert machine.n_iter_ <= 400 and np.isfinite(machine.decision_function(X)).all()


def test_a_normalised_kernel_converges():
    X, t = make_rows(300, MODERATE['two sizes'])
    with warnings.catch_warnings():
        warnings.simplefilter('error', ConvergenceWarning)
        SphereSVMClassifier('linear', normalise=True, scale='none').fit(X, t)


@pytest.mark.parametrize('C', [1.0, 1e4])
@pytest.mark.parametrize('kernel, n', [('linear', 2500), ('linear', 60), ('polynomial', 200), ('gaussian', 200)])
def test_the_interior_method_comes_near_the_minimum(kernel, n, C):
    """Its systems are thin ones of a linear kernel on many rows, else dense; rows of bound 0 stay out."""
    X, t = make_rows(n, np.ones(3 if n > 60 else 20))
    weights = np.ones(n)
    weights[::7] = 0
    problem = BoxQP(kernel_rows(X, make_kernel(kernel, 3)), t, C, weights)
    alpha = find_near_minimum(problem)
    gradient, _ = problem.gradient(alpha)
    gap = alpha @ gradient + problem.upper @ np.maximum(-gradient, 0)
    assert (alpha >= 0).all() and (alpha <= problem.upper).all()
    assert gap < 1e-4 * abs(0.5 * alpha @ (gradient - 1))


def test_large_problems_without_a_thin_factor_are_left_alone():
    X, t = make_rows(2100, np.ones(3))
    assert find_near_minimum(BoxQP(kernel_rows(X, make_kernel('gaussian', 3)), t, 1.0)) is None
    assert find_near_minimum(BoxQP(NodeRows(X), t, 1.0)) is not None

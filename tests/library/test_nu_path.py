"""One decomposition solves a ridge regression for every nu, and says what each row gets from all other rows."""

import numpy as np
import pytest

from mr_elm.solvers.folds import decompose

NUS = (0.1, 1.0, 30.0)


def solve(E, T, nu, weights):
    """Solve the normal equations by numpy alone."""
    return np.linalg.solve(np.eye(E.shape[1]) / nu + E.T @ (weights[:, None] * E), E.T @ (weights[:, None] * T))


@pytest.fixture(params=[(30, 8), (8, 30)], ids=['many rows', 'few rows'])
def problem(request, rng):
    """Draw E, T and weights of the rows."""
    n, m = request.param
    return rng.normal(size=(n, m)), rng.normal(size=(n, 3)), rng.uniform(0.5, 3, n)


@pytest.mark.parametrize('weighted', [False, True])
def test_a_row_left_out_gets_the_value_of_a_fit_to_all_other_rows(problem, weighted):
    E, T, weights = problem
    given = weights if weighted else np.ones(len(E))
    found = decompose(E, T, NUS, weights if weighted else None).leave_out()
    for values, nu in zip(found, NUS, strict=True):
        for i in range(len(E)):
            rest = np.arange(len(E)) != i
            assert np.allclose(values[i], E[i] @ solve(E[rest], T[rest], nu, given[rest]), atol=1e-9)


def test_other_rows_get_the_values_of_the_normal_equations(problem, rng):
    E, T, weights = problem
    other = rng.normal(size=(5, E.shape[1]))
    found = decompose(E, T, NUS, weights).predict(other)
    assert np.allclose(found, [other @ solve(E, T, nu, weights) for nu in NUS], atol=1e-9)


def test_a_nu_beyond_the_rounding_errors_is_left_out(problem):
    E, T, _ = problem
    assert decompose(E, T, (1.0, 1e14)).nus == (1.0,)

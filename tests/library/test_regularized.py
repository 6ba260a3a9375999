"""The finisher: the right solution where there is one, and a warning where the numbers give out."""

import numpy as np
import pytest

from mr_elm.errors import NumericalWarning
from mr_elm.solvers.ridge import Penalty, Sums, finish, measure_norm, solve_regularized


def problem(m=20, n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    E, T = rng.standard_normal((n, m)), rng.standard_normal((n, k))
    return E, T, np.triu(E.T @ E), E.T @ T


@pytest.mark.parametrize('nu', [1e-6, 1.0, 1e6])
@pytest.mark.parametrize('n', [5, 60])
def test_the_gradient_of_the_objective_vanishes(nu, n):
    E, T, gram, right = problem(n=n)
    B = solve_regularized(gram, right, nu).output_weights
    gradient = E.T @ (E @ B - T) + B / nu
    assert np.abs(gradient).max() < 1e-9 * np.abs(right).max()


def test_it_is_the_least_squares_solution_of_the_augmented_system():
    E, T, gram, right = problem()
    expected = np.linalg.lstsq(np.vstack([E, np.eye(20) / 2]), np.vstack([T, np.zeros((20, 3))]), rcond=None)[0]
    solution = solve_regularized(gram, right, nu=4.0)
    assert np.allclose(solution.output_weights, expected, rtol=1e-10, atol=1e-12)
    assert solution.factorisation == 'cholesky'


def test_the_sums_stay_as_they_are_and_the_lower_triangle_is_never_read():
    _, _, gram, right = problem()
    clean = solve_regularized(gram, right, 1.0).output_weights
    dirty = gram + np.tril(np.full(gram.shape, 1e9), -1)
    before = dirty.copy(), right.copy()
    assert np.array_equal(solve_regularized(dirty, right, 1.0).output_weights, clean)
    assert np.array_equal(dirty, before[0]) and np.array_equal(right, before[1])


@pytest.mark.parametrize('nu', [1e-3, 1.0, 1e4])
def test_the_condition_estimate_is_near_the_condition(nu):
    _, _, gram, right = problem()
    system = gram + np.triu(gram, 1).T + np.eye(20) / nu
    exact = np.linalg.cond(system, 1)
    assert exact / 10 < solve_regularized(gram, right, nu).condition < exact * 1.001
    assert np.isclose(measure_norm(np.tril(system)), np.linalg.norm(system, 1))


def nearly_singular():
    rng = np.random.default_rng(1)
    E = rng.standard_normal((200, 10)) @ rng.standard_normal((10, 30))
    T = rng.standard_normal((200, 2))
    return E, T, np.triu(E.T @ E), E.T @ T


def test_a_nearly_singular_system_warns_and_is_still_solved():
    E, T, gram, right = nearly_singular()
    with pytest.warns(NumericalWarning, match='smaller nu'):
        solution = solve_regularized(gram, right, nu=1e16)
    best = E @ np.linalg.lstsq(E, T, rcond=1e-10)[0]
    assert solution.factorisation == 'eigenvectors' and solution.condition > 1e12
    assert np.abs(E @ solution.output_weights - best).max() < 1e-6


def test_the_eigenvectors_give_what_the_factorisation_gives(monkeypatch):
    E, T, gram, right = problem()
    expected = solve_regularized(gram, right, 2.0)
    monkeypatch.setattr('scipy.linalg.lapack.dpotrf', lambda system, **_: (system, 3))
    with pytest.warns(NumericalWarning, match='row 3 of 20'):
        found = solve_regularized(gram, right, 2.0)
    assert np.allclose(found.output_weights, expected.output_weights, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize('nu', [0, -1, float('nan')])
def test_nu_is_positive(nu):
    with pytest.raises(ValueError, match='nu: '):
        solve_regularized(np.eye(2), np.ones((2, 1)), nu)


@pytest.mark.parametrize('value', [np.nan, np.inf])
@pytest.mark.parametrize('place', ['gram', 'right'])
def test_sums_are_finite(value, place):
    gram, right = np.eye(3), np.ones((3, 1))
    (gram if place == 'gram' else right)[0, 0] = value
    with pytest.raises(ValueError, match='overflowed'):
        solve_regularized(gram, right, 1.0)


def test_equal_leaves_without_a_penalty_are_solved_by_eigenvectors():
    """The Cholesky factorisation of whole numbers meets a pivot that is 0."""
    rng = np.random.default_rng(2)
    leaf = rng.integers(0, 2, 30)
    E = np.column_stack([leaf, leaf, rng.integers(-3, 4, 30), -np.ones(30)]).astype(float)
    T = rng.standard_normal((30, 2))
    with pytest.warns(NumericalWarning, match='not positive definite'):
        solution = solve_regularized(np.triu(E.T @ E), E.T @ T, 1.0, Penalty(2, 0.0, np.zeros((1, 1))))
    assert solution.factorisation == 'eigenvectors'
    assert np.allclose(E @ solution.output_weights, E @ np.linalg.lstsq(E, T, rcond=1e-10)[0], atol=1e-6)


def test_without_a_bias_the_sums_give_the_unified_elm_and_a_bias_of_0():
    E, T, _, _ = problem(m=5)
    E[:, -1] = -1
    gram, zeros = E.T @ E, np.zeros((5, 5))
    sums = Sums(gram, zeros, T.T @ E, np.zeros((3, 5)), np.zeros(3), np.zeros(3))
    H = E[:, :-1]
    expected = np.linalg.solve(H.T @ H + np.eye(4) / 2, H.T @ T)
    weights = finish(sums, 2.0, numeric=True, bias=False).output_weights
    assert weights.shape == (5, 3) and np.allclose(weights[:-1], expected) and (weights[-1] == 0).all()

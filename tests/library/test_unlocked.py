"""LAPACK without Python's lock gives what numpy gives."""
import numpy as np
import pytest

from mr_elm.solvers.cholesky import factor_positive, solve_factored

RNG = np.random.default_rng(0)


def draw_positive(n, dtype):
    root = RNG.standard_normal((n, n))
    return np.asfortranarray(root @ root.T / n + np.eye(n), dtype=dtype)


@pytest.mark.parametrize('dtype', ['float32', 'float64'])
@pytest.mark.parametrize('triangle', [b'L', b'U'])
@pytest.mark.parametrize('n', [1, 2, 50])
def test_it_factors_and_solves(n, triangle, dtype):
    A, right = draw_positive(n, dtype), RNG.standard_normal(n).astype(dtype)
    factor, solution = A.copy(order='F'), right.copy()
    assert factor_positive(factor, triangle) == 0
    L = np.tril(factor) if triangle == b'L' else np.triu(factor).T
    assert np.allclose(L @ L.T, A, rtol=0, atol=50 * np.finfo(dtype).eps)
    solve_factored(factor, triangle, solution)
    assert np.allclose(A @ solution, right, rtol=0, atol=500 * np.finfo(dtype).eps)


def test_a_square_inside_of_an_array_is_factored_in_its_place():
    A = draw_positive(30, 'float64')
    found, inside = A.copy(order='F'), slice(10, 25)
    assert factor_positive(found[inside, inside], b'U') == 0
    assert np.allclose(np.triu(found[inside, inside]), np.linalg.cholesky(A[inside, inside]).T)
    found[inside, inside] = A[inside, inside]
    assert np.array_equal(found, A)


@pytest.mark.parametrize('row', [1, 7])
def test_it_names_the_row_where_a_matrix_is_not_positive(row):
    A = np.asfortranarray(np.eye(9))
    A[row - 1, row - 1] = -1.0
    assert factor_positive(A, b'L') == row

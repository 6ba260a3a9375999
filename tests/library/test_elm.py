"""The unified ELM in closed form."""

import numpy as np
import pytest

from mr_elm.errors import NumericalWarning
from mr_elm.solvers import ridge as elm


@pytest.mark.parametrize('shape', [(80, 20), (20, 80)])
def test_both_sides_satisfy_the_normal_equations_and_are_the_kernel_form(shape):
    rng = np.random.default_rng(5)
    H, T, C = rng.standard_normal(shape), rng.standard_normal((shape[0], 3)), 7.0
    B = elm.solve_nodes(H, T, C)
    assert np.allclose(B / C + H.T @ (H @ B), H.T @ T, atol=1e-9)
    assert np.allclose(H @ B, H @ H.T @ elm.solve_kernel(H @ H.T, T, C), atol=1e-9)


@pytest.mark.parametrize('shape, rank', [((80, 20), 20), ((20, 80), 20), ((60, 30), 7)])
@pytest.mark.parametrize('weighted', [False, True])
def test_an_infinite_C_is_the_pseudo_inverse_with_its_rank(shape, rank, weighted):
    rng = np.random.default_rng(6)
    H = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    T, weights = rng.standard_normal((shape[0], 2)), rng.integers(1, 4, shape[0]).astype(float) if weighted else None
    root = np.ones((shape[0], 1)) if weights is None else np.sqrt(weights)[:, None]
    beta, found = elm.solve_initial(H.copy(), T, weights)
    assert found == rank
    assert np.allclose(beta, np.linalg.pinv(root * H) @ (root * T), rtol=0, atol=1e-9 * np.abs(beta).max())


def test_a_matrix_that_is_not_positive_is_warned_of():
    with pytest.warns(NumericalWarning, match='not positive'):
        elm.solve_kernel(np.diag([-3.0, 1.0]), np.ones((2, 1)), 1.0)


@pytest.mark.parametrize('C', [0, -1, np.nan, np.inf])
def test_a_bad_C_is_refused(C):
    with pytest.raises(ValueError, match='C: expected a finite number above 0'):
        elm.solve_kernel(np.eye(2), np.ones((2, 1)), C)

"""The initial ELM: the pseudo-inverse of the node outputs."""

import numpy as np
import pytest

from mr_elm.solvers import ridge as elm


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

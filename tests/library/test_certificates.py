"""What float32 kernel rows prove of a solution, against kernel values computed in float64 by other means."""

import numpy as np
import pytest
from reference import dual as twin

from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import solve_dual
from mr_elm.solvers.sphere import SphereProblem, solve_sphere


def make_rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize('d', [1, 5, 64, 65, 300])
@pytest.mark.parametrize('reach', [0.3, 3, 30])
def test_float32_rows_are_as_near_as_they_promise(d, reach):
    X, _ = make_rows(400, d + 1)
    X = X[:, :d] * np.where(np.arange(400) % 7, 1, reach)[:, None]  # a seventh of the rows is nearer or farther
    rows = kernel_rows(X, make_kernel('gaussian', gamma=1 / d))
    exact = twin.gaussian(rows.X, rows.X, 1 / d)
    assert np.abs(rows.rows(np.arange(400), np.float32) - exact).max() <= 2e-5


@pytest.mark.parametrize('C', [0.5, 10, 1000])
@pytest.mark.parametrize('d', [3, 80])
def test_the_certificate_of_many_rows_is_what_float64_values_say(C, d):
    X, t = make_rows(1500, d)
    Q, upper = twin.signed(twin.gaussian(X, X, 1 / d), t), np.full(len(t), C)
    found = solve_dual(BoxQP(kernel_rows(X, make_kernel('gaussian', gamma=1 / d)), t, C), 'block')
    assert found.violation <= 1e-3
    assert found.violation == pytest.approx(twin.kkt_residual(Q, found.alpha, upper), abs=1e-9)
    assert found.gap == pytest.approx(twin.gap(Q, found.alpha, upper), abs=1e-7 * abs(found.objective))
    assert found.objective == pytest.approx(twin.objective(Q, found.alpha), rel=1e-9)
    assert np.allclose(found.decision, t * (Q @ found.alpha), rtol=0, atol=1e-10 * found.alpha.sum())


def test_the_gap_of_a_sphere_of_many_rows_is_what_float64_values_say():
    X, y = make_rows(1500, 3)
    k = y[:, None] * y * (twin.gaussian(X, X, 1 / 3) + 1) + np.eye(1500) / 10
    found = solve_sphere(SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=1 / 3)), y, 10.0))
    product = k @ found.alpha
    gap = 1 - product.min() * found.alpha.sum() / (found.alpha @ product)
    assert found.violation == pytest.approx(gap, abs=1e-9) and gap <= 1e-3


@pytest.mark.parametrize('d, C', [(3, 1), (80, 1)])
def test_float64_values_are_computed_once_for_all_rows(d, C, monkeypatch):
    X, t = make_rows(3000, d)
    problem, asked = BoxQP(kernel_rows(X, make_kernel('gaussian', gamma=1 / d)), t, C), []
    whole = problem.gradient
    monkeypatch.setattr(problem, 'gradient', lambda alpha: asked.append(1) or whole(alpha))
    assert solve_dual(problem, 'block', Settings()).converged
    assert len(asked) == 1

"""A path of C over one kernel matrix, with folds held out, against solves from nothing."""

import numpy as np
import pytest

from mr_elm.features.kernel_rows import kernel_rows, ready_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.machines.dual import BoxMachine
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import solve_dual

TIGHT = Settings(eps=1e-6)
BOUNDS = [100.0, 0.1, 1.0, 10.0]


@pytest.fixture(scope='module')
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    return kernel_rows(X, make_kernel('gaussian', gamma=0.4)), np.where(
        X[:, 0] * X[:, 1] + 0.7 * rng.standard_normal(300) > 0, 1.0, -1.0
    )


def walk(rows, targets, C_values, weights=None, settings=TIGHT):
    """Return [(C, Result)] of the machines for all C, each begun where the last ended."""
    return list(
        zip(
            sorted(C_values),
            BoxMachine(1.0, 'block', settings).solve_path(rows, targets, C_values, weights),
            strict=True,
        )
    )


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_every_point_is_what_a_solve_from_nothing_finds(dtype, problem):
    source, t = problem
    for C, result in walk(ready_rows(source, dtype), t, BOUNDS):
        alone = solve_dual(BoxQP(source, t, C), 'block', TIGHT)
        assert result.converged
        assert result.objective == pytest.approx(alone.objective, rel=1e-9 if dtype == np.float64 else 1e-6)
        assert np.allclose(result.decision, alone.decision, rtol=0, atol=1e-5 if dtype == np.float64 else 1e-3)


@pytest.mark.parametrize('fold', range(3))
def test_rows_held_out_are_decided_by_a_machine_that_has_not_seen_them(problem, fold):
    source, t = problem
    folds = np.random.default_rng(1).integers(0, 3, 300)
    seen = np.flatnonzero(folds != fold)
    for C, result in walk(ready_rows(source, np.float64), t, BOUNDS, (folds != fold).astype(float)):
        alone = solve_dual(BoxQP(source.take(seen), t[seen], C), 'block', TIGHT)
        assert not result.alpha[folds == fold].any()
        unseen = source.rows(seen).T @ (alone.alpha * t[seen])
        assert np.allclose(result.decision, unseen, rtol=0, atol=1e-5)


def test_the_kernel_matrix_is_computed_once(problem):
    source, t = problem
    assert all(
        result.n_kernel_rows <= 2 * len(t) for _, result in walk(ready_rows(source), t, BOUNDS, None, Settings())
    )


def test_decision_values_carried_along_the_path_are_those_of_the_matrix(problem):
    source, t = problem
    rows = ready_rows(source)
    for _, result in walk(rows, t, [0.01, 1.0, 30.0, 1000.0], None, Settings()):
        expected = rows.matrix.astype(float) @ (result.alpha * t)
        assert np.allclose(result.decision, expected, rtol=0, atol=1e-9)


def test_a_nearly_constant_kernel_does_not_swing_from_one_class_to_the_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 10))
    t = np.where(X[:, 0] + 0.5 * rng.standard_normal(2500) > 0.2, 1.0, -1.0)
    rows = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=100.0)))
    assert all(result.n_iter <= 30 for _, result in walk(rows, t, [0.01, 0.1, 1.0], None, Settings()))

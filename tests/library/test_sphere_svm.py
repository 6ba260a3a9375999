"""SphereSVM against non-negative least squares, and what its rules promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual as twin
from reference import sphere

from mr_elm.errors import ConvergenceWarning
from mr_elm.estimators import SphereSVMClassifier
from mr_elm.features.kernel_rows import PrecomputedRows, kernel_rows, ready_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.machines.dual import SphereMachine
from mr_elm.model.models import KernelModel
from mr_elm.solvers import box as box_qp
from mr_elm.solvers.box import Settings
from mr_elm.solvers.sphere import RULES, SphereProblem, solve_sphere

TIGHT = Settings(eps=1e-7)


def noisy_rows(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)


def problem_of(X, y, C, gamma=0.4, weights=None):
    return SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=gamma)), y, C, weights)


def weights_of(result):
    return result.alpha / result.alpha.sum()


@pytest.mark.parametrize('C', [1e-4, 0.5, 10, 1e4])
@pytest.mark.parametrize('n', [90, 300])
def test_exact_is_the_nearest_point_of_least_squares(C, n):
    X, y = noisy_rows(n)
    K = twin.gaussian(X, X, 0.4)
    B = sphere.ball_kernel(K, y, C)
    a = sphere.nearest_point(B)
    found = solve_sphere(problem_of(X, y, C), 'exact', TIGHT)
    assert found.objective == pytest.approx(a @ B @ a, rel=1e-6)
    f = (K + 1) @ (a * y) / (a @ B @ a)
    assert np.allclose(found.decision, f, rtol=0, atol=1e-4 * np.abs(f).max())
    assert np.allclose(K @ (found.alpha * y) + found.intercept, found.decision, rtol=0, atol=1e-8 * np.abs(f).max())


@pytest.mark.parametrize('C', [0.1, 10, 1000])
@pytest.mark.parametrize('gap', [1e-2, 1e-3, 1e-5])
def test_exact_proves_its_gap(C, gap):
    X, y = noisy_rows(400, seed=1)
    B = sphere.ball_kernel(twin.gaussian(X, X, 0.4), y, C)
    found, best = solve_sphere(problem_of(X, y, C), 'exact', Settings(eps=gap)), sphere.nearest_point(B)
    a = weights_of(found)
    assert found.converged and (a >= 0).all() and a.sum() == pytest.approx(1)
    assert found.violation == pytest.approx(sphere.shortfall(B, a), abs=1e-9) and found.violation <= gap
    assert found.objective == pytest.approx(a @ B @ a, rel=1e-9)
    assert found.gap == pytest.approx(a @ B @ a - (B @ a).min(), abs=1e-9 * found.objective)
    norm, least = np.sqrt(a @ B @ a), np.sqrt(best @ B @ best)
    assert (B @ a).min() / norm <= least * (1 + 1e-9) and norm <= least / (1 - gap)  # weak duality
    assert found.n_kernel_rows > 0 and found.n_iter > 0


def test_rows_may_be_of_one_class_or_have_hardly_a_weight():
    X, y = noisy_rows(1200, seed=15)
    single = np.where(np.arange(1200) == 0, -1.0, 1.0)
    for targets, weights in ((single, None), (y, np.where(np.arange(1200) < 9, 1.0, 0.0))):
        found = solve_sphere(problem_of(X, targets, 5, weights=weights), 'exact')
        kept = slice(None) if weights is None else slice(9)
        B = sphere.ball_kernel(twin.gaussian(X[kept], X[kept], 0.4), targets[kept], 5)
        assert found.converged and sphere.shortfall(B, weights_of(found)[kept]) <= 1e-3


@pytest.mark.parametrize('C', [1, 100])
def test_the_paper_rule_is_algorithm_1(C):
    X, y = noisy_rows(59, seed=2)  # no more rows than a subset has: nothing is drawn
    B = sphere.ball_kernel(twin.gaussian(X, X, 0.4), y, C)
    a, history = sphere.algorithm_1(B, 1e-4, [range(59)] * 100_000, box_qp.ATTEMPTS)
    found = solve_sphere(problem_of(X, y, C), 'paper', Settings(eps=1e-4))
    assert np.allclose(weights_of(found), a, rtol=0, atol=1e-9)
    assert found.n_iter == len(history) and (np.diff(history) <= 1e-12).all()


@pytest.mark.parametrize('C', [1, 100])
@pytest.mark.parametrize('eps', [1e-2, 1e-4, 1e-6])
def test_after_the_paper_rule_no_row_is_outside(C, eps):
    X, y = noisy_rows(300, seed=3)
    B = sphere.ball_kernel(twin.gaussian(X, X, 0.4), y, C)
    found = solve_sphere(problem_of(X, y, C), 'paper', Settings(eps=eps))
    a, square = weights_of(found), B[0, 0]
    distance = np.sqrt(a @ B @ a - 2 * B @ a + square)
    assert found.converged and (a >= 0).all() and a.sum() == pytest.approx(1)
    assert distance.max() <= (1 + eps) * np.sqrt(square) * (1 + 1e-12)
    assert (B @ a).min() >= (a @ B @ a) / 2 - (2 * eps + eps**2) * square / 2 - 1e-12
    best = sphere.nearest_point(B)
    assert a @ B @ a >= (best @ B @ best) * (1 - 1e-9)
    if 8 * eps * square < best @ B @ best:  # where the last inequality is not empty
        assert a @ B @ a <= 4.1 * (best @ B @ best)


def test_the_paper_rule_draws_by_its_seed():
    X, y = noisy_rows(300, seed=4)
    one, same, other = (
        solve_sphere(problem_of(X, y, 10), 'paper', Settings(eps=1e-4, seed=seed)).alpha for seed in (0, 0, 1)
    )
    assert (one == same).all() and (one != other).any()


def test_a_small_cache_changes_nothing():
    X, y = noisy_rows(300, seed=4)
    for rule in RULES:
        full, small = (
            solve_sphere(problem_of(X, y, 10), rule, Settings(eps=1e-3, cache_bytes=size)) for size in (10**9, 1)
        )
        assert small.objective == pytest.approx(full.objective, rel=3e-3 if rule == 'exact' else 1e-9)


def test_order_of_rows_and_sign_of_labels_do_not_matter():
    X, y = noisy_rows(250, seed=5)
    order = np.random.default_rng(0).permutation(len(y))
    plain, mixed, flipped = (
        solve_sphere(problem_of(*rows, 3), 'exact', TIGHT) for rows in ((X, y), (X[order], y[order]), (X, -y))
    )
    assert mixed.objective == pytest.approx(plain.objective, rel=1e-6)
    assert np.allclose(mixed.decision, plain.decision[order], rtol=0, atol=1e-5)
    assert np.allclose(flipped.decision, -plain.decision, rtol=0, atol=1e-5)
    assert flipped.intercept == pytest.approx(-plain.intercept, abs=1e-5)


def test_a_row_twice_is_a_row_of_weight_two():
    X, y = noisy_rows(150, seed=6)
    twice = solve_sphere(problem_of(np.r_[X, X[:40]], np.r_[y, y[:40]], 2), 'exact', TIGHT)
    weighted = solve_sphere(problem_of(X, y, 2, weights=np.where(np.arange(150) < 40, 2.0, 1.0)), 'exact', TIGHT)
    assert twice.objective == pytest.approx(weighted.objective, rel=1e-6)
    assert np.allclose(twice.decision[:150], weighted.decision, rtol=0, atol=1e-5)


@pytest.mark.parametrize('rule, settings', [('exact', TIGHT), ('paper', Settings(eps=1e-4))])
def test_a_row_of_weight_zero_is_not_there_but_has_a_decision_value(rule, settings):
    X, y = noisy_rows(200, seed=12)
    kept = np.arange(200) >= 50
    without = solve_sphere(problem_of(X[kept], y[kept], 2), rule, settings)
    weighted = solve_sphere(problem_of(X, y, 2, weights=kept.astype(float)), rule, settings)
    assert not weighted.alpha[~kept].any() and weighted.objective == pytest.approx(without.objective, rel=1e-6)
    unseen = twin.gaussian(X[~kept], X[kept], 0.4) @ (without.alpha * y[kept]) + without.intercept
    assert np.allclose(weighted.decision[~kept], unseen, rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match='expected exact for rows of different weights'):
        solve_sphere(problem_of(X, y, 2, weights=1.0 + kept), 'paper')


def test_a_tiny_C_gives_every_row_the_same_weight():
    X, y = noisy_rows(150, seed=7)
    a = weights_of(solve_sphere(problem_of(X, y, 1e-6), 'exact', Settings(eps=1e-6)))
    assert np.allclose(a, 1 / 150, rtol=1e-3)


def test_a_large_C_is_the_hard_margin():
    X, y = noisy_rows(150, seed=8)
    found = solve_sphere(problem_of(X, y, 1e9, gamma=5), 'exact', TIGHT)
    assert (y * found.decision).min() == pytest.approx(1, abs=1e-5)


def test_one_row_of_each_class():
    X, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    exact, paper = (solve_sphere(problem_of(X, y, 1.0), rule, Settings(eps=1e-9)) for rule in RULES)
    assert exact.intercept == pytest.approx(0, abs=1e-6)
    assert exact.decision[0] == pytest.approx(-exact.decision[1]) and exact.decision[1] > 0
    assert paper.converged


@pytest.mark.parametrize('kind', ['polynomial', 'linear'])
def test_a_kernel_that_is_not_normalised_is_refused_or_normalised(kind):
    X, y = noisy_rows(80, seed=9)
    with pytest.raises(ValueError, match='expected a normalised kernel'):
        SphereProblem(kernel_rows(X, make_kernel(kind)), y, 1)
    with pytest.raises(ValueError, match='expected a normalised kernel'):
        SphereSVMClassifier(kernel=kind).fit(X, y)
    K = twin.KERNELS[kind](X, X, *[3][: kind == 'polynomial'])
    root = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    for rows in (X, sp.csr_matrix(X)):
        source = kernel_rows(rows, make_kernel(kind, normalised=True))
        assert np.allclose(source.rows(np.arange(80)), K / root, rtol=0, atol=1e-12)
        assert np.allclose(source.weighted_sum(np.arange(80), y), K / root @ y, rtol=0, atol=1e-10)
        SphereProblem(ready_rows(source, np.float32), y, 1)


def test_a_row_of_zeros_has_no_direction():
    X = np.array([[0.0, 0], [1, 2], [2, 1]])
    with pytest.raises(ValueError, match='from 0 to 1'):
        SphereProblem(kernel_rows(X, make_kernel('linear', normalised=True)), [1, -1, 1], 1)


@pytest.mark.parametrize(
    'C, targets, reason',
    [
        (0, [1, -1], 'C: expected a finite number above 0'),
        (np.inf, [1, -1], 'C: '),
        (1, [1, 2], 'targets: expected 2 values'),
    ],
)
def test_bad_problems_are_refused(C, targets, reason):
    with pytest.raises(ValueError, match=reason):
        SphereProblem(PrecomputedRows(np.eye(2)), targets, C)
    with pytest.raises(ValueError, match="expected one of exact, paper, found 'fast'"):
        solve_sphere(SphereProblem(PrecomputedRows(np.eye(2)), [1, -1], 1), 'fast')


def test_a_subset_of_all_rows_takes_the_farthest_row_in_every_step():
    X, y = noisy_rows(80, seed=13)
    found = solve_sphere(problem_of(X, y, 10), 'paper', Settings(eps=1e-3, subset=80, attempts=1))
    drawn = SphereSVMClassifier(sigma=1.25**0.5, C=10, scale='none', rule='paper', subset=80, attempts=1).fit(X, y)
    assert drawn.n_iter_ == found.n_iter and drawn.model_.header.parameters['subset'] == 80
    assert (
        SphereSVMClassifier(sigma=1.25**0.5, C=10, scale='none', rule='paper', subset=2).fit(X, y).n_iter_
        != found.n_iter
    )


@pytest.mark.parametrize('rule, most', [('exact', 1), ('paper', 30)])
def test_a_rule_that_is_stopped_says_so(rule, most):
    X, y = noisy_rows(1500, seed=10)
    with pytest.warns(ConvergenceWarning, match=f'stopped after {most} iterations'):
        found = solve_sphere(problem_of(X, y, 100), rule, Settings(eps=1e-6, max_iter=most))
    assert not found.converged and found.violation > 1e-6


def test_a_path_of_C_is_what_solves_from_nothing_find():
    X, y = noisy_rows(300, seed=11)
    source, weights = kernel_rows(X, make_kernel('gaussian', gamma=0.4)), (np.arange(300) % 3 > 0).astype(float)
    path = SphereMachine(1.0, 'exact', TIGHT).solve_path(ready_rows(source, np.float64), y, [10.0, 0.1, 1.0], weights)
    for C, result in zip((0.1, 1.0, 10.0), path, strict=True):
        alone = solve_sphere(SphereProblem(source, y, C, weights), 'exact', TIGHT)
        assert np.allclose(result.decision, alone.decision, rtol=0, atol=1e-5)


def test_machines_of_pairs_share_one_scale():
    """f is divided by |c|^2: support vectors off the margin by b_i / C only, in every machine."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((240, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], 80, axis=0), np.repeat(list('abc'), 80)
    model = SphereSVMClassifier(sigma=1, C=100, tol=1e-6).fit(sp.csr_matrix(X), y)
    values = model.model_.decision_function(X)
    assert isinstance(model.model_, KernelModel) and values.shape == (240, 3)
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        t = np.select([y == 'abc'[j], y == 'abc'[i]], [1, -1])[model.support_]
        b = model.dual_coef_[:, p] * t
        held = b > 0
        assert np.allclose((t * values[model.support_, p] + b / 100)[held], 1, rtol=0, atol=1e-4)
        assert model.intercept_[p] == pytest.approx(model.dual_coef_[:, p].sum(), abs=1e-9)
    assert np.mean(model.predict(X) == y) > 0.7

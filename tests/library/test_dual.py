"""Every solver of the box-constrained dual against independent answers, and against each other."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual as twin

from mr_elm.errors import ConvergenceWarning, NumericalWarning
from mr_elm.features.kernel_rows import NodeRows, PrecomputedRows, kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers import active_set
from mr_elm.solvers.box import BoxBlock, BoxQP, Settings
from mr_elm.solvers.choose_solver import COORDINATE, METHOD_RULES, RULES, solve_dual
from mr_elm.solvers.sparse_elm_blocks import Effort, minimise_block

TIGHT = Settings(eps=1e-6)
EXACT_RULES = ['block', 'newton', 'oelm', 'bas']  # those whose steps do not grow with C


def noisy_rows(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)


def boxed(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2 * (X - low) / np.where(high > low, high - low, 1) - 1, 0)


def gaussian_problem(X, t, gamma, C, weights=None):
    return BoxQP(kernel_rows(X, make_kernel('gaussian', gamma=gamma)), t, C, weights)


def public_problem(public_set, name, C, gamma=None):
    X, y = public_set(name)
    return gaussian_problem(boxed(X), np.where(y == y.max(), 1.0, -1.0), gamma or 1 / X.shape[1], C)


def test_every_rule_belongs_to_a_method():
    assert {*RULES, COORDINATE} == {rule for method in ('sparse-elm', 'oelm') for rule in METHOD_RULES[method]}


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('gamma, C', [(0.05, 1), (0.5, 1), (0.5, 50), (5, 1000)])
def test_the_optimum_is_that_of_bounded_least_squares(rule, gamma, C):
    X, t = noisy_rows(120)
    Q = twin.signed(twin.gaussian(X, X, gamma), t)
    best = twin.bounded_least_squares(Q + 1e-12 * np.eye(len(t)), C)
    found = solve_dual(gaussian_problem(X, t, gamma, C), rule, TIGHT)
    assert found.converged
    assert found.objective == pytest.approx(twin.objective(Q, best), rel=1e-8)
    assert np.allclose(Q @ found.alpha, Q @ best, rtol=0, atol=2e-5)


@pytest.mark.parametrize('rule', RULES)
def test_the_certificate_is_what_float64_rows_say(rule):
    X, t = noisy_rows(400, seed=1)
    Q, upper = twin.signed(twin.gaussian(X, X, 0.3), t), np.full(len(t), 10.0)
    found = solve_dual(gaussian_problem(X, t, 0.3, 10.0), rule)
    assert found.violation <= 1e-3
    assert found.violation == pytest.approx(twin.kkt_residual(Q, found.alpha, upper), abs=1e-9)
    assert found.gap == pytest.approx(twin.gap(Q, found.alpha, upper), abs=1e-7 * abs(found.objective))
    assert found.objective == pytest.approx(twin.objective(Q, found.alpha), rel=1e-10)
    assert np.allclose(found.decision, t * (Q @ found.alpha), rtol=0, atol=1e-9)
    assert found.n_kernel_rows > 0 and found.n_iter > 0 and found.seconds > 0


@pytest.mark.parametrize('C', [1, 30])
def test_all_rules_agree(C):
    X, t = noisy_rows(500, seed=2)
    found = {rule: solve_dual(gaussian_problem(X, t, 0.4, C), rule, TIGHT) for rule in RULES}
    for result in found.values():
        assert result.objective == pytest.approx(found['block'].objective, rel=1e-9)
        assert np.allclose(result.decision, found['block'].decision, rtol=0, atol=1e-5)


@pytest.mark.parametrize('rule', RULES)
def test_the_known_optimum_of_australian(rule, public_set):
    found = solve_dual(public_problem(public_set, 'australian', 10, 0.05), rule, TIGHT)
    assert found.objective == pytest.approx(-1803.944304, abs=2e-6)
    assert 0 <= found.gap < 1e-3


@pytest.mark.parametrize('name', ['australian', 'diabetes', 'ionosphere', 'svmguide1'])
@pytest.mark.parametrize('C', [1, 10, 100])
def test_newton_needs_a_tenth_of_the_iterations_of_bas(name, C, public_set):
    pairs, basic = (solve_dual(public_problem(public_set, name, C), rule).n_iter for rule in ('newton', 'bas'))
    assert 10 * pairs <= basic


@pytest.mark.parametrize('name', ['australian', 'diabetes', 'ionosphere'])
@pytest.mark.parametrize('C', [1, 10, 100])
def test_oelm_needs_a_third_of_the_iterations_of_bas_by_one_variable_steps(name, C, public_set):
    proposed, basic = (solve_dual(public_problem(public_set, name, C), rule) for rule in ('oelm', 'bas'))
    assert proposed.converged and 3 * proposed.n_iter <= basic.n_iter
    assert proposed.steps['one_variable'] > 0 and proposed.steps['two_variables'] == 0


def test_released_variables_alone_are_reassigned_and_stay_where_their_own_minimisers_are():
    """Coordinate descent over the released ones, written out."""
    X, t = noisy_rows(40, seed=15)
    Q, released = twin.signed(twin.gaussian(X, X, 0.5), t), np.arange(40) < 15
    a, upper = np.where(released, 0.0, 0.3), np.full(40, 1.0)
    block = BoxBlock(Q, a.copy(), Q @ a - 1, upper, Q.diagonal().copy())
    search = active_set.ActiveSetSearch(gaussian_problem(X, t, 0.5, 1.0), TIGHT)
    active_set.reassign_released(search, block, released)
    for _ in range(2000):
        for i in range(15):
            a[i] = np.clip(a[i] - (Q[i] @ a - 1) / Q[i, i], 0, 1)
    assert (block.a[~released] == 0.3).all() and np.allclose(block.a, a, rtol=0, atol=1e-4)
    assert search.steps['one_variable'] >= np.count_nonzero(a[released])


@pytest.mark.parametrize('rule', ['newton', 'oelm', 'bas'])
def test_active_set_rules_count_their_steps(rule):
    X, t = noisy_rows(200, seed=16)
    found = solve_dual(gaussian_problem(X, t, 0.4, 10), rule)
    assert found.steps['newton'] == found.n_iter
    assert {kind for kind, count in found.steps.items() if count} == {
        'newton': {'newton', 'gradient_path', 'two_variables'},
        'oelm': {'newton', 'gradient_path', 'one_variable'},
        'bas': {'newton'},
    }[rule]


def test_the_paper_rule_is_algorithm_1():
    X, t = noisy_rows(60, seed=3)
    Q = twin.signed(twin.gaussian(X, X, 0.5), t)
    alpha, history = twin.algorithm_1(Q, 2.0, 1e-3, 10_000)
    found = solve_dual(gaussian_problem(X, t, 0.5, 2.0), 'paper', Settings(eps=1e-3))
    assert found.n_iter == len(history)
    assert np.allclose(found.alpha, alpha, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings('ignore::mr_elm.errors.ConvergenceWarning')
def test_the_objective_of_the_paper_rule_falls_at_every_step():
    X, t = noisy_rows(80, seed=4)
    path = [
        solve_dual(gaussian_problem(X, t, 0.5, 5), 'paper', Settings(eps=1e-9, max_iter=k)).objective
        for k in range(1, 150)
    ]
    assert (np.diff(path) < 1e-12 * np.abs(path[-1])).all()


@pytest.mark.parametrize('rule', ['block', 'newton', 'oelm'])
def test_order_of_rows_and_sign_of_labels_do_not_matter(rule):
    X, t = noisy_rows(300, seed=5)
    order = np.random.default_rng(0).permutation(len(t))
    plain, mixed, flipped = (
        solve_dual(gaussian_problem(*rows, 0.4, 3), rule, TIGHT) for rows in ((X, t), (X[order], t[order]), (X, -t))
    )
    assert mixed.objective == pytest.approx(plain.objective, rel=1e-9)
    assert flipped.objective == pytest.approx(plain.objective, rel=1e-9)
    assert np.allclose(mixed.decision, plain.decision[order], rtol=0, atol=1e-5)
    assert np.allclose(flipped.decision, -plain.decision, rtol=0, atol=1e-5)


@pytest.mark.parametrize('rule', RULES)
def test_a_row_twice_is_a_row_of_weight_two(rule):
    X, t = noisy_rows(150, seed=6)
    twice = solve_dual(gaussian_problem(np.r_[X, X[:40]], np.r_[t, t[:40]], 0.4, 2), rule, TIGHT)
    weights = np.where(np.arange(150) < 40, 2.0, 1.0)
    weighted = solve_dual(gaussian_problem(X, t, 0.4, 2, weights), rule, TIGHT)
    assert twice.objective == pytest.approx(weighted.objective, rel=1e-9)


@pytest.mark.parametrize('rule', RULES)
def test_a_row_of_weight_zero_is_not_there_but_has_a_decision_value(rule):
    X, t = noisy_rows(200, seed=12)
    kept = np.arange(200) >= 50
    without = solve_dual(gaussian_problem(X[kept], t[kept], 0.4, 2), rule, TIGHT)
    weighted = solve_dual(gaussian_problem(X, t, 0.4, 2, kept.astype(float)), rule, TIGHT)
    assert not weighted.alpha[~kept].any()
    assert weighted.objective == pytest.approx(without.objective, rel=1e-9)
    unseen = twin.gaussian(X[~kept], X[kept], 0.4) @ (without.alpha * t[kept])
    assert np.allclose(weighted.decision[~kept], unseen, rtol=0, atol=1e-5)


@pytest.mark.parametrize('rule', RULES)
def test_a_tiny_C_puts_every_variable_at_its_bound(rule):
    X, t = noisy_rows(150, seed=7)
    assert (solve_dual(gaussian_problem(X, t, 0.4, 1e-4), rule).alpha == 1e-4).all()


@pytest.mark.parametrize('rule', EXACT_RULES)
def test_a_large_C_is_the_hard_margin(rule):
    X, t = noisy_rows(150, seed=8)
    found = solve_dual(gaussian_problem(X, t, 5, 1e8), rule, TIGHT)
    assert (t * found.decision).min() >= 1 - 1e-5
    assert found.alpha.max() < 1e8


@pytest.mark.parametrize('rule', EXACT_RULES)
def test_a_singular_matrix_is_solved(rule):
    rng = np.random.default_rng(9)
    H, t = rng.standard_normal((200, 15)), np.where(rng.random(200) < 0.5, -1.0, 1.0)
    Q = twin.signed(H @ H.T, t)
    found = solve_dual(BoxQP(NodeRows(H), t, 1.0), rule, TIGHT)
    assert found.converged
    assert twin.kkt_residual(Q, found.alpha, np.ones(200)) <= 2e-6
    assert twin.gap(Q, found.alpha, np.ones(200)) < 1e-3


@pytest.mark.parametrize('rule', RULES)
def test_max_iter_ends_with_a_warning_that_names_the_gap(rule):
    X, t = noisy_rows(400, seed=10)
    with pytest.warns(ConvergenceWarning, match='duality gap is [0-9]'):
        found = solve_dual(gaussian_problem(X, t, 0.4, 1000), rule, Settings(max_iter=1))
    assert not found.converged and found.gap > 0


@pytest.mark.parametrize('rule', RULES)
def test_progress_is_reported_down_to_the_end(rule):
    X, t = noisy_rows(300, seed=13)
    said = []

    def report(n_iter, compute_violation, eps):
        said.append((n_iter, compute_violation(), eps))

    found = solve_dual(gaussian_problem(X, t, 0.4, 10), rule, Settings(report=report))
    steps, violations, goals = zip(*said, strict=True)
    assert list(steps) == sorted(steps) and steps[-1] <= found.n_iter
    assert violations[-1] == pytest.approx(found.violation, abs=1e-3) and set(goals) == {1e-3}


def test_float32_rows_find_the_float64_optimum():
    X, t = noisy_rows(500, seed=14)
    single, double = (
        solve_dual(gaussian_problem(X, t, 2.0, 300), 'block', Settings(eps=1e-5, dtype=dtype))
        for dtype in ('float32', 'float64')
    )
    Q = twin.signed(twin.gaussian(X, X, 2.0), t)
    assert single.converged and twin.kkt_residual(Q, single.alpha, np.full(500, 300.0)) <= 1.01e-5
    assert single.objective == pytest.approx(double.objective, rel=1e-6)


def test_csr_rows_give_the_dense_answer():
    X = sp.random(300, 40, density=0.2, random_state=1, format='csr')
    t = np.where(np.random.default_rng(1).random(300) < 0.5, -1.0, 1.0)
    dense, thin = (solve_dual(gaussian_problem(rows, t, 0.7, 5), 'block', TIGHT) for rows in (X.toarray(), X))
    assert thin.objective == pytest.approx(dense.objective, rel=1e-12)


@pytest.mark.parametrize('rule', ['newton', 'oelm', 'bas'])
def test_more_free_variables_than_the_cache_has_room_for(rule):
    rng = np.random.default_rng(0)
    X, t = rng.standard_normal((200, 20)), rng.choice([-1.0, 1.0], 200)
    full, small = (
        solve_dual(gaussian_problem(X, t, 0.02, 10), rule, Settings(eps=1e-6, cache_bytes=size))
        for size in (1 << 30, 1)
    )
    assert np.count_nonzero((full.alpha > 0) & (full.alpha < 10)) > 64
    assert small.objective == pytest.approx(full.objective, rel=1e-9)


def test_a_small_cache_changes_nothing_but_the_work():
    X, t = noisy_rows(600, seed=11)
    full = solve_dual(gaussian_problem(X, t, 0.4, 1), 'block', TIGHT)
    small = solve_dual(gaussian_problem(X, t, 0.4, 1), 'block', Settings(eps=1e-6, cache_bytes=1))
    assert small.objective == pytest.approx(full.objective, rel=1e-9)
    assert small.n_kernel_rows > full.n_kernel_rows


@pytest.mark.parametrize(
    'C, targets, reason',
    [
        (0, [1, -1], 'C: expected a finite number above 0, found 0'),
        (-1, [1, -1], 'C: '),
        (np.nan, [1, -1], 'C: '),
        (np.inf, [1, -1], 'C: '),
        (1, [1, 2], 'targets: expected 2 values of'),
        (1, [1], 'targets: expected 2 values of'),
    ],
)
def test_bad_problems_are_refused(C, targets, reason):
    with pytest.raises(ValueError, match=reason):
        BoxQP(PrecomputedRows(np.eye(2)), targets, C)


@pytest.mark.parametrize('weights', [[1], [1, -1], [1, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match='weights: expected 2 finite numbers'):
        BoxQP(PrecomputedRows(np.eye(2)), [1, -1], 1.0, weights)


def test_a_kernel_that_overflows_is_refused():
    with pytest.raises(ValueError, match='expected finite kernel values'), np.errstate(over='ignore'):
        BoxQP(kernel_rows(np.full((2, 1), 1e100), make_kernel('polynomial', degree=5)), [1, -1], 1.0)


@pytest.mark.filterwarnings('ignore::mr_elm.errors.ConvergenceWarning')
@pytest.mark.parametrize('rule', RULES)
def test_a_kernel_that_is_not_positive_is_warned_of_and_ends(rule):
    with pytest.warns(NumericalWarning, match='not positive'):
        problem = BoxQP(PrecomputedRows(-np.eye(2)), [1, -1], 1.0)
    assert np.isfinite(solve_dual(problem, rule, Settings(max_iter=50)).alpha).all()


@pytest.mark.parametrize('arguments', [{'eps': 0}, {'eps': -1}, {'max_iter': 0}, {'dtype': 'int8'}])
def test_bad_settings_are_refused(arguments):
    with pytest.raises(ValueError, match='expected '):
        Settings(**arguments)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="expected one of block, .*, found 'fast'"):
        solve_dual(BoxQP(PrecomputedRows(np.eye(2)), [1, -1], 1.0), 'fast')


def test_nothing_is_compiled_before_a_rule_is_asked_for():
    code = (
        'import sys, mr_elm.model.file, mr_elm.cli, mr_elm.cli.train, mr_elm.cli.score, mr_elm.solvers.choose_solver, '
        'mr_elm.solvers.ridge, mr_elm.solvers.multiclass; sys.exit("numba" in sys.modules)'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_a_block_may_be_solved_by_the_last_pair_step_that_it_is_allowed():
    a, g, upper = np.zeros(1), -np.ones(1), np.full(1, 0.1)
    minimise_block(BoxBlock(np.eye(1), a, g, upper, np.ones(1)), 1e-9, Effort(np.inf, 0.1, 3, 1, 1))
    assert (a[0], g[0]) == (0.1, pytest.approx(-0.9))

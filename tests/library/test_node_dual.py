"""The dual over explicit nodes: coordinate descent that keeps the output weights."""

import numpy as np
import pytest
from reference import dual as twin
from sklearn.svm import LinearSVC

from mr_elm.errors import ConvergenceWarning
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.solvers.box import Settings
from mr_elm.solvers.choose_solver import RULES
from mr_elm.solvers.coordinate import solve_node_dual, solve_node_rows

TIGHT = Settings(eps=1e-6)


def node_outputs(n=400, d=5, n_hidden=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    t = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    layer = HiddenLayer('sigmoid', *draw_nodes('sigmoid', n_hidden, d, seed, 2.0), np.zeros(d), np.ones(d))
    return layer.evaluate(X, np.empty((n, n_hidden))), t


@pytest.mark.parametrize('C', [0.01, 1, 100])
def test_it_is_liblinear_without_an_intercept(C):
    H, t = node_outputs()
    found = solve_node_dual(H, t, C, settings=TIGHT)
    oracle = LinearSVC(loss='hinge', fit_intercept=False, C=C, tol=1e-8, max_iter=1_000_000, random_state=0).fit(H, t)
    w = oracle.coef_[0]
    primal = 0.5 * w @ w + C * np.maximum(0, 1 - t * (H @ w)).sum()
    assert primal * (1 - 1e-4) <= -found.objective <= primal * (1 + 1e-9)
    assert np.allclose(H @ found.beta, H @ w, rtol=0, atol=0.02)


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('C', [0.1, 10])
def test_it_agrees_with_every_rule_of_kernels(rule, C):
    H, t = node_outputs(150, n_hidden=20, seed=1)
    by_descent, by_rule = solve_node_dual(H, t, C, settings=TIGHT), solve_node_rows(H, t, C, None, TIGHT, rule)
    assert by_descent.objective == pytest.approx(by_rule.objective, rel=1e-9)
    for found in (by_descent, by_rule):
        assert np.allclose(H @ found.beta, by_descent.decision, rtol=0, atol=1e-5)


def test_its_certificate_holds():
    H, t = node_outputs(200, seed=2)
    weights = np.random.default_rng(0).uniform(0, 2, 200)
    found = solve_node_dual(H, t, 3.0, weights, TIGHT)
    Q, upper = twin.signed(H @ H.T, t), 3 * weights
    assert twin.kkt_residual(Q, found.alpha, upper) <= 1.1e-6
    assert found.gap == pytest.approx(twin.gap(Q, found.alpha, upper), abs=1e-8 * abs(found.objective))
    assert found.objective == pytest.approx(twin.objective(Q, found.alpha), rel=1e-10)
    assert np.allclose(found.beta, H.T @ (found.alpha * t), atol=1e-10)
    assert np.allclose(found.decision, H @ found.beta, atol=1e-10)


def test_a_row_of_zeros_goes_to_its_bound():
    H = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 1.0]])
    assert solve_node_dual(H, [1, 1, -1], 2.0, settings=TIGHT).alpha[0] == 2.0


def test_it_warns_when_it_stops_early_and_reports_on_its_way():
    H, t = node_outputs(300, seed=4)
    said = []
    with pytest.warns(ConvergenceWarning, match='duality gap is'):
        solve_node_dual(H, t, 1000.0, settings=Settings(max_iter=3, report=lambda *news: said.append(news)))
    assert [n for n, *_ in said] == [1, 2, 3]


@pytest.mark.parametrize('C, targets', [(0, [1, -1]), (1, [1, 0]), (1, [1])])
def test_bad_problems_are_refused(C, targets):
    with pytest.raises(ValueError, match='expected'):
        solve_node_dual(np.eye(2), targets, C)

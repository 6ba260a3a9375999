"""The small machines of all pairs of classes, solved in one loop, against independent answers for each alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual as twin

from mr_elm.estimators import SparseELMClassifier, SphereSVMClassifier
from mr_elm.features.kernel_rows import KernelRows, PrecomputedRows, kernel_rows
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import make_kernel
from mr_elm.machines.dual import BoxMachine, SphereMachine
from mr_elm.machines.pairs import ClassScheme, fit_machines, fit_pairs
from mr_elm.solvers import pairs
from mr_elm.solvers.box import Settings
from mr_elm.solvers.pairs import solve_small_machines

COUNTS = [3, 150, 40, 1, 260, 90]


@pytest.fixture(scope='module')
def rows():
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(len(COUNTS)), COUNTS))
    return rng.standard_normal((len(codes), 5)) + 0.4 * codes[:, None], codes


def machines_alone(source, codes, machine, weights=None):
    def solve(members, targets):
        return machine.solve(source.take(members), targets, None if weights is None else weights[members])

    return fit_machines(codes, ClassScheme(len(COUNTS)), solve), solve


@pytest.mark.parametrize('C', [0.5, 10, 1000])
def test_every_machine_has_the_certificate_that_float64_values_give(rows, C):
    X, codes = rows
    found = solve_small_machines(
        kernel_rows(X, make_kernel('gaussian', gamma=0.2)), codes, np.full(len(X), float(C)), Settings()
    )
    assert not len(found.unsolved)
    for number, (members, t) in enumerate(ClassScheme(len(COUNTS)).list_machines(codes)):
        Q, upper = twin.signed(twin.gaussian(X[members], X[members], 0.2), t), np.full(len(t), float(C))
        result = found.make_result(number)
        assert result.violation <= 1e-3
        assert result.violation == pytest.approx(twin.kkt_residual(Q, result.alpha, upper), abs=1e-9)
        assert result.gap == pytest.approx(twin.gap(Q, result.alpha, upper), abs=1e-7 * abs(result.objective))
        assert result.objective == pytest.approx(twin.objective(Q, result.alpha), rel=1e-9)
        assert np.allclose(result.decision, t * (Q @ result.alpha), rtol=0, atol=1e-9)


@pytest.mark.parametrize('weighted', [False, True])
@pytest.mark.parametrize(
    'make',
    [lambda: BoxMachine(5.0, 'block', Settings(eps=1e-7)), lambda: SphereMachine(5.0, 'exact', Settings(eps=1e-7))],
)
def test_machines_together_are_machines_alone(rows, make, weighted):
    X, codes = rows
    source, machine = kernel_rows(X, make_kernel('gaussian', gamma=0.2)), make()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    alone, solve = machines_alone(source, codes, machine, weights)
    together = fit_pairs(machine.solve_pairs(source, codes, weights), solve)
    scores = [
        source.tile(np.arange(len(X)), found.support) @ found.dual_coef + found.intercept for found in (together, alone)
    ]
    assert np.allclose(*scores, rtol=0, atol=1e-5)
    for one, other in zip(together.results, alone.results, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
        assert np.allclose(one.decision, other.decision, rtol=0, atol=1e-5)
        assert one.converged and one.intercept == pytest.approx(other.intercept, abs=1e-5)


@pytest.mark.parametrize('kind, rule', [(BoxMachine, 'block'), (SphereMachine, 'exact')])
def test_a_reducer_trains_the_machine_of_one_pair_as_an_estimator_trains_it_among_all(rows, kind, rule):
    X, codes = rows
    source, machine = kernel_rows(X, make_kernel('gaussian', gamma=0.2)), kind(5.0, rule, Settings())
    small = machine.solve_pairs(source, codes)
    for number, (members, targets) in enumerate(ClassScheme(len(COUNTS)).list_machines(codes)):
        alone = machine.solve_alone(source.take(members), targets, np.ones(len(members)))
        assert alone.n_iter == small.make_result(number).n_iter
        assert np.allclose(alone.alpha, small.make_result(number).alpha, rtol=0, atol=1e-9)


def test_rows_of_one_class_and_rows_that_do_not_train_are_left_to_another_solver(rows):
    source, n = kernel_rows(rows[0][:50], make_kernel('gaussian', gamma=0.2)), 50
    for machine in (BoxMachine(5.0, 'block', Settings()), SphereMachine(5.0, 'exact', Settings())):
        assert machine.solve_alone(source, np.ones(n), None).converged
    assert machine.solve_pairs(source, np.arange(n) % 2, np.zeros(n)).unsolved.tolist() == [0]


def test_large_machines_and_unsolved_ones_are_left_to_another_solver(rows, monkeypatch):
    X, codes = rows
    source, machine = kernel_rows(X, make_kernel('gaussian', gamma=0.2)), BoxMachine(5.0, 'block', Settings())
    monkeypatch.setattr(pairs, 'MAX_ROWS', 200)
    small = machine.solve_pairs(source, codes)
    sizes = [COUNTS[i] + COUNTS[j] for i in range(6) for j in range(i + 1, 6)]
    assert small.unsolved.tolist() == [p for p, size in enumerate(sizes) if size > 200]
    asked = []
    joined = fit_pairs(small, lambda members, t, _: asked.append(len(t)) or machine.solve(source.take(members), t))
    assert asked == [size for size in sizes if size > 200]
    assert all(result.converged for result in joined.results)


@pytest.mark.parametrize(
    'make, kind, rule', [(SparseELMClassifier, BoxMachine, 'block'), (SphereSVMClassifier, SphereMachine, 'exact')]
)
def test_a_machine_that_was_given_up_is_not_begun_again(rows, make, kind, rule, monkeypatch):
    X, codes = rows
    begun, solve = [], pairs.solve_machine
    monkeypatch.setattr(pairs, 'MAX_ROUNDS', 1)
    monkeypatch.setattr(pairs, 'solve_machine', lambda *given: (begun.append(1), solve(*given))[1])
    make(C=1000.0, rule=rule).fit(X, codes)
    assert sum(begun) == len(COUNTS) * (len(COUNTS) - 1) // 2
    begun.clear()
    pair = np.flatnonzero((codes == 1) | (codes == 4))
    source, targets = kernel_rows(X[pair], make_kernel('gaussian', gamma=0.2)), np.where(codes[pair] == 1, -1.0, 1.0)
    assert kind(1000.0, rule, Settings()).solve_alone(source, targets, None).converged
    assert begun == [1]


def test_every_source_gives_the_same_tile(rows):
    X = rows[0]
    kernel, some, others = make_kernel('laplacian', sigma=2.0), np.array([5, 1, 300]), np.arange(40, 60)
    expected = compute_kernel(X, X, kernel)[np.ix_(some, others)]
    for source in (
        kernel_rows(X, kernel),
        KernelRows(sp.csr_matrix(X), kernel),
        PrecomputedRows(compute_kernel(X, X, kernel)),
    ):
        assert np.allclose(source.tile(some, others), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize('C', [0.5, 5])
@pytest.mark.parametrize('d', [3, 20, 70])
@pytest.mark.parametrize('kind', ['gaussian', 'laplacian', 'polynomial', 'sparse', 'ready'])
def test_the_machine_of_two_classes_has_the_certificate_that_float64_values_give(kind, d, C):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((300, d)) / np.sqrt(d)
    codes = (X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(300) / d > 0).astype(int)
    given = {'laplacian': {'sigma': 1.0}, 'polynomial': {'degree': 2}}.get(kind, {'gamma': 1.0})
    kernel = make_kernel(kind if kind in ('laplacian', 'polynomial') else 'gaussian', **given)
    K = compute_kernel(X, X, kernel)
    source = {'sparse': KernelRows(sp.csr_matrix(X), kernel), 'ready': PrecomputedRows(K)}.get(kind)
    found = solve_small_machines(source or kernel_rows(X, kernel), codes, np.full(300, float(C)), Settings())
    Q, result = twin.signed(K, 2.0 * codes - 1), found.make_result(0)
    assert not len(found.unsolved) and result.violation <= 1e-3
    assert result.violation == pytest.approx(twin.kkt_residual(Q, result.alpha, np.full(300, float(C))), abs=1e-8)
    assert result.objective == pytest.approx(twin.objective(Q, result.alpha), rel=1e-9)

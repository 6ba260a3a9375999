"""A regression does not depend on where zero is, nor on the unit of its targets: labels a + b t give a + b f."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from mr_elm.estimators import ELMRegressor, ESVMRegressor, KernelELMRegressor, to_estimator
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.model.file import read_model
from mr_elm.solvers.centred import CentredTargets, choose_units
from mr_elm.sums.gram import GridSteps, bound_targets

N, TRAINED = 160, 120
PLACES = [(2005, 5), (1e6, 1e3), (1e6, 1e-3), (-3e8, 1.0), (0, 1e-9)]  # a, b of labels a + b t
GAMMA = 0.3
SIGMA = (0.5 / GAMMA) ** 0.5


@pytest.fixture(scope='module')
def rows():
    """Draw rows: X, targets t of mean 0.3 or so, weights."""
    rng = np.random.default_rng(8)
    X = rng.uniform(-2, 2, (N, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N) + 0.3, rng.uniform(0.2, 3, N)


ESTIMATORS = {
    'pesvm': ESVMRegressor(n_hidden=60, nu=10),
    'linear': ESVMRegressor('identity'),
    'rbf': ESVMRegressor('rbf'),
    'metric': ESVMRegressor(n_hidden=40, metric='full'),
    'elm': ELMRegressor(n_hidden=60, C=10),
    'kelm': KernelELMRegressor(sigma=SIGMA, C=100),
    'kelm svd': KernelELMRegressor(solver='svd'),
    'kelm cg': KernelELMRegressor(solver='cg', tol=1e-10),
}


@pytest.mark.parametrize('name', ESTIMATORS)
def test_labels_of_a_plus_b_t_give_a_plus_b_f(name, rows):
    X, t, w = rows
    estimator, some = ESTIMATORS[name], slice(TRAINED)
    plain = clone(estimator).fit(X[some], t[some], w[some])
    assert plain.score(X[some], t[some]) > 0
    for a, b in PLACES:
        far = clone(estimator).fit(X[some], a + b * t[some], w[some])
        bound = 1e-7 * b + 4 * np.spacing(abs(a))
        np.testing.assert_allclose(far.predict(X), a + b * plain.predict(X), rtol=0, atol=bound)


def test_the_closed_form_is_of_targets_less_their_weighted_mean(rows):
    """E is not centred, T alone is: the bias is penalised, the mean is not."""
    X, t, w = rows
    found = ESVMRegressor(n_hidden=50, nu=3, scale='none').fit(X, t, w)
    E = np.c_[1 / (1 + np.exp(-X @ found.layer_.weights.T - found.layer_.biases)), -np.ones(N)]
    m = np.average(t, weights=w)
    B = np.linalg.solve(E.T @ (w[:, None] * E) + np.eye(51) / 3, E.T @ (w * (t - m)))
    np.testing.assert_allclose(found.predict(X), m + E @ B, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.model_.arrays['output_weights'][:, 0], B - np.append(np.zeros(50), m), atol=1e-9)


def test_scikit_learn_on_centred_targets_agrees(rows):
    X, t, w = rows
    m = np.average(t, weights=w)
    ridge = KernelRidge(alpha=0.1, kernel='rbf', gamma=GAMMA).fit(X, t - m, sample_weight=w)
    known = {'sigma': SIGMA, 'C': 10, 'scale': 'none'}
    found = KernelELMRegressor(**known).fit(X, t, w)
    np.testing.assert_allclose(found.predict(X), m + ridge.predict(X), rtol=0, atol=1e-9)
    nodes = ELMRegressor(n_hidden=30, C=10, scale='none').fit(X, t, w)
    H = 1 / (1 + np.exp(-X @ nodes.model_.layer.weights.T - nodes.model_.layer.biases))
    ridge = Ridge(alpha=0.1, fit_intercept=False, solver='cholesky').fit(H, t - m, sample_weight=w)
    np.testing.assert_allclose(nodes.predict(X), m + ridge.predict(H), rtol=0, atol=1e-8)


def test_without_centring_the_mean_is_penalised_as_in_the_papers(rows):
    X, t, w = rows
    ridge = KernelRidge(alpha=0.1, kernel='rbf', gamma=GAMMA).fit(X, t + 9, sample_weight=w)
    known = {'sigma': SIGMA, 'C': 10, 'scale': 'none', 'center': False}
    found = KernelELMRegressor(**known).fit(X, t + 9, w)
    np.testing.assert_allclose(found.predict(X), ridge.predict(X), rtol=0, atol=1e-9)
    found = ESVMRegressor(n_hidden=50, nu=3, scale='none', center=False).fit(X, t + 9, w)
    E = np.c_[1 / (1 + np.exp(-X @ found.layer_.weights.T - found.layer_.biases)), -np.ones(N)]
    B = np.linalg.solve(E.T @ (w[:, None] * E) + np.eye(51) / 3, E.T @ (w * (t + 9)))
    np.testing.assert_allclose(found.predict(X), E @ B, rtol=0, atol=1e-9)
    assert found.model_.header.parameters['center'] is False and 'origin' not in found.model_.header.parameters


@pytest.mark.parametrize('a, b', PLACES)
def test_the_mean_follows_the_rows_that_come_and_leave(rows, a, b, tmp_path):
    """Parts of other means: the model is that of a fit on the rows that are left."""
    X, t, w = rows
    y = a + b * (t + np.repeat([0, 40, -7, 5], 40))
    parts = [slice(start, start + 40) for start in range(0, N, 40)]
    nodes = {'n_hidden': 30, 'scale': 'none', 'weights': 'uniform'}  # the same nodes, whatever the rows are
    machine = ESVMRegressor(**nodes).fit(X[parts[0]], y[parts[0]], w[parts[0]])
    machine.partial_fit(X[parts[1]], y[parts[1]], w[parts[1]])
    machine.to_model().save(tmp_path / 'm.npz')
    machine = to_estimator(read_model(tmp_path / 'm.npz', sums=True))
    other = ESVMRegressor(**nodes).fit(X[80:], y[80:], w[80:])
    assert machine.model_.header.parameters['origin'] != other.model_.header.parameters['origin']
    machine.merge(other).forget(X[parts[0]], y[parts[0]], w[parts[0]])
    whole = ESVMRegressor(**nodes).fit(X[40:], y[40:], w[40:])
    np.testing.assert_allclose(machine.predict(X), whole.predict(X), rtol=0, atol=1e-7 * b + 4 * np.spacing(abs(a)))


@pytest.mark.parametrize(
    'estimator',
    [ESVMRegressor(n_hidden=20, scale='none'), ELMRegressor(n_hidden=20), KernelELMRegressor()],
    ids=lambda each: type(each).__name__,
)
def test_rows_of_weight_0_do_not_count(estimator):
    """Neither in the mean nor in the grid, not even where a whole block of 4096 rows has no weight."""
    n, m = (4500, 4200) if isinstance(estimator, ESVMRegressor) else (300, 200)
    rng = np.random.default_rng(3)
    X, weights = np.tile(rng.normal(size=(100, 2)), (n // 100, 1)), np.where(np.arange(n) < m, 0.0, 1.0)
    t = np.where(weights > 0, 1e6 + X[:, 0] ** 2, 1e12)
    found, alone = clone(estimator).fit(X, t, weights), clone(estimator).fit(X[m:], t[m:])
    np.testing.assert_allclose(found.predict(X), alone.predict(X), rtol=0, atol=1e-7)


def test_machines_that_center_and_that_do_not_are_not_merged(rows):
    X, t, _ = rows
    one, other = (ESVMRegressor(center=center).fit(X, t) for center in (True, False))
    with pytest.raises(ValueError, match='expected targets counted from their mean as in'):
        one.merge(other)


@pytest.mark.parametrize('solver', ['cholesky', 'svd'])
@pytest.mark.parametrize('weighted', [False, True])
def test_leave_one_out_of_the_kernel_machine_leaves_the_label_out_of_the_mean(rows, solver, weighted):
    X, t, w = (part[:40] for part in rows)
    t, w = t + 3, w if weighted else None
    machine = KernelELMRegressor(sigma=SIGMA, C=5, solver=solver, scale='none', leave_one_out=True)
    found = clone(machine).fit(X, t, w).loo_residuals_[:, 0]
    for i in range(40):
        others = np.arange(40) != i
        left = clone(machine).fit(X[others], t[others], None if w is None else w[others])
        assert found[i] == pytest.approx(t[i] - left.predict(X[i : i + 1])[0], abs=1e-10)


@pytest.mark.parametrize('weighted', [False, True])
def test_intervals_are_of_errors_of_machines_that_have_not_seen_the_row(rows, weighted):
    X, t, w = (part[:40] for part in rows)
    t, w = t + 3, w if weighted else np.ones(40)
    machine = ESVMRegressor(n_hidden=15, nu=10, scale='none', weights='uniform')  # which do not follow the rows
    errors = []
    for i in range(40):
        others = np.arange(40) != i
        errors.append(t[i] - clone(machine).fit(X[others], t[others], w[others]).predict(X[i : i + 1])[0])
    whole = clone(machine).fit(X, t, w)
    E = np.c_[1 / (1 + np.exp(-X @ whole.layer_.weights.T - whole.layer_.biases)), -np.ones(40)]
    h = w * np.einsum('ij,ij->i', E, np.linalg.solve(E.T @ (w[:, None] * E) + np.eye(16) / 10, E.T).T)
    arrays = clone(machine).set_params(intervals=True).fit(X, t, w).model_.arrays
    for name, growth in (('interval_residuals', 1), ('interval_ratios', np.sqrt(1 + h / w / (1 - h)))):
        sizes = np.abs(errors) / growth
        shares = np.array([w[sizes <= size].sum() / w.sum() for size in sizes])  # of the weight, not of the rows
        expected = [sizes[shares >= k / 40 - 1e-9].min() for k in range(1, 41)]
        np.testing.assert_allclose(arrays[name], expected, rtol=1e-9)


@pytest.mark.parametrize('name', ['pesvm', 'elm', 'kelm', 'kelm cg'])
def test_several_targets_of_all_places_and_sizes_are_single_ones(name, rows):
    X, t, w = rows
    others = np.cos(X[:, 0] * X[:, 2])
    Y = np.column_stack([t, 1e6 + 1e3 * others, np.full(N, 0.1), 1e-4 * others, -20 + t * others])
    estimator = ESTIMATORS[name]
    found = clone(estimator).fit(X, Y, w).predict(X)
    for k in range(Y.shape[1]):
        alone = clone(estimator).fit(X, Y[:, k], w).predict(X)
        bound = 1e-7 * Y[:, k].std() + 4 * np.spacing(np.abs(Y[:, k]).max())
        np.testing.assert_allclose(found[:, k], alone, rtol=0, atol=bound)
    np.testing.assert_allclose(found[:, 2], 0.1, rtol=1e-15)


@pytest.mark.parametrize(
    'estimator',
    [ESVMRegressor('tanh', n_hidden=300, scale='none'), ELMRegressor(n_hidden=200), KernelELMRegressor('laplacian')],
    ids=lambda each: type(each).__name__,
)
def test_the_mean_is_added_in_one_rounding(estimator, rows):
    """Added among the terms of a product, numbers near 1e6 would round all partial sums."""
    X, t, _ = rows
    model = clone(estimator).fit(X, 1e6 + 1e-3 * t).model_
    if isinstance(estimator, ESVMRegressor | ELMRegressor):
        B = model.arrays['output_weights'][:, 0]
        E, A, mean = model.layer.evaluate(X, np.empty((N, model.layer.n_hidden))), B[:-1], -B[-1]
    else:
        Z = model.scale(X)
        E, A, mean = compute_kernel(Z, Z, model.kernel), model.arrays['dual_coef'][:, 0], model.arrays['intercept'][0]
    exact = [Fraction(mean) + Fraction(math.fsum(e * A)) for e in E]
    found = model.decision_function(X)[:, 0]
    off = [abs(float(Fraction(one) - other)) for one, other in zip(found, exact, strict=True)]
    assert max(off) <= 0.501 * np.spacing(1e6)


def test_means_and_units_of_targets():
    rng = np.random.default_rng(0)
    t, w = rng.normal(size=(30, 2)) * [1e-3, 5] + [1e6, 0], rng.uniform(0.1, 2, 30)
    found = CentredTargets.of(t, w)
    exact = [
        [
            float(
                sum(a * b for a, b in zip(map(Fraction, w), map(Fraction, t[:, k])))  # noqa: B905
                / sum(map(Fraction, w))
            )
        ]
        for k in range(2)
    ]
    np.testing.assert_allclose(found.mean[:, None], exact, rtol=2e-16)
    assert np.abs(w @ found.T).max() < 1e-12
    assert (np.log2(found.units) == np.round(np.log2(found.units))).all()
    assert (found.T.std(axis=0) > 0.5).all() and (found.T.std(axis=0) < 2).all()
    for i in (0, 7):
        others = np.arange(30) != i
        moved = np.average(t[others], axis=0, weights=w[others]) - found.mean
        np.testing.assert_allclose(found.moves[i] * found.units, moved, rtol=1e-6, atol=1e-9)
    assert choose_units(np.array([0.0, 1.0, 3.0])).tolist() == [1, 1, 4]
    assert CentredTargets.of(np.full((3, 1), 0.1)).mean.tolist() == [0.1]


def test_grids_follow_the_distance_from_the_origin():
    assert bound_targets(np.array([-3.0]), np.array([2.0])) == 3
    assert bound_targets(np.array([1e3]), np.array([1e3 + 1]), (1e3,)) == 1
    assert bound_targets(np.array([1e6]), np.array([1e6]), (1e6,)) == 1e6 / 2**20
    steps = GridSteps.of(1.0, 2.0, 1.0, (5.0, 6.0))
    assert GridSteps.from_json(steps.to_json()) == steps and steps.shift(np.array([[5.0, 7.0]])).tolist() == [[0, 1]]
    one, other = GridSteps(4.0, 1.0, 2.0, (5.0,)), GridSteps(1.0, 2.0, 8.0, (5.0,))
    assert one.finer(other) == GridSteps(1.0, 1.0, 2.0, (5.0,))
    assert one.coarser(other) == GridSteps(4.0, 2.0, 8.0, (5.0,))
    plain = GridSteps.of(1.0, 2.0)
    assert GridSteps.from_json(plain.to_json()) == plain and len(plain.to_json()) == 3 and not plain.centres

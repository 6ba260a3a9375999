"""The metric of the features: average gradient outer products, what they find, and layers behind a metric."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.errors import ModelFormatError
from mr_elm.features.gradients import average_gradients, make_metric
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.metric import FeatureColumns, apply_metric, choose_kind
from mr_elm.features.nodes import LANDMARK_NODES, NODES, draw_nodes
from mr_elm.machines.metric import N_FOLDS, fit_nodes, learn_metric, learn_steps
from mr_elm.machines.sample import SampleRows
from mr_elm.model.file import read_model, save_model
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import kernel_arrays, layer_arrays, scaling_arrays
from mr_elm.parallel import using_threads
from mr_elm.scores.selection import METRIC_FOLD, fold_numbers
from mr_elm.sums.gram import expand

D, L, N, K = 4, 12, 60, 3
SMOOTH = sorted(set(NODES) - {'hardlimit', 'relu'})
METRICS = {
    'none': None,
    'diagonal': np.array([1.5, 0.5, 0.0, 2.0]),
    'full': np.array([[1.0, 0.3, 0.0, -0.5], [0.2, 0.0, 1.1, 0.4]]),
}


def make_rows(n=N, d=D):
    return np.random.default_rng(0).standard_normal((n, d)) * 1.3 + 0.2


def make_layer(kind, d=D, n_hidden=L, metric=None):
    rng = np.random.default_rng(1)
    drawn = 'rbf' if kind == 'nystrom' else kind
    layer = HiddenLayer(kind, *draw_nodes(drawn, n_hidden, d, seed=2), rng.normal(size=d), rng.uniform(0.5, 2, d))
    return layer.pass_metric(metric)


def evaluate(layer, X):
    return layer.evaluate(X, np.empty((X.shape[0], layer.n_hidden)))


def gradients_by_differences(layer, X, B, step=1e-5):
    """Return the gradient of each output at each row by z, (n, K, d), from values on both sides of it."""
    found = np.empty((len(X), B.shape[1], X.shape[1]))
    for j in range(X.shape[1]):
        move = np.zeros(X.shape[1])
        move[j] = step / layer.scale[j]  # z moves by `step`
        found[:, :, j] = (evaluate(layer, X + move) - evaluate(layer, X - move)) @ B / (2 * step)
    return found


@pytest.mark.parametrize('metric', METRICS)
@pytest.mark.parametrize('kind', SMOOTH)
def test_the_average_gradient_outer_product_is_that_of_finite_differences(kind, metric):
    X, layer = make_rows(), make_layer(kind, metric=METRICS[metric])
    B = np.random.default_rng(3).standard_normal((layer.n_hidden, K))
    gradients = gradients_by_differences(layer, X, B)
    weights = np.random.default_rng(4).uniform(0.1, 3, N)
    for w in (None, weights):
        expected = np.einsum('n,nki,nkj->ij', np.ones(N) / N if w is None else w / w.sum(), gradients, gradients)
        scale = np.abs(expected).max()
        for rows in (X, sp.csr_matrix(X)):
            assert np.allclose(average_gradients(layer, rows, B, True, w), expected, rtol=1e-6, atol=1e-7 * scale)
            assert np.allclose(
                average_gradients(layer, rows, B, False, w), expected.diagonal(), rtol=1e-6, atol=1e-7 * scale
            )


@pytest.mark.parametrize('kind', ['tanh', 'rbf', 'laplacian'])
def test_slopes_and_gradients_of_blocks_of_rows_add_up(kind, monkeypatch):
    X, layer = make_rows(), make_layer(kind)
    B, weights = np.ones((L, K)), np.random.default_rng(4).uniform(0.1, 3, N)
    whole = average_gradients(layer, X, B, True, weights)
    monkeypatch.setattr('mr_elm.features.gradients.BLOCK_NUMBERS', 7 * L)
    assert np.allclose(average_gradients(layer, X, B, True, weights), whole, rtol=1e-12)


@pytest.mark.parametrize('kind', ['tanh', 'rbf'])
def test_it_is_the_sum_over_nodes_and_rows_one_by_one(kind):
    X, layer = make_rows(7), make_layer(kind, n_hidden=3, metric=METRICS['full'])
    B, A = np.random.default_rng(3).standard_normal((3, K)), METRICS['full']
    expected = np.zeros((D, D))
    for z in (X - layer.offset) * layer.scale:
        for k in range(K):
            gradient = np.zeros(D)
            for w, b, beta in zip(layer.weights, layer.biases, B[:, k], strict=True):
                if kind == 'tanh':
                    gradient += beta / np.cosh(w @ A @ z + b) ** 2 * A.T @ w
                else:
                    y = A @ z - w
                    gradient += beta * np.exp(-y @ y / b) * -2 / b * A.T @ y
            expected += np.outer(gradient, gradient) / 7
    assert np.allclose(average_gradients(layer, X, B, True), expected, rtol=1e-10)


def test_relu_has_the_slope_of_its_side():
    layer = HiddenLayer('relu', np.array([[2.0], [-3.0]]), np.zeros(2), np.zeros(1), np.ones(1))
    B, X = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0], [-2.0]])
    assert average_gradients(layer, X, B, True)[0, 0] == (4 + 9 + 9) / 3


def test_nodes_without_a_slope_learn_no_metric():
    with pytest.raises(ValueError, match='expected nodes with a slope to learn a metric by, found hardlimit'):
        average_gradients(make_layer('hardlimit'), make_rows(), np.ones((L, 1)), True)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_features_that_never_change_have_no_gradient(wrap):
    layer, X = make_layer('tanh'), make_rows()
    layer.scale[1], X[:, 2] = 0.0, 7.0
    G = average_gradients(layer, wrap(X), np.ones((L, 1)), True)
    assert np.array_equal(G.any(axis=0), [True, False, False, True])
    assert np.array_equal(average_gradients(layer, wrap(X), np.ones((L, 1)), False) > 0, [True, False, False, True])


@pytest.mark.parametrize('kind', NODES)
@pytest.mark.parametrize('metric', ['diagonal', 'full'])
def test_nodes_behind_a_metric_see_rows_that_passed_it(kind, metric):
    X, A = make_rows(), METRICS[metric]
    layer = make_layer(kind, metric=A)
    Z = apply_metric((X - layer.offset) * layer.scale, A)
    plain = HiddenLayer(kind, layer.weights, layer.biases, np.zeros(Z.shape[1]), np.ones(Z.shape[1]))
    for rows in (X, sp.csr_matrix(X)):
        assert np.allclose(evaluate(layer, rows), evaluate(plain, Z), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize('metric', ['diagonal', 'full'])
def test_nodes_stay_within_their_bound_behind_a_metric(metric):
    X = make_rows()
    for kind in ('relu', 'multiquadric', 'identity'):
        layer = make_layer(kind, metric=METRICS[metric])
        assert np.abs(evaluate(layer, X)).max() <= layer.bound(X.min(axis=0), X.max(axis=0))


def test_weights_turn_with_a_full_metric_and_do_not_grow_with_it():
    A = METRICS['full']
    turned = make_layer('tanh', metric=A).weights
    assert np.allclose(turned, make_layer('tanh').weights @ (A / np.sqrt((A**2).sum(axis=1))[:, None]).T)
    assert np.allclose(turned, make_layer('tanh', metric=[[3.0], [0.2]] * A).weights)


def test_no_metric_leaves_a_layer_as_it_is():
    layer = make_layer('tanh')
    assert layer.pass_metric(None) is layer


def test_a_metric_is_the_root_of_the_gradients_with_trace_d():
    root = np.random.default_rng(0).standard_normal((D, D))
    G = root @ root.T
    A = make_metric(G)
    assert np.allclose(A.T @ A, G * D / np.trace(G)) and np.isclose((A**2).sum(), D)
    assert np.allclose(make_metric(np.array([1.0, 4.0, 9.0])), np.array([1, 2, 3]) * np.sqrt(3 / 14))


@pytest.mark.parametrize('kind', ['diagonal', 'full'])
def test_rows_spread_behind_a_metric_as_far_as_before_it(kind):
    rng = np.random.default_rng(0)
    deviations = rng.uniform(0.1, 3, D)
    Z, root = rng.standard_normal((20_000, D)) * deviations, rng.standard_normal((D, D))
    G = root @ root.T
    A = make_metric(G if kind == 'full' else G.diagonal(), deviations**2)
    behind = Z @ A.T if kind == 'full' else Z * A
    assert behind.var(axis=0).sum() == pytest.approx((deviations**2).sum(), rel=0.05)


def test_a_full_metric_leaves_out_directions_that_hold_nearly_nothing():
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    G = turned * [5.0, 3.0, 1e-3, 1e-3] @ turned.T
    A = make_metric(G)
    assert A.shape == (2, D) and np.allclose(A.T @ A, G * D / 8, atol=1e-3)


def test_nothing_changes_without_gradients():
    assert make_metric(np.zeros(D)) is None and make_metric(np.zeros((D, D))) is None


def test_a_full_metric_becomes_diagonal_for_sparse_rows_and_many_features():
    assert choose_kind('full', 2000, False) == 'full'
    assert choose_kind('full', 2001, False) == choose_kind('full', 3, True) == 'diagonal'
    with pytest.raises(ValueError, match="expected one of none, diagonal, full, found 'round'"):
        choose_kind('round', 3, False)


# Learning


def make_sample(n=900, d=12, seed=0, turned=None):
    """Make rows of which three features say the class."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    codes = (X[:, 0] * X[:, 1] + X[:, 2] / 2 > 0).astype(int)
    return SampleRows.of(X if turned is None else X @ turned, codes, 2)


def plain_layer(kind, d, n_hidden=120, rows=None, turned=None):
    """Make a layer on rows as they are, whose weights are turned with them."""
    if kind in LANDMARK_NODES.values():
        W, b = rows[:n_hidden], np.full(n_hidden, 2.0 * d)
    else:
        W, b = draw_nodes(kind, n_hidden, d, seed=1)
        W = W if turned is None else W @ turned
    return HiddenLayer(kind, W, b, np.zeros(d), np.ones(d))


@pytest.mark.parametrize('kind', ['sigmoid', 'rbf', 'nystrom'])
def test_a_diagonal_metric_finds_the_features_that_matter(kind):
    rows = make_sample()
    layer = plain_layer(kind, 12, rows=rows.X)
    learned = learn_metric(layer, rows, 100.0, 'diagonal')
    metric = learned.metric
    assert learned.n_steps > 0 and learned.kind == 'diagonal' and sum(learned.importance.features[:3]) > 0.8
    test = make_sample(seed=1)
    errors = []
    for A in (None, metric):
        placed = layer.pass_metric(A)
        values = expand(placed, test.X) @ fit_nodes(placed, rows, 100.0)
        errors.append((np.sign(values) != test.T).mean())
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize('kind', ['tanh', 'nystrom', 'laplacian'])
def test_turned_rows_have_a_turned_metric_and_the_same_values(kind):
    Q = np.linalg.qr(np.random.default_rng(7).standard_normal((12, 12)))[0]
    known = FeatureColumns(np.zeros(12), np.ones(12), None, {})  # rotations keep these variances
    rows, turned = (replace(make_sample(400, turned=turn), training_columns=known) for turn in (None, Q))
    plain = list(learn_steps(plain_layer(kind, 12, rows=rows.X), rows, 10.0, 'full', 3))
    other = list(learn_steps(plain_layer(kind, 12, rows=turned.X, turned=Q), turned, 10.0, 'full', 3))
    for step, twin in zip(plain, other, strict=True):
        values, others = (expand(one.layer, X) @ one.output_weights for one, X in ((step, rows.X), (twin, turned.X)))
        assert np.allclose(values, others, atol=1e-5)
        if step.metric is not None:
            square = step.metric.T @ step.metric
            assert np.allclose(Q.T @ square @ Q, twin.metric.T @ twin.metric, atol=1e-6)


def test_step_0_is_the_layer_without_a_metric():
    rows = make_sample(100)
    first = next(learn_steps(plain_layer('tanh', 12), rows, 1.0, 'diagonal'))
    assert first.metric is None and first.layer.metric is None


def test_rows_that_judge_a_metric_do_not_shape_it():
    rows = make_sample(400)
    layer, held = plain_layer('tanh', 12), fold_numbers(rows.X, N_FOLDS, METRIC_FOLD) == 0
    learned = learn_metric(layer, rows, 1.0, 'diagonal')
    steps = list(learn_steps(layer, rows.take(~held), 1.0, 'diagonal'))
    errors = [
        (np.sign(expand(step.layer, rows.X[held]) @ step.output_weights) != rows.T[held]).mean() for step in steps
    ]
    assert errors[learned.n_steps] == min(errors) and np.array_equal(learned.metric, steps[learned.n_steps].metric)


def test_too_few_rows_teach_no_metric():
    assert learn_metric(plain_layer('tanh', 12), make_sample(1), 1.0, 'diagonal').metric is None


@pytest.mark.parametrize('weighted', [False, True])
def test_threads_learn_the_same_bits(monkeypatch, weighted):
    monkeypatch.setattr('mr_elm.machines.metric.BLOCK_ROWS', 32)
    monkeypatch.setattr('mr_elm.features.gradients.MAX_ROWS', 32)
    rows = make_sample(1000)
    rows = SampleRows(rows.X, rows.T, 2, np.random.default_rng(0).uniform(1, 3, 1000) if weighted else None)
    *_, alone = learn_steps(plain_layer('tanh', 12), rows, 1.0, 'full', 2)
    for n_threads in (1, 3):
        with using_threads(n_threads):
            *_, other = learn_steps(plain_layer('tanh', 12), rows, 1.0, 'full', 2)
        assert np.array_equal(alone.metric, other.metric)


def test_several_targets_share_a_metric():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 6))
    T = np.column_stack([np.sin(2 * X[:, 0]), X[:, 3] ** 2])
    learned = learn_metric(plain_layer('tanh', 6), SampleRows.of(X, T, 0), 100.0, 'diagonal')
    assert np.take(learned.importance.features, [0, 3]).sum() > 0.8


def test_rows_of_weight_2_count_as_two_rows():
    rows = make_sample(200)
    twice = SampleRows(np.repeat(rows.X, 2, axis=0), np.repeat(rows.T, 2, axis=0), 2)
    weighed = SampleRows(rows.X, rows.T, 2, np.full(200, 2.0))
    for one, other in zip(
        *(learn_steps(plain_layer('tanh', 12), sample, 1.0, 'diagonal', 2) for sample in (twice, weighed)), strict=True
    ):
        assert np.allclose(one.output_weights, other.output_weights, rtol=1e-7)


@pytest.mark.parametrize('kind', ['sigmoid', 'nystrom'])
def test_sparse_rows_learn_the_diagonal_metric_of_dense_ones(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 12)) < 0.4, rng.standard_normal((300, 12)), 0)
    codes = (X[:, 0] + X[:, 1] > 0).astype(int)
    layer = plain_layer(kind, 12, 60, rows=X)
    for wanted in ('diagonal', 'full'):
        sparse = [step.metric for step in learn_steps(layer, SampleRows.of(sp.csr_matrix(X), codes, 2), 1.0, wanted, 2)]
        dense = [step.metric for step in learn_steps(layer, SampleRows.of(X, codes, 2), 1.0, 'diagonal', 2)]
        assert all(np.allclose(a, b, rtol=1e-7) for a, b in zip(sparse[1:], dense[1:], strict=True))


# Models


def model_of_nodes(metric, kind='tanh'):
    layer = make_layer(kind, metric=metric)
    header = ModelHeader('pesvm', 'regression', [], D, {'map': kind, 'sigma': 1.0, 'metric': 'full'})
    return HiddenNodeModel(header, {**layer_arrays(layer), 'output_weights': np.ones((layer.n_hidden + 1, 1))})


def model_of_kernel(metric):
    vectors = apply_metric(make_rows(5), metric)
    header = ModelHeader('mr-kelm', 'regression', [], D, {'kernel': 'gaussian', 'sigma': 1.5, 'metric': 'diagonal'})
    return KernelModel(header, kernel_arrays(scaling_arrays(np.zeros(D), np.ones(D), metric), vectors, np.ones((5, 1))))


@pytest.mark.parametrize('metric', ['diagonal', 'full'])
@pytest.mark.parametrize('make', [model_of_nodes, model_of_kernel])
def test_a_model_file_keeps_the_metric_and_says_that_readers_need_it(make, metric, tmp_path, model_of):
    model, X = make(METRICS[metric]), make_rows()
    model.save(tmp_path / 'm.npz')
    header, arrays = model_of(tmp_path / 'm.npz')
    assert header['requires'] == ['metric'] and np.array_equal(arrays['feature_metric'], METRICS[metric])
    assert np.array_equal(read_model(tmp_path / 'm.npz').decision_function(X), model.decision_function(X))


@pytest.mark.parametrize('metric', ['diagonal', 'full'])
def test_a_kernel_behind_a_metric_compares_rows_that_passed_it(metric):
    A, X = METRICS[metric], make_rows()
    model = model_of_kernel(A)
    distances = apply_metric(X, A)[:, None] - apply_metric(make_rows(5), A)
    expected = np.exp(-(distances**2).sum(axis=2) / (2 * 1.5**2)).sum(axis=1)
    assert np.allclose(model.decision_function(X)[:, 0], expected)
    assert np.allclose(model.decision_function(sp.csr_matrix(X))[:, 0], expected)


@pytest.mark.parametrize('make', [model_of_nodes, model_of_kernel])
@pytest.mark.parametrize(
    'change',
    [
        {'feature_metric': None},
        {'feature_metric': np.ones(D + 1)},
        {'feature_metric': np.ones((0, D))},
        {'feature_metric': np.ones((2, D - 1))},
        {'feature_metric': np.ones((3, D))},
        {'feature_metric': np.full(D, np.nan)},
        {'feature_metric': np.array(1.0)},
    ],
)
def test_a_metric_that_does_not_fit_is_refused(make, change, tmp_path):
    model = make(METRICS['full'])
    arrays = {name: array for name, array in {**model.arrays, **change}.items() if array is not None}
    save_model(tmp_path / 'm.npz', model.header, arrays)
    with pytest.raises(ModelFormatError, match='m.npz: expected a whole model'):
        read_model(tmp_path / 'm.npz')


def test_a_metric_that_the_header_does_not_name_is_refused(tmp_path):
    model = model_of_nodes(METRICS['diagonal'])
    silent = replace(model.header, parameters={'map': 'tanh', 'sigma': 1.0})
    save_model(tmp_path / 'm.npz', silent, model.arrays)
    with pytest.raises(ModelFormatError, match='feature_metric where the header names a metric'):
        read_model(tmp_path / 'm.npz')

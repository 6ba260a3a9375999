"""A sample chooses machines: widths that fit, metrics that help, and no member that is clearly worse."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.machines.choose import (
    choose_candidates,
    choose_metric,
    climb,
    keep_members,
    list_kernels,
    median_scale,
    prepare_problem,
    refine_candidate,
)
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.sample import SampleRows
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.sums.summary import Summary


@dataclass(frozen=True)
class Found:
    """Stand for a candidate of which only the value counts."""

    value: float


def prepare(X, numbers, n_classes=2, n_hidden=100):
    """Return (problem, rows) of a sample."""
    rows = SampleRows.of(X, numbers, n_classes)
    summary = Summary(columns=ColumnStatistics.of(X), n_rows=len(X))
    return prepare_problem(NodeProblem(PESVMOptions(), summary, None), rows, n_hidden), rows


def draw_squares(n, rng, size=0.5):
    """Draw rows of a chessboard: (X, numbers). size : of a square."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, (np.floor(X / size).sum(axis=1) % 2).astype(int)


@pytest.mark.parametrize('top', [-9, -4, 0, 2, 7])
def test_a_search_goes_on_outwards_while_the_best_lies_at_an_edge(top):
    tried = []
    best = climb(lambda k: tried.append(k) or Found(-abs(k - top)), (0, -1, 1), 6)
    assert best.value == -abs(np.clip(top, -6, 6) - top)
    assert len(tried) == len(set(tried)) and max(map(abs, tried)) <= 6


def test_smaller_squares_want_narrower_kernels(rng):
    scales = []
    for size in (1.0, 0.25):
        problem, rows = prepare(*draw_squares(400, rng, size))
        gaussian = choose_candidates(problem, rows)[0]
        scales.append(gaussian.problem.options.weight_scale)
        assert gaussian.problem.options.map == 'nystrom'
    assert scales[1] > 1.5 * scales[0]


@pytest.mark.parametrize(
    'kernel, norm, ones', [('gaussian', 2, np.sqrt(5)), ('laplacian', 2, np.sqrt(5)), ('product-laplacian', 1, 5)]
)
def test_the_first_width_is_the_median_distance_whatever_the_scale_of_the_rows(rng, kernel, norm, ones):
    X = rng.normal(size=(200, 5))
    problem, _ = prepare(X, np.arange(200) % 2)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    distances = np.linalg.norm(Z[:, None] - Z, norm, axis=2)[np.triu_indices(200, 1)]
    scale = median_scale(problem, kernel)
    assert scale == pytest.approx(ones / np.median(distances), rel=1e-9)
    assert median_scale(prepare(1e6 * X + 7, np.arange(200) % 2)[0], kernel) == pytest.approx(scale, rel=1e-6)


def test_products_of_laplacians_are_for_rows_of_some_features(rng):
    X, numbers = draw_squares(100, rng)
    problem, rows = prepare(X, numbers)
    assert [
        each.problem.options.kernel
        for each in choose_candidates(problem, rows)
        if each.problem.options.map == 'nystrom'
    ] == [
        'gaussian',
        'laplacian',
        'product-laplacian',
    ]
    wide = rng.normal(size=(100, 501))
    assert list_kernels(SampleRows.of(wide, numbers, 2)) == ['gaussian', 'laplacian']
    for few in wide[:, :500], sp.csr_matrix(wide[:, :100]):
        assert len(list_kernels(SampleRows.of(few, numbers, 2))) == 3


def test_features_that_count_one_by_one_want_the_product_of_laplacians(rng):
    X = rng.normal(size=(400, 8))
    problem, rows = prepare(X, (np.sign(X).sum(axis=1) + np.sign(X[:, 0]) > 0).astype(int), n_hidden=300)
    values = {each.problem.options.kernel: each.value for each in choose_candidates(problem, rows)[:3]}
    assert values['product-laplacian'] > max(values['gaussian'], values['laplacian'])


def test_a_machine_is_dropped_only_where_it_is_clearly_worse(rng):
    problem, rows = prepare(*draw_squares(300, rng))
    best, *_ = choose_candidates(problem, rows)
    right = np.where(rows.find_right(best.values))[0]
    few, many = best.values.copy(), best.values.copy()
    few[right[:2]] *= -1
    many[right[:60]] *= -1
    others = [replace(best, values=values, value=rows.judge(values)) for values in (few, many)]
    assert keep_members([others[1], others[0], best], rows) == [best, others[0]]


def test_a_metric_is_learned_where_most_features_are_noise(rng):
    X = rng.normal(size=(600, 12))
    problem, rows = prepare(X, (X[:, 0] * X[:, 1] > 0).astype(int), n_hidden=200)
    base = choose_candidates(problem, rows)[1]
    learned = choose_metric(problem, rows, base)
    assert sum(learned.problem.learned.importance.columns[:2]) > 0.7 and learned.problem.learned.n_steps > 0
    wrong = [1 - rows.find_right(each.values).mean() for each in (base, learned)]
    assert wrong[1] < 0.6 * wrong[0]
    assert keep_members([base, learned], rows) == [learned]


@pytest.mark.parametrize('n, d', [(30, 5), (200, 1)])
def test_few_rows_and_a_single_feature_learn_no_metric(rng, n, d):
    problem, rows = prepare(rng.normal(size=(n, d)), np.arange(n) % 2)
    assert choose_metric(problem, rows, choose_candidates(problem, rows)[0]) is None


def test_more_landmarks_take_a_narrower_kernel(rng):
    n = 700
    problem, rows = prepare(*draw_squares(n, rng, 0.2), n_hidden=50)
    first = choose_candidates(problem, rows)[1]
    more = refine_candidate(first, rows, n)
    assert more.layer.n_hidden == n and more.value > first.value
    assert more.problem.options.weight_scale >= first.problem.options.weight_scale


def test_numbers_are_judged_by_their_error_alone(rng):
    X = rng.normal(size=(200, 3))
    problem, rows = prepare(X, np.sin(2 * X[:, 0]), 0)
    for each in choose_candidates(problem, rows):
        assert each.value == pytest.approx(-np.sqrt(((each.values - rows.T) ** 2).mean()))
        assert each.value > -0.5  # deviations of the numbers

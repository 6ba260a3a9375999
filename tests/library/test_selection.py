"""Cross-validation over one kernel matrix is what training and testing apart would be."""

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.estimators import SparseELMClassifier
from mr_elm.features.kernel_rows import kernel_rows, ready_rows
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import KERNELS, make_kernel
from mr_elm.machines.calibrating import ScoreSample
from mr_elm.machines.dual import BoxMachine
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.kernel import LeaveOneOutTask
from mr_elm.machines.pairs import ClassScheme, cross_validate
from mr_elm.rows.blocks import Block
from mr_elm.scores.selection import (
    PAPER,
    Cell,
    NodeChoice,
    NodeScore,
    Score,
    best_nodes,
    best_of,
    candidates,
    finalists,
    fold_numbers,
    measure_accuracy,
    score_values,
    select_sample,
)
from mr_elm.solvers.box import Settings
from mr_elm.solvers.folds import GridCell
from mr_elm.solvers.kelm import decompose, weigh

BOUNDS = [0.3, 3.0, 30.0]


@pytest.fixture
def rows():
    """Draw rows of three classes: (X, codes)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    return X, (X[:, 0] > 0.2).astype(int) + (X[:, 1] + 0.3 * rng.normal(size=150) > 0)


@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
@pytest.mark.parametrize('n_classes', [2, 3])
@pytest.mark.parametrize('weighted', [False, True], ids=['plain', 'weighted'])
def test_a_cell_is_a_training_and_a_test(rows, scheme, n_classes, weighted):
    X, codes = rows
    weights = np.random.default_rng(4).uniform(0.02, 2, 150) if weighted else np.ones(150)
    codes = np.minimum(codes, n_classes - 1)
    folds = np.arange(150) % 4
    source = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=1.5)), np.float64)
    machine = BoxMachine(1.0, 'block', Settings(eps=1e-7))
    cells = list(
        cross_validate(
            source,
            codes,
            weights,
            ClassScheme(n_classes, scheme),
            machine,
            BOUNDS,
            folds,
        )
    )
    assert [(cell.fold, cell.C) for cell in cells] == [(fold, C) for fold in range(4) for C in BOUNDS]
    for cell in cells:
        held = folds == cell.fold
        alone = SparseELMClassifier(sigma=1.5, C=cell.C, tol=1e-7, multiclass=scheme, scale='none')
        alone.fit(X[~held], codes[~held], weights[~held])
        truth, weight, right = codes[held], weights[held], alone.predict(X[held]) == codes[held]
        assert cell.correct == pytest.approx([weight[right & (truth == k)].sum() for k in range(n_classes)], rel=1e-12)
        assert cell.total == pytest.approx([weight[truth == k].sum() for k in range(n_classes)], rel=1e-12)
        assert cell.n_support == len(alone.support_)


def test_folds_and_samples_depend_on_the_rows_alone(rows):
    X = rows[0]
    order = np.random.default_rng(0).permutation(150)
    for choose in (lambda X, seed: fold_numbers(X, 5, seed), lambda X, seed: select_sample(X, 0.3, seed)):
        assert (choose(X, 7)[order] == choose(X[order], 7)).all()
        assert (choose(X, 7) == choose(sp.csr_matrix(X), 7)).all()
        assert (choose(X, 7) != choose(X, 8)).mean() > 0.2
    counts = np.bincount(fold_numbers(np.arange(5000.0)[:, None], 5, 0))
    assert counts.min() > 900 and counts.max() < 1100
    assert abs(select_sample(np.arange(5000.0)[:, None], 0.3, 0).mean() - 0.3) < 0.03
    assert select_sample(X, 1.0, 0).all()


def test_of_equal_candidates_the_smallest_C_and_the_widest_kernel_win():
    def score(sigma, C, correct):
        return Score.of_cells({'sigma': sigma}, C, (Cell(C, 0, [correct - 3, 3], [6, 4], 1, 0.0, 7, True),))

    scores = [score(1, 1, 7), score(2, 10, 8), score(2, 1, 8), score(4, 1, 8), score(8, 1, 6)]
    assert best_of(scores) is scores[3] and best_of(scores[::-1]) is scores[3]


def test_of_equal_candidates_the_lowest_degree_wins():
    scores = [Score.of_cells({'degree': degree}, 1, (Cell(1, 0, [7], [10], 1, 0.0, 7, True),)) for degree in (3, 2, 5)]
    assert best_of(scores) is scores[1] and best_of(scores[::-1]) is scores[1]


def test_the_accuracy_is_the_share_of_all_rows_however_unequal_folds_are():
    one, other = Cell(1.0, 0, [1, 0], [1, 0], 4, 0.5, 2, True), Cell(1.0, 1, [45, 0], [79, 20], 8, 1.5, 3, False)
    score = Score.of_cells({}, 1.0, (one, other))
    assert score.accuracy == score.value == 0.46
    assert score.deviation == pytest.approx(np.std([1, 45 / 99])) and (score.n_support, score.seconds) == (6, 2)
    assert (score.n_iter, score.n_unfinished) == (5, 1)
    assert Score.of_cells({}, 1.0, (one,)).n_unfinished == 0


def test_the_balanced_accuracy_is_the_mean_over_the_classes_that_occur():
    one, other = Cell(1.0, 0, [1, 0], [1, 0], 4, 0.5, 2, True), Cell(1.0, 1, [59, 5], [79, 20], 8, 1.5, 3, False)
    score = Score.of_cells({}, 1.0, (one, other), balanced=True)
    assert score.accuracy == score.value == (60 / 80 + 5 / 20) / 2
    assert score.deviation == pytest.approx(np.std([1, (59 / 79 + 5 / 20) / 2]))
    assert measure_accuracy([60, 5], [80, 20], balanced=False) == 0.65


def node_score(error, map='sigmoid', scale=1.0, trusted=(True, True), accuracy=None):
    """Make a NodeScore of two folds of 10 and 30 targets whose mean squared error is `error`."""
    cells = tuple(
        GridCell(1.0, 5, fold, error * weight, weight, sound)
        for fold, weight, sound in zip((0, 1), (10.0, 30.0), trusted, strict=True)
    )
    return NodeScore(NodeChoice(map, scale), 1.0, 5, cells, accuracy)


def test_the_error_of_nodes_is_the_mean_over_all_targets():
    cells = GridCell(1.0, 5, 0, 20.0, 10.0, True), GridCell(1.0, 5, 1, 6.0, 30.0, True)
    score = NodeScore(NodeChoice('sigmoid', 1.0), 1.0, 5, cells)
    assert score.error == 26 / 40 and score.deviation == pytest.approx(np.std([2, 0.2]))


def test_nodes_are_trusted_where_they_are_in_every_fold():
    assert node_score(1.0).trusted and not node_score(1.0, trusted=(True, False)).trusted
    assert not node_score(np.nan).trusted and not node_score(np.inf).trusted
    with pytest.raises(
        ValueError, match='^all values of nu are too large for the rounding errors of the sums: add smaller ones$'
    ):
        best_nodes([node_score(1.0, trusted=(False, True))])


def test_the_best_nodes_label_most_rows_right_and_of_these_have_the_least_error():
    uncounted, best = node_score(0.1), node_score(0.3, accuracy=0.875)
    scores = [
        uncounted,
        node_score(0.4, accuracy=0.875),
        best,
        node_score(0.2, accuracy=0.85),
        node_score(0.35, accuracy=0.875),
        node_score(0.01, trusted=(True, False), accuracy=1.0),
    ]
    assert best_nodes(scores) is best and best_nodes(scores[::-1]) is best
    assert best_nodes([node_score(0.2), uncounted, node_score(0.15)]) is uncounted


def test_finalists_are_the_best_of_each_kind_and_scale_and_then_the_next_of_any():
    a, b, c, d, e = (
        node_score(0.1, 'sigmoid', 1.0),
        node_score(0.2, 'sigmoid', 1.0),
        node_score(0.3, 'sigmoid', 2.0),
        node_score(0.4, 'rbf', 1.0),
        node_score(0.5, 'rbf', 1.0),
    )
    doubtful = node_score(0.0, 'relu', trusted=(False, True))
    assert finalists([e, d, c, doubtful, b, a], 4) == [a, c, d, b]
    assert finalists([e, d, c, doubtful, b, a], 9) == [a, c, d, b, e] and finalists([b, a, e], 1) == [a]


@pytest.mark.parametrize('weights', [None, np.array([1.0, 2, 3, 4])], ids=['plain', 'weighted'])
def test_decision_values_are_scored_by_the_weight_of_rows(weights):
    W = np.ones(4) if weights is None else weights
    two, three = np.array([[-1.0], [2], [3], [-4]]), np.array([[3.0, 2, 1], [1, 3, 2], [2, 1, 3], [3, 1, 2]])
    codes, targets = np.array([0, 1, 0, 0]), np.array([-1.5, 2, 1, -4])
    assert score_values(two, codes, weights, 2) == {'accuracy': pytest.approx(W[[0, 1, 3]].sum() / W.sum())}
    assert score_values(three, codes, weights, 3) == {'accuracy': pytest.approx(W[[0, 1, 3]].sum() / W.sum())}
    assert score_values(two, targets, weights, 0) == {
        'rmse': pytest.approx(np.sqrt((0.25 * W[0] + 4 * W[2]) / W.sum()))
    }


@pytest.mark.parametrize('n_classes, center', [(0, False), (0, True), (3, False)])
def test_leave_one_out_scores_weighted_rows_by_machines_of_the_others(rows, n_classes, center):
    X, codes = rows[0][:30], rows[1][:30]
    numbers = codes if n_classes else np.sin(X[:, 0]) + 4
    T = np.where(codes[:, None] == np.arange(3), 1.0, -1.0) if n_classes else numbers[:, None]
    weights, kernel, values = np.arange(1.0, 31), make_kernel('gaussian', sigma=1.5), np.empty(T.shape)
    K = compute_kernel(X, X, kernel)
    scale, _ = weigh(omega := K.copy(), T, weights)
    task = LeaveOneOutTask(
        index=None,
        n_classes=n_classes,
        class_weights=None,
        seed=0,
        n_features=X.shape[1],
        arrays={},
        kernel='gaussian',
        kernels=[{'sigma': 1.5}],
        C_values=BOUNDS,
        center=center,
    )
    found = dict(task.leave_one_out(decompose(omega), scale, numbers, weights))
    for C in BOUNDS:
        for i in range(30):
            rest = np.arange(30) != i
            system = K[np.ix_(rest, rest)] + np.diag(1 / (C * weights[rest]))
            mean = np.average(T[rest], axis=0, weights=weights[rest]) if center else 0.0
            values[i] = mean + K[i, rest] @ np.linalg.solve(system, T[rest] - mean)
        right, errors = values.argmax(axis=1) == codes, (values - T)[:, 0]
        assert found[C] == (
            {'accuracy': pytest.approx(weights @ right / weights.sum())}
            if n_classes
            else {'rmse': pytest.approx(np.sqrt(weights @ errors**2 / weights.sum()))}
        )


def test_the_grid_of_the_paper_has_fourteen_widths_and_bounds():
    kernels, bounds = candidates('paper', KERNELS['gaussian'], 9)
    assert [kernel['sigma'] for kernel in kernels] == list(PAPER) == bounds and len(PAPER) == 14
    assert [kernel['degree'] for kernel in candidates('paper', KERNELS['polynomial'], 9)[0]] == [1, 2, 3, 4, 5]
    assert candidates('coarse', KERNELS['linear'], 9)[0] == [{}]


def test_the_coarse_grid_has_bounds_of_powers_of_ten_and_widths_around_the_deviation_of_the_rows():
    kernels, bounds = candidates('coarse', KERNELS['gaussian'], 9)
    assert bounds == [0.1, 1, 10, 100, 1000]
    assert [kernel['sigma'] / 3 for kernel in kernels] == [1 / 4, 1 / 2, 1, 2, 4]


@pytest.mark.parametrize('seed', [0, 5])
def test_rows_that_probabilities_are_fitted_to_are_those_that_passes_have_held_out(rng, seed):
    block = Block(rng.normal(size=(200, 3)), targets=np.arange(200.0))
    ordered, starts = Folds(4, 1, 1.0, seed, None, None).split(block)
    held_out = ordered.targets[starts[0] : starts[1]].astype(int)
    chosen = ScoreSample.of(200, seed, None, 4).choose(block)
    assert 20 < len(chosen) < 90 and sorted(held_out.tolist()) == chosen.tolist()
    assert ScoreSample.of(200, seed + 1, None, 4).choose(block).tolist() != chosen.tolist()

"""Learn a metric for a machine of landmarks, and judge every step by rows that have not shaped it.

The metric is learned on all folds but one and judged on that fold; small samples repeat this for every fold, so that
kind and number of steps are chosen by all rows. The metric that is kept is that of the first fold, as it was judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mr_elm.features.gradients import average_gradients, make_metric
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.metric import choose_kind
from mr_elm.machines.metric import FOLD_KEY, N_FOLDS, LearnedMetric, SampleRows, measure_importance
from mr_elm.machines.node_choice import MOST_FEATURES, NUS, Candidate, judge, list_kernels, median_scale, round_scale
from mr_elm.machines.nodes import NodeProblem
from mr_elm.scores.selection import fold_numbers
from mr_elm.solvers.folds import NuPath, decompose
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats

FEWEST_ROWS = 50  # below which no metric is learned
FEW_ROWS = 1000  # up to which every fold judges
STEPS = 3


@dataclass(frozen=True)
class Trial:
    """Name what is tried: kind of metric, number of steps, kernel and nu."""

    metric: str
    n_steps: int
    kernel: str
    nu: float


def choose_metric(problem: NodeProblem, rows: SampleRows, base: Candidate) -> Candidate | None:
    """Return the best machine of landmarks behind a learned metric, None where the rows are too few to learn one.

    base : a machine without a metric, whose kernel and width the metric is learned with.
    """
    if len(rows) < FEWEST_ROWS or not 1 < problem.summary.columns.n_features <= MOST_FEATURES:
        return None
    folds = fold_numbers(rows.X, N_FOLDS, problem.options.seed + FOLD_KEY)
    tested = [fold for fold in range(N_FOLDS if len(rows) <= FEW_ROWS else 1) if 0 < (folds == fold).sum() < len(rows)]
    judged = np.isin(folds, tested)
    values: dict[Trial, Floats] = {}
    placed: dict[Trial, NodeProblem] = {}
    for fold in tested:
        for trial, tried, found in try_fold(problem, rows, base, folds == fold):
            values.setdefault(trial, np.zeros(rows.T.shape))[folds == fold] = found
            placed.setdefault(trial, tried)
    if not values:
        return None
    common = rows.take(judged)
    worth = {trial: judge(found[judged], common) for trial, found in values.items()}
    best = max(worth, key=lambda trial: worth[trial])
    chosen = placed[best].with_options(nu=best.nu)
    layer = chosen.make_layer()
    weights = decompose(expand(layer, rows.X), rows.T, [best.nu], rows.weights).weights[:, 0]
    learned = LearnedMetric(layer.metric, best.n_steps, importance=measure_importance(layer, rows, weights))
    return Candidate(chosen.options, layer, worth[best], values[best], judged, learned)


def try_fold(
    problem: NodeProblem, rows: SampleRows, base: Candidate, held: np.ndarray
) -> Iterator[tuple[Trial, NodeProblem, Floats]]:
    """Yield (Trial, its problem, decision values of the rows held out) of metrics learned from all other rows."""
    others, judged = rows.take(~held), rows.take(held)
    width = median_scale(problem, base.options.kernel) / base.options.weight_scale
    kernels = sorted(list_kernels(rows, problem.summary.n_rows), key=lambda kernel: kernel != base.options.kernel)
    sparse = hasattr(rows.X, 'toarray')
    plain = place_landmarks(problem, kernels[0], width).make_layer()
    first = plain, decompose_layer(plain, others)
    for kind in dict.fromkeys(choose_kind(kind, rows.X.shape[1], sparse) for kind in ('diagonal', 'full')):
        layer, path = first
        for n_steps in range(1, STEPS + 1):
            metric = learn_step(layer, path, others, kind)
            if metric is None:
                break
            behind = replace(problem, learned=LearnedMetric(metric, n_steps))
            for kernel in reversed(kernels):
                tried = place_landmarks(behind, kernel, width)
                layer = tried.make_layer()
                path = decompose_layer(layer, others)
                for nu, values in zip(path.nus, path.predict(expand(layer, judged.X)), strict=True):
                    yield Trial(kind, n_steps, kernel, nu), tried, values


def place_landmarks(problem: NodeProblem, kernel: str, width: float) -> NodeProblem:
    """Return the problem of landmarks. width : of the kernel, over the median distance of two landmarks."""
    scale = round_scale(median_scale(problem, kernel) / width)
    return problem.with_options(map='nystrom', kernel=kernel, weight_scale=scale)


def decompose_layer(layer: HiddenLayer, rows: SampleRows) -> NuPath:
    """Return the NuPath of rows on a layer."""
    return decompose(expand(layer, rows.X), rows.T, NUS, rows.weights)


def learn_step(layer: HiddenLayer, path: NuPath, rows: SampleRows, kind: str) -> Floats | None:
    """Return the next metric by the gradients of the best machine of a layer, None where it has none."""
    best = int(np.argmax([judge(values, rows) for values in path.leave_out()]))
    gradients = average_gradients(
        layer, rows.X, path.weights[:-1, best], kind == 'full', rows.weights, along=rows.columns.project
    )
    return make_metric(gradients, rows.columns.variance * layer.scale**2)

"""Learn a metric from all rows, --metric-rows all: each step is a job, which sums up the second Gram of the nodes too.

Every fifth row is held out of the learning and judges each step by its squared error. The sums of the best step are
those of the training: no job follows. With --metric-steps no row is held out.
"""

from dataclasses import dataclass, replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import assemble_sums
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import say_metric
from mr_elm.errors import DataFormatError
from mr_elm.features.gradients import combine_slopes, make_metric
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.metric import FeatureColumns, Importance, choose_kind
from mr_elm.machines.grid_task import Folds, GridTask
from mr_elm.machines.metric import MOST_STEPS, LearnedMetric
from mr_elm.solvers.folds import Ordered, squared_errors, total_of
from mr_elm.solvers.ridge import Sums, finish
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.streaming.mr_gram import group_sums
from mr_elm.sums.gram import GridSteps, assemble, mirror_upper
from mr_elm.typing import Floats

N_FOLDS = 5


@dataclass(frozen=True)
class LearnedSums:
    """Hold the nodes behind a metric, and the sums of all rows on them. judged : (0, mean squared error), or None."""

    layer: HiddenLayer
    steps: GridSteps
    sums: Sums
    judged: tuple[float, float] | None
    importance: Importance | None


def learn_from_all_rows(inputs: NodeInputs) -> tuple[NodeInputs, LearnedSums]:
    """Learn the metric that the options ask for: the inputs behind it, and what the training takes from its step."""
    options, plain = inputs.options, inputs.make_layer()
    if options.metric_steps is None:
        n_steps = MOST_STEPS
    else:
        n_steps = options.metric_steps
    judged: list[tuple[float, float]] = []
    metric, best = None, None
    for step in range(n_steps + 1):
        found, gradients = take_step(inputs, plain.pass_metric(metric), n_steps > 0)
        if best is None or found.judged is None or found.judged < min(judged, default=(0.0, np.inf)):
            best = found, step
        if found.judged is None:
            judged += []
        else:
            judged += [found.judged]
        metric = None
        if gradients is not None and step < n_steps:
            metric = make_metric(gradients, inputs.moments.variances)
        if metric is None:
            break
    found, n_taken = best or (found, 0)
    learned = LearnedMetric(found.layer.metric, n_taken, tuple(judged), found.importance)
    say_metric(inputs.data.engine.reporter, learned)
    return replace(inputs, learned=learned), found


def take_step(inputs: NodeInputs, layer: HiddenLayer, slopes: bool) -> tuple[LearnedSums, Floats | None]:
    """Sum up all rows on a layer, and judge it: (LearnedSums, average gradients or None).

    slopes : whether gradients are wanted, those of the last step too, which say how important the features are.
    """
    options, steps = inputs.options, inputs.choose_grid(layer)
    *held, rest, S = sum_up_step(inputs, layer, steps, slopes)
    with one_thread():
        B = finish(rest, options.nu, options.numeric, options.bias, options.center).output_weights
        judged = None
        if held:
            sums = Ordered.of(held[0], options.numeric)
            error = squared_errors(sums, [np.roll(B, 1, axis=0)])[0]
            judged = 0.0, error / float(sums.gram[0, 0] * len(sums.squares)) / measure_variance(inputs)
        if S is None:
            gradients, importance = None, None
        else:
            gradients, importance = average_slopes(inputs, layer, S, B)
        return LearnedSums(layer, steps, total_of([*held, rest]), judged, importance), gradients


def measure_variance(inputs: NodeInputs) -> float:
    """Return the variance of the target of a regression, by which errors are judged; 1 for classes and a constant."""
    target = inputs.summary.target
    if target is None:
        return 1.0
    return float(target.deviation[0]) ** 2 or 1.0


def average_slopes(inputs: NodeInputs, layer: HiddenLayer, S: Floats, B: Floats) -> tuple[Floats, Importance | None]:
    """Return the average gradient outer product, but for a factor, and how important the features are.

    S : the second Gram. B : (L + 1, K).
    """
    statistics = inputs.summary.columns
    full = choose_kind(inputs.options.metric, statistics.n_features, inputs.summary.sparse) == 'full'
    used = (layer.scale != 0) & (statistics.maximum > statistics.minimum)
    columns = FeatureColumns.of(statistics, inputs.summary.encoding)
    gradients = combine_slopes(layer, S, B[:-1], full, used, columns.project)
    squares = combine_slopes(layer, S, B[:-1], False, used, columns.project_and_average)
    return gradients, columns.measure_importance(squares, layer.scale)


def sum_up_step(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, slopes: bool) -> list:
    """Run the job: Sums of the rows held out where there are some, Sums of all others, second Gram of these or None."""
    n_tested = int(inputs.options.metric_steps is None)
    folds = Folds(N_FOLDS if n_tested else 1, n_tested, 1.0, inputs.options.seed, inputs.weights, inputs.class_numbers)
    inputs.data.fix_width(layer.n_features)
    task = GridTask(folds, [layer], [steps], slopes=slopes)
    found = group_sums(run_problem(inputs.data, MRFolds, task, 'metric'), 2)
    if any((0, part) not in found for part in range(folds.n_parts)):
        raise DataFormatError(
            f'{inputs.plan.name}: expected rows to hold out and others to learn from, found too few '
            'rows: use --metric-steps'
        )
    sums = [assemble_sums(found[0, part], layer, inputs.classes) for part in range(folds.n_parts)]
    S = None
    if slopes:
        S = assemble(found[0, folds.n_parts][0], layer.n_hidden)[0]
    return [*sums, None if S is None else mirror_upper(S)]

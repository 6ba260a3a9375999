"""Learn a metric of the features from a sample of the rows, step by step, and choose the step by held-out rows.

    repeat:  fit f on A z;  G = mean of grad f grad f' over rows and outputs;  A <- G^(1/2), as large as `make_metric`
             says

Step 0 is no metric. Rows that judge a metric have not shaped it, and the metric that was judged is kept as it is: one
learned anew, on more rows, can be much worse.

Source: as in `features.metric`; the choice by held-out rows is ours.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from mr_elm.errors import record
from mr_elm.features.gradients import average_gradients, make_metric
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.metric import KINDS, Importance, choose_kind
from mr_elm.machines.sample import SampleRows
from mr_elm.model.models import HiddenNodeModel
from mr_elm.parallel import sum_in_threads
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.scores.selection import METRIC_FOLD, fold_numbers
from mr_elm.solvers.ridge import solve_regularized
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats

N_NODES = 500  # of the machines that a metric is learned by
N_FOLDS = 4  # of a sample, one of which judges a metric
N_STEPS = 4  # that are tried


def measure_importance(layer: HiddenLayer, rows: SampleRows, B: Floats) -> Importance | None:
    """Return how important features and columns are to a machine f = [Phi, -1] B; see `FeatureColumns`.

    B : (L + 1, K).
    """
    squares = average_gradients(layer, rows.X, B[:-1], False, rows.weights, rows.columns.project_and_average)
    return rows.columns.measure_importance(squares, layer.scale)


@record
class MetricStep:
    """Hold one step: the metric, None for step 0, the layer behind it, and the output weights (L + 1, K) of its fit."""

    metric: Floats | None
    layer: HiddenLayer
    output_weights: Floats

    def judge(self, rows: SampleRows) -> tuple[float, float]:
        """Return how bad it is on rows: (share labelled wrong, mean squared error); the share is 0 for targets."""
        values = expand(self.layer, rows.X) @ self.output_weights
        error = rows.measure_error(values, clip=np.inf)
        if not rows.n_classes:
            return 0.0, error
        return 1 - rows.measure_accuracy(values), error


def learn_steps(
    layer: HiddenLayer,
    rows: SampleRows,
    nu: float,
    kind: str,
    n_steps: int = N_STEPS,
) -> Iterator[MetricStep]:
    """Yield the steps 0 to n_steps of learning a metric; fewer where no output changes with any feature.

    layer : without a metric; its nodes pass each metric, see `HiddenLayer.pass_metric`. nu : weight of the errors.
    kind : diagonal or full; full becomes diagonal where `choose_kind` says so.
    """
    full = choose_kind(kind, layer.n_features, hasattr(rows.X, 'toarray')) == 'full'
    metric = None
    for step in range(n_steps + 1):
        placed = layer.pass_metric(metric)
        B = fit_nodes(placed, rows, nu)
        yield MetricStep(metric, placed, B)
        if step < n_steps:
            metric = take_metric_step(placed, rows, B, full)
            if metric is None:
                return


def take_metric_step(layer: HiddenLayer, rows: SampleRows, B: Floats, full: bool) -> Floats | None:
    """Return the next metric, that of the gradients of f = [Phi, -1] B at rows; None where no feature counts."""
    gradients = average_gradients(layer, rows.X, B[:-1], full, rows.weights, rows.columns.project)
    return make_metric(gradients, rows.columns.variance * layer.scale**2)


def fit_nodes(layer: HiddenLayer, rows: SampleRows, nu: float) -> Floats:
    """Return the output weights (L + 1, K) of the ridge regression of the targets.

    nu : weight of the errors.
    """
    m = layer.n_hidden + 1

    def sum_part(start: int) -> Floats:
        part = slice(start, start + BLOCK_ROWS)
        ET = expand(layer, rows.X[part], rows.T.shape[1])
        ET[:, m:] = rows.T[part]
        if rows.weights is not None:
            ET *= np.sqrt(rows.weights[part])[:, None]
        return ET.T @ ET

    sums = sum_in_threads(sum_part, range(0, len(rows), BLOCK_ROWS))[:m]
    gram, right = sums[:, :m], sums[:, m:]
    return solve_regularized(gram, np.asfortranarray(right), nu).output_weights


@record
class LearnedMetric:
    """Hold what learning has found: the metric, None for step 0, and the number of steps that it took.

    n_steps : None where no metric was asked for.
    importance : of features and columns to the machine behind the metric; None where that machine has no gradient.
    """

    metric: Floats | None = None
    n_steps: int | None = None
    importance: Importance | None = None

    @classmethod
    def of_model(cls, model: HiddenNodeModel) -> 'LearnedMetric':
        """Return the metric of a model."""
        return cls(model.layer.metric, model.header.parameters.get('metric_steps'), importance=model.importance)

    @property
    def kind(self) -> str:
        """Return none, diagonal or full."""
        return KINDS[0 if self.metric is None else self.metric.ndim]

    @property
    def facts(self) -> dict[str, Any]:
        """Return the parameters of a model that say what was learned, none where no metric was asked for."""
        if self.n_steps is None:
            return {}
        facts = {'metric': self.kind, 'metric_steps': self.n_steps}
        if self.importance is not None:
            facts['importance'] = asdict(self.importance)
        return facts


def learn_metric(layer: HiddenLayer, rows: SampleRows, nu: float, kind: str, seed: int = 0) -> LearnedMetric:
    """Learn a metric from a sample of the rows: the best step by rows held out.

    layer, nu, kind : as in `learn_steps`; the first 500 nodes are taken.
    """
    if layer.kind != 'identity':
        layer = layer.take(N_NODES)
    held = fold_numbers(rows.X, N_FOLDS, seed + METRIC_FOLD) == 0
    if held.all() or not held.any():
        return LearnedMetric(None, 0)
    learned_from, rest = rows.take(~held), rows.take(held)
    steps = list(learn_steps(layer, learned_from, nu, kind))
    errors = [step.judge(rest) for step in steps]
    best = errors.index(min(errors))
    step = steps[best]
    return LearnedMetric(step.metric, best, measure_importance(step.layer, learned_from, step.output_weights))

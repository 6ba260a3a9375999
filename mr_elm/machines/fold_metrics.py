"""Learn the metrics of a search: one for each fold, from the sampled rows of all other folds.

The nu of the machines that teach a metric is chosen by leave-one-out of these rows, so that a metric depends neither on
the nu of the search nor on the rows that test it.
"""

from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.choose import NUS
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.metric import LearnedMetric, learn_metric
from mr_elm.machines.sample import SampleRows
from mr_elm.scores.selection import FOLD, fold_numbers


def learn_fold_metrics(layer: HiddenLayer, sample: SampleRows, kind: str, folds: Folds) -> list[LearnedMetric]:
    """Return the metric for each fold that is held out. layer : without a metric. kind : diagonal or full."""
    numbers = fold_numbers(sample.X, folds.n_folds, folds.seed + FOLD)
    return [learn_final_metric(layer, sample.take(numbers != fold), kind, folds.seed) for fold in range(folds.n_tested)]


def learn_final_metric(layer: HiddenLayer, sample: SampleRows, kind: str, seed: int) -> LearnedMetric:
    """Return the metric that all rows of a sample teach."""
    return learn_metric(layer, sample, NUS, kind, seed=seed)

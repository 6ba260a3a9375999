"""Let estimators learn a metric of the features, and say how important each column is to it."""

from dataclasses import dataclass

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.estimators.jobs import count_threads
from mr_elm.estimators.tables import TableRows
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import Kernel
from mr_elm.features.metric import FeatureColumns
from mr_elm.machines.metric import LearnedMetric, learn_from_sample, make_kernel_nodes
from mr_elm.machines.sample import SampleRows, count_sample
from mr_elm.machines.shared_options import MetricOptions
from mr_elm.rows.blocks import take_weights
from mr_elm.scores.selection import select_sample
from mr_elm.sparse import issparse
from mr_elm.typing import Floats, Rows, RowWeights


@dataclass(eq=False, repr=False, kw_only=True)
class MetricLearner(TableRows):
    """Learn a metric in `fit`, as `mr-elm train --metric` does.

    metric : none, diagonal (a number for each feature) or full (also combinations of features).

    Sets feature_importances_ where a metric was learned.
    """

    scale: str = MetricOptions.scale
    metric: str = MetricOptions.metric

    _learned = LearnedMetric()

    @property
    def feature_importances_(self) -> Floats:
        """Return the importance of each column, with sum 1. Raises AttributeError where no metric was learned."""
        importance = None
        if hasattr(self, 'model_'):
            importance = self.model_.importance  # type: ignore[attr-defined]
        if importance is None:
            raise AttributeError('feature_importances_: expected an estimator that has learned a metric in fit')
        return np.array(importance.columns)

    def _learn_metric(self, nodes: HiddenLayer | Kernel, X: Rows, T: Floats, nu: float, weights: RowWeights) -> None:
        """Set what was learned.

        nodes : those of the machine, or its kernel. X : unscaled rows. T : (n, K) targets, +-1 for classes.
        nu : weight of the errors.
        """
        self._learned = LearnedMetric()
        if self.metric == 'none':
            return
        with one_thread():
            sample = self._sample(X, T, weights)
            if isinstance(nodes, Kernel):
                nodes = make_kernel_nodes(
                    nodes, sample.X, self.scaling_, self.seed_, self._summary.measure_scaled(self.scale)
                )
            self._learned = learn_from_sample(
                nodes,
                sample,
                MetricOptions(metric=self.metric, seed=self.seed_),
                nu,
                X.shape[0],
                count_threads(self.n_jobs),
            )

    def _sample(self, X: Rows, T: Floats, weights: RowWeights) -> SampleRows:
        """Return the sample that a driver would take, all rows where they are few."""
        share = min(1.0, count_sample(self._summary, issparse(X)) / X.shape[0])
        chosen, n_classes = select_sample(X, share, self.seed_), len(getattr(self, 'classes_', ()))
        columns = FeatureColumns.of(self._summary.columns, self.encoding_)
        weights = take_weights(weights, chosen)
        return SampleRows.of(X[chosen], T[chosen], n_classes, weights, columns, getattr(self, 'center', False))

"""Offer what all estimators with parameters of their own have: a scaling, and a metric of the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.tables import TableRows
from mr_elm.machines.options import parameters_of
from mr_elm.machines.sample import SampleRows, take_sample
from mr_elm.machines.shared_options import MetricOptions
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class MetricEstimator(TableRows):
    """Learn a metric in `fit`, as `mr-elm train --metric` does.

    metric : none, diagonal (a number for each feature) or full (also combinations of features).

    Sets feature_importances_ where a metric was learned.
    """

    scale: str = MetricOptions.scale
    metric: str = MetricOptions.metric

    @property
    def feature_importances_(self) -> Floats:
        """Return the importance of each column, with sum 1. Raises AttributeError where no metric was learned."""
        importance = None
        if hasattr(self, 'model_'):
            importance = self.model_.importance
        if importance is None:
            raise AttributeError('feature_importances_: expected an estimator that has learned a metric in fit')
        return np.array(importance.columns)

    def _sample(self, rows: TrainingRows, summary: Summary, options: Any) -> SampleRows | None:
        """Return the sample that a driver would take to learn a metric, None where there is none to learn."""
        if options.metric == 'none':
            return None
        return take_sample(rows, summary, self.seed_, options.center)


@dataclass(eq=False, repr=False)
class KernelEstimator(MetricEstimator):
    """Hold the parameters of machines on a kernel; those of other kernels have no say."""

    kernel: str = 'gaussian'
    sigma: float | None = None
    degree: int | None = None
    C: float = 1.0

    def _make_options(self, **others: Any) -> Any:
        idle = {'sigma', 'degree'} - {*parameters_of(self.kernel)}
        return make_options(self, idle, **others)

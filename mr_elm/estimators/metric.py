"""Offer a metric of the features, and the parameters of machines on a kernel."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.tables import TableRows
from mr_elm.machines.options import parameters_of
from mr_elm.machines.sample import SampleRows, take_sample
from mr_elm.machines.shared_options import MetricOptions, TrainingOptions
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

    def _limit_threads(self, options: Any) -> AbstractContextManager:
        """Give a context in which what is learned before the fit, a metric or trees, has the bits of the command.

        Where nothing is learned, it does nothing: to find the libraries takes as long as a small fit.
        """
        if options.metric == 'none' and not getattr(options, 'has_leaves', False):
            return nullcontext()
        return one_thread()


@dataclass(eq=False, repr=False)
class KernelEstimator(TableRows):
    """Hold the parameters of machines on a kernel; those of other kernels have no say."""

    scale: str = field(default=TrainingOptions.scale, kw_only=True)

    kernel: str = 'gaussian'
    sigma: float | None = None
    degree: int | None = None
    C: float = 1.0

    def _make_options(self, **others: Any) -> Any:
        idle = {'sigma', 'degree'} - {*parameters_of(self.kernel)}
        return make_options(self, idle, **others)

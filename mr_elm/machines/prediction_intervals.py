"""Say how unlike the rows of the training a new row is, and how far its target may be from the prediction."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mr_elm.errors import record
from mr_elm.machines.press import LeaveOneOutModel
from mr_elm.model.base import Model
from mr_elm.rows.blocks import widen
from mr_elm.scores.intervals import find_quantile
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats, Rows


@record
class PredictionIntervals:
    """Compute leverages of new rows, and intervals for their targets. model : the Model."""

    model: Model

    @cached_property
    def left_out(self) -> LeaveOneOutModel:
        """Return the factored sums of each machine."""
        return LeaveOneOutModel.of(self.model)  # type: ignore[arg-type]

    def leverages(self, X: Rows) -> Floats:
        """Return h(x) = e'(I/nu + E'WE)^-1 e of each row, (n,), in the mean of the machines of a model."""
        X = widen(X, self.model.n_features)
        return np.mean([one.leverages(expand(one.model.layer, X)) for one in self.left_out.machines], axis=0)

    def interval(self, X: Rows, predictions: Floats, coverage: float) -> Floats:
        """Return lower and upper bounds, (n, 2), that hold about this share of the targets of new rows.

        predictions : (n,). Where the sums of the model are not at hand, all intervals have one width.
        """
        arrays = self.model.arrays
        if self.model.sums is not None and 'interval_ratios' in arrays:
            half = find_quantile(arrays['interval_ratios'], coverage) * np.sqrt(1 + self.leverages(X))
        else:
            half = np.full(len(predictions), find_quantile(arrays['interval_residuals'], coverage))
        return np.column_stack([predictions - half, predictions + half])

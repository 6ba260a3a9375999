"""Let classifiers and regressors of hidden nodes live: rows come, rows leave, estimators merge."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mr_elm.errors import write_value
from mr_elm.estimators.living import LivingEstimator
from mr_elm.estimators.probabilities import Labelled, demand_one_label
from mr_elm.estimators.values import (
    Targets,
    available_with,
    is_set_matrix,
    join_classes,
    name_classes,
    number_labels,
    row_weights,
    warn_of_single_rows,
)
from mr_elm.machines.calibrating import add_intervals
from mr_elm.machines.press import HeldOut, LeaveOneOutModel
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.typing import Floats, Labels, Rows, Weights


class LivingLabels(Labelled):
    """Learn classes, and go on learning.

    class_weight : None, a dictionary, or balanced, which only `fit` knows.
    """

    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> Any:
        """Take rows away, see `LivingRows.forget`."""
        self._demand_lasting_weights()
        return super().forget(X, y, sample_weight)  # type: ignore[misc]

    def _join_labels(self, y: Labels, declared: Labels = (), anew: bool = False) -> Any:
        if self.multilabel_ if not anew else is_set_matrix(y):
            return self._join_sets(y, anew)
        self.multilabel_ = False
        check_classification_targets(y)
        labels = join_classes(() if anew else self.classes_, y, declared)
        if len(labels) < 2:
            raise ValueError(f'expected rows of two classes, all are of one class, {write_value(labels[0])}')
        return labels

    def _join_sets(self, y: Labels, anew: bool) -> np.ndarray:
        """Return the numbers of the columns of an indicator matrix, or of the classes of another estimator."""
        n_columns = np.shape(y)[-1]
        if anew:
            demand_one_label(self)
            self.multilabel_ = True
            return np.arange(n_columns)
        if n_columns != len(self.classes_):
            raise ValueError(
                f'y: expected an indicator matrix of {len(self.classes_)} labels, as the rows before, found {n_columns}'
            )
        return self.classes_

    def _label(self, rows: tuple, labels: Any) -> TrainingRows:
        if self.multilabel_:
            return super()._label(rows, labels)  # type: ignore[misc]
        X, y, sample_weight = rows
        codes = number_labels(labels, y)
        warn_of_single_rows(labels, codes)
        return TrainingRows(
            X, codes, name_classes(labels), row_weights(self.class_weight, labels, codes, sample_weight)
        )

    def _demand_lasting_weights(self) -> None:
        if self.class_weight == 'balanced':
            raise ValueError(
                "class_weight: expected None or a dictionary for partial_fit and forget: with 'balanced' "
                'every new row changes the weights of all rows'
            )


class LivingClassifier(LivingLabels, LivingEstimator):
    """Learn classes on one machine.

    `fit` makes probabilities, and `calibrate` makes them anew when rows have come or left.
    """

    _takes_sets = True

    def partial_fit(
        self,
        X: Rows,
        y: Labels,
        classes: Labels | None = None,
        sample_weight: Weights = None,
        like: LivingEstimator | None = None,
    ) -> 'LivingClassifier':
        """Add rows, which may bring new classes: the same as to fit on all rows, with the nodes of the first ones.

        classes : some to expect. like : for a new estimator, see `LivingEstimator.fit`.
        """
        self._demand_lasting_weights()
        declared = () if classes is None else classes
        if hasattr(self, 'model_'):
            return self._grow(X, y, sample_weight, declared)
        return self._fit(X, y, sample_weight, declared, like, grows=True)


@dataclass(eq=False, repr=False, kw_only=True)
class LivingTargets(Targets):
    """Learn real targets, (n,) or (n, K), go on learning, and answer with intervals too.

    intervals : keep the errors of rows held out, for `predict_interval`.
    """

    intervals: bool = False

    def _read(self, X: Rows, y: Labels, sample_weight: Weights, reset: bool = True) -> tuple:
        """Read rows, and remember how many targets they have."""
        X, y, weights = super()._read(X, y, sample_weight, reset)  # type: ignore[misc]
        if not reset and np.shape(y)[1:] != (() if self.single_ else (self.n_targets_,)):
            raise ValueError(
                f'y: expected {self.n_targets_} target(s), as the rows before, found the shape {np.shape(y)}'
            )
        return X, self._set_targets(y, X if reset else None, weights).reshape(np.shape(y)), weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_sets and not self.intervals
        return tags

    def _hold_out(self, rows: HeldOut, X: Rows, kind: str) -> None:
        """Keep the errors of rows X that were held out."""
        estimator = self
        estimator.model_ = add_intervals(estimator.model_, rows)

    @available_with('intervals')
    def predict_interval(self, X: Rows, coverage: float = 0.9) -> Floats:
        """Return lower and upper bounds, (n, 2), that hold about this share of new targets.

        They are wider where rows are unlike those of the training, if the estimator keeps its sums. Raises ValueError
        when there are too few rows for the coverage.
        """
        values = self._values(X)[:, 0]
        X = self._validate(X, False)
        return self._to_targets(LeaveOneOutModel(self.to_model()).interval(X, values, coverage))


@dataclass(eq=False, repr=False)
class LivingRegressor(LivingTargets, LivingEstimator):
    """Learn real targets on one machine.

    intervals : keep the errors of rows held out, for `predict_interval`; `fit` computes them, and `calibrate` computes
        them anew when rows have come or left.
    center : whether the mean of the targets is taken off before the fit, and added to predictions; False penalises it
        too, as the papers do.
    """

    center: bool = True

    def partial_fit(
        self, X: Rows, y: Labels, sample_weight: Weights = None, like: LivingEstimator | None = None
    ) -> 'LivingRegressor':
        """Add rows: the same as to fit on all rows, with the nodes of the first ones.

        like : for a new estimator, see `LivingEstimator.fit`.
        """
        if hasattr(self, 'model_'):
            return self._grow(X, y, sample_weight)
        return self._fit(X, y, sample_weight, like=like, grows=True)

"""Give classifiers labels and probabilities from the decision values of their machines."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from mr_elm.estimators.parameters import ClassifierParameters
from mr_elm.estimators.values import available_with, is_set_matrix, numbered_classes, to_sets
from mr_elm.features.landmarks import hash_rows
from mr_elm.machines.calibrating import calibrate, say_threshold
from mr_elm.machines.press import HeldOut
from mr_elm.model.base import PRESENCE_THRESHOLD
from mr_elm.scores.calibration import class_scores
from mr_elm.scores.threshold import choose_positive
from mr_elm.solvers.multiclass import class_targets
from mr_elm.solvers.ridge import MIN_LEVERAGE_GAP
from mr_elm.typing import Floats, Labels, Rows


def demand_one_label(estimator: Any) -> None:
    """Raise ValueError where a parameter of an estimator needs rows of one label each."""
    defaults = {'probabilities': False, 'class_weight': None, 'leave_one_out': False, 'positive': None}
    for name, default in defaults.items():
        if getattr(estimator, name, default) != default:
            raise ValueError(f'{name}: expected {default}, rows with several labels need it')


class Labelled(ClassifierParameters, ClassifierMixin):
    """Answer from `_values(X)`, (n, P).

    probabilities : fit probabilities to rows that the machines have not seen. The estimator then has `predict_proba`
        and `predict_log_proba`, and labels by them.

    Where y is an indicator matrix (n, K) a row may have several labels, and `predict` returns such a matrix; classes_
    are then the numbers of its columns.
    """

    model_: Any
    classes_: np.ndarray
    multilabel_ = False
    _task = 'classification'
    _takes_sets = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_sets and not self.probabilities
        return tags

    def _set_classes(self, y: Labels) -> tuple[np.ndarray | None, Floats]:
        """Set classes_ and multilabel_; return class numbers (n,), or None of several labels, and T, (n, K)."""
        self.multilabel_ = is_set_matrix(y)
        if self.multilabel_:
            demand_one_label(self)
            T = to_sets(y)
            self.classes_ = np.arange(T.shape[1])
            return None, T
        self.classes_, codes = numbered_classes(y)
        return codes, class_targets(codes, len(self.classes_))

    @property
    def threshold_(self) -> float | None:
        """Return the probability of the positive class above which a row is of it; None for the more probable class."""
        return self.to_model().header.threshold  # type: ignore[attr-defined]

    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n,) for two classes, else (n, K), the largest of which is the class predicted.

        With probabilities these are logits: softmax, or the sigmoid for two classes, makes probabilities of them.
        Of pairs without probabilities: the votes of a class, with its sum of decision values squeezed into (-1/3, 1/3).
        Where rows may have several labels: (n, K), above 0 where a row has a label.
        """
        values = self._values(X)  # type: ignore[attr-defined]
        if self.multilabel_:
            return values - PRESENCE_THRESHOLD
        labelling = self.model_.labelling
        if labelling.calibration is not None:
            scores = labelling.score(values)
        else:
            scores = class_scores(values, labelling.n_classes, labelling.scheme)
        if len(self.classes_) == 2:
            return scores[:, 1]
        return scores

    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of each row, the most probable one where there are probabilities; see also `threshold_`.

        Where rows may have several labels: an indicator matrix, (n, K).
        """
        answers = self._apply('predict', X)  # type: ignore[attr-defined]
        if self.multilabel_:
            return answers.astype(int)
        return self.classes_[answers]

    @available_with('probabilities')
    def predict_proba(self, X: Rows) -> Floats:
        """Return the probability of each class, (n, K), in the order of classes_."""
        values = self._values(X)  # type: ignore[attr-defined]  # first: it says that an estimator is not fitted
        return self.model_.labelling.probabilities(values)

    @available_with('probabilities')
    def predict_log_proba(self, X: Rows) -> Floats:
        """Return the natural logarithms of `predict_proba`."""
        values = self._values(X)  # type: ignore[attr-defined]
        return self.model_.labelling.log_probabilities(values)

    def _hold_out(self, rows: HeldOut, X: Rows, kind: str = 'leave-one-out') -> None:
        """Fit probabilities and a threshold to rows X that were held out. kind : how, see `calibrate`."""
        kept = np.flatnonzero(rows.weights > 0)
        rows = rows.take(kept)
        if rows.leverages.any():
            rows = leave_equal_rows_out(rows, X[kept], len(self.classes_))
        model = self.model_
        header = replace(model.header, positive=choose_positive(self.positive, model.classes))
        if header.positive != model.header.positive:
            header = replace(header, threshold=None)  # which is of the other class
        self.model_ = calibrate(replace(model, header=header), rows, kind, self.threshold)
        say_threshold(self.model_.header, self._reporter)  # type: ignore[attr-defined]


def leave_equal_rows_out(rows: HeldOut, X: Rows, n_classes: int) -> HeldOut:
    """Turn scores of leave-one-out into those of machines that have seen no row equal to this one, of the same label.

    So a row of weight 2 counts as two rows. X : (n, d). rows : of weights above 0.
    """
    keys = np.column_stack([hash_rows(X, 0), rows.numbers.astype(np.uint64)])
    groups = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    ratio = np.bincount(groups, rows.weights)[groups] / rows.weights
    left, T = 1 - rows.leverages, class_targets(rows.numbers.astype(int), n_classes)
    growth = left / np.maximum(1 - rows.leverages * ratio, MIN_LEVERAGE_GAP)
    return replace(rows, decisions=T - (T - rows.decisions) * growth[:, None])

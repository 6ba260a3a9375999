"""Read labels and weights as scikit-learn gives them, and return targets as it expects them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, wraps
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from mr_elm.errors import demand_choice, write_value
from mr_elm.machines.evaluation import compare_targets
from mr_elm.rows.blocks import take_weights
from mr_elm.rows.labels import hold_integers, write_label
from mr_elm.rows.options import AUTO, MISSING_LABELS, REFUSE
from mr_elm.rows.text import read_number
from mr_elm.scores.metrics import Residuals
from mr_elm.scores.selection import HELD_OUT_KEY, TARGET_TEST_SHARE, select_sample
from mr_elm.sums.statistics import Classes, describe_single_rows, find_single_rows
from mr_elm.typing import ClassWeight, Floats, Labels, Rows, RowWeights

LISTS = {list, tuple, set, frozenset, np.ndarray}
MAX_WHOLE = 2.0**53  # below it floats hold all whole numbers


def numbered_classes(y: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of y in increasing order, and the number of each row's class, (n,) int.

    Raises ValueError when y holds no classes, or one.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f'expected rows of two classes, all are of one class, {write_value(classes[0])}')
    warn_of_single_rows(classes, codes)
    return classes, codes


def warn_of_single_rows(classes: np.ndarray, codes: np.ndarray) -> None:
    """Warn of classes that are probably none; see `find_single_rows`. codes : (n,), the number of each row's class."""
    if single := find_single_rows(np.bincount(codes).tolist()):
        places = [(write_label(classes[k]), f'row {int(np.argmax(codes == k))} of y') for k in single]
        warnings.warn(describe_single_rows(places, len(codes)), stacklevel=3)


def read_classes(y: Labels) -> Labels:
    """Return the labels of a classification with whole numbers as integers of numpy, which hold them exactly.

    Raises ValueError when a label is missing: None, NaN, NaT or NA.
    """
    if y is None or hasattr(y, 'tocsr') or isinstance(y, np.ndarray) and y.dtype.kind in 'biufU':
        return y
    values = y if isinstance(y, (list, tuple)) else np.asarray(y)
    if np.asarray(values).ndim != 1 or not len(values):
        return y
    if missing := [row for row, value in enumerate(values) if lacks_value(value)]:
        raise ValueError(
            f'y: expected a label in each row, row {missing[0]} has {values[missing[0]]} (Input y contains NaN)'
        )
    if all(
        isinstance(value, (int, np.integer, Decimal)) and not isinstance(value, bool) and value == int(value)
        for value in values
    ):
        integers = hold_integers(list(map(int, values)))
        if integers is None:
            raise ValueError(
                'y: expected integers that int64 or uint64 holds, found '
                f'{min(values)} and {max(values)}: give labels as text'
            )
        return integers
    return y


def demand_matrix(y: Labels, cure: str) -> None:
    """Raise ValueError where rows have lists of labels or targets, and these make no matrix. cure : what to do."""
    try:
        values = np.asarray(y)
        ragged = values.dtype == object and not LISTS.isdisjoint(map(type, values.flat))
    except ValueError:  # lists of different lengths
        ragged = True
    if ragged:
        raise ValueError(
            f'y: expected labels or targets of the shape (n,) or (n, K), found {write_value(list(y))}: {cure}'
        )


def demand_targets(y: Labels, estimator: str) -> None:
    """Raise ValueError at a target of a regression that is missing or text. estimator : the name of its class."""
    values = np.asarray(y)
    if values.ndim and (values.dtype.kind in 'OSU' or np.isnan(values).any()):
        for (row, *_), value in np.ndenumerate(values):
            if lacks_value(value) or value in MISSING_LABELS:
                raise ValueError(
                    f'y: expected a target in each row, that of row {row} is missing (Input y contains NaN): leave '
                    'such rows out'
                )
            if isinstance(value, str) and read_number(value) is None:
                raise ValueError(
                    f'y: expected numbers, row {row} has {write_value(value)}: labels of classes need '
                    f'{estimator.replace("Regressor", "Classifier")}'
                )


def lacks_value(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or the NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # the NA of pandas is neither equal to itself nor not
        return True


def join_classes(*parts: Labels) -> np.ndarray:
    """Return the distinct labels of all parts in increasing order, (K,).

    Raises ValueError when they are numbers that no type of numpy holds exactly.
    """
    values = [np.unique(part) for part in parts if len(part)]
    joint = np.unique(np.concatenate(values))
    if joint.dtype.kind == 'f' and any(part.dtype.kind in 'iu' for part in values) and abs(joint).max() >= MAX_WHOLE:
        numbers = [value for part in values for value in part.tolist()]
        integers = None
        if all(value == int(value) for value in numbers):
            integers = hold_integers(list(map(int, numbers)))
        if integers is None:
            raise ValueError(
                'y: expected labels that one type of numpy holds exactly, found '
                f'{values[0].dtype} and {values[-1].dtype} up to {max(numbers)}: give labels as text'
            )
        joint = np.unique(integers)
    return joint


def number_labels(classes: np.ndarray, labels: Labels) -> np.ndarray:
    """Return the number of each label's class, (n,). classes : of `join_classes`, these labels among them."""
    labels = np.asarray(labels)
    numbers = classes.dtype.kind in 'iuf' and labels.dtype.kind in 'iuf'
    return np.searchsorted(classes, labels.astype(classes.dtype) if numbers else labels)


def name_classes(labels: Any) -> Classes | None:
    """Return the Classes of some labels, in their order; None for None."""
    if labels is None:
        return None
    names = list(map(write_label, labels))
    return Classes(names, [0] * len(names), [0.0] * len(names), {name: k for k, name in enumerate(names)})


def is_set_matrix(y: Labels) -> bool:
    """Tell whether y has several labels of each row: an indicator matrix, as scikit-learn's multilabel convention."""
    return (hasattr(y, 'tocsr') or np.asarray(y).ndim == 2) and type_of_target(y) == 'multilabel-indicator'


def to_sets(y: Labels) -> Floats:
    """Return an indicator matrix as (n, K) numbers 0 and 1."""
    return np.asarray(y.toarray() if hasattr(y, 'toarray') else y, dtype=float)


def row_weights(
    class_weight: ClassWeight, classes: np.ndarray, codes: np.ndarray, sample_weight: RowWeights
) -> RowWeights:
    """Return the weight of each row, (n,), as its class and its own weight say; None when all count once."""
    if class_weight is None:
        return sample_weight
    of_classes = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.isfinite(of_classes) & (of_classes > 0)).all():
        raise ValueError(f'class_weight: expected finite numbers above 0, found {of_classes.min():.6g}')
    if sample_weight is None:
        return of_classes[codes]
    return of_classes[codes] * sample_weight


class AvailableMethod:
    """Offer a method where a parameter is true, as `available_if` of scikit-learn, whose error hides what to do."""

    def __init__(self, parameter: str, method: Callable) -> None:
        self.parameter, self.method = parameter, method

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return wraps(self.method)(lambda estimator, *args, **more: self.__get__(estimator)(*args, **more))
        name = type(estimator).__name__
        if not getattr(estimator, self.parameter):
            raise AttributeError(
                f'This {name!r} has no attribute {self.method.__name__!r}: '
                f'make it as {name}({self.parameter}=True) and fit it again'
            )
        return MethodType(self.method, estimator)


def available_with(parameter: str) -> Callable[[Callable], Any]:
    """Return the decorator of a method that an estimator has where this parameter is true."""
    return partial(AvailableMethod, parameter)


@dataclass(eq=False, repr=False, kw_only=True)
class Targets(RegressorMixin, MultiOutputMixin):
    """Answer from `_values(X)`, (n, K); `single_` tells that targets were (n,), `n_targets_` is K.

    target : none, or log: the logarithms of targets, which are above 0, are learned. Predictions are e to what was
        learned: they are medians rather than means, and never below 0. auto: log where its error on held-out rows is
        smaller. target_ : none or log, as the rows of `fit` or of the first `partial_fit` decide.
    """

    target: str = 'none'

    _task = 'regression'
    _takes_sets = True

    def _set_targets(self, y: Labels, X: Rows | None, weights: RowWeights) -> Floats:
        """Remember the shape of y, and return what is learned, (n, K).

        X, weights : of the first rows, which decide the target; None for later ones.
        """
        demand_choice('target', self.target, ('none', 'log', AUTO))
        self.single_, T = np.ndim(y) == 1, np.asarray(y, dtype=float).reshape(len(y), -1)
        with np.errstate(over='ignore'):
            if not np.isfinite(np.square(T).sum()):
                raise ValueError(
                    'y: expected targets whose squares can be added up in float64, found targets as large '
                    f'as {np.abs(T).max():.3g}: divide them by a constant'
                )
        self.n_targets_ = T.shape[1]
        if X is not None:
            self.target_ = self._choose_target(X, T, weights)
        if self.target_ == 'none':
            return T
        if not (T > 0).all():
            raise ValueError(f"y: expected targets above 0 for target='log', found {T.min():.6g}")
        return np.log(T)

    def _choose_target(self, X: Rows, T: Floats, weights: RowWeights) -> str:
        """Return none or log. auto compares both on the rows that `mr-elm train --target auto` holds out."""
        if self.target != AUTO:
            return self.target
        if not (T > 0).all():
            return 'none'
        held = select_sample(X, TARGET_TEST_SHARE, HELD_OUT_KEY)
        if held.all() or not held.any():
            raise ValueError(f"target: expected more than {len(T)} rows with different features for 'auto'")
        y = T
        if self.single_:
            y = T[:, 0]
        errors = {}
        for target in ('none', 'log'):
            machine = clone(self).set_params(target=target, encode=REFUSE, verbose=0)
            machine.fit(X[~held], y[~held], take_weights(weights, ~held))
            answers, own = machine.predict(X[held]).reshape(-1, T.shape[1]), take_weights(weights, held)
            pairs = zip(T[held].T, answers.T, strict=True)
            errors[target] = float(np.mean([Residuals.of(t, f, own).scores()['rmse'] for t, f in pairs]))
        best, said = compare_targets(errors)
        self._reporter.say(said)
        return best

    def _to_targets(self, values: Floats) -> Floats:
        """Return what was learned, or bounds around it, in the unit of y."""
        if self.target_ == 'none':
            return values
        return np.exp(values)

    def predict(self, X: Rows) -> np.ndarray:
        """Return f(X), of the shape that y had."""
        values = self._to_targets(self._values(X))
        if self.single_:
            return values[:, 0]
        return values

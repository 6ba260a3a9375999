"""Turn estimators into models, which files hold and the command line reads, and models into estimators."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mr_elm.arithmetic import describe_blas
from mr_elm.estimators.tables import AUTO
from mr_elm.model.base import Model
from mr_elm.model.header import ModelHeader, make_event
from mr_elm.model.parts import spread_scaling
from mr_elm.rows.labels import read_labels, write_label
from mr_elm.rows.options import MISSING_LABELS
from mr_elm.sums.summary import Summary

SEPARATOR = ';'  # between the labels of a row, where a model predicts them as text
# what models call by other names than estimators
RENAMED = {
    'map': 'kernel',
    'normalised': 'normalise',
    'solver': 'rule',
    'eps': 'tol',
    'tolerance': 'tol',
    'max_passes': 'max_iter',
}


class Convertible:
    """Give estimators that hold a `model_` the way to a model and back."""

    model_: Any
    _declared: ClassVar[Any]  # the dataclass of its options
    _called: ClassVar[dict[str, str]] = {}  # see `find_options`
    _task: str

    @property
    def _numeric(self) -> bool:
        """Tell whether labels are targets."""
        return self._task == 'regression'

    def to_model(self) -> Model:
        """Return the fitted model; its `save` writes a file that `mr-elm predict` reads.

        Raises ValueError for a ready kernel matrix.
        """
        check_is_fitted(self)
        if not hasattr(self, 'model_'):
            raise ValueError(
                'kernel: expected a kernel of rows, a precomputed matrix has no rows that a model could keep'
            )
        return self.model_

    @classmethod
    def _of_model(cls, model: Any) -> Any:
        """Make the fitted estimator of a model of this method."""
        kind: Any = cls
        estimator = kind(**shared_parameters(model, kind._get_param_names()))
        estimator.n_features_in_, estimator.model_ = model.n_features, model
        estimator.seed_ = estimator.seed
        estimator.scaling_ = spread_scaling(model.members[0].arrays, model.n_features)
        if model.header.calibration is not None:
            estimator.probabilities, estimator.calibration_ = True, model.arrays['calibration']
        if 'interval_residuals' in model.arrays and 'intervals' in kind._get_param_names():
            estimator.intervals = True
        name_columns(estimator, model)
        if model.numeric:
            estimator.single_ = not model.header.target_names
            estimator.target = estimator.target_ = 'log' if model.header.is_log else 'none'
        else:
            estimator.multilabel_ = model.multilabel
            estimator.classes_ = read_labels(model.classes)
        for name in {'dual_coef', 'intercept'} & set(model.arrays):
            setattr(estimator, f'{name}_', model.arrays[name])
        return estimator


def shared_parameters(model: Model, names: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a model that an estimator with parameters of these names has too."""
    shared: dict[str, Any] = {}
    for name, value in model.header.parameters.items():
        if name not in names:
            name = RENAMED.get(name, name)
        if name in names:
            shared[name] = value
    if shared.get('C', 0) is None:  # JSON knows no infinite number
        shared['C'] = float('inf')
    if isinstance(shared.get('class_weight'), dict):
        classes = dict(zip(model.classes, read_labels(model.classes).tolist(), strict=True))
        shared['class_weight'] = {classes[name]: value for name, value in shared['class_weight'].items()}
    return shared


def describe(estimator: Any, n_rows: int, parameters: Mapping[str, Any]) -> ModelHeader:
    """Make the header of a model that an estimator has fitted to n_rows unscaled rows."""
    classes = [write_label(label) for label in getattr(estimator, 'classes_', ())]
    parameters = {name: to_python(value) for name, value in parameters.items()}
    parameters |= {'scale': estimator.scale, 'class_weight': name_weights(estimator)}
    if hasattr(estimator, 'center'):
        parameters['center'] = estimator.center
    parameters |= {'blas': [name_blas()], 'input': input_facts(estimator, classes)}
    return ModelHeader(
        estimator._method,
        estimator._task,
        classes,
        estimator._width,
        parameters,
        n_rows_used=n_rows,
        history=[make_event('fit', n_rows)],
        encoding=Summary(encoding=estimator.encoding_).encoding_record,
        targets=describe_targets(estimator),
    )


def input_facts(estimator: Any, classes: Collection[str]) -> dict[str, Any]:
    """Return what a reader of similar rows must know of those of an estimator. classes : names, none for numbers."""
    names = getattr(estimator, 'feature_names_in_', None)
    facts = {'kind': 'memory', 'names': None if names is None else names.tolist(), **label_facts(classes)}
    if getattr(estimator, 'target_', 'none') != 'none':
        facts['target'] = estimator.target_
    return facts


def label_facts(classes: Collection[str]) -> dict[str, Any]:
    """Return what a reader of similar rows must know where a class has the name of a missing label."""
    missing = [text for text in MISSING_LABELS if text not in classes]
    if len(missing) < len(MISSING_LABELS):
        return {'missing_labels': missing}
    return {}


def describe_targets(estimator: Any) -> dict[str, Any] | None:
    """Return what a header says of several targets or labels, None where rows have one label."""
    if getattr(estimator, 'multilabel_', False):
        return {'separator': SEPARATOR}
    n_targets = getattr(estimator, 'n_targets_', 1)
    if n_targets > 1:
        return {'names': [f'y{k}' for k in range(n_targets)]}
    return None


def name_columns(estimator: Any, model: Model) -> None:
    """Give an estimator what a model knows of the columns of its rows."""
    names, estimator.encoding_ = model.header.column_names, model.encoding
    if names is not None:
        estimator.feature_names_in_, estimator._of_file = np.array(names, object), True
    if model.encoding is not None:
        estimator.encode, estimator.n_features_in_ = AUTO, len(model.encoding.columns)


def name_weights(estimator: BaseEstimator) -> dict[str, float] | str | None:
    """Return the class weights of an estimator as a header has them: by the names of the classes."""
    weights = getattr(estimator, 'class_weight', None)
    if not isinstance(weights, dict):
        return weights
    return {write_label(label): to_python(weight) for label, weight in weights.items()}


@cache
def name_blas() -> str:
    """Name the arithmetic, once: to look for it takes longer than a small fit."""
    return describe_blas()


def to_python(value: Any) -> Any:
    """Return a number of numpy as one of Python, which JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    return value

"""Turn estimators into models, which files hold and the command line reads, and models into estimators."""

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mr_elm.arithmetic import describe_blas
from mr_elm.estimators.parameters import name_parameter, to_python
from mr_elm.model.base import Model
from mr_elm.model.header import ModelHeader, make_event
from mr_elm.model.parts import spread_scaling
from mr_elm.rows.labels import read_labels, write_label
from mr_elm.rows.options import AUTO, MISSING_LABELS
from mr_elm.sums.summary import MEMORY
from mr_elm.typing import Floats

SEPARATOR = ';'  # between the labels of a row, where a model predicts them as text


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
        """Return the fitted model; its `save` writes a file that `mr-elm predict` reads."""
        check_is_fitted(self)
        return self.model_

    @property
    def scaling_(self) -> tuple[Floats, Floats]:
        """Return offset and scale of each feature."""
        return spread_scaling(self.model_.members[0].arrays, self.model_.n_features)

    def _name_header(self, header: ModelHeader) -> ModelHeader:
        """Return the header of a model that was fitted to rows in memory."""
        classes = list(map(write_label, getattr(self, 'classes_', ())))
        header = header.change_parameters(class_weight=name_weights(self), input=input_facts(self, classes))
        return replace(header, classes=classes, history=[make_event('fit', header.n_rows_used)])

    @classmethod
    def _of_model(cls, model: Any) -> Any:
        """Make the fitted estimator of a model of this method."""
        kind: Any = cls
        estimator = kind(**shared_parameters(model, kind._get_param_names()))
        estimator.model_ = model
        estimator.n_features_in_ = model.header.n_columns
        estimator.seed_ = estimator.seed
        if model.header.calibration is not None:
            estimator.probabilities = True
        if 'interval_residuals' in model.arrays and hasattr(estimator, 'intervals'):
            estimator.intervals = True
        names = model.header.column_names
        estimator._label_name = model.header.parameters['input'].get('label_name')
        estimator.encoding_ = model.encoding
        if names is not None:
            estimator.feature_names_in_ = np.array(names, object)
            estimator._of_file = True
        if model.encoding is not None:
            estimator.encode = AUTO
        if model.numeric:
            estimator.single_ = not model.header.target_names
            estimator.target = estimator.target_ = 'log' if model.header.is_log else 'none'
        else:
            estimator.multilabel_ = model.multilabel
            estimator.classes_ = read_labels(model.classes)
            if model.header.positive == model.classes[0]:
                estimator.positive = to_python(estimator.classes_[0])
        for name in {'dual_coef', 'intercept'} & set(model.arrays):
            setattr(estimator, f'{name}_', model.arrays[name])
        return estimator


def shared_parameters(model: Model, names: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a model that an estimator with parameters of these names has too."""
    shared = {}
    for name, value in model.header.parameters.items():
        name = name_parameter(name, names)
        if name in names:
            shared[name] = value
    if isinstance(shared.get('class_weight'), dict):
        classes = dict(zip(model.classes, read_labels(model.classes).tolist(), strict=True))
        shared['class_weight'] = {classes[name]: value for name, value in shared['class_weight'].items()}
    return shared


def input_facts(estimator: Any, classes: Collection[str]) -> dict[str, Any]:
    """Return what a reader of similar rows must know of those of an estimator. classes : names, none for numbers."""
    names = getattr(estimator, 'feature_names_in_', None)
    facts = {'kind': MEMORY, 'names': None if names is None else names.tolist()}
    if isinstance(name := getattr(estimator, '_label_name', None), str) and name not in ('', *(facts['names'] or ())):
        facts['label_name'] = name
    missing = [text for text in MISSING_LABELS if text not in classes]
    if len(missing) < len(MISSING_LABELS):  # a class has the name of a missing label
        facts['missing_labels'] = missing
    if getattr(estimator, 'target_', 'none') != 'none':
        facts['target'] = estimator.target_
    return facts


def describe_targets(estimator: Any) -> dict[str, Any]:
    """Return what a Summary says of several targets or labels, nothing where rows have one label."""
    if getattr(estimator, 'multilabel_', False):
        return {'labels_separator': SEPARATOR}
    n_targets = getattr(estimator, 'n_targets_', 1)
    if n_targets > 1:
        return {'target_names': [f'y{k}' for k in range(n_targets)]}
    return {}


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

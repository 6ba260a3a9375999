"""Teach skl2onnx the estimators, so that a pipeline of scikit-learn that ends in one becomes one graph of ONNX."""

from typing import Any

import numpy as np
from onnx import helper
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

from mr_elm.estimators import ESTIMATORS
from mr_elm.export.graph import Graph
from mr_elm.export.onnx import ML_OPSET
from mr_elm.model.base import PRESENCE_THRESHOLD

MIN_OPSET = 18  # opset: sums take their axes as an input


def register() -> None:
    """Register a converter of each estimator: `skl2onnx.to_onnx(pipeline, X)` then knows them.

    A classifier gives its label and its probabilities, or without these its decision values, (N, P); a regression gives
    its values. Several labels are numbers 0 and 1, (N, K). Numbers have the type of the input.
    """
    for kinds in ESTIMATORS.values():
        for kind in kinds:
            update_registered_converter(kind, f'MrElm{kind.__name__}', set_types, convert, overwrite=True)


def set_types(operator: Any) -> None:
    """Say what the outputs of an estimator are."""
    estimator, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    model, number = estimator.to_model(), number_type(operator)
    if model.numeric:
        operator.outputs[0].type = number([rows, model.n_scores])
        return
    if model.multilabel:
        operator.outputs[0].type = Int64TensorType([rows, len(model.classes)])
    else:
        operator.outputs[0].type = (StringTensorType if is_text(estimator) else Int64TensorType)([rows])
    if 'calibration' in model.arrays:
        width = len(model.classes)
    else:
        width = model.n_scores
    operator.outputs[1].type = number([rows, width])


def number_type(operator: Any) -> Any:
    """Return the type of numbers that come and go."""
    if isinstance(operator.inputs[0].type, DoubleTensorType):
        return DoubleTensorType
    return FloatTensorType


def is_text(estimator: Any) -> bool:
    """Tell whether the labels of an estimator are text; all others are whole numbers, as scikit-learn demands."""
    return estimator.classes_.dtype.kind in 'OU'


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of an estimator to a graph. Raises ValueError where these cannot be written."""
    estimator = operator.raw_operator
    model = estimator.to_model()
    if model.encoding is not None:
        raise ValueError(
            "export: expected rows of numbers, this estimator has encode='auto': write it alone, by "
            'mr_elm.export.onnx.make_onnx(estimator.to_model())'
        )
    if container.target_opset < MIN_OPSET:
        raise ValueError(f'export: expected target_opset {MIN_OPSET} at least, found {container.target_opset}')
    single = number_type(operator) is FloatTensorType
    graph = Graph(single, f'{scope.get_unique_operator_name("mr_elm")}/')
    scores = graph.write_scores(model, graph.cast(operator.inputs[0].full_name, float))
    if model.numeric:
        outputs = [scores]
    elif model.multilabel:
        outputs = [graph.cast(graph.put('Greater', scores, PRESENCE_THRESHOLD), np.int64), scores]
    else:
        names = estimator.classes_.astype(object if is_text(estimator) else np.int64)
        label, *probabilities = graph.write_classes(model, scores, names)
        outputs = [label, *(probabilities or [scores])]
    outputs[-1] = graph.cast(outputs[-1], np.float32 if single else float)
    for value, variable in zip(outputs, operator.outputs, strict=True):
        graph.nodes.append(helper.make_node('Identity', [value], [variable.full_name]))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets |= {('', MIN_OPSET), ('ai.onnx.ml', ML_OPSET)}

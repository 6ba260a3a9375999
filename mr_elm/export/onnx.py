"""Write a model as a graph of ONNX, which answers as `mr-elm predict` does."""

from typing import Any

import numpy as np
from onnx import checker, helper

from mr_elm.export.columns import columns_of, demand_known
from mr_elm.export.graph import OWN, Graph, suits_single
from mr_elm.model.base import PRESENCE_THRESHOLD, Model
from mr_elm.rows.columns import MISSING, MISSING_TEXTS
from mr_elm.rows.encoding import CATEGORY, Column
from mr_elm.solvers.multiclass import ONE_VS_ONE, class_pairs
from mr_elm.typing import Floats

OPSET, ML_OPSET = 20, 3  # 20 is the first that joins texts
OUTPUTS = 'label', 'scores', 'probabilities'
IR_VERSION = 9  # of files that onnxruntime 1.17 reads
MAX_BYTES = 2**31 - 2**20  # bytes: a file of ONNX holds 2 GB


def make_onnx(model: Model, single: bool = False) -> Any:
    """Return a model as an onnx.ModelProto.

    Its inputs are X, (N, d), or one a column, by name, where the columns of the training had names: (N, 1) of numbers,
    NaN for a missing one, or of text, '' for a missing one. Its outputs are label, (N,) text, or numbers of a
    regression (N,) or (N, K); scores, (N, P); probabilities, (N, K), of a calibrated model.

    single : whether numbers come and go in float32, which halves the file. They are computed in float32 only where
        that does no harm, see `suits_single`.
    Raises ValueError where a graph cannot hold the model.
    """
    demand_known(model)
    outside = np.float32 if single else np.float64
    graph = Graph(np.float32 if single and suits_single(model) else np.float64)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(outside))
    inputs, X = write_inputs(graph, model, number)
    answers = dict(zip(OUTPUTS, write_answers(graph, model, X), strict=False))
    if graph.real != outside:
        answers = {
            name: value if name == 'label' and not model.numeric else graph.cast(value, outside)
            for name, value in answers.items()
        }
    outputs, text = [], helper.np_dtype_to_tensor_dtype(np.dtype(object))
    for name, value in answers.items():
        graph.nodes.append(helper.make_node('Identity', [value], [name]))
        if name == 'label' and not model.numeric:
            kind = text
        else:
            kind = number
        outputs.append(helper.make_tensor_value_info(name, kind, shape_of(model, name)))
    if sum(len(each.raw_data) for each in graph.constants) > MAX_BYTES:
        raise ValueError('export: expected a model of less than 2 GB, which a file of ONNX holds, found a larger one')
    whole = helper.make_graph(graph.nodes, f'mr_elm {model.header.method}', inputs, outputs, graph.constants)
    proto = helper.make_model(
        whole,
        producer_name='mr_elm',
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid('', OPSET), helper.make_opsetid('ai.onnx.ml', ML_OPSET)],
    )
    helper.set_model_props(proto, {'method': model.header.method, 'task': model.header.task})
    checker.check_model(proto)
    return proto


def shape_of(model: Model, output: str) -> list[Any]:
    """Return the shape of an output."""
    if output == 'label':
        if model.header.target_names:
            return ['N', model.n_scores]
        return ['N']
    return ['N', model.n_scores if output == 'scores' else len(model.classes)]


def write_inputs(graph: Graph, model: Model, number: int) -> tuple[list[Any], str]:
    """Return the inputs, and the features (N, d) that are written of them. number : type of numbers of ONNX."""
    columns = columns_of(model)
    if columns is None:
        if number == helper.np_dtype_to_tensor_dtype(graph.real):
            X = 'X'
        else:
            X = graph.cast('X', graph.real)
        return [helper.make_tensor_value_info('X', number, ['N', model.n_features])], X
    text = helper.np_dtype_to_tensor_dtype(np.dtype(object))
    names = [column.name for column in columns]
    for name in names:
        if not name or name in OUTPUTS or name.startswith(OWN) or names.count(name) > 1:
            raise ValueError(
                f'export: expected columns with names, each once, none of which is an output '
                f'({", ".join(OUTPUTS)}) or begins with {OWN}, found {name!r}'
            )
    inputs = [
        helper.make_tensor_value_info(each.name, text if each.kind == CATEGORY else number, ['N', 1])
        for each in columns
    ]
    features = [part for column in columns for part in write_column(graph, column)]
    return inputs, features[0] if len(features) == 1 else graph.put('Concat', *features, axis=1)


def write_column(graph: Graph, column: Column) -> list[str]:
    """Write the features of a column, (N, k) each."""
    if column.kind == CATEGORY:
        n = len(column.categories)
        codes = {**column.lookup, **dict.fromkeys(MISSING_TEXTS, column.lookup.get(MISSING, n))}
        value = graph.put(
            'LabelEncoder',
            graph.put('Reshape', column.name, np.array([-1])),
            domain='ai.onnx.ml',
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=n,
        )
        return [graph.take(np.eye(n + 1), value)]
    values = graph.cast(graph.put('Reshape', column.name, np.array([-1, 1])), graph.real)
    if np.isnan(column.mean):  # a missing number has no stand-in
        return [values]
    missing = graph.put('IsNaN', values)
    filled = graph.put('Where', missing, column.mean, values)
    if column.missing:
        return [filled, graph.cast(missing, graph.real)]
    return [filled]


def write_answers(graph: Graph, model: Model, X: str) -> list[str]:
    """Write label, scores, and of a calibrated model probabilities."""
    scores = graph.write_scores(model, X)
    if model.multilabel:
        return [write_labels(graph, model, scores), scores]
    if model.numeric:
        if model.header.is_log:
            scores = graph.put('Exp', scores)
        return [scores if model.header.target_names else graph.put('Reshape', scores, np.array([-1])), scores]
    numbers, *probabilities = write_classes(graph, model, scores)
    return [graph.take(np.array(model.classes, object), numbers), scores, *probabilities]


def write_classes(graph: Graph, model: Model, scores: str) -> list[str]:
    """Write the number of the class, (N,), and of a calibrated model probabilities."""
    if model.labelling.calibration is None:
        return [write_numbers(graph, model, scores, None)]
    probabilities = write_probabilities(graph, model, scores, model.labelling.calibration)
    return [write_numbers(graph, model, scores, probabilities), probabilities]


def write_labels(graph: Graph, model: Model, scores: str) -> str:
    """Write the names of the labels of a row, joined."""
    separator, names = model.header.separator or '', np.array(model.classes, object)
    present = graph.put('Greater', scores, PRESENCE_THRESHOLD)
    before = graph.put('CumSum', graph.cast(present, np.int64), np.array(1), exclusive=1)
    later = graph.put('Where', graph.put('Greater', before, np.array(0)), separator + names, names)
    pieces = graph.put('Where', present, later, np.array('', object))
    label = graph.take(pieces, np.array(0), axis=1)
    for k in range(1, len(names)):
        label = graph.put('StringConcat', label, graph.take(pieces, np.array(k), axis=1))
    return label


def write_numbers(graph: Graph, model: Model, scores: str, probabilities: str | None) -> str:
    """Write the number of the class, (N,); a tie goes to the first one."""
    labelling = model.labelling
    if probabilities is not None and labelling.threshold is not None:
        p = graph.take(probabilities, np.array(labelling.positive), axis=1)
        above = graph.put('Greater', p, labelling.threshold)
        return graph.put('Where', above, np.array(labelling.positive), np.array(1 - labelling.positive))
    if probabilities is not None:
        return first_largest(graph, probabilities)
    if model.n_scores == 1:
        values = graph.put('Reshape', scores, np.array([-1]))
        return graph.cast(graph.put('Greater', values, 0.0), np.int64)
    if labelling.scheme != ONE_VS_ONE:
        return first_largest(graph, scores)
    votes, sums = write_votes(graph, scores, len(model.classes))
    most = graph.put('Equal', votes, graph.put('ReduceMax', votes, np.array([1])))
    return first_largest(graph, graph.put('Where', most, sums, -np.inf))


def first_largest(graph: Graph, values: str) -> str:
    """Write the number of the largest value of each row, the first of equal ones."""
    return graph.put('ArgMax', values, axis=1, keepdims=0)


def write_votes(graph: Graph, scores: str, n_classes: int) -> tuple[str, str]:
    """Write the votes of pairs for each class, and the sums of their decision values, (N, K) both."""
    gain: Floats = np.zeros((len(class_pairs(n_classes)), n_classes))
    for p, (i, j) in enumerate(class_pairs(n_classes)):
        gain[p, i], gain[p, j] = -1.0, 1.0
    won = graph.cast(graph.put('Greater', scores, 0.0), graph.real)
    votes = graph.put('Add', graph.put('MatMul', won, gain), (gain < 0).sum(axis=0).astype(float))
    return votes, graph.put('MatMul', scores, gain)


def write_probabilities(graph: Graph, model: Model, scores: str, calibration: Floats) -> str:
    """Write the probability of each class, (N, K): softmax of e^t f + b; see `scores.calibration`."""
    n, size, biases = len(model.classes), np.exp(calibration[0]), np.append(0.0, calibration[1:])
    if n == 2:
        logits = graph.put('Mul', scores, np.array([0.0, size]))
    elif model.labelling.scheme == ONE_VS_ONE:
        votes, sums = write_votes(graph, scores, n)
        squeezed = graph.put('Div', sums, graph.put('Mul', graph.put('Add', graph.put('Abs', sums), 1.0), 3.0))
        logits = graph.put('Mul', graph.put('Add', votes, squeezed), size)
    else:
        logits = graph.put('Mul', scores, size)
    return graph.put('Softmax', graph.put('Add', logits, biases), axis=1)

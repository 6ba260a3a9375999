"""Write a model as a graph of ONNX, which answers as `mr-elm predict` does."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper

from mr_elm.export.graph import OWN, Graph
from mr_elm.export.machines import columns_of
from mr_elm.model.base import Model
from mr_elm.rows.columns import MISSING, MISSING_TEXTS
from mr_elm.rows.encoding import CATEGORY, DATE, NUMBER, THURSDAY, Column

OPSET, ML_OPSET = 20, 3  # 20 is the first that joins texts
OUTPUTS = 'label', 'scores', 'probabilities'
IR_VERSION = 9  # of files that onnxruntime 1.17 reads
MAX_BYTES = 2**31 - 2**20  # bytes: a file of ONNX holds 2 GB


def make_onnx(model: Model, single: bool = False) -> Any:
    """Return a model as an onnx.ModelProto.

    Its inputs are X, (N, d), or one a column, by name, where the columns of the training had names: (N, 1) of numbers,
    NaN for a missing one, or of text, '' for a missing one. A date is a number: days since 1970-01-01 in UTC, always
    of float64. Its outputs are label, (N,) text, or numbers of a regression (N,) or (N, K); scores, (N, P);
    probabilities, (N, K), of a calibrated model.

    single : whether numbers come and go in float32; the graph computes in float64.
    Raises ValueError where a graph cannot hold the model.
    """
    graph, number = Graph(single), TensorProto.DOUBLE
    if single:
        number = TensorProto.FLOAT
    inputs, X = write_inputs(graph, model, number)
    answers = dict(zip(OUTPUTS, graph.write_answers(model, X), strict=False))
    widths = {'label': [], 'scores': [model.n_scores], 'probabilities': [len(model.classes)]}
    if model.header.target_names:
        widths['label'] = widths['scores']
    elif model.numeric:
        answers['label'] = graph.put('Reshape', answers['label'], np.array([-1]))
    outputs = []
    for name, value in answers.items():
        kind, node = number, helper.make_node('Cast', [value], [name], to=number)
        if name == 'label' and not model.numeric:
            kind, node = TensorProto.STRING, helper.make_node('Identity', [value], [name])
        graph.nodes.append(node)
        outputs.append(helper.make_tensor_value_info(name, kind, ['N', *widths[name]]))
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


def write_inputs(graph: Graph, model: Model, number: int) -> tuple[list[Any], str]:
    """Return the inputs, and the features (N, d) that are written of them. number : type of numbers of ONNX."""
    columns = columns_of(model)
    if columns is None:
        return [helper.make_tensor_value_info('X', number, ['N', model.n_features])], graph.cast('X', float)
    names = [column.name for column in columns]
    for name in names:
        if not name or name in OUTPUTS or name.startswith(OWN) or names.count(name) > 1:
            raise ValueError(
                f'export: expected columns with names, each once, none of which is an output '
                f'({", ".join(OUTPUTS)}) or begins with {OWN}, found {name!r}'
            )
    kinds = {CATEGORY: TensorProto.STRING, NUMBER: number, DATE: TensorProto.DOUBLE}
    inputs = [helper.make_tensor_value_info(each.name, kinds[each.kind], ['N', 1]) for each in columns]
    features = [feature for column in columns for feature in write_column(graph, column)]
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
    values = graph.cast(graph.put('Reshape', column.name, np.array([-1, 1])), float)
    if np.isnan(column.mean):  # a missing number has no stand-in
        return [values]
    missing = graph.put('IsNaN', values)
    features = [graph.put('Where', missing, column.mean, values)]
    if column.missing:
        features.append(graph.cast(missing, float))
    if column.kind == DATE:
        features += write_calendar(graph, column, missing)
    return features


def write_calendar(graph: Graph, column: Column, missing: str) -> Iterator[str]:
    """Write the month, the weekday and the hour of dates. missing : which of them are missing, (N, 1).

    After 400 years the calendar begins anew, with the same weekday.
    """
    days = np.arange('1970-01-01', '2370-01-01', dtype='M8[D]')
    moment = graph.put('Reshape', column.name, np.array([-1]))
    day = graph.cast(graph.put('Floor', moment), np.int64)
    calendar = (days.astype('M8[M]').astype(int) % 12).astype(np.uint8)  # a byte for each of 146,097 days
    months = graph.cast(graph.take(calendar, graph.put('Mod', day, np.array(len(days)))), np.int64)
    weekdays = graph.put('Mod', graph.put('Add', day, np.array(THURSDAY)), np.array(7))
    numbers = [months, weekdays]
    if column.categories:  # days may have been rounded down, to a moment before a full hour
        above = graph.put('Add', moment, graph.put('Mul', graph.put('Abs', moment), 2.0**-52))
        hours = graph.cast(graph.put('Floor', graph.put('Mul', above, 24.0)), np.int64)
        numbers.append(graph.put('Mod', hours, np.array(24)))
    unknown = graph.put('Reshape', missing, np.array([-1]))
    for part, number, first in zip(column.parts[1:], numbers, (1, 1, 0), strict=False):
        n = len(part.categories)
        codes = np.array([part.lookup.get(str(k + first), n) for k in range(24)])
        code = graph.put('Where', unknown, np.array(part.lookup.get(MISSING, n)), graph.take(codes, number))
        yield graph.take(np.eye(n + 1), code)

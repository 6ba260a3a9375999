"""Predict the rows of data frames of pandas, batch by batch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.errors import RowError
from mr_elm.model.base import Model
from mr_elm.model.file import read_model
from mr_elm.rows.columns import NumberColumn, Table
from mr_elm.rows.frames import Frame, read_frame, to_matrix
from mr_elm.rows.labels import read_labels
from mr_elm.typing import Floats, Rows

EXACT = 2**53  # up to which float64 holds all integers
PREDICTION, PROBABILITY = 'prediction', 'probability'  # columns with what a model says
ITEM = re.compile(r'(.*)\[(\d+)\]', re.DOTALL)  # the name of a feature that is an item of an array


def predict_batches(path: str, sizes: Mapping[str, int], batches: Iterable[Any]) -> Iterator[Any]:
    """Yield a data frame with the predictions of each batch.

    path : of a model file. sizes : of the columns that hold arrays, see `measure_arrays`.
    batches : data frames of pandas with the columns of the model. Raises ValueError when rows do not fit the model.
    Where the training left out bad rows, a row with a missing or infinite number has no prediction.
    """
    import pandas

    model = read_model(path)
    with one_thread():
        for batch in batches:
            X = read_features(model, batch, sizes)
            predictions = pandas.DataFrame(predict_rows(model, X))
            if model.encoding is None:
                predictions = predictions.astype(object)  # in which integers above 2^53 stay exact beside None
                predictions[~np.isfinite(X).all(axis=1)] = None
            yield predictions


def predict_rows(model: Model, X: Rows) -> dict[str, Any]:
    """Return the columns of the predictions; X (n, d)."""
    if not has_probabilities(model):
        labels = model.predict(X)
        return {PREDICTION: labels if model.numeric else find_labels(model)[labels]}
    decisions = model.decision_function(X)
    return {
        PREDICTION: find_labels(model)[model.decide(decisions)],
        PROBABILITY: list(model.labelling.probabilities(decisions)),
    }


def has_probabilities(model: Model) -> bool:
    """Tell whether a model has a probability for each class."""
    return 'calibration' in model.arrays


def find_labels(model: Model) -> np.ndarray:
    """Return the classes, (K,): as float64 or int64 if that holds all of them, else text; none for a regression."""
    labels = read_labels(model.classes)
    if labels.dtype == np.int64 and max(map(abs, labels.tolist())) > EXACT:
        return labels
    if labels.dtype.kind in 'if':
        return labels.astype(float)
    return np.array(model.classes, object)


def read_features(model: Model, batch: Any, sizes: Mapping[str, int]) -> Rows:
    """Return the features of a batch, (n, d), dense or CSR. Raises ValueError when they do not fit the model."""
    frame = read_frame(batch.drop(columns=list(sizes)))
    columns = dict(zip(frame.names, frame.table.columns, strict=True))
    for name, size in sizes.items():
        items = enumerate(stack_arrays(batch[name], size, name).T)
        columns |= {f'{name}[{item}]': NumberColumn(values) for item, values in items}
    names = feature_names(model)
    table = Table(tuple(columns[name] for name in names), len(batch))
    if model.encoding is None:
        X = to_matrix(Frame(tuple(names), table), names)
        finite = np.isfinite(X).all(axis=0)
        if not finite.all() and not model.header.n_rows_rejected:
            raise ValueError(
                f'df: expected finite numbers in column {names[int(finite.argmin())]!r}, found a missing or '
                "infinite one: fill it, drop the row or train with encode='auto', which takes the mean for missing ones"
            )
        return X
    try:
        return model.encoding.encode(table).spread()
    except RowError as error:
        raise ValueError(f'df: {error.reason}: {error.detail}') from None


def stack_arrays(values: Iterable[Any], size: int, name: str) -> Floats:
    """Return arrays of one size as a matrix, NaN for one that is missing. Raises ValueError for another size."""
    rows = [np.full(size, np.nan) if value is None else np.asarray(value, float) for value in values]
    if wrong := [len(row) for row in rows if len(row) != size]:
        raise ValueError(f'df: expected vectors of size {size} in column {name!r}, found one of size {wrong[0]}')
    return np.array(rows).reshape(-1, size)


def feature_names(model: Model) -> list[str]:
    """Return the names of the columns that a model needs; none where its rows had no names."""
    return model.header.column_names or []


def measure_arrays(model: Model, columns: Collection[str]) -> dict[str, int]:
    """Return the sizes of the columns whose items are features: name -> size. columns : names that rows have."""
    dropped = model.header.parameters.get('input', {}).get('dropped', [])
    items = [ITEM.fullmatch(str(name)) for name in (*feature_names(model), *dropped) if name not in columns]
    sizes: dict[str, int] = {}
    for name, item in (match.groups() for match in items if match):
        sizes[name] = max(sizes.get(name, 0), int(item) + 1)
    return sizes


def column_of(name: str, sizes: Mapping[str, int]) -> str:
    """Return the column that holds a feature. sizes : of `measure_arrays`."""
    item = ITEM.fullmatch(name)
    if item and item.group(1) in sizes:
        return item.group(1)
    return name

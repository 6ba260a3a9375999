"""Say which rows of a block cannot be used, and why."""
from collections.abc import Iterator

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block
from mr_elm.rows.labels import check_label, check_target, find_usable
from mr_elm.rows.options import RowOptions


def find_errors(block: Block, form: RowOptions) -> dict[int, RowError]:
    """Return why rows cannot be used: row -> the first reason."""
    errors: dict[int, RowError] = {}
    for find in (find_bad_labels, find_bad_targets, find_bad_weights, find_bad_values):
        for row, error in find(block, form):
            errors.setdefault(row, error)
    return errors


def find_bad_labels(block: Block, form: RowOptions) -> Iterator[tuple[int, RowError]]:
    """Yield (row, error) where a label is missing or cannot be one."""
    for code, name in enumerate(block.names):
        try:
            check_label(name, form)
        except RowError as error:
            yield from ((row, error) for row in np.flatnonzero(block.codes == code).tolist())


def find_bad_targets(block: Block, form: RowOptions) -> Iterator[tuple[int, RowError]]:
    """Yield (row, error) where a target is missing or not finite."""
    if block.targets is None:
        return
    T = block.targets.reshape(len(block), -1)
    for row, k in np.argwhere(~find_usable(T, form)).tolist():
        try:
            check_target('' if np.isnan(T[row, k]) else str(T[row, k]), k, form)
        except RowError as error:
            yield row, error


def find_bad_weights(block: Block, form: RowOptions) -> Iterator[tuple[int, RowError]]:
    """Yield (row, error) where a weight is not a positive number."""
    if block.weights is None:
        return
    for row in np.flatnonzero(~(np.isfinite(block.weights) & (block.weights > 0))).tolist():
        weight = block.weights[row]
        reason = 'weight is not positive' if np.isfinite(weight) else 'nan or infinite'
        yield row, RowError(reason, f'the weight is {weight}')


def find_bad_values(block: Block, form: RowOptions) -> Iterator[tuple[int, RowError]]:
    """Yield (row, error) where a feature of a dense matrix is missing or not finite."""
    if not isinstance(block.X, np.ndarray):
        return
    finite = np.isfinite(block.X)
    if finite.all():
        return
    for row in np.flatnonzero(~finite.all(axis=1)).tolist():
        column = int(np.argmin(finite[row]))
        name = form.names[column] if form.names else str(form.feature_positions[column])
        yield row, explain_value(block.X[row, column], name)


def explain_value(value: float, name: str) -> RowError:
    """Say why a feature of a row cannot be used."""
    if np.isnan(value):
        return RowError('missing value', f'column {name!r} is empty (--encode auto takes the mean instead, --drop '
                        f'{name} leaves the column out)')
    return RowError('nan or infinite', f'column {name!r} holds {value}')

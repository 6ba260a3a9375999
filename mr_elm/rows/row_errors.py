"""Say which rows of a block cannot be used, and why."""

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block
from mr_elm.rows.labels import check_label, check_target, find_usable
from mr_elm.rows.options import RowOptions


def find_errors(block: Block, form: RowOptions) -> dict[int, RowError]:
    """Return why rows cannot be used, for their label, target, weight or features: row -> the first reason."""
    errors: dict[int, RowError] = {}
    for code, name in enumerate(block.names):
        try:
            check_label(name, form)
        except RowError as error:
            errors |= dict.fromkeys(np.flatnonzero(block.codes == code).tolist(), error)
    if block.targets is not None:
        T = block.targets.reshape(len(block), -1)
        for row, k in np.argwhere(~find_usable(T, form)).tolist():
            if np.isnan(T[row, k]):
                text = ''
            else:
                text = str(T[row, k])
            try:
                check_target(text, k, form)
            except RowError as error:
                errors.setdefault(row, error)
    if block.weights is not None:
        for row in np.flatnonzero(~(np.isfinite(block.weights) & (block.weights > 0))).tolist():
            errors.setdefault(row, explain_weight(block.weights[row]))
    if isinstance(block.X, np.ndarray) and not np.isfinite(block.X).all():
        for row in np.flatnonzero(~np.isfinite(block.X).all(axis=1)).tolist():
            errors.setdefault(row, explain_values(block.X[row], form))
    return errors


def explain_weight(weight: float) -> RowError:
    """Say why a weight cannot be used."""
    reason = 'nan or infinite'
    if np.isfinite(weight):
        reason = 'weight is not positive'
    return RowError(reason, f'the weight is {weight}')


def explain_values(values: np.ndarray, form: RowOptions) -> RowError:
    """Say why the features of a row cannot be used: by the first that is missing or infinite."""
    k = int(np.argmin(np.isfinite(values)))
    if form.names:
        name = form.names[k]
    else:
        name = str(form.feature_positions[k])
    if np.isnan(values[k]):
        return RowError(
            'missing value',
            f'column {name!r} is empty (--encode auto takes the mean instead, --drop {name} leaves the column out)',
        )
    return RowError('nan or infinite', f'column {name!r} holds {values[k]}')

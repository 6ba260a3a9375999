"""Say in a few lines what a model is, for people."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mr_elm.features.nodes import part_map
from mr_elm.methods import METHODS
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.rows.encoding import CATEGORY, DATE, Column
from mr_elm.rows.text import quote

SHOWN_NAMES = 10  # names that are listed
# parameters that are told elsewhere, or that only programs read
ELSEWHERE = {
    'map',
    'kernel',
    'input',
    'blas',
    'grid',
    'importance',
    'certificates',
    'solver',
    'condition',
    'peak',
    'passes',
    'residual',
    'normalised',
    'n_hidden',
}
SOLVED = ('condition', 'passes', 'residual')


def list_facts(model: Model) -> dict[str, str]:
    """Return name -> what there is to say, only what this model has."""
    header, parameters = model.header, model.header.parameters
    columns = dates = ''
    if model.encoding is not None:
        dates = model.encoding.dates
        columns = f', from {len(model.encoding.columns):,} columns'
    events = [f'{event.get("action")} {event.get("when", "")}' for event in header.history]
    if len(events) > 4:
        events[1:-3] = [f'{len(events) - 4:,} more']
    facts = {
        'method': f'{header.method}, {METHODS[header.method].what}' if header.method in METHODS else header.method,
        'task': header.task,
        'classes': list_names(model.classes),
        'labels': header.separator and (f'several in a row, {header.separator!r} between'),
        'targets': list_names(header.target_names),
        'target': header.is_log and 'its logarithm is learned: predictions are medians',
        'positive': header.positive,
        'threshold': header.threshold is not None
        and (f'{header.threshold} (a larger probability of {quote(header.positive or "")} is labelled so)'),
        'features': f'{model.n_features:,}{columns}',
        'dates': dates,
        'rows': f'{header.n_rows_used:,} used, {header.n_rows_rejected:,} rejected',
        'machine': '; '.join(map(describe_machine, model.members)),
        'options': write_values(parameters, [name for name in parameters if name not in ELSEWHERE]),
        'solver': ', '.join(part for part in (parameters.get('solver'), write_values(parameters, SOLVED)) if part),
        'certificate': write_values(parameters.get('certificates', {}), ('gap', 'violation', 'n_iter')),
        'computed by': ', '.join(parameters.get('blas', ())),
        'probabilities': header.calibration and write_values(header.calibration, header.calibration),
        'intervals': 'interval_residuals' in model.arrays
        and f'of {model.arrays["interval_residuals"].size:,} errors of held-out rows',
        'history': '; '.join(events),
    }
    return {name: str(value) for name, value in facts.items() if value}


def describe_machine(machine: Model) -> str:
    """Say what nodes or support vectors a machine has."""
    if isinstance(machine, HiddenNodeModel):
        layer, parameters, parts = machine.layer, machine.header.parameters, []
        if layer.forest is not None:
            parts.append(f'{layer.n_leaves:,} leaves of {layer.forest.n_trees:,} trees')
        kind = part_map(parameters['map'])
        if kind == 'nystrom':
            parts.append(f'{len(layer.biases):,} {parameters.get("kernel", "gaussian")} landmarks')
        elif kind:
            parts.append(f'{len(layer.biases):,} {kind} nodes')
        return ' and '.join(parts)
    if not isinstance(machine, KernelModel):
        return type(machine).__name__
    kind = ''
    if machine.kernel.normalised:
        kind = 'normalised '
    return f'{machine.support_vectors.shape[0]:,} support vectors, {kind}{machine.kernel.name} kernel'


def write_values(values: Mapping[str, Any], names: Sequence[str] | Mapping[str, Any]) -> str:
    """Write numbers and texts by name, without those that are not there."""
    return ', '.join(f'{name} {write_value(values[name])}' for name in names if values.get(name) is not None)


def write_value(value: Any) -> str:
    """Write a number in a few digits, and of a list its largest one."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, (int, float)) for each in value):
        value = max(value)
    if isinstance(value, float):
        return f'{value:.6g}'
    return str(value)


def list_names(names: Sequence[str]) -> str:
    """List some of the names, and how many there are."""
    if not names:
        return ''
    more = ''
    if len(names) > SHOWN_NAMES:
        more = f' and {len(names) - SHOWN_NAMES:,} more'
    return f'{len(names):,}: {", ".join(names[:SHOWN_NAMES])}{more}'


def list_columns(model: Model, importance: Sequence[float] | None = None) -> list[tuple[str, str, float | None]]:
    """Return (name, what it is, importance) of each column of the rows. importance : where the model keeps none."""
    if model.importance is not None:
        importance = model.importance.columns
    if model.encoding is None:
        n = model.n_features
        names = model.header.column_names or [f'feature {j + 1}' for j in range(n)]
        kinds = ['number'] * n
    else:
        names = [column.name for column in model.encoding.columns]
        kinds = list(map(describe_column, model.encoding.columns))
    return [
        (name, kind, None if importance is None else importance[j])
        for j, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]


def describe_column(column: Column) -> str:
    """Say how a column becomes features."""
    if column.kind == CATEGORY:
        return f'category, {list_names([name or "(missing)" for name in column.categories])}'
    if column.kind == DATE:
        mean = np.datetime64(int(column.mean // 1), 'D')
        hour = ', hour' if column.categories else ''
        return f'date, {column.order}, {mean} where it is missing: days, month, weekday{hour}'
    return f'number, {column.mean:.6g} where it is missing'

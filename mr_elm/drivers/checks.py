"""Check that the rows of a data set can be used for a training."""

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.rows.inputs import InputPlan
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary

MAX_CLASSES = 20  # more than this, on half of the rows or more, are no classes


def demand_rows(plan: InputPlan, summary: Summary) -> None:
    """Raise DataFormatError when a data set has no row, or no feature."""
    if not summary.n_rows:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    if not summary.columns.n_features:
        raise DataFormatError(f'{plan.name}: expected rows with features, all rows are empty')


def check_labels(plan: InputPlan, summary: Summary, task: str) -> None:
    """Raise DataFormatError when the rows have no labels, or were packed for another task."""
    if summary.target is None and not summary.labels.entries:
        raise DataFormatError(f'{plan.pack or plan.name}: expected labels, the rows have none')
    if (task == 'regression') != (summary.target is not None):
        raise DataFormatError(
            f'{plan.pack}: expected rows packed for {task}, found rows packed for another task: '
            f'pack them again (mr-elm pack --task {task})'
        )
    demand_summable(plan, summary)


def demand_summable(plan: InputPlan, summary: Summary) -> None:
    """Raise DataFormatError when the weights of the rows, or the squares of the targets, overflow in their sum."""
    if summary.weights is not None and not np.isfinite(summary.columns.n):
        raise DataFormatError(
            f'{plan.name}: expected row weights that can be added up in float64, found weights '
            f'as large as {summary.weights.maximum[0]:.3g}: divide all weights by a constant'
        )
    if summary.target is None:
        return
    names = summary.input.get('target_names') or [summary.input.get('label_name')] * summary.n_targets
    for k in np.flatnonzero(~np.isfinite(summary.target.squares + summary.target.mean**2 * summary.columns.n)):
        largest = max(abs(summary.target.minimum[k]), abs(summary.target.maximum[k]))
        if names[k] is None:
            target = f'target {k + 1}'
        else:
            target = f'column {names[k]!r}'
        raise DataFormatError(
            f'{plan.name}: {target}: expected targets whose squares can be added up in float64, '
            f'found targets as large as {largest:.3g}: divide them by a constant'
        )


def demand_one_label(plan: InputPlan, n_targets: int, separator: str | None, what: str) -> None:
    """Raise DataFormatError when rows have several targets or labels. what : cannot take them, or ''."""
    several = 'labels'
    if n_targets > 1:
        several = 'targets'
    if what and (n_targets > 1 or separator is not None):
        hint = 'train pesvm, elm and mr-kelm take these'
        if what.startswith('--'):
            hint = f'leave {what} out'
        raise DataFormatError(f'{plan.name}: {what}: expected one label in each row, found several {several}: {hint}')


def find_classes(plan: InputPlan, summary: Summary) -> Classes:
    """Return the Classes of a data set. Raises DataFormatError when the labels cannot be classes."""
    classes = Classes.of(summary.labels)
    k = len(classes.names)
    if summary.separator is not None:
        return classes
    if k < 2:
        raise DataFormatError(
            f'{plan.name}: expected at least two classes, every row has the label '
            f'{classes.names[0]!r}{name_label_column(summary)}'
        )
    if k > MAX_CLASSES and 2 * k >= summary.n_rows:
        raise DataFormatError(
            f'{plan.name}: expected classes, {summary.n_rows} rows have {k} different labels'
            f'{name_label_column(summary)}: is this a regression (--task regression), or is another '
            'column the label (--label-column NAME)?'
        )
    return classes


def name_label_column(summary: Summary) -> str:
    """Name the column of the labels, for the end of a phrase; '' where rows have no columns."""
    facts = summary.input
    name, position = facts.get('label_name'), facts.get('label_column', 0)
    if name is not None and position == 0:
        return f' in column {name!r}, the first one'
    if name is not None:
        return f' in column {name!r}'
    if 'n_columns' in facts:
        return f' in column {position} (counted from 0)'
    return ''

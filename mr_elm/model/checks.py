"""Check the header and the arrays of a model file: what was changed is refused, and not computed with."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from mr_elm.errors import write_value
from mr_elm.model.header import ModelHeader
from mr_elm.solvers.multiclass import ONE_VS_ALL, SCHEMES

TASKS = ('classification', 'regression')
PARTS = 'data', 'indices', 'indptr'  # of CSR rows


def demand(fine: object, what: str, found: object) -> None:
    """Raise ValueError unless something is as expected. what : the name and what was expected."""
    if not fine:
        raise ValueError(f'expected {what}, found {write_value(found)}')


def is_whole(value: object, least: int = 0) -> bool:
    """Tell whether a value of JSON is a whole number of at least `least` that 64 bits hold."""
    return type(value) is int and least <= value < 2**63


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a finite number."""
    return type(value) in (int, float) and isfinite(value)


def is_positive(value: Any) -> bool:
    """Tell whether a value of JSON is a finite number above 0."""
    return is_number(value) and value > 0


def is_text(value: Any) -> bool:
    """Tell whether a value of JSON is a text."""
    return isinstance(value, str)


def is_list(values: Any, holds: Callable[[Any], bool], length: int | None = None) -> bool:
    """Tell whether a value of JSON is a list, of a length unless that is None, each item of which passes a test."""
    return isinstance(values, list) and length in (None, len(values)) and all(map(holds, values))


def check_header(header: ModelHeader) -> None:
    """Raise KeyError or ValueError when a header does not say what a model decides between, and on what rows."""
    classes, numeric = header.classes, header.task == 'regression'
    demand(header.task in TASKS, f'task: {" or ".join(TASKS)}', header.task)
    demand(is_list(classes, is_text), 'classes: a list of names', classes)
    check_targets(header.targets, numeric)
    if numeric:
        enough = not classes
    elif header.separator is None:
        enough = len(classes) >= 2
    else:
        enough = len(classes) >= 1
    demand(enough and len(classes) == len(set(classes)), 'classes: two or more, none for a regression', classes)
    positives: Sequence[str | None] = [None]
    if len(classes) == 2 and header.separator is None:
        positives = classes
    demand(header.positive in positives, 'positive: one of two classes', header.positive)
    demand(is_whole(header.n_features, 1), 'n_features: a whole number above 0', header.n_features)
    demand(isinstance(header.parameters, dict), 'parameters: names and values', header.parameters)
    scheme = header.parameters.get('multiclass', ONE_VS_ALL)
    demand(scheme in SCHEMES, f'multiclass: {" or ".join(SCHEMES)}', scheme)


def check_targets(targets: Any, numeric: bool) -> None:
    """Raise ValueError unless a header names several targets of a regression, or what separates labels."""
    if targets is None:
        return
    single = isinstance(targets, dict) and len(targets) == 1
    if numeric:
        names: Any = single and targets.get('names')
        fine = is_list(names, is_text) and 1 < len(names) == len(set(names))
        demand(fine, 'targets: two names or more, each once', targets)
    else:
        separator = single and targets.get('separator')
        demand(is_text(separator) and separator, 'targets: a separator of labels', targets)


def check_labelling(header: ModelHeader, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise KeyError or ValueError when what turns decision values into probabilities and classes does not fit."""
    if header.calibration is not None or 'calibration' in arrays:
        check_arrays(arrays, {'calibration': (len(header.classes),)})
    for name in ('interval_residuals', 'interval_ratios'):
        if name in arrays:
            check_arrays(arrays, {name: arrays[name].shape[:1]})
    threshold = header.threshold
    if threshold is not None:
        demand(
            'calibration' in arrays and len(header.classes) == 2,
            'probabilities of two classes for a threshold',
            header.classes,
        )
        demand(type(threshold) is float and 0 <= threshold <= 1, 'threshold: a number from 0 to 1', threshold)


def check_report(header: ModelHeader) -> None:
    """Raise KeyError or ValueError when a header does not tell what rows a model has seen, and how they were read."""
    for name in ('n_rows_used', 'n_rows_rejected'):
        demand(is_whole(getattr(header, name)), f'{name}: a whole number', getattr(header, name))
    events, parameters = header.history, header.parameters
    demand(isinstance(events, list) and {*map(type, events)} <= {dict}, 'history: a list of events', events)
    demand(is_list(parameters.get('blas', []), is_text), 'blas: a list of names', parameters.get('blas'))
    for name, kind in {'solver': str, 'certificates': dict}.items():
        value = parameters.get(name, kind())
        demand(isinstance(value, kind), f'{name} as a training writes it', value)
    options, n_targets = header.parameters['input'], len(header.target_names)
    holds = {
        'label_column': lambda value: type(value) in (int, str),
        'weight_column': lambda value: type(value) in (int, str),
        'label_name': is_text,
        'weight_name': is_text,
        'delimiter': lambda value: is_text(value) and len(value) == 1,
        'names': lambda value: is_list(value, is_text, header.n_columns),
        'targets': lambda value: is_list(value, is_whole, n_targets),
        'target_names': lambda value: is_list(value, is_text, n_targets),
        'dropped': lambda value: isinstance(value, list),
        'positions': lambda value: is_list(value, is_whole),
    }
    for name, fits in holds.items():
        value = options.get(name)
        demand(value is None or fits(value), f'input: {name} as a reader of rows takes it', value)


def check_living(header: ModelHeader) -> None:
    """Raise KeyError or ValueError when a header does not tell how the sums of a model were made."""
    parameters = header.parameters
    for name in ('sigma', 'weight_scale', header.nu_name, *({'leaf_ridge', 'peak'} & {*parameters})):
        demand(is_positive(parameters[name]), f'{name}: a number above 0', parameters[name])
    demand(is_list(parameters['grid'], is_positive, 3), 'grid: three numbers above 0', parameters['grid'])
    origin = parameters.get('origin', [])
    n_targets = 0
    if parameters.get('center'):
        n_targets = max(len(header.target_names), 1)
    demand(is_list(origin, is_number, n_targets), f'origin: {n_targets} numbers', origin)
    for name in ('blas', 'solver', *list_options(parameters)):
        demand(name in parameters, f'parameters with {name}', sorted(parameters))


def list_options(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the options that a model on nodes is trained with again where its rows change."""
    names = ['map', 'n_hidden', 'seed', 'weight_scale', 'weights', 'scale', 'class_weight']
    if 'leaf_ridge' in parameters:
        names += ['leaves', 'leaf_ridge']
    if parameters.get('solver') == 'passes':
        names += ['solver', 'tolerance']
    return names


def check_arrays(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise KeyError or ValueError unless there are arrays of these shapes, of finite numbers in float64.

    shapes : name -> shape.
    """
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f'expected {name} of shape {shape} in float64, found shape {array.shape} in {array.dtype}')
        if not np.isfinite(array).all():
            raise ValueError(f'expected finite numbers in {name}, found others')


def check_metric(arrays: Mapping[str, np.ndarray], n_features: int) -> int:
    """Check the metric of a model, where there is one; return the width of rows that have passed it."""
    if 'feature_metric' not in arrays:
        return n_features
    shape = arrays['feature_metric'].shape
    demand(
        len(shape) in (1, 2) and shape[0] > 0 and shape[-1] == n_features,
        f'feature_metric of {n_features} features',
        shape,
    )
    check_arrays(arrays, {'feature_metric': shape})
    return shape[0]


def check_importance(header: ModelHeader) -> None:
    """Raise KeyError, TypeError or ValueError unless shares of features and of columns, where there are some, fit."""
    if 'importance' not in header.parameters:
        return
    shares = header.parameters['importance']
    for name, length in (('features', header.n_features), ('columns', header.n_columns)):
        values = shares[name]
        demand(
            len(values) == length and all(type(value) is float and 0 <= value <= 1 for value in values),
            f'importance: shares of {length} {name}',
            values,
        )


def check_sums(arrays: Mapping[str, np.ndarray], n_columns: int, n_sums: int) -> None:
    """Check the sums of a model that lives. n_columns : of E. n_sums : classes, or targets of a regression."""
    packed = (n_columns * (n_columns + 1) // 2,)
    shapes = {'gram': packed, 'class_sums': (n_sums, n_columns)}
    check_arrays(arrays, {**shapes, **{f'{name}_low': shape for name, shape in shapes.items()}, 'counts': (n_sums,)})
    if 'counts_low' in arrays:
        check_arrays(arrays, {'counts_low': (n_sums,)})


def check_scaling(arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """Check offset and scale of the features: a number for each, or one for all."""
    for name in ('feature_offset', 'feature_scale'):
        check_arrays(arrays, {name: (n_features,) if arrays[name].ndim else ()})


def check_vectors(arrays: Mapping[str, np.ndarray], n_features: int, name: str) -> int:
    """Check rows that a model keeps, dense or CSR, since scipy reads where indices point; returns their number."""
    if name in arrays:
        check_arrays(arrays, {name: (len(arrays[name]), n_features)})
        return len(arrays[name])
    data, indices, indptr = (arrays[f'{name}_{part}'] for part in PARTS)
    check_arrays(arrays, {f'{name}_data': data.shape[:1]})
    what = name.replace('_', ' ')
    demand(
        indices.dtype.kind == indptr.dtype.kind == 'i' and indices.shape == data.shape and indptr.ndim == 1,
        f'{what}: data, indices and indptr of CSR rows',
        [part.shape for part in (data, indices, indptr)],
    )
    demand(
        len(indptr) and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all(),
        f'{what}: rows one after another',
        indptr,
    )
    demand(((indices >= 0) & (indices < n_features)).all(), f'{what}: columns below {n_features}', indices)
    return len(indptr) - 1

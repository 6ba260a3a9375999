"""Take a model of sums apart by the parts of its rows, without the rows: scores, drift, models of some parts.

    E'E = sum of E_p'E_p over the parts p,    and so for E'T and T'T

The model without part p is solved for from the sums less those of p. Its squared error on p needs no row of p:

    |E_p B - T_p|^2 = T_p'T_p - 2 B'E_p'T_p + B'E_p'E_p B

So does that of the model of all parts without one node.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from mr_elm.errors import ModelFormatError, record
from mr_elm.machines.living import Batch, LivingMachine, steps_of
from mr_elm.model.models import HiddenNodeModel
from mr_elm.solvers.increment import add_sums, select_classes, sum_arrays, sums_of
from mr_elm.solvers.ridge import Sums, add_penalty, find_penalty, right_side
from mr_elm.sums.gram import mirror_upper
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.typing import Floats

PREFIX = 'parts/'  # of the arrays of parts among the sums
MEANS = 'column_weight', 'column_mean', 'column_squares'


@record
class Part:
    """Hold the sums of some rows of a training.

    name : of their file, or values of columns. n_rows : how many there are. columns : of their features, see
    `make_means`, or None for very many features.
    """

    name: str
    n_rows: int
    sums: Sums
    columns: ColumnStatistics | None = None


def make_means(arrays: Sequence[np.ndarray]) -> ColumnStatistics:
    """Return statistics of n, mean, squares. Ranges are left out, since their bounds are values of single rows."""
    n, mean, squares = arrays
    return ColumnStatistics(float(n), mean, mean, mean, squares)


def keep_parts(model: HiddenNodeModel, parts: Sequence[Part]) -> HiddenNodeModel:
    """Return a model that keeps the sums of each part among its own: an array holds those of all parts."""
    of_parts = list(map(name_arrays, parts))
    arrays = {f'{PREFIX}{name}': np.stack([own[name] for own in of_parts]) for name in of_parts[0]}
    header = model.header.change_parameters(parts=[{'name': part.name, 'rows': part.n_rows} for part in parts])
    return replace(model, header=header, sums={**(model.sums or {}), **arrays})


def read_parts(model: HiddenNodeModel, name: str) -> list[Part]:
    """Return the parts of a model with its sums. Raises ModelFormatError when it has none. name : of the model."""
    facts, sums = model.header.parameters.get('parts'), model.sums or {}
    if not facts or f'{PREFIX}gram' not in sums:  # an estimator keeps the sums of all rows alone
        raise ModelFormatError(f'{name}: expected a model of train --part-by, found one without the sums of parts')
    parts, stacked = [], {name.removeprefix(PREFIX): sums[name] for name in sums if name.startswith(PREFIX)}
    for k, fact in enumerate(facts):
        arrays, columns = {name: array[k] for name, array in stacked.items()}, None
        if MEANS[0] in arrays:
            columns = make_means([arrays[name] for name in MEANS])
        parts.append(Part(fact['name'], fact['rows'], sums_of(arrays), columns))
    return parts


def name_arrays(part: Part) -> dict[str, Any]:
    """Name the sums of a part, and what is kept of its features."""
    arrays: dict[str, Any] = sum_arrays(part.sums)
    if part.columns is not None:
        arrays.update(zip(MEANS, (part.columns.n, part.columns.mean, part.columns.squares), strict=True))
    return arrays


def remove_parts(model: HiddenNodeModel, parts: Iterable[Part]) -> LivingMachine:
    """Return the machine of the other parts. Raises AccountingError when too few classes would be left."""
    machine, names = LivingMachine.of_model(model), model.classes
    for part in parts:
        numbers = [names.index(name) for name in machine.header.classes]
        machine = machine.forget(Batch(part.sums, steps_of(model.header), list(names), numbers, part.n_rows))
    return machine


def select_part(part: Part, names: Sequence[str], left: Sequence[str]) -> Part:
    """Return a part whose sums have only those classes, of all `names`, that are left."""
    if names:
        return replace(part, sums=select_classes(part.sums, np.isin(names, left)))
    return part


def score_parts(model: HiddenNodeModel, parts: Sequence[Part], weights: Iterable[float]) -> dict[float, list[float]]:
    """Score the model without each part on this part, for some weights nu (C) of the errors: the mean squared error.

    It is exact cross-validation with the parts as folds. T is +1 and -1 for classes; the errors of several columns of T
    are added up.
    """
    machine = LivingMachine.of_model(model)
    errors: dict[float, list[float]] = {}
    for weight in weights:
        header = machine.header.change_parameters(**{machine.header.nu_name: weight})
        errors[weight] = []
        for part in parts:
            B = solve_for(replace(machine, header=header, sums=add_sums(machine.sums, part.sums, -1)))
            errors[weight].append(measure_error(model, part, B))
    return errors


def measure_error(model: HiddenNodeModel, part: Part, B: Floats) -> float:
    """Return the mean squared error of output weights, counted as the targets of the sums are, on a part.

    Rows count by their weights, whose sum is the last entry of E'E.
    """
    has_targets = model.numeric or model.multilabel
    right = right_side(part.sums.class_sums, has_targets)
    counts = part.sums.counts
    if has_targets:
        squares = counts.sum()
    else:
        squares = counts.sum() * right.shape[1]
    error = squares - 2 * (B * right).sum() + (B * (mirror_upper(part.sums.gram) @ B)).sum()
    return float(max(error, 0.0) / part.sums.gram[-1, -1])


def measure_drift(model: HiddenNodeModel, parts: Sequence[Part]) -> list[float]:
    """Return how far the model of each part is from that of all others: the root mean square over all rows of the
    difference of their predictions."""
    machine = LivingMachine.of_model(model)
    gram, distances = mirror_upper(machine.sums.gram), []
    for part in parts:
        B = solve_for(replace(machine, sums=part.sums))
        D = B - solve_for(replace(machine, sums=add_sums(machine.sums, part.sums, -1)))
        distances.append(float(np.sqrt(max((D * (gram @ D)).sum(), 0.0) / gram[-1, -1])))
    return distances


def measure_shifts(model: HiddenNodeModel, parts: Sequence[Part]) -> list[Floats]:
    """Return how far the mean of each column of each part is from that of all other parts, in standard deviations of
    all rows: (columns,) for each part, none where the features of parts are not kept. Of a category the distance is
    that of the share that differs most."""
    columns = [part.columns for part in parts if part.columns is not None]
    if len(columns) < max(len(parts), 2):
        return []
    whole = reduce(ColumnStatistics.merge, columns)
    unit, shifts_of_parts = np.where(whole.deviation > 0, whole.deviation, 1), []
    for own in columns:
        shifts = np.abs(own.mean - whole.mean) * whole.n / (whole.n - own.n) / unit  # |a - b| n is |a - c| (n - n_a)
        if model.encoding is not None:
            shifts = np.maximum.reduceat(shifts, model.encoding.starts[:-1])
        shifts_of_parts.append(shifts)
    return shifts_of_parts


def weigh_nodes(model: HiddenNodeModel, parts: Sequence[Part]) -> list[Floats]:
    """Return what each node takes off the mean squared error of each part: (L,) for each part.

    It is the error of the model without this node, less that of the model, both of all parts. With A = P + E'E and the
    weights B = A^-1 E'T, those without node j are B - A^-1_j B_j / A^-1_jj, where A^-1_j is column j. A node that harms
    a part has a number below 0.
    """
    machine = LivingMachine.of_model(model)
    header, n_hidden, gram = machine.header, machine.layer.n_hidden, mirror_upper(machine.sums.gram)
    n_solved = len(gram)
    if header.method == 'elm':  # its bias is 0
        n_solved = n_hidden
    penalty = find_penalty(header.parameters, machine.layer) or 1 / header.parameters[header.nu_name]
    inverse = np.linalg.inv(add_penalty(gram[:n_solved, :n_solved], penalty))
    directions, B = np.zeros((len(gram), n_hidden)), solve_for(machine)
    directions[:n_solved] = inverse[:, :n_hidden]
    steps = B[:n_hidden] / inverse.diagonal()[:n_hidden, None]
    changes_of_parts = []
    for part in parts:
        G, right = mirror_upper(part.sums.gram), right_side(part.sums.class_sums, model.numeric or model.multilabel)
        slopes = directions.T @ (G @ B - right)
        curvatures = (directions * (G @ directions)).sum(axis=0)
        changes = (steps**2).sum(axis=1) * curvatures - 2 * (steps * slopes).sum(axis=1)
        changes_of_parts.append(changes / G[-1, -1])
    return changes_of_parts


def solve_for(machine: LivingMachine) -> Floats:
    """Return the output weights of a machine, for targets that are counted from the origin of its sums."""
    B = machine.solve().arrays['output_weights'].copy()
    if steps_of(machine.header).centres:
        B[-1] += steps_of(machine.header).origin
    return B

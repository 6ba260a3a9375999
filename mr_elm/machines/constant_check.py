"""Find machines that say the same of all rows, one class or one number, although the labels of these rows differ.

The rows are those of the training that are at hand: all, a sample of them, or the support vectors. Sums tell it of all
rows where they can: the decision values of a row and of the mean row of a class follow the same linear formula, and the
rows of which a machine says one class are a convex set. So the means of all classes get the class that all rows get.

    mean of class k  m_k = (sum of E_i over its rows) B / N_k,    variance of f = E B:  B'E'E B / N - mean^2

Source: ours.
"""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.errors import ConstantWarning
from mr_elm.machines.calibrating import Kind
from mr_elm.model.base import Model
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel
from mr_elm.option import rename_flags
from mr_elm.rows.blocks import widen
from mr_elm.rows.text import quote
from mr_elm.sums.gram import mirror_upper, unpack_upper
from mr_elm.typing import Floats, Rows

N_ROWS = 500  # that are looked at, at most


def note_rows(model: Kind, X: Rows, labels: np.ndarray, searched: bool = False) -> Kind:
    """Return a model that was just trained; warn, and say so in its header, if it says the same of all rows.

    X : (n, d) rows of the training, not scaled. labels : (n,) or (n, K), in any coding. Rows
    whose labels are all alike tell nothing. searched : whether nodes and nu were chosen among many, as by auto.
    """
    rows = choose_rows(labels, model.numeric)
    parts = np.split(rows, [16])  # few rows show of most machines that they are not constant
    decisions = (model.decision_function(widen(X[part], model.n_features)) for part in parts if len(part))
    return note_values(model, decisions, labels[rows], searched)


def note_values(model: Kind, decisions: Iterable[Floats], labels: np.ndarray, searched: bool = False) -> Kind:
    """Return a model as `note_rows` does. decisions : of the rows, (n, P), in parts one after another."""
    if len(labels) == 0 or (labels == labels[0]).all():
        return model
    if model.numeric:
        values, T = np.concatenate(list(decisions)), labels.reshape(len(labels), -1)
        if not is_constant(values.std(axis=0), T.std(axis=0)):
            return model
        return note(model, values.mean(axis=0), f'all {len(labels):,} rows that were looked at', searched)
    first = None
    for part in decisions:
        answers = model.decide(part)
        if first is None:
            first = answers[0]
        if (answers != first).any():
            return model
    return note(model, first, f'all {len(labels):,} rows that were looked at', searched)


def note_sums(model: HiddenNodeModel) -> HiddenNodeModel:
    """Return the model of a regression with its sums as `note_rows` does: the sums are of all rows."""
    sums: Any = model.sums
    B, upper = model.arrays['output_weights'].copy(), unpack_upper(sums['gram'])
    E1, total = -upper[:, -1], upper[-1, -1]
    mean = E1 @ B / total
    B[-1] += mean  # what is constant cancels digits
    squares = np.maximum((mirror_upper(upper) @ B * B).sum(axis=0) / total, 0)
    targets = sums['counts'] / total - (sums['class_sums'][:, -1] / total) ** 2
    if not is_constant(np.sqrt(squares), np.sqrt(np.maximum(targets, 0))):
        return model
    return note(model, mean, f'all {model.header.n_rows_used:,} rows')


def differs_by_sums(model: Model) -> bool:
    """Tell whether the sums of a model for classes prove that it does not give all rows the same class."""
    if model.numeric or model.multilabel or model.sums is None:
        return False
    sums = model.sums['class_sums']
    sums = sums[sums[:, -1] < 0]  # the last column is minus the weight of the rows of a class
    means = sums / -sums[:, -1:] @ model.arrays['output_weights']
    return len(np.unique(model.decide(means))) > 1


def choose_rows(labels: np.ndarray, numeric: bool = False) -> np.ndarray:
    """Return the numbers of the rows to look at: of each label the first ones, one of each after the other.

    numeric : labels are targets, of which rows in equal steps are taken.
    """
    n = len(labels)
    if numeric:
        return np.unique(np.linspace(0, n - 1, min(n, N_ROWS)).astype(int))
    codes = np.unique(labels, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(codes, kind='stable')
    starts = np.searchsorted(codes[order], codes[order])
    rank = np.empty(n, int)
    rank[order] = np.arange(n) - starts
    return np.argsort(rank, kind='stable')[:N_ROWS]


def is_constant(deviations: Floats, of_targets: Floats) -> bool:
    """Tell whether the predictions of each target that varies do not."""
    varies = of_targets > 0
    return bool(varies.any() and (deviations <= 1e-6 * of_targets)[varies].all())  # less is rounding


def note(model: Kind, answer: Any, rows: str, searched: bool = False) -> Kind:
    """Warn that a model says the same of some rows, and write it into its header. answer : of `decide` to one row."""
    header = model.header
    if model.numeric:
        values = np.atleast_1d(answer).tolist()
        value: Any = values
        if not header.target_names:
            value = values[0]
        answers = f'predicts {", ".join(f"{each:.6g}" for each in values)} for {rows}'
    elif header.separator is not None:
        value = header.separator.join(name for name, has in zip(header.classes, answer, strict=True) if has)
        answers = f'gives {rows} the labels {quote(value)}'
    else:
        value = header.classes[int(answer)]
        answers = f'gives {rows} the class {quote(value)}'
    if searched:
        *cures, last = 'more rows', 'columns that tell them apart'
    else:
        *cures, last = list_cures(header)
    warnings.warn(
        f'this machine {answers}, although their labels differ: try {", ".join(cures)} or {last}',
        ConstantWarning,
        stacklevel=2,
    )
    return replace(model, header=header.change_parameters(constant_prediction=value))


def list_cures(header: ModelHeader) -> list[str]:
    """List what may help, at least two things, by the names of options, or of parameters of an estimator."""
    parameters = header.parameters
    if 'map' in parameters:
        cures = ['another --weight-scale', 'more --hidden']
    else:
        cures = [f'another --{width}' for width in ('sigma', 'gamma') if width in parameters]
    cures += [f'a larger --{strength}' for strength in ('nu', 'C') if parameters.get(strength) is not None]
    if header.task == 'classification' and header.separator is None and parameters.get('class_weight') is None:
        cures.append('--class-weight balanced')
    if parameters.get('input', {}).get('kind') == 'memory':
        return [rename_flags(cure, {'--hidden': 'n_hidden'}) for cure in cures]
    if header.method == 'pesvm':
        cures.append('mr-elm train auto')
    elif header.method != 'elm':
        cures.append(f'mr-elm tune {header.method}')
    return cures

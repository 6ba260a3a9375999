"""Judge each row of a training as if it had not been there, without training again: PRESS.

    t_i - f_(i)(x_i) = (t_i - f(x_i)) / (1 - h_i),  h_i = w_i e_i'(I/nu + E'WE)^-1 e_i

f_(i) is the machine of all rows but i, e_i the row's expansion, w_i its weight, h_i its leverage. Where targets are
centred by their mean m, that of all rows but i is m + d_i, and the other machine does not only lack the row:

    t_i - f_(i)(x_i) = (t_i - f(x_i) - d_i (1 - g_i)) / (1 - h_i),  d_i = w_i (m - t_i) / (w - w_i)
    g_i = e_i'(I/nu + E'WE)^-1 E'W1

g is what the machine, without a mean, fits to targets of 1; w is the sum of all weights.

Source: Allen, The relationship between variable selection and data augmentation and a method for prediction, 1974.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm import linalg
from mr_elm.errors import DataFormatError, ModelFormatError, record
from mr_elm.machines.gathering import RowArrays
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.sums import NO_LEVERAGES
from mr_elm.rows.blocks import Block, fill_weights, widen
from mr_elm.rows.labels import find_labels, mark_labels
from mr_elm.scores.intervals import find_quantile
from mr_elm.solvers.multiclass import class_targets
from mr_elm.solvers.ridge import MIN_LEVERAGE_GAP, factor_ridge, find_mean, find_penalty
from mr_elm.sums.gram import expand, unpack_upper
from mr_elm.typing import Floats, Rows, RowWeights


@record
class HeldOut(RowArrays):
    """Hold rows with the decision values of machines that have not seen them.

    numbers : (n,) class numbers or targets. weights : (n,). decisions : (n, P).
    leverages : (n,), zeros where there are none.
    """

    numbers: np.ndarray
    weights: Floats
    decisions: Floats
    leverages: Floats


@record
class LeaveOneOut:
    """Predict the rows of a training by the model of all other rows.

    model : HiddenNodeModel of pesvm or elm, with its sums. factor : (m, m), lower factor of I/nu + E'E.
    mean : of the targets, (K,), None where they are not centred. ones : (m,), (I/nu + E'WE)^-1 E'W1. total : w.
    """

    model: HiddenNodeModel
    factor: np.ndarray
    mean: Floats | None
    ones: Floats
    total: float

    @classmethod
    def of(cls, model: HiddenNodeModel) -> LeaveOneOut:
        """Factor the sums of a model. Raises ModelFormatError when it has none, ValueError when nu is too large for
        their rounding errors.
        """
        if model.sums is None:
            raise ModelFormatError(
                'expected a model with the sums of its rows, found none (--model-sums names their file)'
            )
        parameters, gram = model.header.parameters, unpack_upper(model.sums['gram'])
        E1, total, m = -gram[:, -1], gram[-1, -1], len(gram) - (model.header.method == 'elm')
        penalty = find_penalty(parameters, model.layer) or 1 / parameters.get('nu', parameters.get('C'))
        factor = factor_ridge(gram[:m, :m], penalty)
        if factor is None:
            raise ValueError(NO_LEVERAGES)
        mean = None
        if parameters.get('center'):
            mean = np.array(parameters['origin']) + find_mean(E1[-1], model.sums['class_sums'][:, -1])
        return cls(model, factor, mean, linalg.dpotrs(factor, E1[:m], lower=1)[0], float(total))

    def score(self, block: Block, weights: RowWeights) -> HeldOut:
        """Score rows by the machines of all others. weights : of the rows in the training, None when all count once."""
        E = expand(self.model.layer, widen(block.X, self.model.n_features))
        left, numbers = np.maximum(1 - self.leverages(E, weights), MIN_LEVERAGE_GAP), find_numbers(self.model, block)
        T = class_targets(numbers, 0 if self.model.multilabel else len(self.model.classes))
        rest = T - self.model.decide_expanded(E)
        if self.mean is not None:  # d, which is 0 where no other row has a weight
            w = fill_weights(weights, len(E))[:, None]
            others, least = self.total - w, MIN_LEVERAGE_GAP * w
            moves = np.where(others > least, w * (self.mean - T) / np.maximum(others, least), 0.0)
            rest -= moves * (1 - E[:, : len(self.ones)] @ self.ones)[:, None]
        decisions = T - rest / left[:, None]
        return HeldOut(numbers, fill_weights(weights, len(E)), decisions, 1 - left)

    def leverages(self, E: Floats, weights: RowWeights = None) -> Floats:
        """Return h_i of each row of E, (n,)."""
        half = linalg.solve_triangular(self.factor, E[:, : len(self.factor)].T, lower=True, check_finite=False)
        squares = np.einsum('ij,ij->j', half, half)
        if weights is None:
            return squares
        return squares * weights


def find_numbers(model: Model, block: Block) -> np.ndarray:
    """Return the class number, or the target, of each row, (n,), or its labels, (n, K), with a 1 where it has one.

    Raises DataFormatError for a class, or a label, never seen.
    """
    if model.numeric:
        return block.targets
    labels, marks = list(block.names), None
    if model.multilabel:
        labels, marks = mark_sets(model, block)
    if unknown := model.find_unknown(labels):
        raise DataFormatError(f'expected rows that the model was trained on, found rows with the label {unknown[0]!r}')
    if marks is not None:
        return marks
    return np.array([model.classes.index(model.class_of(label)) for label in labels])[block.codes]


def mark_sets(model: Model, block: Block) -> tuple[list[str], Floats]:
    """Return the labels of a model and behind them others that rows have; (n, labels) with a 1 where a row has one."""
    separator = model.header.separator or ''
    names = {label: model.class_of(label) for label in find_labels(block.names, separator)[0]}
    labels = list(dict.fromkeys((*model.classes, *names.values())))
    index = {label: labels.index(name) for label, name in names.items()}
    return labels, mark_labels(block.names, separator, index, len(labels))[block.codes]


@record
class LeaveOneOutModel:
    """Judge rows by the sums of a model, which may be the mean of several machines.

    They give decision values of rows of the training by the model of all others, leverages of new rows, and intervals
    for their targets.
    """

    model: Any

    @cached_property
    def machines(self) -> list[LeaveOneOut]:
        """Return the factored sums of each machine; see `LeaveOneOut.of`."""
        return [LeaveOneOut.of(member) for member in self.model.members]

    def score(self, block: Block, weights: RowWeights) -> HeldOut:
        """Score rows by the models of all others. weights : of the rows in the training, None when all count once."""
        rows_of_machines = [machine.score(block, weights) for machine in self.machines]
        return replace(
            rows_of_machines[0],
            decisions=np.mean([rows.decisions for rows in rows_of_machines], axis=0),
            leverages=np.mean([rows.leverages for rows in rows_of_machines], axis=0),
        )

    def leverages(self, X: Rows) -> Floats:
        """Return h(x) = e'(I/nu + E'WE)^-1 e of each row, (n,): how unlike the rows of the training it is."""
        X = widen(X, self.model.n_features)
        return np.mean([one.leverages(expand(one.model.layer, X)) for one in self.machines], axis=0)

    def interval(self, X: Rows, predictions: Floats, coverage: float) -> Floats:
        """Return lower and upper bounds, (n, 2), that hold about this share of the targets of new rows.

        predictions : (n,). Where the sums of the model are not at hand, all intervals have one width.
        """
        arrays = self.model.arrays
        if 'interval_residuals' not in arrays:
            raise ValueError(
                'expected a model with intervals: train it with --intervals, or fit it with intervals=True. After '
                'forget, call calibrate(X, y) to fit them again'
            )
        if self.model.sums is not None and 'interval_ratios' in arrays:
            half = find_quantile(arrays['interval_ratios'], coverage) * np.sqrt(1 + self.leverages(X))
        else:
            half = np.full(len(predictions), find_quantile(arrays['interval_residuals'], coverage))
        return np.column_stack([predictions - half, predictions + half])

"""Make a trained model one with probabilities, from a sample of rows that were scored by machines without them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mr_elm.errors import DataFormatError, warn_unsuitable
from mr_elm.machines.press import HeldOut
from mr_elm.model.base import Model
from mr_elm.model.header import ModelHeader
from mr_elm.progress import Reporter
from mr_elm.rows.blocks import Block
from mr_elm.rows.text import quote
from mr_elm.scores.calibration import Labelling, class_scores, fit_calibration
from mr_elm.scores.intervals import scale_residuals, sort_sizes
from mr_elm.scores.selection import FOLD, SCORED_ROWS, fold_numbers, select_sample
from mr_elm.scores.threshold import choose_threshold
from mr_elm.solvers.multiclass import ONE_VS_ALL
from mr_elm.solvers.ridge import TrainingRows

Kind = TypeVar('Kind', bound=Model)
SAMPLED_ROWS = 50_000  # that are scored, about
HELD_OUT = 'calibration', 'interval_residuals', 'interval_ratios'  # arrays that are fitted to rows held out


@dataclass(frozen=True)
class ScoreSample:
    """Say which rows of a training are scored, and what they weighed there.

    share : of the rows. seed : of the keyed hash that chooses them. class_weights : label -> weight, or None.
    n_folds : the sample is of the rows of the first of so many folds, see `Folds`; None for all rows.
    """

    share: float
    seed: int
    class_weights: Mapping[str, float] | None = None
    n_folds: int | None = None

    @classmethod
    def of(
        cls, n_rows: int, seed: int, class_weights: Mapping[str, float] | None = None, n_folds: int | None = None
    ) -> 'ScoreSample':
        """Choose the share of n_rows rows that makes about SAMPLED_ROWS."""
        return cls(min(1.0, SAMPLED_ROWS * (n_folds or 1) / n_rows), seed, class_weights, n_folds)

    def choose(self, block: Block | TrainingRows) -> np.ndarray:
        """Return the numbers of the rows that are in the sample."""
        chosen = select_sample(block.X, self.share, self.seed + SCORED_ROWS)
        if self.n_folds:
            chosen &= fold_numbers(block.X, self.n_folds, self.seed + FOLD) == 0
        return np.flatnonzero(chosen)


def fit_held_out(model: Kind, rows: HeldOut, kind: str = 'leave-one-out', threshold: Any = None) -> Kind:
    """Return the model with what rows held out teach: probabilities, or of a regression intervals; see `calibrate`."""
    if model.numeric:
        return add_intervals(model, rows)
    return calibrate(model, rows, kind, threshold)


def calibrate(model: Kind, rows: HeldOut, kind: str = 'leave-one-out', threshold: Any = None) -> Kind:
    """Return the model that labels by probabilities.

    kind : how the rows were scored, leave-one-out or folds. threshold : see `make_goal`, for two classes.
    Raises DataFormatError when a class has no row.
    """
    header, numbers = model.header, rows.numbers.astype(int)
    demand_every_class(
        header.classes,
        np.bincount(numbers, rows.weights, len(header.classes)),
        f'among the {len(numbers):,} rows that were scored',
    )
    scores = class_scores(rows.decisions, len(header.classes), header.parameters.get('multiclass', ONE_VS_ALL))
    facts = {'scored': kind, 'rows': len(numbers), 'rows_of_training': header.n_rows_used}
    fitted = fit_calibration(scores, numbers, rows.weights)
    if threshold:
        if header.positive is None:
            raise DataFormatError(
                f'--threshold: expected two classes, found {len(header.classes)}: leave --threshold out, or set '
                'threshold=None in Python'
            )
        if threshold != 'balanced' and header.parameters.get('class_weight'):
            warn_unsuitable(
                f'the threshold {threshold} is best for rows with their class weights, which make a rare class count '
                'more than it says: leave the class weights out'
            )
        k = header.classes.index(header.positive)
        P = Labelling(2, calibration=fitted).probabilities(rows.decisions)[:, k]
        header = replace(header, threshold=choose_threshold(threshold, P, numbers == k, rows.weights))
    return replace(model, header=replace(header, calibration=facts), arrays={**model.arrays, 'calibration': fitted})


def say_threshold(header: ModelHeader, reporter: Reporter) -> None:
    """Say which threshold a model has, if any."""
    if header.threshold is not None:
        reporter.say(f'threshold: {quote(header.positive or "")} where its probability is above {header.threshold:.6g}')


def demand_every_class(names: Sequence[str], weights: Sequence[float] | np.ndarray, where: str) -> None:
    """Raise DataFormatError when a class has no row. weights : of the rows of each class. where : which rows."""
    if absent := [name for name, weight in zip(names, weights, strict=True) if not weight]:
        raise DataFormatError(
            f'expected rows of every class to fit probabilities, found none of class {absent[0]!r} '
            f'{where}: add rows of it, or leave --probabilities out'
        )


def keep_held_out(before: Model, model: Kind) -> Kind:
    """Return a changed model with what was fitted to rows held out before."""
    kept = {name: before.arrays[name] for name in HELD_OUT if name in before.arrays}
    header = replace(model.header, calibration=before.header.calibration, threshold=before.header.threshold)
    return replace(model, header=header, arrays={**model.arrays, **kept})


def add_intervals(model: Kind, rows: HeldOut) -> Kind:
    """Return the model of a regression that knows the errors of rows held out, and by leverage if rows have one."""
    residuals = rows.numbers - rows.decisions[:, 0]
    sizes = {'interval_residuals': sort_sizes(residuals, rows.weights)}
    if model.sums is not None and rows.leverages.any():
        sizes['interval_ratios'] = sort_sizes(scale_residuals(residuals, rows.leverages, rows.weights), rows.weights)
    return replace(model, arrays={**model.arrays, **sizes})

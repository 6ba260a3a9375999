"""Fit the probabilities of a trained model: one pass scores a sample of the rows, the driver fits."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.machines.calibrating import (
    HELD_OUT,
    Kind,
    ScoreSample,
    fit_held_out,
    keep_held_out,
    say_threshold,
)
from mr_elm.machines.press import HeldOut
from mr_elm.model.base import Model
from mr_elm.model.file import model_words
from mr_elm.model.sums import demand_leverages
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.wire import split_key
from mr_elm.store import temporary_folder, write_json
from mr_elm.streaming.mr_scores import MRScores


def hold_out(
    data: DataSet,
    model: Kind,
    seed: int,
    threshold: Any = None,
    class_weights: dict | None = None,
    n_folds: int | None = None,
) -> Kind:
    """Return a trained model of pesvm or elm with probabilities, of a regression with intervals.

    seed, class_weights : of the training. threshold : see `calibrate`. n_folds : the model has not seen the first of so
    many folds; None where it keeps its sums, which score each row without it.
    Raises DataFormatError when a class has no row in the sample, ModelFormatError when nu is too large for leverages.
    """
    kind = 'folds'
    if not n_folds:
        kind = 'leave-one-out'
        demand_leverages(model, data.plan.name)
    sample = ScoreSample.of(model.header.n_rows_used, seed, class_weights, n_folds)
    return fit_to(data, model, score_rows(data, model.save, sample), kind, threshold)


def fit_to(data: DataSet, model: Kind, rows: HeldOut, kind: str, threshold: Any) -> Kind:
    """Return the model with what fits rows of a data set that were held out, and say its threshold; see `calibrate`."""
    try:
        model = fit_held_out(model, rows, kind, threshold)
    except DataFormatError as error:
        raise DataFormatError(f'{data.plan.name}: {error}') from None
    say_threshold(model.header, data.engine.reporter)
    return model


def renew_probabilities(
    before: Model, model: Kind, reporter: Reporter, data: DataSet | None = None, rows_left: bool = False
) -> Kind:
    """Return a changed model with probabilities, if it had some before or rows to fit them to are given.

    model : the changed one. data : rows of it, or None to keep the probabilities of before.
    rows_left : rows have left, and nothing that may have been fitted to them is kept.
    """
    header = model.header
    if rows_left and before.header.threshold is not None:
        reporter.say('threshold: left out, it may have been chosen by rows that left; predict --threshold P sets one')
    if data is not None:
        model = hold_out(data, model, header.parameters.get('seed', 0))
        threshold = None
        if header.classes == before.classes and not rows_left:
            threshold = before.header.threshold
        return replace(model, header=replace(model.header, threshold=threshold))
    if set(HELD_OUT).isdisjoint(before.arrays):
        return model
    what = 'probabilities'
    if model.numeric:
        what = 'intervals'
    cure = 'give rows of the new model by --calibrate to fit new ones'
    if rows_left:
        reporter.say(f'{what}: left out, they may have been fitted to rows that left; {cure}')
        return model
    if header.classes != before.classes:
        reporter.say(f'{what}: left out, because the classes changed; {cure}')
        return model
    reporter.say(f'{what}: kept from before; {cure}')
    return keep_held_out(before, model)


def run_scores(
    data: DataSet, save: Callable[[str], None], sample: ScoreSample
) -> Iterator[tuple[tuple[int, ...], HeldOut]]:
    """Run the pass that scores the rows of a sample: yield (row_key, rows).

    save : writes the file with what scores them, and the sums of the model beside it, where these are needed.
    """
    with temporary_folder() as folder:
        path = os.path.join(folder, 'model.npz')
        save(path)
        sample_file = write_json(os.path.join(folder, 'sample.json'), asdict(sample))
        for key, arrays in data.run(MRScores, [*model_words(path), '--sample', sample_file], 'scores'):
            yield tuple(map(int, split_key(key)[1])), HeldOut(*arrays)


def score_rows(data: DataSet, save: Callable[[str], None], sample: ScoreSample) -> HeldOut:
    """Score the rows of a sample, in input order; see `run_scores`."""
    parts = dict(run_scores(data, save, sample))
    if not parts:
        raise DataFormatError(f'{data.plan.name}: expected rows to fit probabilities, found none in the sample')
    return HeldOut.join([parts[row_key] for row_key in sorted(parts)])

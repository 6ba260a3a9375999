"""Fit the probabilities of a dual method: train without each fold of the rows, score each fold, fit."""

from dataclasses import replace
from itertools import product

from mr_elm.drivers.calibrate import fit_to, score_rows
from mr_elm.drivers.problems import run_problem
from mr_elm.errors import DataFormatError
from mr_elm.machines.calibrating import ScoreSample
from mr_elm.machines.dual_task import DualTask
from mr_elm.machines.fold_machines import FOLDS, FoldMachines, FoldsTask
from mr_elm.model.base import Model
from mr_elm.model.file import make_model
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.wire import make_key
from mr_elm.streaming.mr_dual import read_machines
from mr_elm.streaming.mr_dual_folds import MRDualFolds
from mr_elm.sums.statistics import Classes


def add_probabilities(data: DataSet, model: Model, task: DualTask, classes: Classes, threshold: str | None) -> Model:
    """Return the model with probabilities. threshold : see `calibrate`.

    The sample is as large as one machine without partitions takes. Raises DataFormatError when a fold has all rows of
    a machine, or a class has no row in the sample.
    """
    sample = ScoreSample.of(sum(classes.counts), task.seed, task.class_weights)
    share = min(sample.share, task.room / task.scheme.count_rows(classes.counts))
    folds = train_folds(data, task, share, classes.names)
    rows = score_rows(data, folds.save, ScoreSample(share, task.seed, task.class_weights))
    return fit_to(data, model, rows, threshold, 'folds')


def train_folds(data: DataSet, task: DualTask, share: float, names: list[str]) -> FoldMachines:
    """Run the job that trains all machines without each fold of a sample. names : of the classes."""
    n_machines = task.scheme.n_machines
    folds = replace(task, partitions=FOLDS).extend(FoldsTask, share=share)
    keys = [make_key('rows', *numbers) for numbers in product(range(n_machines), range(FOLDS))]
    machines = read_machines(run_problem(data, MRDualFolds, folds, 'folds', keys))
    if len(machines) < len(keys):
        raise DataFormatError(
            f'{data.plan.name}: expected rows of every class in each of {FOLDS} folds to fit '
            'probabilities, one has none: add rows, or leave --probabilities out'
        )
    return FoldMachines(
        [
            make_model(
                task.model_header(names), task.model_arrays([machines[number, fold] for number in range(n_machines)])
            )
            for fold in range(FOLDS)
        ],
        task.seed,
    )

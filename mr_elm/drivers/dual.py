"""Train two-class machines, of sparse ELM, OELM or SphereSVM, in a reducer each, or in parts with a checking pass.

Probabilities: train without each fold of the rows, score each fold, fit.
"""

import warnings
from dataclasses import replace
from typing import Any

from mr_elm.drivers.calibrate import fit_to, score_rows
from mr_elm.drivers.dual_rounds import close_gap
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import ConvergenceWarning, DataFormatError, NumericalWarning
from mr_elm.machines.calibrating import ScoreSample
from mr_elm.machines.dual_task import STEPS, DualTask, state_task
from mr_elm.machines.fold_machines import FOLDS, FoldMachines, FoldsTask
from mr_elm.machines.nodes import make_header
from mr_elm.machines.options import DualOptions
from mr_elm.model.base import Model
from mr_elm.model.file import make_model
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.streaming.mr_dual import MRDual, read_machines
from mr_elm.streaming.mr_dual_folds import MRDualFolds
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary

MEASURED_ROWS = 400  # that tell how many numbers sparse rows have
CERTIFIED = ('objective', 'gap', 'violation', 'n_iter', 'n_kernel_rows', 'n_support', 'seconds')


def train(plan: InputPlan, options: DualOptions, engine: Engine) -> tuple[Model, Accounts | None]:
    """Train on a data set: the Model, and the Accounts of the first pass over text.

    Raises DataFormatError when the rows cannot be used, or are too many; AccountingError when two passes disagree.
    """
    data = DataSet(plan, engine, options.bad_rows)
    summary, classes, task = begin(data, options)
    demand_memory(plan, task, classes, options.memory)
    parts = read_machines(run_problem(data, MRDual, task, 'machines', task.scheme.n_machines * task.partitions))
    if options.partitions > 1:
        machines = close_gap(data, task, parts, options, classes.names)
    else:
        machines = [parts[number, 0] for number in range(task.scheme.n_machines)]
    for number, machine in enumerate(machines):
        for name, text in machine.certificate['warnings']:  # of the tasks
            category = {'ConvergenceWarning': ConvergenceWarning}.get(name, NumericalWarning)
            warnings.warn(f'{task.scheme.describe_machine(number, classes.names)}: {text}', category, stacklevel=2)
    names = [name for name in (*CERTIFIED, STEPS) if name in machines[0].certificate]
    parameters = {
        **task.parameters,
        'scale': options.scale,
        'class_weight': options.class_weight,
        'partitions': options.partitions,
        'certificates': {name: [machine.certificate[name] for machine in machines] for name in names},
        'blas': sorted(data.blas),
        'input': summary.input,
    }
    model = make_model(make_header(options, summary, classes, task.n_features, parameters), task.model_arrays(machines))
    if options.probabilities:
        model = add_probabilities(data, model, task, classes, options.threshold)
    return model, data.first


def begin(data: DataSet, options: DualOptions) -> tuple[Summary, Classes, DualTask]:
    """Learn what the rows of a DataSet are and state the problem."""
    form, n_measured = data.plan.form, 0
    if not data.engine.by_hand and (form.table or find_kind(form.kind).sparse):  # rows are sparse, or may become so
        n_measured = MEASURED_ROWS
    summary, classes = learn_rows(data, options, n_measured)
    return summary, classes, state_task(options, summary, classes)


def demand_memory(plan: InputPlan, task: DualTask, classes: Classes, memory: float) -> None:
    """Raise DataFormatError when the rows of a machine do not fit into the memory of a task, in MB."""
    largest = task.scheme.count_rows(classes.counts)
    needed = -(-largest // task.partitions)
    if needed > task.room:
        raise DataFormatError(
            f'{plan.name}: a machine has {needed:,} rows of {task.row_numbers:,} numbers, at most '
            f'{task.room:,} fit into half of --memory {memory:g} MB: raise --memory, or use '
            f'--partitions {-(-largest // max(task.room, 1))}'
        )


def add_probabilities(data: DataSet, model: Model, task: DualTask, classes: Classes, threshold: Any) -> Model:
    """Return the model with probabilities. threshold : see `calibrate`.

    The sample is as large as one machine without partitions takes. Raises DataFormatError when a fold has all rows of
    a machine, or a class has no row in the sample.
    """
    sample = ScoreSample.of(sum(classes.counts), task.seed, task.class_weights)
    share = min(sample.share, task.room / task.scheme.count_rows(classes.counts))
    folds = train_folds(data, task, share, classes.names)
    rows = score_rows(data, folds.save, ScoreSample(share, task.seed, task.class_weights))
    return fit_to(data, model, rows, 'folds', threshold)


def train_folds(data: DataSet, task: DualTask, share: float, names: list[str]) -> FoldMachines:
    """Run the job that trains all machines without each fold of a sample. names : of the classes."""
    n_machines = task.scheme.n_machines
    folds = replace(task, partitions=FOLDS).extend(FoldsTask, share=share)
    n_keys = n_machines * FOLDS
    machines = read_machines(run_problem(data, MRDualFolds, folds, 'folds', n_keys))
    if len(machines) < n_keys:
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

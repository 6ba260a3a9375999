"""Close the global duality gap of machines trained in parts: solve on a working set, check on all rows, add violators.

    P(f) - D(a) = a'Qa + sum_i C_i max(0, 1 - t_i f(x_i)) - e'a      symbols: box
    |c|^2 - min_i c.x~_i                                             of SphereSVM, symbols: sphere

a is 0 outside of the working set, so that a'Qa and e'a are the working set's own, and the loss, or the least of the
other rows' margins, takes one pass over all rows. The gap of the whole problem is closed, so the result is its optimum
and not an approximation by parts.
"""

import os
import warnings
from dataclasses import replace
from typing import Any

from mr_elm.arithmetic import one_thread
from mr_elm.errors import AccountingError, ConvergenceWarning, DataFormatError
from mr_elm.machines.dual_task import DualTask, TrainedMachine
from mr_elm.machines.gathering import GatheredRows, join_once
from mr_elm.machines.options import DualOptions
from mr_elm.model.file import save_model
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Meter
from mr_elm.solvers.box import describe_iteration
from mr_elm.store import save_arrays, temporary_folder
from mr_elm.streaming.mr_check import MRCheck, read_checks

MAX_ROUNDS = 50  # of training and checking, after which the gap stays open with a warning
MAX_VIOLATORS = 2000  # rows that a machine adds in a round
MIN_EPS = 1e-9  # violation that a working set is solved to at the least


def close_gap(
    data: DataSet,
    task: DualTask,
    parts: dict[tuple[int, ...], TrainedMachine],
    options: DualOptions,
    classes: list[str],
) -> list[TrainedMachine]:
    """Return a TrainedMachine for each machine whose gap over all rows is at most `options.gap` of its objective.

    parts : (machine, part) -> TrainedMachine, the start. classes : their names.
    Each round trains in this process. Raises DataFormatError when the working set does not fit into its memory; warns
    with the gap when it stays open.
    """
    working = join_once([machine.support for machine in parts.values()])
    for number in range(1, MAX_ROUNDS + 1):
        if len(working) > task.room:
            raise DataFormatError(
                f'{data.plan.name}: {len(working):,} rows are or may be support vectors, at most {task.room:,} fit '
                f'into half of --memory {options.memory:g} MB: raise --memory or lower C'
            )
        n_machines = task.scheme.n_machines
        with one_thread(), Meter(data.engine.reporter, f'round {number}', n_machines) as meter:
            machines = [train_one(task, machine, working, meter) for machine in range(n_machines)]
        machines, violators = check_machines(data, task, machines, working, classes)
        share = max(machine.certificate['gap'] / abs(machine.certificate['objective']) for machine in machines)
        data.engine.reporter.say(
            f'round {number}: {len(working):,} rows in the working set, gap {share:.2e} of the '
            f'objective (stops at {options.gap:g}), {sum(map(len, violators)):,} violators'
        )
        if share <= options.gap:
            return machines
        if violators:
            working = join_once([working, *violators])
        elif task.eps > MIN_EPS:  # the working set itself leaves the gap open
            task = replace(task, eps=task.eps / 10)
        else:
            break
    warnings.warn(
        f'the duality gap over all rows is {share:.2e} of the objective after {number} rounds, expected at '
        f'most {options.gap:g}',
        ConvergenceWarning,
        stacklevel=2,
    )
    return machines


def train_one(task: DualTask, number: int, working: GatheredRows, meter: Meter) -> TrainedMachine:
    """Train one machine on a working set, and show how far it is."""
    work = f'machine {number + 1} of {meter.total}'

    def report(*news: Any) -> None:
        meter.show(number, lambda: f'{work}, {describe_iteration(*news)}')

    meter.show(number, lambda: work)
    return task.train(number, working.take(task.scheme.select_rows(number, working.numbers)), report)


def check_machines(
    data: DataSet, task: DualTask, machines: list[TrainedMachine], working: GatheredRows, classes: list[str]
) -> tuple[list[TrainedMachine], list[GatheredRows]]:
    """Check machines by a pass over all rows: the same with their gap over these, and for each the rows to add."""
    with temporary_folder() as folder:
        paths = [os.path.join(folder, f'{name}.npz') for name in ('problem', 'model', 'working')]
        task.save(paths[0])
        save_model(paths[1], task.model_header(classes), task.model_arrays(machines))
        save_arrays(paths[2], {}, {'places': working.places})
        arguments = ['--problem', paths[0], '--model', paths[1], '--working', paths[2], '--most', str(MAX_VIOLATORS)]
        sums, violators = read_checks(data.run(MRCheck, arguments, 'check'), MAX_VIOLATORS)
    if set(sums) != set(range(len(machines))):
        raise AccountingError(
            f'{data.plan.name}: expected the loss of {len(machines)} machines from the checking pass, '
            f'found {len(sums)}: run it again'
        )
    checked = []
    for number, machine in enumerate(machines):
        gap = task.machine.compute_gap(machine.certificate, *sums[number])
        checked.append(replace(machine, certificate={**machine.certificate, 'gap': gap}))
    return checked, violators

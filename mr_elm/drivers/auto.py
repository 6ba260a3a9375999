"""Train without options: a sample chooses the machines, all rows train them, the model averages them.

1. Statistics, and the sample: rows chosen by a keyed hash come to the driver.
2. `machines.auto` chooses the machines.
3. One Gram job sums up all rows for each of them; a solve for each. An exact kernel machine is trained already.
"""

import time

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.calibrate import fit_to
from mr_elm.drivers.gram_job import check_counts, sum_up_folds
from mr_elm.drivers.pesvm import solve
from mr_elm.drivers.sample import read_sample
from mr_elm.drivers.summary import NodeInputs
from mr_elm.engines.base import Engine
from mr_elm.machines.auto import (
    Budget,
    Member,
    choose_machines,
    hold_out_rows,
    make_exact,
)
from mr_elm.machines.grid_task import Folds, GridTask
from mr_elm.machines.living import LivingMachine
from mr_elm.machines.options import AutoOptions, read_budget
from mr_elm.model.models import HiddenNodeModel, join_members
from mr_elm.parallel import map_in_threads, using_threads
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.folds import total_of

TASK_SUMS = 3.6e7  # m^2 of all machines whose sums are made in one pass: a task keeps 16 bytes for each


def train(plan: InputPlan, options: AutoOptions, engine: Engine) -> tuple:
    """Choose the machines, and train: (model, accounts of a first pass over text).

    Raises DataFormatError when the rows cannot be used.
    """
    began, say = time.monotonic(), engine.reporter.say
    inputs = NodeInputs.learn(DataSet(plan, engine, options.bad_rows), options.nodes)
    rows = read_sample(inputs)
    with one_thread(), using_threads(engine.n_threads), engine.reporter.follow('choosing', len(rows)):
        choice = choose_machines(inputs, rows, Budget(*read_budget(options.budget)), say, options.keep_sums)
    model = join_members(train_members(inputs, choice.members, options.keep_sums))
    if options.holds_out:
        model = fit_to(inputs.data, model, hold_out_rows(choice), choice.kind, options.threshold)
    n_machines = len(choice.members)
    machines = 'is one machine'
    if n_machines > 1:
        machines = f'averages {n_machines} machines'
    say(f'the model {machines}, chosen and trained in {time.monotonic() - began:.1f} s')
    return model, inputs.data.first


def train_members(inputs: NodeInputs, members: list[Member], keep_sums: bool) -> list[HiddenNodeModel]:
    """Train the members that are not trained yet by passes over all rows: their models, then those of the others.

    Machines whose sums are too large for one task together take a pass each.
    """
    waiting = [member for member in members if member.weights is None]
    trained = [member for member in members if member.weights is not None]
    models = []
    while waiting:
        together = [waiting.pop(0)]
        room = TASK_SUMS - together[0].layer.n_hidden ** 2
        while waiting and waiting[0].layer.n_hidden ** 2 <= room:
            room -= waiting[0].layer.n_hidden ** 2
            together.append(waiting.pop(0))
        models += sum_up_members(inputs, together, keep_sums)
    return [*models, *(make_exact(member, inputs.data.blas) for member in trained)]


def sum_up_members(inputs: NodeInputs, members: list[Member], keep_sums: bool) -> list[HiddenNodeModel]:
    """Train some members by one pass over all rows."""
    layers = [member.layer for member in members]
    steps = [inputs.choose_grid(layer) for layer in layers]
    all_rows = Folds(1, 0, 1.0, inputs.options.seed, inputs.weights, inputs.class_numbers)
    engine = inputs.data.engine

    def solve_member(number: int) -> HiddenNodeModel:
        member, sums = members[number], total_of(parts[number])
        check_counts(inputs.data.plan, inputs.classes, sums.counts)
        machine = LivingMachine.of_sums(member.problem, member.layer, steps[number], inputs.data.blas, sums)
        model = solve(machine, engine)
        return model if keep_sums else model.without_sums()

    with one_thread(), using_threads(engine.n_threads):
        parts = sum_up_folds(inputs, GridTask(all_rows, layers, steps))
        return map_in_threads(solve_member, range(len(members)))

"""Train PESVM without options: a sample chooses the machines, all rows train them.

The sample, rows chosen by a keyed hash, comes to the driver. There leave-one-out and held-out rows choose a machine of
each kind of nodes and one with a learned metric, drop those that are clearly worse than the best, choose width and nu
of the others again for more nodes, and where rows are many drop those that the average does not need. Machines that
are left choose width and nu once more, in smaller steps. Gram jobs sum up all rows for each of them, or passes train
them, see `auto_passes`. The model averages the machines.
"""
import time
from dataclasses import replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.auto_passes import choose_for_passes, train_by_passes
from mr_elm.drivers.calibrate import fit_held_out
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm import make_model
from mr_elm.drivers.sample import gather_sample
from mr_elm.drivers.tune_pesvm import sum_up_folds
from mr_elm.engines.base import Engine
from mr_elm.features.landmarks import Landmarks
from mr_elm.features.metric import FeatureColumns
from mr_elm.machines.budget import Budget
from mr_elm.machines.constant_check import note_rows
from mr_elm.machines.grid_task import Folds, GridTask
from mr_elm.machines.metric import SampleRows
from mr_elm.machines.metric_choice import choose_metric
from mr_elm.machines.node_choice import (
    MOST_MEMBERS,
    Candidate,
    choose_average,
    choose_candidates,
    find_right,
    keep_members,
    prepare_problem,
    ratio_of_half,
)
from mr_elm.machines.node_refinement import FEW_ROWS, HALF, refine_candidate
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.passes import SAMPLE
from mr_elm.models import HiddenNodeModel, NodeModel, join_members
from mr_elm.parallel import map_in_threads
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import select_sample
from mr_elm.solvers.ridge.fold_grid import total_of

SAMPLE_ROWS = 4000
COMPARED_ROWS = 1500  # of the sample, by which kinds, widths and metrics are compared
STEEP = ((0.8, 3000), (0.9, 2000), (0.96, 1000), (np.inf, 500))  # error(2 L) / error(L) below this: so many pay
CHEAP = 6e11  # rows times squared nodes: up to this a machine trains in about 20 s of one core
REFINED_NODES, TRIED_NODES = 1500, 3000  # of machines that the sample judges, at most: many of them, and few
TRIED_NUMBERS = 2e8  # in memory, of machines that threads try side by side
TASK_SUMS = 3.6e7  # L^2 of all machines whose sums are made in one pass: a task keeps 16 bytes for each
COMPARE_KEY = 9  # of the hash that chooses them


def train(plan: InputPlan, options: PESVMOptions, engine: Engine, budget: Budget | None = None) -> tuple:
    """Choose the machines, and train: (model, accounts of a first pass over text).

    options : of which task, scaling, seed and class weights count.
    Raises DataFormatError when the rows cannot be used.
    """
    began, budget = time.monotonic(), budget or Budget()
    inputs = NodeInputs.learn(DataSet(plan, engine, options.bad_rows), options)
    rows = read_sample(inputs)
    inputs = prepare_problem(inputs, rows, budget.largest(inputs.summary.n_rows))
    with one_thread():
        members = choose_members(inputs, rows, budget)
        large = choose_for_passes(inputs, members, rows, budget)
    inputs = take_landmarks(inputs, large or members)
    model = train_by_passes(inputs, large, options) if large else train_by_gram(inputs, members, options)
    n_machines = len(large or members)
    machines = f'averages {n_machines} machines' if n_machines > 1 else 'is one machine'
    engine.reporter.say(f'the model {machines}, chosen and trained in {time.monotonic() - began:.1f} s')
    with one_thread():
        return note_rows(model, rows.X, rows.T, searched=True), inputs.data.first


def read_sample(inputs: NodeInputs) -> SampleRows:
    """Bring the sample to the driver."""
    rows = gather_sample(inputs, SAMPLE_ROWS)
    weights = None if (rows.weights == 1).all() else rows.weights
    columns = FeatureColumns.of(inputs.summary.columns, inputs.summary.encoding)
    return SampleRows.of(rows.X, rows.numbers, len(inputs.classes.names) if inputs.classes else 0, weights, columns,
                         inputs.options.center)


def choose_members(inputs: NodeInputs, rows: SampleRows, budget: Budget) -> list[Candidate]:
    """Return the machines to average, and say what was compared: first with few nodes, the good ones again with more.
    """
    few, n_rows, compared = take_few(rows, inputs.options.seed), inputs.summary.n_rows, inputs.options.n_hidden
    good = keep_good(inputs, few, compare_machines(inputs, few))
    wanted = count_wanted(good, few, n_rows)
    n_hidden = min(wanted, budget.largest(n_rows, min(len(good), MOST_MEMBERS)))
    if n_hidden > compared:
        good, few = keep_good(inputs, rows, refine(inputs, rows, good, min(n_hidden, REFINED_NODES))), rows
    # each costs a pass over further rows, where there are some
    members = choose_average(good, few) if n_rows > len(rows) else good[:MOST_MEMBERS]
    say_left_out(inputs, few, good, members, 'not needed')
    n_hidden = min(wanted, budget.largest(n_rows, len(members)))
    if n_hidden > compared and len(rows) > FEW_ROWS:
        refined, few = refine(inputs, rows, members, min(n_hidden, TRIED_NODES), HALF), rows
        members = sorted(refined, key=lambda each: -each.value)
    for each in members:
        inputs.data.engine.reporter.say(describe(each, few))
    return [replace(each, options=replace(each.options, n_hidden=n_hidden)) for each in members]


def compare_machines(inputs: NodeInputs, few: SampleRows) -> list[Candidate]:
    """Return machines of all kinds, each at its best, one of them with the metric that suits the best landmarks."""
    inputs.data.engine.reporter.say(f'comparing machines on {len(few):,} rows of the sample')
    candidates = choose_candidates(inputs, few)
    landmarks = [each for each in candidates if each.options.map == 'nystrom']
    learned = choose_metric(inputs, few, max(landmarks, key=lambda each: each.value))
    return [*candidates, learned] if learned else candidates


def keep_good(inputs: NodeInputs, rows: SampleRows, candidates: list[Candidate]) -> list[Candidate]:
    """Return the machines that are not clearly worse than the best, and say which are."""
    good = keep_members(candidates, rows)
    say_left_out(inputs, rows, candidates, good, 'clearly worse')
    return good


def refine(inputs: NodeInputs, rows: SampleRows, candidates: list[Candidate], n_hidden: int,
           step: float = 1.0) -> list[Candidate]:
    """Return candidates with width and nu for more nodes. step : see `refine_candidate`."""
    inputs.data.engine.reporter.say(f'choosing width and nu again for {n_hidden:,} hidden nodes')
    problem = inputs.with_options(n_hidden=n_hidden)
    numbers = 2 * n_hidden * (len(rows) + n_hidden + rows.X.shape[1])  # that a machine needs, about
    n_threads = min(inputs.data.engine.n_threads, max(1, int(TRIED_NUMBERS / numbers)))
    return map_in_threads(lambda each: refine_candidate(problem, rows, each, step), candidates, n_threads)


def say_left_out(inputs: NodeInputs, rows: SampleRows, compared: list[Candidate], kept: list[Candidate],
                 reason: str) -> None:
    """Say which of the machines compared are not kept, and why."""
    for each in compared:
        if each not in kept:
            inputs.data.engine.reporter.say(f'{describe(each, rows)}: {reason}, left out')


def take_few(rows: SampleRows, seed: int) -> SampleRows:
    """Return the rows that machines are compared by."""
    share = COMPARED_ROWS / len(rows)
    return rows if share >= 1 else rows.take(select_sample(rows.X, share, seed + COMPARE_KEY))


def describe(candidate: Candidate, rows: SampleRows) -> str:
    """Say for people what a machine is, and what the rows of the sample say of it."""
    given, judged = candidate.options, candidate.judged
    kernel = f' --kernel {given.kernel}' if given.kernel != 'gaussian' else ''
    metric = f' --metric {candidate.learned.kind}' if candidate.learned else ''
    score = '' if not rows.n_classes else (
        f', {find_right(candidate.values[judged], rows.take(judged)).mean():.2%} of {judged.sum():,} rows right')
    return f'--map {given.map}{kernel}{metric} --weight-scale {given.weight_scale:g} --nu {given.nu:g}{score}'


def count_wanted(candidates: list[Candidate], rows: SampleRows, n_rows: int) -> int:
    """Return how many nodes pay: all that are cheap, and more where the error still falls steeply when nodes double."""
    best = max(candidates, key=lambda each: each.value)
    if n_rows <= best.options.n_hidden:
        return best.options.n_hidden
    ratio = ratio_of_half(best, rows)
    steep = next(n_hidden for bound, n_hidden in STEEP if ratio <= bound)
    return min(n_rows, max(int(np.sqrt(CHEAP / n_rows)), steep))


def take_landmarks(inputs: NodeInputs, members: list[Candidate]) -> NodeInputs:
    """Return the inputs with as many landmarks as the machines have: those that a training on all rows would take.

    Where many rows are equal there may be fewer, but not fewer than those of the sample, which the inputs have.
    """
    wanted = max((each.options.n_hidden for each in members if each.options.map == 'nystrom'), default=0)
    n_gathered = min(SAMPLE['nystrom'] * wanted, inputs.summary.n_rows)
    if wanted <= inputs.summary.landmarks.shape[0] or n_gathered <= SAMPLE_ROWS:
        return inputs
    landmarks = Landmarks(wanted, inputs.options.seed)
    landmarks.add(inputs.summary.landmarks)
    landmarks.add(gather_sample(inputs, n_gathered).X)
    return replace(inputs, summary=replace(inputs.summary, landmarks=landmarks.rows))


def train_by_gram(inputs: NodeInputs, members: list[Candidate], options: PESVMOptions) -> NodeModel:
    """Train the machines by a pass over all rows: the model that averages them.

    Machines whose sums are too large for one task together take a pass each. options : say whether probabilities or
    intervals are wanted.
    """
    at_once = max(1, int(TASK_SUMS / members[0].options.n_hidden**2))
    models = [model for start in range(0, len(members), at_once)
              for model in sum_up_machines(inputs, members[start:start + at_once])]
    return fit_held_out(inputs.data, join_members(models), options, inputs.weights)


def sum_up_machines(inputs: NodeInputs, members: list[Candidate]) -> list[HiddenNodeModel]:
    """Train some machines by one pass over all rows."""
    problems = [each.state(inputs) for each in members]
    layers = [problem.make_layer() for problem in problems]
    steps = [problem.choose_grid(layer) for problem, layer in zip(problems, layers, strict=True)]
    inputs.data.fix_width(layers[0].n_features)
    all_rows = Folds(1, 0, 1.0, inputs.options.seed, inputs.weights, inputs.class_numbers)
    sums = sum_up_folds(inputs, GridTask(all_rows, layers, steps))
    with one_thread():
        return [make_model(problem, layer, step, total_of(parts))
                for problem, layer, step, parts in zip(problems, layers, steps, sums, strict=True)]

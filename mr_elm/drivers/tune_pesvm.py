"""Choose map, scale, nu and L of PESVM: one job builds the sums of every fold, the finisher scores every cell."""
from dataclasses import dataclass, replace
from functools import partial

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import assemble_sums
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm import estimate_solve, make_model, train_on
from mr_elm.drivers.problems import run_problem
from mr_elm.engines.base import Engine
from mr_elm.engines.progress import Meter, Reporter
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.io.wire import split_key
from mr_elm.machines.calibrating import Made
from mr_elm.machines.grid_task import Folds, GridTask, Kind, Search, score_kind, state_finals
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import NodeScore, best_nodes
from mr_elm.solvers.ridge.esvm import Sums, leading_sums
from mr_elm.solvers.ridge.fold_grid import FoldGrid, total_of
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.streaming.mr_gram import group_sums
from mr_elm.streaming.mr_hits import MRHits
from mr_elm.sums.gram import GridSteps


@dataclass(frozen=True)
class SearchResult:
    """Hold the NodeScores of a search, the best, and what its model is made of: by kind layers, grids, Sums of folds.

    share : of the rows that were looked at.
    """

    scores: list[NodeScore]
    best: NodeScore
    layers: dict[Kind, HiddenLayer]
    steps: dict[Kind, GridSteps]
    folds: dict[Kind, list[Sums]]
    share: float


def tune(plan: InputPlan, options: PESVMOptions, search: Search, engine: Engine) -> tuple:
    """Search, and train the best: (SearchResult, header, arrays, accounts of a first pass over text).

    options : whose map, scale, nu and L do not matter. Raises DataFormatError when the rows cannot be used.
    """
    n_landmarks = max(search.sizes) if 'nystrom' in dict(search.kinds) else 0
    inputs = NodeInputs.learn(DataSet(plan, engine, options.bad_rows), options, n_landmarks)
    found = evaluate_grid(inputs, search)
    header, arrays = train_best(inputs, found)
    return found, header, arrays, inputs.data.first


def evaluate_grid(inputs: NodeInputs, search: Search) -> SearchResult:
    """Score every candidate."""
    layers = {kind: inputs.with_options(map=kind[0], weight_scale=kind[1], n_hidden=max(search.sizes)).make_layer()
              for kind in search.kinds}
    search.demand_memory(inputs.plan.name, layers.values())
    steps = {kind: inputs.choose_grid(layer) for kind, layer in layers.items()}
    task = GridTask(describe_folds(inputs, search), list(layers.values()), list(steps.values()))
    sums = dict(zip(layers, sum_up_folds(inputs, task), strict=True))
    n, n_systems = max(search.sizes) + 1, len(layers) * search.n_tested * len(search.nus)
    with one_thread():
        inputs.data.engine.reporter.announce(f'solving {n_systems} systems of at most {n} unknowns',
                                             lambda: n_systems * estimate_solve(n))
        grids = {kind: FoldGrid(sums[kind], inputs.options.numeric) for kind in layers}
        scores = score_kinds(inputs.data.engine.reporter, grids, search)
        if inputs.classes and search.n_counted:
            scores = count_hits(inputs, scores, task, grids, search.n_counted)
    return SearchResult(scores, best_nodes(scores), layers, steps, sums, task.folds.share)


def score_kinds(reporter: Reporter, grids: dict[Kind, FoldGrid], search: Search) -> list[NodeScore]:
    """Return the NodeScore of every candidate, and show how many kinds of nodes are scored."""
    scores: list[NodeScore] = []
    with Meter(reporter, 'scoring', len(grids)) as meter:
        for number, (kind, grid) in enumerate(grids.items(), 1):
            scores += score_kind(kind, grid, search)
            meter.show(number, partial('{} of {} kinds of nodes'.format, number, len(grids)))
    return scores


def describe_folds(inputs: NodeInputs, search: Search) -> Folds:
    """Say which rows a search looks at, and in which folds."""
    share = 1.0 if search.sample is None else min(1.0, search.sample / inputs.summary.n_rows)
    return Folds(search.n_folds, search.n_tested, share, inputs.options.seed, inputs.weights, inputs.class_numbers)


def sum_up_folds(inputs: NodeInputs, task: GridTask) -> list[list[Sums]]:
    """Run the job that sums up: for each layer a list of Sums, one a fold."""
    found = group_sums(run_problem(inputs.data, MRFolds, task, 'folds'), 2)
    if len(found) < len(task.layers) * task.folds.n_parts:
        raise DataFormatError(f'{inputs.plan.name}: expected rows in each of {task.folds.n_folds} folds, one has '
                              'none: lower --folds')
    return [[assemble_sums(found.pop((number, fold)), layer, inputs.classes) for fold in range(task.folds.n_parts)]
            for number, layer in enumerate(task.layers)]


def count_hits(inputs: NodeInputs, scores: list[NodeScore], task: GridTask, grids: dict[Kind, FoldGrid],
               n_counted: int) -> list[NodeScore]:
    """Count the rows that the n_counted most promising candidates label right without having seen them.

    Returns the NodeScores again.
    """
    task, chosen = state_finals(scores, task, grids, n_counted)
    counted = {}
    for key, value in run_problem(inputs.data, MRHits, task, 'held-out rows'):
        for score, correct in zip(chosen[int(split_key(key)[1][0])], value['correct'], strict=True):
            counted[id(score)] = replace(score, correct=correct, total=value['total'])
    return [counted.get(id(score), score) for score in scores]


def train_best(inputs: NodeInputs, found: SearchResult) -> Made:
    """Return (header, arrays) of the best candidate: from the sums that are there, when they are of all rows."""
    best = found.best
    kind = best.map, best.weight_scale
    inputs = inputs.with_options(map=best.map, weight_scale=best.weight_scale, n_hidden=best.n_hidden, nu=best.nu)
    if found.share < 1:
        return train_on(inputs.data, inputs.options)[:2]
    layer = found.layers[kind]
    layer = replace(layer, weights=layer.weights[:best.n_hidden], biases=layer.biases[:best.n_hidden])
    with one_thread():
        sums = leading_sums(total_of(found.folds[kind]), best.n_hidden)
    return make_model(inputs, layer, found.steps[kind], sums)

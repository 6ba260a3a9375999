"""Choose nodes, metric, nu and L of PESVM: one job builds the sums of every fold, the finisher scores every cell."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from mr_elm.arithmetic import one_thread
from mr_elm.drivers import tune_passes
from mr_elm.drivers.gram_job import assemble_sums, sum_up
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm import check_machine, estimate_solve, make_model, train_on
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import learn_rows, say_metric
from mr_elm.engines.base import Engine
from mr_elm.engines.progress import Meter
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.fold_metrics import learn_final_metric, learn_fold_metrics
from mr_elm.machines.grid_task import Folds, GridTask, Nodes, Search, score_kinds, score_nodes, state_finals
from mr_elm.machines.option_fields import ROWS
from mr_elm.machines.options import MOST_GRAM_NODES, PASSES, PESVMOptions
from mr_elm.model.models import HiddenNodeModel
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import split_key
from mr_elm.scores.selection import NodeScore, best_nodes
from mr_elm.solvers.folds import FoldGrid, GridCell, total_of
from mr_elm.solvers.ridge import Sums, leading_sums
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.streaming.mr_gram import group_sums
from mr_elm.streaming.mr_hits import MRHits
from mr_elm.sums.gram import GridSteps


@dataclass(frozen=True)
class SearchResult:
    """Hold the NodeScores of a search, the best, and what its model is made of: layers, grids, Sums of the folds.

    share : of the rows that were looked at.
    """

    scores: list[NodeScore]
    best: NodeScore
    layers: dict[Nodes, HiddenLayer]
    steps: dict[Nodes, GridSteps]
    folds: dict[Nodes, list[Sums]]
    share: float


def tune(plan: InputPlan, options: PESVMOptions, search: Search, engine: Engine) -> tuple:
    """Search, and train the best: (found, model, accounts of a first pass over text).

    found has `scores` and `best`: a SearchResult, or by passes a PathResult.
    options : whose nodes, metric, nu and L do not matter. Raises DataFormatError when the rows cannot be used,
    ValueError for metrics by passes.
    """
    keeps_rows = options.landmarks == ROWS and any(kind.map == 'nystrom' for kind in search.kinds)
    n_landmarks = 0
    if keeps_rows:
        n_landmarks = max(search.sizes)
    data = DataSet(plan, engine, options.bad_rows)
    by_passes = options.solver == PASSES or not options.solver and max(search.sizes) > MOST_GRAM_NODES
    if by_passes and search.n_sampled:
        raise ValueError(
            f'--metric: expected none with --solver passes, or at most {MOST_GRAM_NODES:,} --hidden and --solver gram'
        )
    inputs = NodeInputs(
        options,
        *learn_rows(
            data,
            options.task,
            n_landmarks,
            options.seed,
            search.n_sampled,
            positive=options.positive,
            judged=not plan.manifest,
        ),
        data,
    )
    if by_passes:
        folds = describe_folds(inputs, replace(search, tested=1))
        return *tune_passes.tune(inputs, search, folds), data.first
    found = evaluate_grid(inputs, search)
    return found, check_machine(train_best(inputs, found), inputs), inputs.data.first


def evaluate_grid(inputs: NodeInputs, search: Search) -> SearchResult:
    """Score every candidate."""
    folds = describe_folds(inputs, search)
    with one_thread():
        layers = dict(make_layers(inputs, search, folds))
    search.demand_memory(inputs.plan.name, layers)
    steps = {nodes: inputs.choose_grid(layer) for nodes, layer in layers.items()}
    task = GridTask(folds, list(layers.values()), list(steps.values()), held=[nodes.held for nodes in layers])
    sums = dict(zip(layers, sum_up_folds(inputs, task), strict=True))
    n, n_systems = max(search.sizes) + 1, len(search.kinds) * search.n_tested * len(search.nus)
    with one_thread():
        inputs.data.engine.reporter.announce(
            f'solving {n_systems} systems of at most {n} unknowns', lambda: n_systems * estimate_solve(n)
        )
        grids = {nodes: FoldGrid(sums[nodes], inputs.options.numeric, inputs.options.center) for nodes in layers}
        scores = score_kinds(score_all(inputs, grids, search))
        if inputs.classes and search.n_counted:
            scores = count_hits(inputs, scores, task, grids, search.n_counted)
    return SearchResult(scores, best_nodes(scores), layers, steps, sums, task.folds.share)


def make_layers(inputs: NodeInputs, search: Search, folds: Folds) -> Iterator[tuple[Nodes, HiddenLayer]]:
    """Yield the nodes of a search: of a kind with a metric those for each fold, whose rows the metric has not seen."""
    sample = None
    if search.n_sampled:
        sample = inputs.read_sample()
    for kind in search.kinds:
        layer = inputs.take_candidate(kind, max(search.sizes)).make_layer()
        if sample is None or kind.metric == 'none':
            yield Nodes(kind), layer
        else:
            inputs.data.engine.reporter.say(f'learning a metric for each fold: {kind.describe()}')
            for fold, learned in enumerate(learn_fold_metrics(layer, sample, kind.metric, folds)):
                yield Nodes(kind, fold), layer.pass_metric(learned.metric)


def score_all(
    inputs: NodeInputs, grids: dict[Nodes, FoldGrid], search: Search
) -> Iterator[tuple[Nodes, list[GridCell]]]:
    """Yield what the folds say of all nodes, and show how many are scored."""
    with Meter(inputs.data.engine.reporter, 'scoring', len(grids)) as meter:
        for number, (nodes, grid) in enumerate(grids.items(), 1):
            yield nodes, score_nodes(nodes, grid, search)
            meter.show(number, partial('{} of {} layers of nodes'.format, number, len(grids)))


def describe_folds(inputs: NodeInputs, search: Search) -> Folds:
    """Say which rows a search looks at, and in which folds."""
    if search.sample is None:
        share = 1.0
    else:
        share = min(1.0, search.sample / inputs.summary.n_rows)
    return Folds(search.n_folds, search.n_tested, share, inputs.options.seed, inputs.weights, inputs.class_numbers)


def sum_up_folds(inputs: NodeInputs, task: GridTask) -> list[list[Sums]]:
    """Run the job that sums up: for each layer a list of Sums, one a fold."""
    found = group_sums(run_problem(inputs.data, MRFolds, task, 'folds'), 2)
    if len(found) < sum(map(task.n_sums, range(len(task.layers)))):
        raise DataFormatError(
            f'{inputs.plan.name}: expected rows in each of {task.folds.n_folds} folds, one has none: lower --folds'
        )
    return [
        [assemble_sums(found.pop((number, part)), layer, inputs.classes) for part in range(task.n_sums(number))]
        for number, layer in enumerate(task.layers)
    ]


def count_hits(
    inputs: NodeInputs, scores: list[NodeScore], task: GridTask, grids: dict[Nodes, FoldGrid], n_counted: int
) -> list[NodeScore]:
    """Count the rows that the n_counted most promising candidates label right without having seen them.

    Returns the NodeScores again.
    """
    task, chosen = state_finals(scores, task, grids, n_counted)
    counted: dict[int, NodeScore] = {}
    for key, value in run_problem(inputs.data, MRHits, task, 'held-out rows'):
        for score, correct in zip(chosen[int(split_key(key)[1][0])], value['correct'], strict=True):
            before = counted.get(id(score), score)
            counted[id(score)] = replace(
                before, correct=(before.correct or 0) + correct, total=(before.total or 0) + value['total']
            )
    return [counted.get(id(score), score) for score in scores]


def train_best(inputs: NodeInputs, found: SearchResult) -> HiddenNodeModel:
    """Return the model of the best candidate: from the sums that are there, when they are of all rows."""
    best = found.best
    kind = Nodes(best.kind)
    inputs = inputs.take_candidate(best.kind, best.n_hidden).with_options(nu=best.nu)
    if best.kind.metric != 'none':
        return train_behind_metric(inputs, best.kind.metric, found.layers[Nodes(best.kind, 0)].n_hidden)
    if found.share < 1:
        return train_on(inputs.data, inputs.options)[0]
    layer = found.layers[kind]
    layer = replace(layer, weights=layer.weights[: best.n_hidden], biases=layer.biases[: best.n_hidden])
    with one_thread():
        sums = leading_sums(total_of(found.folds[kind]), best.n_hidden)
    return make_model(inputs, layer, found.steps[kind], sums)


def train_behind_metric(inputs: NodeInputs, metric: str, n_hidden: int) -> HiddenNodeModel:
    """Return the model of a machine whose metric the whole sample teaches. n_hidden : nodes of the search."""
    with one_thread():
        sample = inputs.read_sample()
        layer = inputs.with_options(n_hidden=n_hidden).make_layer()
        inputs = replace(inputs, learned=learn_final_metric(layer, sample, metric, inputs.options.seed))
    say_metric(inputs.data.engine.reporter, inputs.learned)
    layer = inputs.make_layer()
    steps = inputs.choose_grid(layer)
    return make_model(inputs, layer, steps, sum_up(inputs, layer, steps))

"""Choose nodes, nu and L of PESVM: one job builds the sums of every fold, the finisher scores every cell."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import sum_up_folds
from mr_elm.drivers.pesvm import make_model, train_on
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs, learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.grid_task import Folds, GridTask
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.search_options import NodeSearch
from mr_elm.machines.shared_options import ROWS
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Meter
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import NodeChoice, NodeScore, Tuned, best_nodes, finalists, measure_accuracy
from mr_elm.solvers.folds import FoldGrid, total_of
from mr_elm.solvers.ridge import leading_sums
from mr_elm.streaming.mr_hits import MRHits

COUNTED = 10  # of the candidates: a second pass scores them on held-out rows. Help and figure say ten

Layers = Mapping[NodeChoice, HiddenLayer]


def tune(plan: InputPlan, options: PESVMOptions, search: NodeSearch, engine: Engine) -> Tuned:
    """Search, and train the best.

    options : whose nodes, nu and L do not matter. Raises DataFormatError when the rows cannot be used.
    """
    n_landmarks, n_most = 0, max(search.hidden)
    if options.landmarks == ROWS and 'nystrom' in search.map:
        n_landmarks = n_most
    data, reporter = DataSet(plan, engine, options.bad_rows), engine.reporter
    inputs = NodeInputs(options, *learn_rows(data, options, n_landmarks), data)
    share = 1.0
    if search.sample is not None:
        share = min(1.0, search.sample / inputs.summary.n_rows)
    folds = Folds(search.folds, search.folds, share, options.seed, inputs.weights, inputs.class_numbers)
    # 1. the nodes, and the sums of all folds on them
    layers = {kind: inputs.take_candidate(kind, n_most).make_layer() for kind in search.kinds}
    demand_memory(plan.name, search, layers)
    steps = {kind: inputs.choose_grid(layer) for kind, layer in layers.items()}
    task = GridTask(folds, list(layers.values()), list(steps.values()))
    sums = dict(zip(layers, sum_up_folds(inputs, task), strict=True))
    # 2. the error of every nu and L, and the accuracy of the best ones
    n, n_systems = n_most + 1, len(layers) * search.folds * len(search.nu)
    with one_thread():
        reporter.announce(f'solving {n_systems} systems of at most {n} unknowns', n)
        grids = {kind: FoldGrid(sums[kind], options.numeric, options.center) for kind in layers}
        scores = score_grids(inputs, grids, search)
        if inputs.classes:
            scores = count_hits(inputs, scores, folds, layers, grids)
    # 3. the best one: from the sums that are there, where these are of all rows
    best = best_nodes(scores)
    inputs = inputs.take_candidate(best.kind, best.n_hidden).with_options(nu=best.nu)
    if share < 1:
        model = train_on(data, inputs.options)[0]
    else:
        with one_thread():
            leading = leading_sums(total_of(sums[best.kind]), best.n_hidden)
        model = make_model(inputs, layers[best.kind].take(best.n_hidden), steps[best.kind], leading)
    return Tuned(scores, best, trained=(model, data.first))


def demand_memory(name: str, search: NodeSearch, layers: Layers) -> None:
    """Raise DataFormatError when the sums of a task over the data set `name` would not fit into memory."""
    n_bytes = sum(16 * search.folds * (layer.n_hidden + 1) ** 2 for layer in layers.values())
    if n_bytes > search.memory * 1e6:
        raise DataFormatError(
            f'{name}: the sums of {len(layers)} kinds of nodes in {search.folds} folds take '
            f'{n_bytes / 1e6:,.0f} MB a task, expected at most {search.memory:,.0f} MB: search fewer '
            'kinds or nodes, or raise --memory'
        )


def score_grids(inputs: NodeInputs, grids: Mapping[NodeChoice, FoldGrid], search: NodeSearch) -> list[NodeScore]:
    """Return the NodeScore of every kind of nodes, nu and L, and show how many are scored."""
    scores = []
    with Meter(inputs.data.engine.reporter, 'scoring', len(grids)) as meter:
        for number, (kind, grid) in enumerate(grids.items(), 1):
            cells = defaultdict(list)
            for cell in grid.score(search.nu, sorted({min(size, len(grid.total.gram) - 1) for size in search.hidden})):
                cells[cell.nu, cell.n_hidden].append(cell)
            scores += [NodeScore(kind, nu, size, tuple(of_folds)) for (nu, size), of_folds in cells.items()]
            meter.show(number, partial('{} of {} layers of nodes'.format, number, len(grids)))
    return scores


def count_hits(
    inputs: NodeInputs, scores: Sequence[NodeScore], folds: Folds, layers: Layers, grids: Mapping[NodeChoice, FoldGrid]
) -> list[NodeScore]:
    """Count the rows that the most promising candidates label right without having seen them: the NodeScores again."""
    chosen = defaultdict(list)
    for score in finalists(scores, COUNTED):
        chosen[score.kind].append(score)
    # output weights of the candidates on a layer, trained without a fold, side by side
    weights = {}
    for number, (kind, of_kind) in enumerate(chosen.items()):
        for fold in range(folds.n_tested):
            of_cells = grids[kind].weights(fold, [(score.nu, score.n_hidden) for score in of_kind])
            m = layers[kind].n_hidden + 1
            weights[number, fold] = np.hstack(
                [np.insert(B, [len(B) - 1] * (m - len(B)), 0.0, axis=0) for B in of_cells]  # the bias stays last
            )
    counted = {}
    finals = GridTask(folds, [layers[kind] for kind in chosen], scores=weights)
    pairs = sorted(run_problem(inputs.data, MRHits, finals, 'held-out rows'))
    for of_kind, (_, (total, *hits)) in zip(chosen.values(), pairs, strict=True):
        for score, correct in zip(of_kind, hits, strict=True):
            counted[score] = replace(score, accuracy=measure_accuracy(correct, total, bool(inputs.weights)))
    return [counted.get(score, score) for score in scores]

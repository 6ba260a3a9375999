"""Choose nodes, nu and L of PESVM: one job builds the sums of every fold, the finisher scores every cell."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers import tune_passes
from mr_elm.drivers.fold_sums import sum_up_folds
from mr_elm.drivers.pesvm import estimate_solve, make_model, train_on
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs, learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.grid_task import Folds, GridTask
from mr_elm.machines.options import MOST_GRAM_NODES, PASSES, PESVMOptions
from mr_elm.machines.search_options import NodeSearch
from mr_elm.machines.shared_options import ROWS
from mr_elm.model.models import HiddenNodeModel
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Meter
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import split_key
from mr_elm.scores.selection import NodeChoice, NodeScore, Tuned, best_nodes, finalists
from mr_elm.solvers.folds import FoldGrid, total_of
from mr_elm.solvers.ridge import leading_sums
from mr_elm.streaming.mr_hits import MRHits
from mr_elm.typing import Floats

COUNTED = 10  # of the candidates: a second pass scores them on held-out rows


def tune(plan: InputPlan, options: PESVMOptions, search: NodeSearch, engine: Engine) -> tuple:
    """Search, and train the best: (Tuned, model, accounts of a first pass over text).

    options : whose nodes, nu and L do not matter. Raises DataFormatError when the rows cannot be used.
    """
    n_landmarks = 0
    if options.landmarks == ROWS and 'nystrom' in search.map:
        n_landmarks = max(search.hidden)
    data = DataSet(plan, engine, options.bad_rows)
    by_passes = options.solver == PASSES or not options.solver and max(search.hidden) > MOST_GRAM_NODES
    rows = learn_rows(data, options.task, n_landmarks, options.seed, positive=options.positive)
    inputs = NodeInputs(options, *rows, data)
    share = 1.0
    if search.sample is not None:
        share = min(1.0, search.sample / inputs.summary.n_rows)
    folds = Folds(search.folds, search.folds, share, options.seed, inputs.weights, inputs.class_numbers)
    if by_passes:
        tuned, model = tune_passes.tune(inputs, search, replace(folds, n_tested=1))
    else:
        tuned, model = tune_by_sums(inputs, search, folds)
    return tuned, model, data.first


def tune_by_sums(inputs: NodeInputs, search: NodeSearch, folds: Folds) -> tuple[Tuned, HiddenNodeModel]:
    """Score every candidate by the sums of all folds, and train the best."""
    reporter = inputs.data.engine.reporter
    # 1. the nodes, and the sums of all folds on them
    with one_thread():
        layers = {kind: inputs.take_candidate(kind, max(search.hidden)).make_layer() for kind in search.kinds}
    demand_memory(inputs.plan.name, search, layers)
    steps = {kind: inputs.choose_grid(layer) for kind, layer in layers.items()}
    task = GridTask(folds, list(layers.values()), list(steps.values()))
    sums = dict(zip(layers, sum_up_folds(inputs, task), strict=True))
    # 2. the error of every nu and L, and the accuracy of the best ones
    n, n_systems = max(search.hidden) + 1, len(search.kinds) * search.folds * len(search.nu)
    with one_thread():
        reporter.announce(f'solving {n_systems} systems of at most {n} unknowns', lambda: n_systems * estimate_solve(n))
        grids = {kind: FoldGrid(sums[kind], inputs.options.numeric, inputs.options.center) for kind in layers}
        scores = score_grids(inputs, grids, search)
        if inputs.classes:
            scores = count_hits(inputs, scores, folds, layers, grids)
    # 3. the best one: from the sums that are there, where these are of all rows
    best = best_nodes(scores)
    inputs = inputs.take_candidate(best.kind, best.n_hidden).with_options(nu=best.nu)
    if folds.share < 1:
        model = train_on(inputs.data, inputs.options)[0]
    else:
        with one_thread():
            leading = leading_sums(total_of(sums[best.kind]), best.n_hidden)
        model = make_model(inputs, layers[best.kind].take(best.n_hidden), steps[best.kind], leading)
    return Tuned(scores, best), model


def demand_memory(name: str, search: NodeSearch, layers: Mapping[NodeChoice, HiddenLayer]) -> None:
    """Raise DataFormatError when the sums of a task over the data set `name` would not fit into memory."""
    n_bytes = 16 * search.folds * sum((layer.n_hidden + 1) ** 2 for layer in layers.values())
    if n_bytes > search.memory * 1e6:
        raise DataFormatError(
            f'{name}: the sums of {len(search.kinds)} kinds of nodes in {search.folds} folds take '
            f'{n_bytes / 1e6:,.0f} MB a task, expected at most {search.memory:,.0f} MB: search fewer '
            'kinds or nodes, or raise --memory'
        )


def score_grids(inputs: NodeInputs, grids: Mapping[NodeChoice, FoldGrid], search: NodeSearch) -> list[NodeScore]:
    """Return the NodeScore of every kind of nodes, nu and L, and show how many are scored."""
    cells = defaultdict(list)
    with Meter(inputs.data.engine.reporter, 'scoring', len(grids)) as meter:
        for number, (kind, grid) in enumerate(grids.items(), 1):
            sizes = sorted({min(size, len(grid.total.gram) - 1) for size in search.hidden})
            for cell in grid.score(search.nu, sizes):
                cells[kind, cell.nu, cell.n_hidden].append(cell)
            meter.show(number, partial('{} of {} layers of nodes'.format, number, len(grids)))
    return [NodeScore(kind, nu, size, tuple(of_kind)) for (kind, nu, size), of_kind in cells.items()]


def count_hits(
    inputs: NodeInputs,
    scores: Sequence[NodeScore],
    folds: Folds,
    layers: Mapping[NodeChoice, HiddenLayer],
    grids: Mapping[NodeChoice, FoldGrid],
) -> list[NodeScore]:
    """Count the rows that the most promising candidates label right without having seen them.

    Returns the NodeScores again.
    """
    chosen = defaultdict(list)
    for score in finalists(scores, COUNTED):
        chosen[score.kind].append(score)
    # output weights of the candidates on a layer, trained without a fold, side by side
    weights: dict[tuple[int, int], Floats] = {}
    for number, (kind, of_kind) in enumerate(chosen.items()):
        for fold in range(folds.n_tested):
            of_cells = grids[kind].weights(fold, [(score.nu, score.n_hidden) for score in of_kind])
            weights[number, fold] = np.hstack(
                [  # the bias stays last
                    np.insert(B, [len(B) - 1] * (layers[kind].n_hidden + 1 - len(B)), 0.0, axis=0) for B in of_cells
                ]
            )
    candidates, counted = list(chosen.values()), {}
    finals = GridTask(folds, [layers[kind] for kind in chosen], scores=weights)
    for key, value in run_problem(inputs.data, MRHits, finals, 'held-out rows'):
        for score, correct in zip(candidates[int(split_key(key)[1][0])], value['correct'], strict=True):
            counted[id(score)] = replace(score, correct=correct, total=value['total'])
    return [counted.get(id(score), score) for score in scores]

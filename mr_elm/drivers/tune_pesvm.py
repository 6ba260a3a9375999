"""Choose map, scale, nu and L of PESVM: one job builds the sums of every fold, the finisher scores every cell."""
from collections import defaultdict
from dataclasses import astuple, dataclass, replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers import pesvm
from mr_elm.drivers.checks import check_labels, find_classes
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import Summary, summarise
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.io.wire import split_key
from mr_elm.machines.grid_task import FoldProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.scores.selection import NodeScore, best_nodes, finalists
from mr_elm.solvers.ridge.esvm import class_weights, collect_sums, leading_sums
from mr_elm.solvers.ridge.fold_grid import FoldGrid, total_of
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.streaming.mr_hits import MRHits
from mr_elm.sums.gram import assemble


@dataclass(frozen=True)
class Search:
    """Keep what to search; see `mr-elm tune pesvm --help`.

    kinds : list of (map, weight scale). nus, sizes : lists of nu and of L.
    n_folds : of the cross-validation; tested : how many of them to hold out, one after another; None for all.
    sample : about how many rows to look at, or None for all. n_counted : candidates whose accuracy to count.
    memory : MB that the sums of a task may take.
    """

    kinds: tuple
    nus: tuple
    sizes: tuple
    n_folds: int = 5
    tested: int | None = None
    sample: int | None = None
    n_counted: int = 10
    memory: float = 2000.0

    @property
    def n_tested(self):
        """Return how many folds are held out."""
        return self.n_folds if self.tested is None else self.tested


@dataclass(frozen=True)
class Ground:
    """Hold what every search on a data set begins with."""

    data: DataSet
    options: PESVMOptions
    summary: Summary
    classes: object
    weights: dict | None

    @classmethod
    def of(cls, plan, options, n_landmarks, runner):
        """Look at the rows once. Raises DataFormatError when they cannot be used."""
        data = DataSet(plan, runner, options.bad_rows)
        summary = summarise(data, n_landmarks, options.seed)
        check_labels(plan, summary, options.task)
        classes = None if options.numeric else find_classes(plan, summary)
        return cls(data, options, summary, classes, class_weights(options.class_weight, classes))

    @property
    def plan(self):
        """Return the InputPlan."""
        return self.data.plan

    def options_for(self, kind, n_hidden, nu=1.0):
        """Return the PESVMOptions of one candidate."""
        return replace(self.options, map=kind[0], weight_scale=kind[1], n_hidden=n_hidden, nu=nu)

    def layer(self, kind, n_hidden):
        """Return n_hidden nodes of a kind, or as many landmarks as there are rows; they nest."""
        landmarks = self.summary.landmarks
        few = replace(self.summary, landmarks=None if landmarks is None else landmarks[:n_hidden])
        return pesvm.make_layer(self.options_for(kind, n_hidden), few)


@dataclass(frozen=True)
class Found:
    """Hold the NodeScores of a search, the best, and what its model is made of."""

    scores: list
    best: NodeScore
    layers: dict
    steps: dict
    folds: dict
    share: float


def tune(plan, options, search, runner):
    """Search, and train the best: (Found, header, arrays, accounts of a first pass over text).

    plan : InputPlan. options : PESVMOptions, whose map, scale, nu and L do not matter. search : Search.
    Raises DataFormatError when the rows cannot be used.
    """
    n_landmarks = max(search.sizes) if 'nystrom' in dict(search.kinds) else 0
    ground = Ground.of(plan, options, n_landmarks, runner)
    found = look(ground, search)
    header, arrays = best_model(ground, found)
    return found, header, arrays, ground.summary.accounts


def look(ground, search):
    """Score every candidate: a Found."""
    layers = {kind: ground.layer(kind, max(search.sizes)) for kind in search.kinds}
    demand_memory(ground.plan, layers, search)
    steps = {kind: pesvm.grid_steps(layer, ground.summary, ground.options, ground.weights)
             for kind, layer in layers.items()}
    share = 1.0 if search.sample is None else min(1.0, search.sample / ground.summary.n_rows)
    header = {'n_folds': search.n_folds, 'tested': search.n_tested, 'share': share, 'seed': ground.options.seed,
              'class_weights': ground.weights, 'index': ground.classes.index if ground.classes else None}
    folds = sum_up_folds(ground, FoldProblem.of(list(layers.values()), {
        **header, 'grids': [astuple(steps[kind]) for kind in layers]}), list(layers))
    with one_thread():
        grids = {kind: FoldGrid(folds[kind], ground.options.numeric) for kind in layers}
        scores = [score for kind in layers for score in scores_of(kind, grids[kind], search)]
        if ground.classes and search.n_counted:
            scores = count(ground, scores, layers, grids, header, search)
    return Found(scores, best_nodes(scores), layers, steps, folds, share)


def demand_memory(plan, layers, search):
    """Raise DataFormatError when the sums of a task would not fit into memory."""
    parts = min(search.n_tested + 1, search.n_folds)
    wanted = sum(16 * parts * (layer.n_hidden + 1)**2 for layer in layers.values()) / 1e6
    if wanted > search.memory:
        raise DataFormatError(f'{plan.name}: sums of at most {search.memory:,.0f} MB a task were expected, those of '
                              f'{len(layers)} kinds of nodes in {parts} folds take {wanted:,.0f} MB: search fewer '
                              'kinds or nodes, or raise --memory')


def sum_up_folds(ground, problem, kinds):
    """Run the job that sums up: kind -> list of Sums a fold."""
    tiles, named = defaultdict(dict), defaultdict(dict)
    for key, value in run_problem(ground.data, MRFolds, problem, 'folds'):
        what, coordinates = split_key(key)
        place = int(coordinates[0]), int(coordinates[1])
        if what == 'gram':
            tiles[place][int(coordinates[2]), int(coordinates[3])] = value
        else:
            named[place][coordinates[2]] = value
    folds = {kind: [] for kind in kinds}
    for number, kind in enumerate(kinds):
        for fold in range(problem.n_parts):
            if not tiles[number, fold]:
                raise DataFormatError(f'{ground.plan.name}: rows in each of {problem.header["n_folds"]} folds were '
                                      'expected, one has none (--folds)')
            gram = assemble(tiles.pop((number, fold)), problem.layers[number].n_hidden + 1)
            folds[kind].append(collect_sums(*gram, named[number, fold], ground.classes))
    return folds


def scores_of(kind, grid, search):
    """Return the NodeScore of every nu and L of one kind of nodes."""
    sizes = sorted({min(size, len(grid.total.gram) - 1) for size in search.sizes})
    cells = defaultdict(list)
    for cell in grid.score(search.nus, sizes, range(search.n_tested)):
        cells[cell.nu, cell.n_hidden].append(cell)
    return [NodeScore(*kind, nu, size, tuple(found)) for (nu, size), found in cells.items()]


def count(ground, scores, layers, grids, header, search):
    """Count the rows that the most promising candidates label right without having seen them: the NodeScores again."""
    chosen = defaultdict(list)
    for score in finalists(scores, search.n_counted):
        chosen[score.map, score.weight_scale].append(score)
    kinds = list(chosen)
    problem = FoldProblem.of([layers[kind] for kind in kinds], {**header, 'grids': []})
    for number, kind in enumerate(kinds):
        cells = [(score.nu, score.n_hidden) for score in chosen[kind]]
        for fold in range(search.n_tested):
            problem.arrays[f'scores-{number}-{fold}'] = np.hstack([
                widened(B, layers[kind].n_hidden) for B in grids[kind].weights(fold, cells)])
    counted = {}
    for key, value in run_problem(ground.data, MRHits, problem, 'held-out rows'):
        for score, correct in zip(chosen[kinds[int(split_key(key)[1][0])]], value['correct'], strict=True):
            counted[id(score)] = replace(score, correct=correct, total=value['total'])
    return [counted.get(id(score), score) for score in scores]


def widened(B, n_hidden):
    """Give output weights rows of zeros for the nodes that they leave out; the bias stays last."""
    return np.insert(B, [len(B) - 1] * (n_hidden + 1 - len(B)), 0.0, axis=0)


def best_model(ground, found):
    """Return (header, arrays) of the best candidate: from the sums that are there, when they are of all rows."""
    best = found.best
    kind = best.map, best.weight_scale
    options = ground.options_for(kind, best.n_hidden, best.nu)
    if found.share < 1:
        return pesvm.train_on(ground.data, options)[:2]
    whole = found.layers[kind]
    layer = HiddenLayer(whole.kind, whole.weights[:best.n_hidden], whole.biases[:best.n_hidden], whole.offset,
                        whole.scale)
    with one_thread():
        sums = leading_sums(total_of(found.folds[kind]), best.n_hidden)
        pesvm.check_counts(ground.plan, ground.classes, sums)
        return pesvm.make_model(ground.summary, options, layer, found.steps[kind], sums, ground.classes,
                                ground.data)

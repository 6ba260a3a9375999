"""Choose kernel parameters and C by cross-validation on the reducers: one job, or two for double cross-validation."""
from dataclasses import dataclass

from mr_elm.drivers.checks import share_of
from mr_elm.drivers.dual import begin
from mr_elm.drivers.problems import run_problem
from mr_elm.io.wire import make_key, split_key
from mr_elm.machines.dual_task import DualProblem
from mr_elm.passes.data_set import DataSet
from mr_elm.scores.selection import Cell, LeftOut, Score, best_of, candidates
from mr_elm.streaming.mr_grid import MRGrid

KEPT = 2 * 4  # bytes for each two rows: half of the memory for a matrix in float32


@dataclass(frozen=True)
class Tuned:
    """Hold the score of every candidate, the best one, and for double cross-validation a Cell an outer fold.

    scores : list of Score, or of LeftOut.
    """

    scores: list
    best: Score | LeftOut
    outer: tuple = ()
    chosen: tuple = ()


def tune(plan, options, search, runner):
    """Cross-validate every candidate: a Tuned.

    plan : InputPlan. options : DualOptions. search : DualSearch. runner : Engine.
    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, runner, options.bad_rows)
    summary, _, problem = begin(data, options)
    share = share_of(plan, summary, search.sample, options.memory, KEPT, 'a kernel matrix in half of')
    header = {**problem.header, 'share': share, 'n_folds': search.folds, 'n_outer': search.nested or 0}
    kernels, bounds = candidates(search.grid, problem.machine.kernel.kind, problem.n_features)
    kernels, bounds = search.kernels or kernels, search.C or bounds
    folds = [None, *range(search.nested or 0)]
    tasks = [task(kernel, bounds, fold) for fold in folds for kernel in kernels]
    cells = run_tasks(data, DualProblem({**header, 'tasks': tasks}, problem.arrays), 'grid')
    scores = {fold: scores_of(tasks, cells, fold) for fold in folds}
    best = best_of(scores[None])
    if not search.nested:
        return Tuned(scores[None], best)
    chosen = [best_of(scores[fold]) for fold in folds[1:]]
    tests = [task(score.parameters, [score.C], fold, tests_outer=True) for fold, score in enumerate(chosen)]
    outer = run_tasks(data, DualProblem({**header, 'tasks': tests}, problem.arrays), 'outer folds')
    return Tuned(scores[None], best, tuple(cell for number in sorted(outer) for cell in outer[number]), tuple(chosen))


def task(kernel, bounds, outer, tests_outer=False):
    """Describe a task: a kernel, the list of C, and the outer fold that is left out, or that is tested on."""
    return {'kernel': kernel, 'bounds': sorted(bounds), 'outer': outer, 'tests_outer': tests_outer}


def run_tasks(data, problem, stage):
    """Run the job over all tasks: task number -> list of Cell."""
    cells = {}
    keys = [make_key('rows', number) for number in range(len(problem.header['tasks']))]
    for key, value in run_problem(data, MRGrid, problem, stage, keys):
        cells[int(split_key(key)[1][0])] = [Cell(**cell) for cell in value['cells']]
    return cells


def scores_of(tasks, cells, fold):
    """Return the Score of every candidate, of the tasks that leave out one outer fold."""
    scores = []
    for number, candidate in enumerate(tasks):
        if candidate['outer'] == fold:
            scores += [Score(candidate['kernel'], C, tuple(cell for cell in cells[number] if cell.C == C))
                       for C in candidate['bounds']]
    return scores

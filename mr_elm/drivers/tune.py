"""Choose kernel parameters and C by cross-validation on the reducers: one job, or two for double cross-validation."""

import warnings
from dataclasses import replace

from mr_elm.drivers.dual import begin
from mr_elm.drivers.problems import score_kernels
from mr_elm.engines.base import Engine
from mr_elm.errors import ConvergenceWarning, NumericalWarning
from mr_elm.machines.dual_task import KernelGridTask, KernelPath
from mr_elm.machines.options import DualOptions
from mr_elm.machines.search_options import DualSearch
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import Cell, Score, Tuned, best_of
from mr_elm.streaming.mr_grid import MRGrid


def tune(plan: InputPlan, options: DualOptions, search: DualSearch, engine: Engine) -> Tuned:
    """Cross-validate every candidate.

    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, engine, options.bad_rows)
    summary, _, task = begin(data, options)
    pair_bytes = 2 * 4  # half of the memory is for a matrix in float32
    share = search.choose_share(plan.name, summary.n_rows, options.memory, pair_bytes, 'a kernel matrix in half of')
    kernels, C_values = search.candidates(summary.measure_scaled(options.scale).total_variance)
    n_outer = search.nested or 0
    # all rows, and those outside each outer fold
    outer_folds = [None, *range(n_outer)]
    grid = task.extend(
        KernelGridTask,
        share=share,
        n_folds=search.folds,
        n_outer=n_outer,
        paths=[KernelPath(kernel, C_values, fold) for fold in outer_folds for kernel in kernels],
    )
    scores: dict[int | None, list[Score]] = {fold: [] for fold in outer_folds}
    for path, cells in zip(grid.paths, walk_paths(data, grid, 'grid'), strict=True):
        for C in C_values:
            scores[path.outer].append(Score(path.kernel, C, tuple(cell for cell in cells if cell.C == C)))
    best = best_of(scores[None])
    # the best of the rows outside each outer fold is tested on it
    chosen = [best_of(scores[fold]) for fold in range(n_outer)]
    outer: list[Cell] = []
    if chosen:
        tests = [KernelPath(score.parameters, [score.C], fold, True) for fold, score in enumerate(chosen)]
        outer = sum(walk_paths(data, replace(grid, paths=tests), 'outer folds'), [])
    return Tuned(scores[None], best, tuple(outer), tuple(chosen), task.rule)


def walk_paths(data: DataSet, task: KernelGridTask, stage: str) -> list[list[Cell]]:
    """Run the job: the cells of each path. Warns of what numbers made doubtful, and of trainings that did not finish.

    The accuracy of unfinished machines counts all the same.
    """
    answers = score_kernels(data, MRGrid, task, stage, len(task.paths))
    cells, unfinished = [], []
    for path, answer in zip(task.paths, answers, strict=True):
        name = ', '.join(f'{name} {value:g}' for name, value in path.kernel.items()) or 'this kernel'
        for text in answer['warnings']:
            warnings.warn(f'{name}: {text}', NumericalWarning, stacklevel=2)
        cells.append([Cell(**cell) for cell in answer['cells']])
        unfinished += [(name, cell) for cell in cells[-1] if not cell.converged]
    if unfinished:
        name, cell = unfinished[0]
        warnings.warn(
            f'{len(unfinished)} of {sum(map(len, cells))} trainings stopped before they reached '
            f'--eps {task.eps:g}, as that with {name}, C {cell.C:g}, fold '
            f'{cell.fold}: their scores are of unfinished machines; raise --max-iter or --eps, or search '
            'smaller C',
            ConvergenceWarning,
            stacklevel=2,
        )
    return cells

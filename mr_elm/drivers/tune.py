"""Choose kernel parameters and C by cross-validation on the reducers: one job, or two for double cross-validation."""

import warnings
from dataclasses import replace

from mr_elm.drivers.dual import begin
from mr_elm.drivers.problems import score_candidates
from mr_elm.engines.base import Engine
from mr_elm.errors import ConvergenceWarning, NumericalWarning
from mr_elm.machines.dual_task import Candidate, KernelGridTask
from mr_elm.machines.options import DualOptions
from mr_elm.machines.search_options import DualSearch
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import Cell, Score, Tuned, best_of
from mr_elm.streaming.mr_grid import MRGrid

KEPT = 2 * 4  # bytes for each two rows: half of the memory for a matrix in float32


def tune(plan: InputPlan, options: DualOptions, search: DualSearch, engine: Engine) -> Tuned:
    """Cross-validate every candidate.

    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, engine, options.bad_rows)
    summary, _, task = begin(data, options)
    share = search.choose_share(plan.name, summary.n_rows, options.memory, KEPT, 'a kernel matrix in half of')
    kernels, C_values = search.candidates(summary.measure_scaled(options.scale).total_variance)
    n_outer = search.nested or 0
    folds = [None, *range(n_outer)]
    grid = task.extend(
        KernelGridTask,
        share=share,
        n_folds=search.folds,
        n_outer=n_outer,
        candidates=[Candidate(kernel, C_values, fold) for fold in folds for kernel in kernels],
    )
    cells = run_candidates(data, grid, 'grid')
    scores = {fold: collect_scores(grid.candidates, cells, fold) for fold in folds}
    best = best_of(scores[None])
    if not n_outer:
        return Tuned(scores[None], best, solver=task.rule)
    chosen = [best_of(scores[fold]) for fold in range(n_outer)]
    tests = [Candidate(score.parameters, [score.C], fold, tests_outer=True) for fold, score in enumerate(chosen)]
    outer = run_candidates(data, replace(grid, candidates=tests), 'outer folds')
    return Tuned(
        scores[None], best, tuple(cell for number in sorted(outer) for cell in outer[number]), tuple(chosen), task.rule
    )


def run_candidates(data: DataSet, task: KernelGridTask, stage: str) -> dict[int, list[Cell]]:
    """Run the job over all candidates: number -> list of Cell."""
    found = score_candidates(data, MRGrid, task, stage, len(task.candidates))
    for number, value in sorted(found.items()):
        for text in value['warnings']:
            warnings.warn(f'{name_candidate(task.candidates[number])}: {text}', NumericalWarning, stacklevel=2)
    cells = {number: [Cell(**cell) for cell in value['cells']] for number, value in found.items()}
    warn_of_unfinished(task, cells)
    return cells


def warn_of_unfinished(task: KernelGridTask, cells: dict[int, list[Cell]]) -> None:
    """Warn of trainings that stopped before they reached eps; their accuracy counts all the same."""
    found = [(number, cell) for number in sorted(cells) for cell in cells[number] if not cell.converged]
    if found:
        number, cell = found[0]
        warnings.warn(
            f'{len(found)} of {sum(map(len, cells.values()))} trainings stopped before they reached '
            f'--eps {task.eps:g}, as that with {name_candidate(task.candidates[number])}, C {cell.C:g}, fold '
            f'{cell.fold}: their scores are of unfinished machines; raise --max-iter or --eps, or search '
            'smaller C',
            ConvergenceWarning,
            stacklevel=3,
        )


def name_candidate(candidate: Candidate) -> str:
    """Name a candidate by the parameters of its kernel."""
    return ', '.join(f'{name} {value:g}' for name, value in candidate.kernel.items()) or 'this kernel'


def collect_scores(tested: list[Candidate], cells: dict[int, list[Cell]], fold: int | None) -> list[Score]:
    """Return the Score of every kernel and C, of the candidates that leave out one outer fold."""
    return [
        Score(candidate.kernel, C, tuple(cell for cell in cells[number] if cell.C == C))
        for number, candidate in enumerate(tested)
        if candidate.outer == fold
        for C in candidate.C_values
    ]

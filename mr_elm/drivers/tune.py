"""Choose kernel parameters and C by cross-validation on the reducers, in one job."""

import warnings

from mr_elm.drivers.dual import begin
from mr_elm.drivers.problems import score_kernels
from mr_elm.engines.base import Engine
from mr_elm.errors import ConvergenceWarning, NumericalWarning
from mr_elm.machines.dual_task import KernelGridTask
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
    grid = task.extend(KernelGridTask, share=share, n_folds=search.folds, kernels=kernels, C_values=C_values)
    scores = score_grid(data, grid)
    return Tuned(scores, best_of(scores), task.rule)


def score_grid(data: DataSet, task: KernelGridTask) -> list[Score]:
    """Run the job: the Score of each candidate. Warns of what numbers made doubtful, and of unfinished trainings.

    The accuracy of unfinished machines counts all the same.
    """
    answers = score_kernels(data, MRGrid, task, 'grid', len(task.kernels))
    scores, unfinished = [], []
    for kernel, answer in zip(task.kernels, answers, strict=True):
        name = ', '.join(f'{name} {value:g}' for name, value in kernel.items()) or 'this kernel'
        for text in answer['warnings']:
            warnings.warn(f'{name}: {text}', NumericalWarning, stacklevel=2)
        cells = [Cell(**cell) for cell in answer['cells']]
        unfinished += [(name, cell) for cell in cells if not cell.converged]
        scores += [Score(kernel, C, tuple(cell for cell in cells if cell.C == C)) for C in task.C_values]
    if unfinished:
        name, cell = unfinished[0]
        warnings.warn(
            f'{len(unfinished)} of {sum(len(score.cells) for score in scores)} trainings stopped before they reached '
            f'--eps {task.eps:g}, as that with {name}, C {cell.C:g}, fold '
            f'{cell.fold}: their scores are of unfinished machines; raise --max-iter or --eps, or search '
            'smaller C',
            ConvergenceWarning,
            stacklevel=2,
        )
    return scores

"""Choose kernel parameters and C in one job, a reduce task a kernel: by cross-validation, or by leave-one-out."""

import warnings
from typing import Any

from mr_elm.drivers.dual import begin
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import ConvergenceWarning, NumericalWarning
from mr_elm.machines.dual_task import KernelGridTask
from mr_elm.machines.kernel import MATRICES_KEPT, KernelProblem, LeaveOneOutTask
from mr_elm.machines.options import DualOptions, KELMOptions
from mr_elm.machines.rows_task import KernelsTask
from mr_elm.machines.search_options import DualSearch, KELMSearch
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import Cell, Score, Tuned, best_of
from mr_elm.streaming.mr_grid import MRGrid
from mr_elm.streaming.mr_leave_one_out import MRLeaveOneOut
from mr_elm.streaming.stage import MRRows


def cross_validate(plan: InputPlan, options: DualOptions, search: DualSearch, engine: Engine) -> Tuned:
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
    answers = score_kernels(data, MRGrid, task, 'grid')
    scores, unfinished, n_trainings = [], [], 0
    for kernel, answer in zip(task.kernels, answers, strict=True):
        name = ', '.join(f'{name} {value:g}' for name, value in kernel.items()) or 'this kernel'
        for text in answer['warnings']:
            warnings.warn(f'{name}: {text}', NumericalWarning, stacklevel=2)
        cells = [Cell(**cell) for cell in answer['cells']]
        n_trainings += len(cells)
        unfinished += [(name, cell) for cell in cells if not cell.converged]
        balanced = task.class_weights is not None
        scores += [Score.of_cells(kernel, C, [cell for cell in cells if cell.C == C], balanced) for C in task.C_values]
    if unfinished:
        name, cell = unfinished[0]
        warnings.warn(
            f'{len(unfinished)} of {n_trainings} trainings stopped before they reached '
            f'--eps {task.eps:g}, as that with {name}, C {cell.C:g}, fold '
            f'{cell.fold}: their scores are of unfinished machines; raise --max-iter or --eps, or search '
            'smaller C',
            ConvergenceWarning,
            stacklevel=2,
        )
    return scores


def leave_one_out(plan: InputPlan, options: KELMOptions, search: KELMSearch, engine: Engine) -> Tuned:
    """Score every candidate.

    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, engine, options.bad_rows)
    summary, classes = learn_rows(data, options)
    problem = KernelProblem.state(options, summary, classes)
    kernels, C_values = search.candidates(summary.measure_scaled(options.scale).total_variance)
    share = search.choose_share(
        plan.name, summary.n_rows, options.memory, 8 * MATRICES_KEPT['svd'], 'an eigendecomposition in'
    )
    n = round(share * summary.n_rows)
    engine.reporter.announce(f'eigenvalues of {len(kernels)} kernel matrices of {n:,} rows', n)
    grid = problem.task.extend(
        LeaveOneOutTask,
        share=share,
        kernel=problem.kernel.name,
        kernels=kernels,
        C_values=C_values,
        center=options.center,
    )
    answers = score_kernels(data, MRLeaveOneOut, grid, 'leave-one-out')
    scores = [
        Score(parameters, **score)
        for parameters, answer in zip(kernels, answers, strict=True)
        for score in answer['scores']
    ]
    return Tuned(scores, best_of(scores))


def score_kernels(data: DataSet, job_class: type[MRRows], task: KernelsTask, stage: str) -> list[Any]:
    """Run the job that scores kernels, each in a reducer: what these say, in order."""
    n = len(task.kernels)
    return [value for _, value in sorted(run_problem(data, job_class, task, stage, n))]

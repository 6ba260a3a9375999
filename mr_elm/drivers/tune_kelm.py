"""Choose kernel parameters and C of the kernel ELM by leave-one-out: one job, a reduce task a kernel."""

from mr_elm.drivers.problems import score_kernels
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines.base import Engine
from mr_elm.machines.kernel import MATRICES_KEPT, KernelProblem, LeaveOneOutTask
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.search_options import KELMSearch
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import LeftOut, Tuned, best_of
from mr_elm.streaming.mr_leave_one_out import MRLeaveOneOut


def tune(plan: InputPlan, options: KELMOptions, search: KELMSearch, engine: Engine) -> Tuned:
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
    answers = score_kernels(data, MRLeaveOneOut, grid, 'leave-one-out', len(kernels))
    scores = [
        LeftOut(parameters, **score)
        for parameters, answer in zip(kernels, answers, strict=True)
        for score in answer['scores']
    ]
    return Tuned(scores, best_of(scores))

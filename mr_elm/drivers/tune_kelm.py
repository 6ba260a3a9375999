"""Choose kernel parameters and C of the kernel ELM by leave-one-out: one job, a reduce task a kernel."""
from mr_elm.drivers.checks import share_of
from mr_elm.drivers.kelm_data import begin
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.tune import Tuned
from mr_elm.engines.base import Engine
from mr_elm.io.wire import make_key, split_key
from mr_elm.machines.kernel import WHOLE, LeaveOneOutTask
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.search_options import KELMSearch
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import LeftOut, best_of, candidates
from mr_elm.streaming.mr_leave_one_out import MRLeaveOneOut


def tune(plan: InputPlan, options: KELMOptions, search: KELMSearch, engine: Engine) -> Tuned:
    """Score every candidate.

    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, engine, options.bad_rows)
    summary, _, task, kernel = begin(data, options)
    kernels, C_values = candidates(search.grid, kernel.kind, task.n_features)
    share = share_of(plan, summary, search.sample, options.memory, 8 * WHOLE['svd'], 'an eigendecomposition in')
    grid = task.extend(LeaveOneOutTask, share=share, kernel=kernel.name, kernels=search.kernels or kernels,
                       C_values=sorted(search.C or C_values))
    found = run_kernels(data, grid)
    scores = [LeftOut(parameters, **score) for number, parameters in enumerate(grid.kernels)
              for score in found[number]]
    return Tuned(scores, best_of(scores))


def run_kernels(data: DataSet, task: LeaveOneOutTask) -> dict[int, list[dict]]:
    """Run the job over all kernels: number -> list of scores."""
    keys = [make_key('rows', number) for number in range(len(task.kernels))]
    return {int(split_key(key)[1][0]): value['scores']
            for key, value in run_problem(data, MRLeaveOneOut, task, 'leave-one-out', keys)}

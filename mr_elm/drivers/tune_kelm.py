"""Choose kernel parameters and C of the kernel ELM by leave-one-out: one job, a reduce task a kernel."""
from mr_elm.drivers.checks import share_of
from mr_elm.drivers.kelm import WHOLE
from mr_elm.drivers.kelm_data import begin
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.tune import Tuned
from mr_elm.io.wire import make_key, split_key
from mr_elm.machines.dual_task import DualProblem
from mr_elm.passes.data_set import DataSet
from mr_elm.scores.selection import LeftOut, best_of, candidates
from mr_elm.streaming.mr_leave_one_out import MRLeaveOneOut


def tune(plan, options, search, runner):
    """Score every candidate: a Tuned.

    plan : InputPlan. options : KELMOptions. search : KELMSearch. runner : Engine.
    Raises DataFormatError when the rows cannot be used, or are too many for the memory of a task.
    """
    data = DataSet(plan, runner, options.bad_rows)
    summary, _, problem, kernel = begin(data, options)
    kernels, strengths = candidates(search.grid, kernel.kind, problem.n_features)
    kernels = search.kernels or kernels
    share = share_of(plan, summary, search.sample, options.memory, 8 * WHOLE['svd'], 'an eigendecomposition in')
    header = {**problem.header, 'share': share, 'kernel': kernel.name,
              'kernels': kernels, 'C': sorted(search.C or strengths)}
    found = run_tasks(data, DualProblem(header, problem.arrays))
    scores = [LeftOut(parameters, **score) for number, parameters in enumerate(kernels) for score in found[number]]
    return Tuned(scores, best_of(scores))


def run_tasks(data, problem):
    """Run the job over all kernels: number -> list of scores."""
    found = {}
    keys = [make_key('rows', number) for number in range(len(problem.header['kernels']))]
    for key, value in run_problem(data, MRLeaveOneOut, problem, 'leave-one-out', keys):
        found[int(split_key(key)[1][0])] = value['scores']
    return found

"""Score kernel parameters and C of the kernel ELM by leave-one-out, each kernel in one reducer."""

from mr_elm.machines.kernel import LeaveOneOutTask
from mr_elm.streaming.problem_stage import ProblemStage


class MRLeaveOneOut(ProblemStage):
    """Score kernels and C of the kernel ELM by leave-one-out, a reducer a kernel.

    A TASK is one kernel. Its eigenvalues give the score of every C in closed form.

    Input:  <split, rows>, text or packed
    Output: <scores TASK, JSON>
                scores: a list with an object for each C: C and its scores

    Map:    send each row of the sample to every task:
            <rows TASK, [places, numbers, weights, X]>
    Reduce: compute the kernel matrix and its eigenvalues; score every C.
    """

    TASK = LeaveOneOutTask


if __name__ == '__main__':
    MRLeaveOneOut.run()

"""Score kernel parameters by cross-validation, each in one reducer that walks the path of C."""

from mr_elm.machines.dual_task import KernelGridTask
from mr_elm.streaming.problem_stage import ProblemStage


class MRGrid(ProblemStage):
    """Score kernel parameters and C by cross-validation, each kernel in one reducer.

    A TASK is one kernel, or one layer of random nodes. All
    machines of all classes and all folds of a task use the same kernel matrix, or
    the same node outputs.

    Input:  <split, rows>, text or packed
    Output: <scores TASK, JSON>
                cells: a list with an object for each C and fold: C, fold, correct
                and total weight of each class in the fold, n_support, seconds,
                n_iter, converged
                warnings: texts of what numbers made doubtful, each once

    Map:    send each row of the sample to each task:
            <rows TASK, [places, numbers, weights, X]>
    Reduce: compute the kernel matrix; solve for rising C, by rules that can go on
            from the solution before.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014,
    section VI: the grid; the division into map and reduce is ours.
    """

    TASK = KernelGridTask


if __name__ == '__main__':
    MRGrid.run()

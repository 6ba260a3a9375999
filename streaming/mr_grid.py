"""Score kernel parameters by cross-validation, each in one reducer that walks the path of C."""
import warnings
from dataclasses import asdict, replace
from functools import cached_property

from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.io.wire import make_key
from mr_elm.scores.selection import cross_validate, fold_numbers, sampled
from mr_elm.solvers.box.path import ready_rows
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.streaming.mr_problem import MRProblem, reporter

SAMPLE, OUTER, INNER = 1, 2, 3  # what a row's hash decides, each with a key of its own


class MRGrid(MRProblem):
    """Score kernel parameters and C by cross-validation, each kernel in one reducer.

    A TASK is one kernel on one training set. All machines of all classes and all
    folds of a task use the same kernel matrix.

    Input:  <split, rows>, text or packed
    Output: <scores TASK, JSON>
                cells: a list with an object for each C and fold: C, fold, correct
                and total rows of the fold, n_support, seconds

    Map:    send each row of the sample to the tasks that use it:
            <rows TASK, [places, numbers, weights, X]>
    Reduce: compute the kernel matrix; solve for rising C from the solution before.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014,
    section VI: the grid; the division into map and reduce is ours.
    """

    @cached_property
    def space(self):
        """Keep the memory of a kernel matrix for the next task."""
        return Workspace()

    def map_block(self, block, place):
        """Send the rows of the sample to every task that trains or tests on them."""
        problem, seed = self.problem, self.problem.parameters['seed']
        rows = self.rows_of(block, place)
        rows = rows.take(sampled(rows.X, problem.header['share'], seed + SAMPLE))
        outer = fold_numbers(rows.X, problem.header['n_outer'], seed + OUTER) if problem.header['n_outer'] else None
        for number, task in enumerate(problem.header['tasks']):
            seen = rows if task['outer'] is None or task['tests_outer'] else rows.take(outer != task['outer'])
            for piece, _ in seen.pieces():
                yield make_key('rows', number), piece

    def solve(self, rows, number):
        """Score a task."""
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # an unfinished cell's accuracy counts all the same
            yield make_key('scores', number), self.score(number, rows)

    def score(self, number, rows):
        """Cross-validate one task: a dictionary with the cells."""
        problem, task = self.problem, self.problem.header['tasks'][number]
        seed, key = problem.parameters['seed'], 'n_outer' if task['tests_outer'] else 'n_folds'
        n_folds = problem.header[key]
        folds = fold_numbers(rows.X, n_folds, seed + (OUTER if task['tests_outer'] else INNER))
        machine = problem.machine_with(task['kernel'])
        source = ready_rows(kernel_rows(machine.place(rows.X), machine.kernel), space=self.space)
        settings = replace(machine.settings, report=reporter(self))
        cells = cross_validate(source, rows.numbers.astype(int), rows.weights, task['bounds'], folds,
                               [task['outer']] if task['tests_outer'] else range(n_folds), problem.n_classes,
                               problem.parameters['multiclass'], settings, machine.walk)
        return {'cells': [asdict(cell) for cell in cells]}


if __name__ == '__main__':
    MRGrid.run()

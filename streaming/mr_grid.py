"""Score kernel parameters by cross-validation, each in one reducer that walks the path of C."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from mr_elm.errors import ConvergenceWarning
from mr_elm.features.kernel_rows import NodeRows, ready_rows
from mr_elm.machines.dual_task import KernelGridTask
from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.pairs import LabelledKernel, cross_validate
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.scores.selection import FOLD, SAMPLE, fold_numbers, select_sample
from mr_elm.streaming.problem_stage import ProblemStage


class MRGrid(ProblemStage):
    """Score kernel parameters and C by cross-validation, each kernel in one reducer.

    A TASK is one kernel, or one layer of random nodes. All
    machines of all classes and all folds of a task use the same kernel matrix, or
    the same node outputs.

    Input:  <split, rows>, text or packed
    Output: <scores TASK, JSON>
                cells: a list with an object for each C and fold: C, fold, correct
                and total rows of the fold, n_support, seconds, n_iter, converged
                warnings: texts of what numbers made doubtful, each once

    Map:    send each row of the sample to each task:
            <rows TASK, [places, numbers, weights, X]>
    Reduce: compute the kernel matrix; solve for rising C, by rules that can go on
            from the solution before.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014,
    section VI: the grid; the division into map and reduce is ours.
    """

    TASK = KernelGridTask

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Send the rows of the sample to every candidate."""
        problem = self.problem
        rows = self.gather_block(block, row_key)
        rows = rows.take(select_sample(rows.X, problem.share, problem.seed + SAMPLE))
        for number in range(len(problem.kernels)):
            for piece, _ in rows.cut():
                yield make_key('rows', number), piece

    def solve(self, rows: GatheredRows, *key: int) -> Iterator[tuple[str, object]]:
        """Score a candidate."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            cells = self.score(key[0], rows)
        texts = {str(warning.message) for warning in caught if warning.category is not ConvergenceWarning}
        yield make_key('scores', *key), {'cells': cells, 'warnings': sorted(texts)}

    def score(self, number: int, rows: GatheredRows) -> list[dict]:
        """Cross-validate one candidate: the cells."""
        problem = self.problem.choose(number)
        folds = fold_numbers(rows.X, problem.n_folds, problem.seed + FOLD)
        kernel_rows = problem.prepare_rows(rows.X)
        source = ready_rows(kernel_rows) if problem.kernel else NodeRows(kernel_rows)
        self.set_status(f'candidate {number + 1} of {len(problem.kernels)}')
        cells = cross_validate(
            LabelledKernel(source, rows.numbers.astype(int), rows.weights),
            problem.scheme,
            problem.machine,
            problem.C_values,
            folds,
        )
        return list(map(asdict, cells))


if __name__ == '__main__':
    MRGrid.run()

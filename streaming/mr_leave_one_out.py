"""Score kernel parameters and C of the kernel ELM by leave-one-out, each kernel in one reducer."""

from collections.abc import Iterator, Sequence

from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.kernel import LeaveOneOutTask
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
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

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Send the rows of the sample to every task."""
        rows = self.gather_sample(block, row_key)
        for number in range(len(self.problem.kernels)):
            for piece, _ in rows.cut():
                yield make_key('rows', number), piece

    def solve(self, rows: GatheredRows, *key: int) -> Iterator[tuple[str, object]]:
        """Score a task."""
        self.set_status(f'kernel {key[0] + 1} of {len(self.problem.kernels)}')
        scores = self.problem.score(key[0], rows)
        yield make_key('scores', *key), {'scores': [{'C': C, **score} for C, score in scores]}


if __name__ == '__main__':
    MRLeaveOneOut.run()

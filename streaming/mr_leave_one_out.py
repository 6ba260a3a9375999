"""Score kernel parameters and C of the kernel ELM by leave-one-out, each kernel in one reducer."""
from mr_elm.features.kernel_tiles import lower_triangle
from mr_elm.features.kernels import make_kernel
from mr_elm.features.scaling import scale_rows
from mr_elm.io.wire import make_key
from mr_elm.scores.selection import leave_one_out, sampled
from mr_elm.solvers.kernel.kelm import decompose, weigh
from mr_elm.streaming.mr_problem import MRProblem


class MRLeaveOneOut(MRProblem):
    """Score kernels and C of the kernel ELM by leave-one-out, a reducer a kernel.

    A TASK is one kernel. Its eigenvalues give the score of every C in closed form.

    Input:  <split, rows>, text or packed
    Output: <scores TASK, JSON>
                scores: a list with an object for each C: C and its scores

    Map:    send each row of the sample to every task:
            <rows TASK, [places, numbers, weights, X]>
    Reduce: compute the kernel matrix and its eigenvalues; score every C.
    """

    def map_block(self, block, place):
        """Send the rows of the sample to every task."""
        header = self.problem.header
        rows = self.rows_of(block, place)
        rows = rows.take(sampled(rows.X, header['share'], header['parameters']['seed']))
        for number in range(len(header['kernels'])):
            for piece, _ in rows.pieces():
                yield make_key('rows', number), piece

    def solve(self, rows, number):
        """Score a task."""
        header, arrays = self.problem.header, self.problem.arrays
        Z = scale_rows(rows.X, arrays['feature_offset'], arrays['feature_scale'])
        omega = lower_triangle(Z, make_kernel(header['kernel'], **header['kernels'][number]))
        s, _ = weigh(omega, rows.numbers[:, None], rows.weights)
        scores = leave_one_out(decompose(omega), s, rows.numbers, rows.weights, self.problem.n_classes, header['C'])
        yield make_key('scores', number), {'scores': [{'C': C, **score} for C, score in scores]}


if __name__ == '__main__':
    MRLeaveOneOut.run()

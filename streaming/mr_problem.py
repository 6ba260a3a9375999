"""Gather rows for the tasks of a dual problem: the base of every job that is given one."""
import time

from mr_elm.arithmetic import one_thread
from mr_elm.io.blocks import widen
from mr_elm.io.wire import split_key
from mr_elm.machines.dual_task import load_problem
from mr_elm.machines.gathering import Rows, gather, rows_of
from mr_elm.streaming.stage import MRRows

QUIET = 5.0  # seconds between two signs of life


def reporter(job):
    """Return a function (iterations, gap) for `Settings` that shows in Hadoop's status how far a task is."""
    spoken = time.monotonic()

    def tell(n_iter, gap):
        nonlocal spoken
        if time.monotonic() - spoken > QUIET:
            spoken = time.monotonic()
            job.set_status(f'iteration {n_iter}, gap {gap:.3g}')

    return tell


class MRProblem(MRRows):
    """Gather rows in reducers and solve a problem on them: the base of the stages that take --problem.

    Map: send pieces of `Rows` under `rows COORDINATES`. Reduce: put the rows of a key in input order, and solve.
    A subclass defines map_block(block, place) and, where it sends rows, solve(rows, *coordinates); both yield
    (key, value).
    """

    REQUIRED = ('problem',)

    def configure_args(self):
        """Add the problem."""
        super().configure_args()
        self.add_file_arg('--problem', help='npz: classes, kernel or nodes, scaling, solver')

    def map_begin(self):
        """Load the problem."""
        self.problem = load_problem(self.options.problem)

    def rows_of(self, block, place):
        """Return the Rows of a block with their class numbers and weights."""
        rows = rows_of(block, place, self.problem.class_numbers(block), self.problem.row_weights(block))
        return Rows(rows.places, rows.numbers, rows.weights, widen(rows.X, self.problem.n_features))

    def reducer_init(self):
        """Load the problem."""
        self.problem = load_problem(self.options.problem)

    def reducer(self, key, values):
        """Solve for the rows of a key; pass on, or merge, what else there is."""
        kind, coordinates = split_key(key)
        if kind != 'rows':
            yield from super().reducer(key, values)
            return
        with one_thread():
            yield from self.solve(gather(values), *map(int, coordinates))

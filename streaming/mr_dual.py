"""Train the two-class machines of a dual method, each in one reducer."""
import time

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.features.landmarks import row_hashes
from mr_elm.io.blocks import widen
from mr_elm.io.wire import make_key, split_key
from mr_elm.streaming.dual_problem import load_problem
from mr_elm.streaming.gathering import Rows, gather, rows_of
from mr_elm.streaming.mr_rows import MRRows

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


class MRDual(MRRows):
    """Map: `rows MACHINE PART`, the rows that a machine trains on. Reduce: solve it; emit `machine MACHINE PART`, its
    certificate, `support MACHINE PART`, its support vectors, and for explicit nodes `beta MACHINE PART`.

    A machine is a pair of classes, or a class against all others. Its rows may be cut into parts, by a keyed hash, so
    that the parts do not depend on the splits.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI; the stage is ours.
    """

    def configure_args(self):
        """Add the problem."""
        super().configure_args()
        self.add_file_arg('--problem', help='npz: classes, kernel or nodes, scaling, solver')

    def map_begin(self):
        """Learn which machines need which rows."""
        self.problem = load_problem(self.options.problem)

    def map_block(self, block, place):
        """Send a block's rows to their machines."""
        rows = rows_of(block, place, self.problem.class_numbers(block), self.problem.row_weights(block))
        rows = Rows(rows.places, rows.numbers, rows.weights, widen(rows.X, self.problem.n_features))
        n_parts = self.problem.partitions
        if n_parts == 1:
            yield from self.send(rows, 0)
            return
        parts = row_hashes(rows.X, self.problem.parameters['seed']) % np.uint64(n_parts)
        for part in range(n_parts):
            yield from self.send(rows.take(parts == part), part)

    def send(self, rows, part):
        """Yield rows for every machine that sees them."""
        for machine in range(self.problem.n_machines):
            for piece, _ in rows.take(self.problem.seen_by(machine, rows.numbers)).pieces():
                yield make_key('rows', machine, part), piece

    def reducer_init(self):
        """Load the problem."""
        self.problem = load_problem(self.options.problem)

    def reducer(self, key, values):
        """Solve a machine; pass on what is about the input."""
        kind, coordinates = split_key(key)
        if kind != 'rows':
            yield from super().reducer(key, values)
            return
        with one_thread():
            rows = gather(values)
            yield from self.solve(rows, *map(int, coordinates))

    def solve(self, rows, *place):
        """Solve one machine on its rows."""
        trained = self.problem.solve(place[0], rows, reporter(self))
        yield make_key('machine', *place), trained.certificate
        if trained.beta is not None:
            yield make_key('beta', *place), [trained.beta]
        for piece, part in trained.support.pieces():
            yield make_key('support', *place), [trained.coefficients[part], *piece]


if __name__ == '__main__':
    MRDual.run()

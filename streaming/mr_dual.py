"""Train the two-class machines of a dual method, each in one reducer."""
import numpy as np

from mr_elm.features.landmarks import row_hashes
from mr_elm.io.wire import make_key
from mr_elm.streaming.mr_problem import MRProblem, reporter


class MRDual(MRProblem):
    """Map: `rows MACHINE PART`, the rows that a machine trains on. Reduce: solve it; emit `machine MACHINE PART`, its
    certificate, `support MACHINE PART`, its support vectors, and for explicit nodes `beta MACHINE PART`.

    A machine is a pair of classes, or a class against all others. Its rows may be cut into parts, by a keyed hash, so
    that the parts do not depend on the splits.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI; the stage is ours.
    """

    def map_block(self, block, place):
        """Send a block's rows to their machines."""
        rows = self.rows_of(block, place)
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

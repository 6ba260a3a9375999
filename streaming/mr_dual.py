"""Train the two-class machines of a dual method, each in one reducer."""

from collections.abc import Iterable, Iterator
from typing import Any

from mr_elm.machines.dual_task import DualTask, TrainedMachine
from mr_elm.machines.gathering import GatheredRows
from mr_elm.rows.wire import make_key, split_key
from mr_elm.streaming.problem_stage import ProblemStage


class MRDual(ProblemStage):
    """Train the two-class machines of a dual method, each in one reducer.

    A machine is a pair of classes, or a class against all others: numbers MACHINE.
    With --partitions its rows are divided among PARTs by a keyed hash of the row,
    and each part is solved alone. t is +1 or -1.

    Input:  <split, rows>, text or packed
    Output: <machine MACHINE PART, JSON>
                certificate of the solution: objective, gap, violation, n_iter,
                n_kernel_rows, seconds, converged, intercept, n_rows, n_support,
                alpha_sum, warnings
            <support MACHINE PART, [coefficients, places, numbers, weights, X]>
                n support vectors: t_i alpha_i, shape (n,), then the rows as in the
                output of mr_place, but not scaled
            <beta MACHINE PART, [beta]>
                output weights, shape (L,); only with random nodes

    Map:    send each row to every machine that trains on it:
            <rows MACHINE PART, [places, numbers, weights, X]>
    Reduce: min 1/2 a'Qa - e'a, 0 <= a_i <= C_i, on the rows of a key in input
            order; sphere-svm: the point of a convex hull nearest to the origin.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014,
    section VI; the division into map and reduce is ours.
    """

    TASK = DualTask

    def solve(self, rows: GatheredRows, *key: int) -> Iterator[tuple[str, object]]:
        """Train one machine on its rows."""
        machine, part = key
        number, n_machines = machine * self.problem.partitions + part + 1, self.problem.scheme.n_machines
        work = f'machine {number} of {n_machines * self.problem.partitions}'
        trained = self.problem.train(machine, rows, self.make_reporter(work))
        yield make_key('machine', *key), trained.certificate
        if trained.beta is not None:
            yield make_key('beta', *key), [trained.beta]
        for piece, part in trained.support.cut():
            yield make_key('support', *key), [trained.coefficients[part], *piece]


def read_machines(pairs: Iterable[tuple[str, Any]]) -> dict[tuple[int, ...], TrainedMachine]:
    """Read the output pairs: (MACHINE, PART) -> TrainedMachine."""
    machines: dict[tuple[int, ...], dict[str, list]] = {}
    for key, value in pairs:
        kind, key_parts = split_key(key)
        machines.setdefault(tuple(map(int, key_parts)), {}).setdefault(kind, []).append(value)
    return {key_parts: TrainedMachine.read(records) for key_parts, records in machines.items()}


if __name__ == '__main__':
    MRDual.run()

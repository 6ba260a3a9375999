"""Hold a dual solution against all rows: the loss of each machine, and the rows that contradict it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mr_elm.machines.dual_task import DualTask
from mr_elm.machines.gathering import GatheredRows, read_piece
from mr_elm.model.file import read_model
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import load_arrays
from mr_elm.streaming.problem_stage import ProblemStage
from mr_elm.streaming.stage import demand_width
from mr_elm.typing import Floats

FINE = 2**40  # losses add up as whole numbers of 1/FINE, so that their order does not show


def add_losses(values: Iterable[dict]) -> dict:
    """Add the losses of tasks, and keep the least margin."""
    values = list(values)
    return {'loss': sum(value['loss'] for value in values), 'least': min(value['least'] for value in values)}


def keep_worst(
    before: tuple[Floats, GatheredRows] | None, margins: Floats, rows: GatheredRows, most: int
) -> tuple[Floats, GatheredRows]:
    """Return the rows with the smallest margins among those from before and others, ties in input order."""
    if before is not None:
        margins, rows = np.append(before[0], margins), GatheredRows.join([before[1], rows])
    chosen = np.lexsort((*rows.places.T[::-1], margins))[:most]
    return margins[chosen], rows.take(chosen)


def read_checks(
    pairs: Iterable[tuple[str, Any]], most: int
) -> tuple[dict[int, tuple[float, float]], list[GatheredRows]]:
    """Read the output pairs: MACHINE -> (loss, least margin), and the worst violators of each machine that has any."""
    sums: dict[int, tuple[float, float]] = {}
    worst: dict[int, tuple[Floats, GatheredRows]] = {}
    for key, value in pairs:
        kind, (machine,) = split_key(key)
        number = int(machine)
        if kind == 'loss':
            sums[number] = value['loss'] / FINE, value['least']
        else:
            worst[number] = keep_worst(worst.get(number), value[0], read_piece(value[1:]), most)
    return sums, [worst[number][1] for number in sorted(worst)]


class MRCheck(ProblemStage):
    """Check a dual solution against all rows: its loss, and the rows that violate it.

    The loss gives the primal objective; the dual objective is known; so both give
    the duality gap over all rows. For sphere-svm the least margin gives it.

    Input:  <split, rows>, text or packed
    Output: <loss MACHINE, JSON>
                loss: sum of C_i max(0, 1 - t_i f(x_i)) over the rows of a machine,
                as a whole number of units of 2^-40; least: the smallest t_i f(x_i)
                of its rows outside of the working set, at most 1
            <violators MACHINE, [margins, places, numbers, weights, X]>
                rows outside of the working set with t_i f(x_i) < 1 - eps, from
                each task the --most smallest ones: t_i f(x_i), shape (n,), then
                the rows as in the output of mr_place, but not scaled

    Map:    score each block, keep the worst violators, write when the task ends.
    Reduce: add the losses, take the smallest margin; pass violators on.
    """

    REQUIRED = 'problem', 'model', 'working'
    INPUT_FILES = {
        '--model': 'npz: the model',
        '--working': 'npz: places of the rows that the model was trained on',
    }
    TASK = DualTask
    MERGE = {'loss': add_losses}

    def configure_args(self) -> None:
        """Add how many violators are wanted."""
        super().configure_args()
        self.add_passthru_arg(
            '--most',
            type=int,
            default=1000,
            metavar='N',
            help='how many violators of a machine a task writes (default: %(default)s)',
        )

    def map_begin(self) -> None:
        """Load the model and start with no loss."""
        super().map_begin()
        self.model = read_model(self.options.model)
        self.known = set(map(tuple, load_arrays(self.options.working)[1]['places'].tolist()))
        n_machines = self.problem.scheme.n_machines
        self.losses, self.least = [0] * n_machines, [1.0] * n_machines
        self.found: dict[int, tuple[Floats, GatheredRows]] = {}

    def map_block(self, block: Block, row_key: Sequence[int]) -> None:
        """Add the losses of a block, and keep its worst violators."""
        demand_width(block.X, self.model.n_features)
        scores = self.model.decision_function(block.X)
        rows, scheme = self.gather_block(block, row_key), self.problem.scheme
        new = ~rows.are_at(self.known)
        for machine in range(scheme.n_machines):
            margins = scheme.make_targets(machine, rows.numbers) * scores[:, machine]
            mine = scheme.select_rows(machine, rows.numbers) & (rows.weights > 0)
            losses = self.problem.C * rows.weights[mine] * np.maximum(1 - margins[mine], 0)
            self.losses[machine] += int(math.fsum(losses) * FINE)
            self.least[machine] = min(self.least[machine], float(margins[mine & new].min(initial=1.0)))
            wrong = np.flatnonzero(mine & new & (margins < 1 - self.problem.eps))
            if len(wrong):
                self.found[machine] = keep_worst(
                    self.found.get(machine), margins[wrong], rows.take(wrong), self.options.most
                )

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit losses and violators."""
        for machine, (loss, least) in enumerate(zip(self.losses, self.least, strict=True)):
            yield make_key('loss', machine), {'loss': loss, 'least': least}
        for machine, (margins, rows) in self.found.items():
            for piece, part in rows.cut():
                yield make_key('violators', machine), [margins[part], *piece]


if __name__ == '__main__':
    MRCheck.run()

"""Gather rows for the stages that are given a problem: their base."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mr_elm.arithmetic import one_thread
from mr_elm.machines.gathering import GatheredRows, gather, locate_rows
from mr_elm.machines.rows_task import RowsTask
from mr_elm.rows.blocks import Block, widen
from mr_elm.rows.wire import make_key, split_key
from mr_elm.scores.selection import select_sample
from mr_elm.solvers.box import describe_iteration
from mr_elm.streaming.stage import MRRows

QUIET = 2.0  # seconds between two signs of life


class ProblemStage(MRRows):
    """Gather rows in reducers and solve a problem on them: the base of the stages that take --problem.

    Map: send pieces of `GatheredRows` under `rows COORDINATES`, as `problem.route` says. Reduce: put the rows of a key
    in input order, and solve, by default for the score of a candidate. A subclass may define map_block(block, row_key)
    and solve(rows, *coordinates); both yield (key, value). TASK : the kind of RowsTask that --problem holds.
    """

    REQUIRED: tuple[str, ...] = ('problem',)
    INPUT_FILES = {'--problem': 'npz: classes, kernel or nodes, scaling, solver'}
    TASK: type[RowsTask] = RowsTask

    def map_begin(self) -> None:
        """Load the problem."""
        self.problem: Any = self.TASK.load(self.options.problem)

    def gather_block(self, block: Block, row_key: Sequence[int]) -> GatheredRows:
        """Return the rows of a block with their class numbers and weights."""
        rows = locate_rows(block, row_key, self.problem.class_numbers(block), self.problem.row_weights(block))
        return replace(rows, X=widen(rows.X, self.problem.n_features))

    def gather_sample(self, block: Block, row_key: Sequence[int]) -> GatheredRows:
        """Return the rows of a block that are looked at."""
        rows, problem = self.gather_block(block, row_key), self.problem
        if problem.share == 1:
            return rows
        return rows.take(select_sample(rows.X, problem.share, problem.sample_seed))

    def map_block(self, block: Block, row_key: Sequence[int]) -> Any:
        """Send the rows of the sample to all who solve for them."""
        for key, rows in self.problem.route(self.gather_sample(block, row_key)):
            for piece, _ in rows.cut():
                yield make_key('rows', *key), piece

    def reducer_init(self) -> None:
        """Load the problem."""
        self.problem = self.TASK.load(self.options.problem)

    def reducer(self, key: str, values: Iterable) -> Iterator[tuple[str, object]]:
        """Solve for the rows of a key; pass on, or merge, what else there is."""
        kind, coordinates = split_key(key)
        if kind != 'rows':
            yield from super().reducer(key, values)
            return
        with one_thread():
            yield from self.solve(gather(values), *map(int, coordinates))

    def solve(self, rows: GatheredRows, *key: int) -> Iterator[tuple[str, object]]:
        """Score the candidate of a key by its rows."""
        self.set_status(f'candidate {key[0] + 1} of {len(self.problem.kernels)}')
        yield make_key('scores', *key), self.problem.score(key[0], rows)

    def make_reporter(self, work: str) -> Callable[..., None]:
        """Return a function for `Settings.report` that shows the work and how far it is as the status of the task."""
        self.set_status(work)
        spoken = time.monotonic()

        def report(*news: Any) -> None:
            nonlocal spoken
            if time.monotonic() - spoken > QUIET:
                spoken = time.monotonic()
                self.set_status(f'{work}, {describe_iteration(*news)}')

        return report

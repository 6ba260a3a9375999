"""Bring the rows of a kernel ELM to the driver."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.sample import read_sample
from mr_elm.drivers.summary import NodeInputs, learn_rows, say_metric
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError
from mr_elm.features.kernels import Kernel
from mr_elm.json_file import write_json
from mr_elm.machines.gathering import GatheredRows, expand_on_disk, gather, gather_to_file
from mr_elm.machines.kernel import KernelRowsTask, memory_for_rows, settle, state_rows
from mr_elm.machines.metric import LearnedMetric
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.rows_task import RowsTask
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.multiclass import class_targets
from mr_elm.sparse import count_bytes, expand_some
from mr_elm.store import temporary_folder
from mr_elm.streaming.mr_place import MRPlace
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats


@dataclass(frozen=True)
class KernelData:
    """Hold what the kernel ELM is trained on.

    source : where the rows came from. options : all of them chosen.
    rows : scaled, in input order; on disk unless they surely fit. fit : whether they fit into the driver's memory.
    task : RowsTask of these rows. kernel : Kernel. classes : None where labels are targets.
    summary : of the first pass. folder : where files for tasks are. learned : the metric.
    """

    source: DataSet
    options: KELMOptions
    rows: GatheredRows
    fit: bool
    task: RowsTask
    kernel: Kernel
    classes: Classes | None
    summary: Summary
    folder: str
    learned: LearnedMetric

    @property
    def n_rows(self) -> int:
        """Return N."""
        return len(self.rows)

    @property
    def reporter(self) -> Reporter:
        """Return what tells the user how far the training is."""
        return self.source.engine.reporter

    @cached_property
    def targets(self) -> Floats:
        """Return T, (N, K)."""
        return class_targets(self.rows.numbers, self.task.n_classes)

    @property
    def task_rows(self) -> KernelRowsTask:
        """Return what tasks compare their rows with."""
        return KernelRowsTask(self.kernel, self.rows.X, self.task.arrays)

    def path(self, name: str) -> str:
        """Return the path of a file for tasks."""
        return os.path.join(self.folder, name)

    @cached_property
    def rows_file(self) -> str:
        """Write kernel, scaling and X for tasks; the path."""
        self.task_rows.save(self.path('rows.npz'))
        return self.path('rows.npz')

    @cached_property
    def starts_file(self) -> str:
        """Write the number of the first row of each split for tasks; the path."""
        return write_json(self.path('starts.json'), [[*split, n] for split, n in self.rows.first_of_splits.items()])


@contextmanager
def gather_data(plan: InputPlan, options: KELMOptions, engine: Engine) -> Iterator[KernelData]:
    """Bring the rows to the driver; the context's value is a KernelData, whose files vanish at the end.

    Raises DataFormatError where the solver that the options ask for cannot take so many rows.
    """
    source = DataSet(plan, engine, options.bad_rows)
    summary, classes = learn_rows(
        source,
        options.task,
        seed=options.seed,
        refuses=options.needs_one_label,
        positive=options.positive,
    )
    sample = None
    if options.metric != 'none':
        sample = read_sample(NodeInputs(options, summary, classes, source))  # type: ignore[arg-type]
    with one_thread():
        task, kernel, learned = state_rows(options, summary, classes, sample)
    say_metric(engine.reporter, learned)
    options = settle(plan.name, options, summary.n_rows, task.n_features)
    room = memory_for_rows(options, summary.n_rows)
    with temporary_folder() as folder:
        pieces = (value for _, value in run_problem(source, MRPlace, task, 'rows'))
        if 8 * summary.n_rows * task.n_features <= room:
            rows = gather(pieces)
            rows = replace(rows, X=expand_some(rows.X))
        else:
            rows = gather_to_file(pieces, os.path.join(folder, 'rows'))
            rows = replace(rows, X=expand_on_disk(rows.X, os.path.join(folder, 'dense')))
        if len(rows) != summary.n_rows:
            raise AccountingError(f'{plan.name}: expected {summary.n_rows} rows, found {len(rows)}')
        size = count_bytes(rows.X)
        data = KernelData(source, options, rows, size <= room, task, kernel, classes, summary, folder, learned)
        if not data.fit:
            data.reporter.say(
                f'rows: {size / 1e6:,.3g} MB do not fit into --memory {options.memory:g} MB, they are kept on disk'
            )
        yield data

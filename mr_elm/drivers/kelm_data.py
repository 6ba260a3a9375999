"""Bring the rows of a kernel ELM to the driver, and state their problem."""
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError
from mr_elm.features.kernel_rows import DENSE_BYTES
from mr_elm.features.kernels import Kernel, make_kernel
from mr_elm.features.scaling import choose_scaling
from mr_elm.io.json_file import write_json
from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.kernel import KernelRowsTask
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.rows_task import RowsTask
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import score_values
from mr_elm.solvers.ridge.esvm import class_weights
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.streaming.mr_place import MRPlace
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats


@dataclass(frozen=True)
class KernelData:
    """Hold what the kernel ELM is trained on.

    source : where the rows came from. options : all of them chosen. rows : scaled, in input order.
    task : RowsTask of these rows. kernel : Kernel. classes : None where labels are targets.
    summary : of the first pass. folder : where files for tasks are.
    """

    source: DataSet
    options: KELMOptions
    rows: GatheredRows
    task: RowsTask
    kernel: Kernel
    classes: Classes | None
    summary: Summary
    folder: str

    @property
    def n_rows(self) -> int:
        """Return N."""
        return len(self.rows)

    def say(self, text: str) -> None:
        """Tell the user how far the training is."""
        self.source.engine.reporter.say(text)

    @cached_property
    def targets(self) -> Floats:
        """Return T, (N, K)."""
        return class_targets(self.rows.numbers, self.task.n_classes)

    @property
    def task_rows(self) -> KernelRowsTask:
        """Return what tasks compare their rows with."""
        return KernelRowsTask(self.kernel, self.rows.X, self.task.arrays)

    @cached_property
    def rows_file(self) -> str:
        """Write kernel, scaling and X for tasks; the path."""
        path = os.path.join(self.folder, 'rows.npz')
        self.task_rows.save(path)
        return path

    @cached_property
    def first_rows(self) -> dict[tuple[int, ...], int]:
        """Return (file, split start) -> number of the first row of the split."""
        firsts = np.unique(self.rows.places[:, :2], axis=0, return_index=True)
        return {tuple(place): int(first) for place, first in zip(firsts[0].tolist(), firsts[1], strict=True)}

    @cached_property
    def starts_file(self) -> str:
        """Write `first_rows` for tasks; the path."""
        return write_json(os.path.join(self.folder, 'starts.json'), [[*k, n] for k, n in self.first_rows.items()])

    def score(self, values: Floats) -> dict[str, float]:
        """Score decision values (N, K) of all rows: {'accuracy': ...}, or {'rmse': ...} of targets."""
        return score_values(values, self.rows.numbers, self.rows.weights, self.task.n_classes)


def begin(source: DataSet, options: KELMOptions) -> tuple[Summary, Classes | None, RowsTask, Kernel]:
    """Learn what the rows of a DataSet are."""
    summary, classes = learn_rows(source, options.task)
    offset, scale = choose_scaling(options.scale, summary.columns)
    d = summary.columns.n_features
    kernel = make_kernel(options.kernel, d, sigma=options.sigma, gamma=options.gamma, degree=options.degree)
    if summary.sparse and kernel.kind.of_distance and 8 * d * summary.n_rows > DENSE_BYTES:
        offset = np.zeros(d)  # distances do not see it, and rows stay sparse
    task = RowsTask(index=classes.index if classes else None, n_classes=len(classes.names) if classes else 0,
                    class_weights=class_weights(options.class_weight, classes), seed=options.seed,
                    arrays={'feature_offset': offset, 'feature_scale': scale})
    return summary, classes, task, kernel


@contextmanager
def gather_data(plan: InputPlan, options: KELMOptions, engine: Engine, settle: Callable) -> Iterator[KernelData]:
    """Bring the rows to the driver; the context's value is a KernelData, whose files vanish at the end.

    settle : function of (plan, options, n_rows, n_features) that returns the options with all choices made, or raises
        where a solver cannot take so many.
    """
    source = DataSet(plan, engine, options.bad_rows)
    summary, classes, task, kernel = begin(source, options)
    options = settle(plan, options, summary.n_rows, task.n_features)
    rows = make_dense(gather(value for _, value in run_problem(source, MRPlace, task, 'rows')))
    if len(rows) != summary.n_rows:
        raise AccountingError(f'{plan.name}: {summary.n_rows} rows were expected, {len(rows)} came')
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        yield KernelData(source, options, rows, task, kernel, classes, summary, folder)


def make_dense(rows: GatheredRows) -> GatheredRows:
    """Make sparse rows dense where they fit."""
    if not sp.issparse(rows.X) or 8 * rows.X.shape[0] * rows.X.shape[1] > DENSE_BYTES:
        return rows
    return replace(rows, X=rows.X.toarray())

"""Bring the rows of a kernel ELM to the driver."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.kernel import KernelProblem, settle
from mr_elm.machines.options import KELMOptions
from mr_elm.model.file import save_model
from mr_elm.model.header import ModelHeader
from mr_elm.model.parts import vector_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.multiclass import class_targets
from mr_elm.sparse import expand_some
from mr_elm.store import temporary_folder, write_json
from mr_elm.streaming.mr_place import MRPlace
from mr_elm.typing import Floats


@dataclass(frozen=True)
class KernelData(KernelProblem):
    """Hold the rows beside what the kernel ELM is trained on; all options are chosen.

    source : where the rows came from. rows : scaled, in input order. folder : where files for tasks are.
    """

    source: DataSet
    rows: GatheredRows
    folder: str

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

    def path(self, name: str) -> str:
        """Return the path of a file for tasks."""
        return os.path.join(self.folder, name)

    @cached_property
    def rows_file(self) -> str:
        """Write kernel, scaling and X for tasks, a model without coefficients; the path."""
        path, parameters = self.path('rows.npz'), {'kernel': self.kernel.name, **self.kernel.parameters}
        header = ModelHeader('mr-kelm', '', [], self.rows.X.shape[1], parameters)
        save_model(path, header, {**self.task.arrays, **vector_arrays(self.rows.X)})
        return path

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
    summary, classes = learn_rows(source, options, refuses=options.needs_one_label)
    problem = KernelProblem.state(options, summary, classes)
    task, options = problem.task, settle(plan.name, options, summary.n_rows)
    most = options.memory * 1e6  # bytes of the rows
    with temporary_folder() as folder:
        rows = gather(limit_bytes(run_problem(source, MRPlace, task, 'rows'), most, plan.name))
        if 8 * rows.X.shape[0] * rows.X.shape[1] <= most:
            rows = replace(rows, X=expand_some(rows.X))
        if len(rows) != summary.n_rows:
            raise AccountingError(f'{plan.name}: expected {summary.n_rows} rows, found {len(rows)}')
        yield KernelData(**vars(replace(problem, options=options)), source=source, rows=rows, folder=folder)


def limit_bytes(pairs: Iterable[tuple[str, Any]], most: float, name: str) -> Iterator[list[np.ndarray]]:
    """Yield the pieces of rows that a job has written. Raises DataFormatError when they take more bytes.

    name : of the data set.
    """
    n_bytes = 0
    for _, piece in pairs:
        n_bytes += sum(array.nbytes for array in piece)
        if n_bytes > most:
            raise DataFormatError(
                f'{name}: expected rows of at most --memory {most / 1e6:g} MB, found more: raise --memory, or train '
                'pesvm --map nystrom'
            )
        yield piece

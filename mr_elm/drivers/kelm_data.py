"""Bring the rows of a kernel ELM to the driver, and state their problem."""
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from mr_elm.drivers.checks import check_labels, find_classes
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import summarise
from mr_elm.errors import AccountingError
from mr_elm.features.kernel_rows import DENSE_BYTES
from mr_elm.features.kernels import Kernel, make_kernel
from mr_elm.features.scaling import choose_scaling
from mr_elm.header import ModelHeader
from mr_elm.io.json_file import write_json
from mr_elm.io.kinds import find_kind
from mr_elm.io.store import save_model
from mr_elm.machines.dual_task import DualProblem
from mr_elm.machines.gathering import Rows, gather
from mr_elm.models import vector_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.scores.selection import score_values
from mr_elm.solvers.ridge.esvm import class_weights
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.streaming.mr_place import MRPlace


@dataclass(frozen=True)
class KernelData:
    """Hold what the kernel ELM is trained on.

    source : DataSet. options : KELMOptions, all chosen. rows : Rows, scaled, in input order.
    problem : DualProblem. kernel : Kernel. classes : Classes, or None where labels are targets.
    summary : of the first pass. folder : where files for tasks are.
    """

    source: DataSet
    options: object
    rows: Rows
    problem: DualProblem
    kernel: Kernel
    classes: object
    summary: object
    folder: str

    @property
    def n_rows(self):
        """Return N."""
        return len(self.rows)

    @cached_property
    def targets(self):
        """Return T, (N, K)."""
        return class_targets(self.rows.numbers, self.problem.n_classes)

    @cached_property
    def model_arrays(self):
        """Name the arrays that place a row and X, as a model file does."""
        return {**self.problem.arrays, **vector_arrays(self.rows.X)}

    @cached_property
    def rows_file(self):
        """Write kernel, scaling and X for tasks; the path."""
        path = os.path.join(self.folder, 'rows.npz')
        parameters = {'kernel': self.kernel.name, **self.kernel.parameters}
        header = ModelHeader('mr-kelm', self.options.task, [], self.problem.n_features, parameters)
        save_model(path, header, self.model_arrays)
        return path

    @cached_property
    def first_rows(self):
        """Return (file, split start) -> number of the first row of the split."""
        firsts = np.unique(self.rows.places[:, :2], axis=0, return_index=True)
        return {tuple(place): int(first) for place, first in zip(firsts[0].tolist(), firsts[1], strict=True)}

    @cached_property
    def starts_file(self):
        """Write `first_rows` for tasks; the path."""
        return write_json(os.path.join(self.folder, 'starts.json'), [[*k, n] for k, n in self.first_rows.items()])

    def score(self, values):
        """Score decision values (N, K) of all rows: {'accuracy': ...}, or {'rmse': ...} of targets."""
        return score_values(values, self.rows.numbers, self.rows.weights, self.problem.n_classes)


def begin(source, options):
    """Learn what the rows of a DataSet are: (Summary, Classes or None, DualProblem, Kernel)."""
    summary = summarise(source)
    check_labels(source.plan, summary, options.task)
    classes = None if options.numeric else find_classes(source.plan, summary)
    offset, scale = choose_scaling(options.scale, summary.columns)
    d = summary.columns.n_features
    kernel = make_kernel(options.kernel, d, sigma=options.sigma, gamma=options.gamma, degree=options.degree)
    if find_kind(summary.input['kind']).sparse and kernel.kind.of_distance and 8 * d * summary.n_rows > DENSE_BYTES:
        offset = np.zeros(d)  # distances do not see it, and rows stay sparse
    header = {'index': classes and classes.index, 'class_weights': class_weights(options.class_weight, classes),
              'n_classes': len(classes.names) if classes else 0, 'parameters': {'seed': options.seed}}
    problem = DualProblem(header, {'feature_offset': offset, 'feature_scale': scale})
    return summary, classes, problem, kernel


@contextmanager
def gathered(plan, options, runner, settle):
    """Bring the rows to the driver; the context's value is a KernelData, whose files vanish at the end.

    settle : function of (plan, options, n_rows, n_features) that returns the options with all choices made, or raises
        where a solver cannot take so many.
    """
    source = DataSet(plan, runner, options.bad_rows)
    summary, classes, problem, kernel = begin(source, options)
    options = settle(plan, options, summary.n_rows, problem.n_features)
    rows = densified(gather(value for _, value in run_problem(source, MRPlace, problem, 'rows')))
    if len(rows) != summary.n_rows:
        raise AccountingError(f'{plan.name}: {summary.n_rows} rows were expected, {len(rows)} came')
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        yield KernelData(source, options, rows, problem, kernel, classes, summary, folder)


def densified(rows):
    """Make sparse rows dense where they fit."""
    if not sp.issparse(rows.X) or 8 * rows.X.shape[0] * rows.X.shape[1] > DENSE_BYTES:
        return rows
    return Rows(rows.places, rows.numbers, rows.weights, rows.X.toarray())

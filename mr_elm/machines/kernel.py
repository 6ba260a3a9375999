"""Train the kernel ELM, A = (I/C + Omega)^-1 T, once for jobs and estimators; symbols: solvers.kelm.

Whoever calls has Omega, or the function V (N, k) -> Omega V; weights and leave-one-out are seen to here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError, record
from mr_elm.features.kernel_tiles import compute_lower_triangle
from mr_elm.features.kernels import Kernel, make_kernel
from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.nodes import make_header
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.rows_task import KernelsTask, RowsTask, choose_kernel
from mr_elm.model.base import Model
from mr_elm.model.models import KernelModel
from mr_elm.model.parts import kernel_arrays, scaling_arrays
from mr_elm.scores.selection import score_values
from mr_elm.solvers.centred import CentredTargets
from mr_elm.solvers.kelm import (
    Decomposition,
    FactorProduct,
    KernelSolution,
    Product,
    decompose,
    list_targets,
    restore_mean,
    solve_cg,
    solve_cholesky,
    unweigh,
    weigh,
)
from mr_elm.solvers.multiclass import ONE_VS_ALL, class_targets
from mr_elm.solvers.nystrom import FIRST_RANK, Preconditioner, precondition_well
from mr_elm.solvers.passes import PassLimits
from mr_elm.sums.statistics import Classes, class_weights
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows, RowWeights

MATRICES_KEPT = {'cholesky': 1, 'svd': 3}  # matrices of N x N numbers that a solver keeps
MAX_RANK = 4000  # unless the user says more: beyond it the preconditioner costs more than the passes it saves


def settle(name: str, options: KELMOptions, n_rows: int) -> KELMOptions:
    """Choose the solver. Raises DataFormatError where N is too large for the one that was asked for.

    name : of the data set.
    """
    room, solver = int(np.sqrt(options.memory * 1e6 / 8)), options.solver
    if solver is None:
        solver = 'cholesky'
        if n_rows > room:
            solver = 'cg'
    whole = MATRICES_KEPT.get(solver, 0)
    if whole * n_rows**2 * 8 > options.memory * 1e6:
        raise DataFormatError(
            f'{name}: {n_rows:,} rows are too many for --solver {solver}, at most {int(room / np.sqrt(whole)):,} '
            f'fit into --memory {options.memory:g} MB: raise --memory to {-(-whole * 8 * n_rows**2 // 10**6)}, or use '
            '--solver cg'
        )
    if not whole and count_vectors(options.memory, n_rows) < 1:
        raise DataFormatError(
            f'{name}: vectors of {n_rows:,} rows do not fit into half of --memory {options.memory:g} MB: raise --memory'
        )
    return replace(options, solver=solver)


def count_vectors(memory: float, n_rows: int) -> int:
    """Return how many vectors of N numbers fit into half of the memory, in MB."""
    return int(memory * 1e6 / 2 / (8 * n_rows))


@record
class KernelProblem:
    """Hold what a kernel ELM is trained on.

    options, summary, classes : as in NodeProblem. task : RowsTask, with scaling. kernel : of scaled rows.
    """

    options: KELMOptions
    summary: Summary
    classes: Classes | None
    task: RowsTask
    kernel: Kernel

    @classmethod
    def state(cls, options: KELMOptions, summary: Summary, classes: Classes | None) -> 'KernelProblem':
        """Choose the kernel and the scaling of rows."""
        kernel, scaling = choose_kernel(options, summary)
        task = RowsTask.of(
            classes,
            class_weights=class_weights(options.class_weight, classes),
            seed=options.seed,
            separator=summary.separator,
            n_features=summary.columns.n_features,
            arrays=scaling_arrays(*scaling),
        )
        return cls(options, summary, classes, task, kernel)

    @property
    def holds_out(self) -> bool:
        """Tell whether residuals of machines that have not seen a row are wanted."""
        return self.options.leave_one_out or bool(self.options.holds_out)

    def solve_matrix(
        self, omega: Floats, T: Floats, weights: RowWeights, multiply_factors: FactorProduct | None = None
    ) -> KernelSolution:
        """Solve by cholesky or svd; omega, whose lower triangle is read, is overwritten.

        weights : (N,) or None. multiply_factors : see `Decomposition.solve`.
        """
        centred = self.center_targets(T, weights)
        s, T = weigh(omega, list_targets(T, centred, self.holds_out), weights)
        if self.options.solver == 'svd':
            solution = decompose(omega).solve(T, self.options.C, self.holds_out, multiply_factors)
        else:
            solution = solve_cholesky(omega, T, self.options.C, self.holds_out)
        return restore_mean(unweigh(solution, s), centred)

    def solve_by_gradients(
        self,
        X: Rows,
        multiply: Product,
        T: Floats,
        weights: RowWeights,
        announce: Callable[[Preconditioner], None] | None = None,
        report: Callable[[int, float], None] | None = None,
    ) -> tuple[KernelSolution, int, float]:
        """Solve by conjugate gradients: (solution, passes, relative residual).

        X : scaled rows. multiply : V -> Omega V; each call is a pass. announce : is called with the Preconditioner
        before the first pass. report : see `PassLimits`.
        """
        options, most, first = self.options, self.largest_rank(X.shape[0]), FIRST_RANK
        if options.rank:
            first = most
        centred = self.center_targets(T, weights)
        s, T = weigh(None, list_targets(T, centred, leave_one_out=False), weights)
        preconditioner = precondition_well(X, self.kernel, options.C, most, s, options.seed, first)
        if announce:
            announce(preconditioner)

        def multiply_weighed(V: Floats) -> Floats:
            if s is None:
                return multiply(V)
            return s[:, None] * multiply(s[:, None] * V)

        limits = PassLimits(options.tolerance, options.max_passes, report)
        solution, passes, residual = solve_cg(multiply_weighed, T, options.C, preconditioner, limits)
        return restore_mean(unweigh(solution, s), centred), passes, residual

    def center_targets(self, T: Floats, weights: RowWeights) -> CentredTargets | None:
        """Return the CentredTargets of a regression, None where targets are taken as they are."""
        if self.options.center:
            return CentredTargets.of(T, weights)
        return None

    def largest_rank(self, n_rows: int) -> int:
        """Return the largest rank of the preconditioner of so many rows."""
        return min(self.options.rank or MAX_RANK, count_vectors(self.options.memory, n_rows), n_rows)

    def make_model(self, X: Rows, solution: KernelSolution, facts: Mapping[str, Any], blas: Iterable[str]) -> Model:
        """Make the model of scaled rows X. facts : what the solver says of itself."""
        options, center = self.options, {}
        if options.numeric:
            center = {'center': options.center}
        parameters = {
            'kernel': self.kernel.name,
            **self.kernel.parameters,
            'C': options.C,
            'solver': options.solver,
            **facts,
            'multiclass': ONE_VS_ALL,
            'scale': options.scale,
            'seed': options.seed,
            'class_weight': options.class_weight,
            **center,
            'blas': sorted(blas),
            'input': self.summary.input,
        }
        header = make_header(options, self.summary, self.classes, self.task.n_features, parameters)
        return KernelModel(header, kernel_arrays(self.task.arrays, X, solution.dual_coef, solution.intercept))


@record(kw_only=True)
class ColumnsTask(RowsTask):
    """Know which columns of the rows go together.

    width : how many columns make a block.
    """

    width: int

    @property
    def first_columns(self) -> range:
        """Return the number of the first column of each block."""
        return range(0, self.n_features, self.width)

    def route(self, rows: GatheredRows) -> Iterator[tuple[tuple[int, ...], GatheredRows]]:
        """Yield (first column, rows with these columns alone), scaled."""
        Z = self.scale(rows.X)
        if sp.issparse(Z):  # which is cut into columns in less time
            Z = Z.tocsc()
        for first in self.first_columns:
            columns = Z[:, first : first + self.width]
            if sp.issparse(columns):
                columns = columns.tocsr()
            yield (first,), replace(rows, X=columns)


@record(kw_only=True)
class LeaveOneOutTask(KernelsTask):
    """Know which kernels to score by leave-one-out.

    kernel : name. center : whether the mean of the targets is taken off before.
    """

    kernel: str
    center: bool = False

    def score(self, number: int, rows: GatheredRows) -> dict[str, list]:
        """Return the scores of a kernel over some rows at each C."""
        omega = compute_lower_triangle(self.scale(rows.X), make_kernel(self.kernel, **self.kernels[number]))
        s, _ = weigh(omega, rows.numbers[:, None], rows.weights)
        scores = self.leave_one_out(decompose(omega), s, rows.numbers, rows.weights)
        return {'scores': [{'C': C, **score} for C, score in scores]}

    def leave_one_out(
        self, decomposition: Decomposition, s: Floats | None, numbers: np.ndarray, weights: Floats
    ) -> Iterator[tuple[float, dict[str, float]]]:
        """Yield (C, score of leave-one-out) for every C: one decomposition of s Omega s serves them all.

        s : (N,) or None; see `solvers.kelm.weigh`. numbers : (N,) class numbers or targets.
        """
        T = class_targets(numbers, self.n_classes)
        centred = None
        if self.center:
            centred = CentredTargets.of(T, weights)
        right = list_targets(T, centred, leave_one_out=True)
        if s is not None:
            right = right * s[:, None]
        for C in self.C_values:
            solution = restore_mean(unweigh(decomposition.solve(right, C, leave_one_out=True), s), centred)
            values, balanced = T - solution.residuals, self.class_weights is not None
            yield C, score_values(values, numbers, weights, self.n_classes, balanced)

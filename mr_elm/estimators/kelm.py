"""Offer the kernel ELM as scikit-learn estimators, by the solvers that the jobs use."""

from dataclasses import dataclass

import numpy as np

from mr_elm.errors import demand_choice
from mr_elm.estimators.jobs import count_threads, watched
from mr_elm.estimators.kernel_or_nodes import PRECOMPUTED, KernelOrNodes
from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.probabilities import Labelled, hold_out
from mr_elm.estimators.tables import check_weights
from mr_elm.estimators.values import Targets, is_set_matrix, row_weights
from mr_elm.features.kernel_rows import PrecomputedRows
from mr_elm.features.kernel_tiles import compute_lower_triangle, make_kernel_product
from mr_elm.features.kernels import KERNELS
from mr_elm.machines.kernel import KernelMachine, KernelRowsTask
from mr_elm.machines.options import SOLVERS, KELMOptions
from mr_elm.scores.selection import score_values
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights


@dataclass(eq=False, repr=False)
class KernelELM(KernelOrNodes):
    """Fit A = (I/C + Omega)^-1 T on targets T, (n, K).

    kernel : gaussian, laplacian, polynomial, linear or precomputed.
    sigma, gamma : width, gamma = 1/(2 sigma^2); by default sigma^2 is the sum of the variances of the scaled features.
    degree : of the polynomial (1 + u.v)^degree.
    C : > 0, the weight of the errors.
    solver : cholesky (memory for one kernel matrix), svd (for three, and slow), cg (for none).
    rank : cg: of the preconditioner, by default twice the effective dimension, and at most 4,000.
    tol, max_iter : cg: relative residual, and bound on passes over the rows.
    leave_one_out : keep residuals of machines that have not seen a row, in closed form; cholesky or svd.
    """

    solver: str = 'cholesky'
    rank: int | None = None
    tol: float = KELMOptions.tolerance
    max_iter: int = KELMOptions.max_passes
    leave_one_out: bool = False

    _method = 'mr-kelm'
    _declared = KELMOptions
    _called = {'tolerance': 'tol', 'max_passes': 'max_iter', 'kernel': ''}
    _kernels = (*KERNELS, PRECOMPUTED)

    def _fit_targets(self, X: Rows, T: Floats, weights: RowWeights) -> None:
        """Set dual_coef_, n_iter_, and loo_residuals_ when asked for."""
        self._demand_fitting()
        n_threads = count_threads(self.n_jobs)
        no_center = self._numeric and not getattr(self, 'center', True)
        options = make_options(
            self, ('sigma', 'degree', 'metric'), task=self._task, seed=self.seed_, no_center=no_center
        )
        machine = KernelMachine(options, n_threads)
        self.n_iter_ = 1
        if self.kernel == PRECOMPUTED:
            PrecomputedRows(X)  # is it a kernel?
            solution = machine.solve_matrix(X.copy(), T, weights)
        else:
            kernel, X = self._place_rows(X, T, weights)
            if self.solver == 'cg':
                solution, self.n_iter_, _ = machine.solve_by_gradients(
                    KernelRowsTask(kernel, X),
                    make_kernel_product(X, kernel, n_threads),
                    T,
                    weights,
                )
            else:
                solution = machine.solve_matrix(compute_lower_triangle(X, kernel, n_threads), T, weights)
            self._keep_kernel(kernel, X, solution.dual_coef, intercept=solution.intercept)
        self.dual_coef_ = solution.dual_coef
        if solution.intercept is None:
            self.intercept_ = np.zeros(T.shape[1])
        else:
            self.intercept_ = solution.intercept
        if self._holds_out:
            self.loo_residuals_, self._leverages = solution.residuals, solution.leverages(self.C, weights)

    @property
    def _holds_out(self) -> bool:
        return self.leave_one_out or getattr(self, 'probabilities', False)

    def _demand_fitting(self) -> None:
        self._demand_known_kernel()
        demand_choice('solver', self.solver, SOLVERS)
        if self._holds_out and self.solver == 'cg':
            raise ValueError('leave_one_out, probabilities: expected the solver cholesky or svd, found cg')
        if self.solver == 'cg' and self.kernel == PRECOMPUTED:
            raise ValueError('solver: expected cholesky or svd for a precomputed matrix, found cg')

    def _describe_solver(self) -> dict:
        return {'solver': self.solver, 'rank': self.rank, 'tolerance': self.tol, 'max_passes': self.max_iter}


@dataclass(eq=False, repr=False)
class KernelELMClassifier(Labelled, KernelELM):
    """Train the kernel ELM for classes: targets of +-1, all classes in one solve.

    Source: Huang et al., Extreme learning machine for regression and multiclass classification, 2012.
    """

    _takes_sets = True

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'KernelELMClassifier':
        """Fit. Sets classes_, dual_coef_, model_, and loo_score_, the leave-one-out accuracy, when asked for."""
        X, y = self._read(X, y, sample_weight, multi_output=is_set_matrix(y))
        codes, T = self._set_classes(y)
        weights = row_weights(self.class_weight, self.classes_, codes, check_weights(sample_weight, X))
        with self._reporter.follow('kernel', len(T)):
            self._fit_targets(X, T, weights)
        if self.probabilities and codes is not None:
            self._calibrate(X, hold_out(codes, weights, T - self.loo_residuals_, self._leverages))
        if self.leave_one_out and codes is not None:
            self.loo_score_ = score_values(T - self.loo_residuals_, codes, weights, len(self.classes_))['accuracy']
        return self


@dataclass(eq=False, repr=False)
class KernelELMRegressor(Targets, KernelELM):
    """Train the kernel ELM for real targets.

    center : whether the mean of the targets is taken off before the fit, and added to predictions; False penalises it
        too, as the papers do.

    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = KernelELMRegressor('polynomial', degree=2, C=1e6).fit(X, [0, 1, 4, 9])
    >>> model.predict([[1.5]]).round(3).tolist()
    [2.25]
    """

    center: bool = True

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'KernelELMRegressor':
        """Fit. Sets dual_coef_, model_, and loo_score_, the leave-one-out RMSE, when asked for."""
        X, y = self._read(X, y, sample_weight, multi_output=True, y_numeric=True)
        weights = check_weights(sample_weight, X)
        T = self._set_targets(y, X, weights)
        with self._reporter.follow('kernel', len(T)):
            self._fit_targets(X, T, weights)
        if self.leave_one_out:
            squares = (self.loo_residuals_**2).mean(axis=1)
            self.loo_score_ = float(np.sqrt(np.average(squares, weights=weights)))
        return self

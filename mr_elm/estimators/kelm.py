"""Offer the kernel ELM as scikit-learn estimators, by the solvers that the jobs use."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import r2_score

from mr_elm.estimators.conversion import name_blas
from mr_elm.estimators.jobs import watched
from mr_elm.estimators.kernel import KernelEstimator
from mr_elm.estimators.probabilities import Labelled
from mr_elm.estimators.values import Targets, name_classes, row_weights
from mr_elm.features.kernel_tiles import compute_lower_triangle, make_kernel_product
from mr_elm.machines.doubts import warn_of_constant
from mr_elm.machines.kernel import KernelProblem
from mr_elm.machines.options import SOLVERS, KELMOptions
from mr_elm.machines.press import HeldOut
from mr_elm.rows.blocks import fill_weights
from mr_elm.scores.selection import score_values
from mr_elm.solvers.kelm import KernelSolution
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.typing import Floats, Labels, Rows, Weights


@dataclass(eq=False, repr=False)
class KernelELM(KernelEstimator):
    """Fit A = (I/C + Omega)^-1 T on targets T, (n, K).

    kernel : gaussian, laplacian, polynomial or linear.
    sigma : width of gaussian or laplacian; by default sigma^2 is the sum of the variances of the scaled features.
    degree : of the polynomial (1 + u.v)^degree, by default 3.
    C : > 0, the weight of the errors.
    solver : cholesky (memory for one kernel matrix), svd (for three, and slow), cg (for none).
    rank : cg: of the preconditioner, by default twice the effective dimension, and at most 4,000.
    tol, max_iter : cg: relative residual, and bound on passes over the rows.
    leave_one_out : keep residuals of machines that have not seen a row, in closed form; cholesky or svd.
    """

    solver: str = SOLVERS[0]
    rank: int | None = None
    tol: float = KELMOptions.tolerance
    max_iter: int = KELMOptions.max_passes
    leave_one_out: bool = False

    _method = 'mr-kelm'
    _declared = KELMOptions

    def _fit_targets(self, rows: TrainingRows, T: Floats) -> KernelSolution:
        """Set model_, dual_coef_, intercept_, n_iter_, and loo_residuals_ when asked for."""
        options = self._make_options(no_center=not getattr(self, 'center', True))
        if options.holds_out and self.solver == 'cg':
            raise ValueError('probabilities: expected the solver cholesky or svd, found cg')
        weights, summary = rows.sample_weight, self._summarise_training(rows, options)
        problem = KernelProblem.state(options, summary, rows.classes)
        kernel, Z = problem.kernel, problem.task.scale(rows.X)
        self.n_iter_ = 1
        with self._reporter.follow('kernel', len(T)):
            if self.solver == 'cg':
                solution, self.n_iter_, _ = problem.solve_by_gradients(
                    Z,
                    make_kernel_product(Z, kernel),
                    T,
                    weights,
                )
            else:
                solution = problem.solve_matrix(compute_lower_triangle(Z, kernel), T, weights)
        facts = {'rank': options.rank, 'tolerance': options.tolerance, 'max_passes': options.max_passes}
        # a copy: Z may be the caller's rows, which may change after the fit
        model = problem.make_model(Z.copy(), solution, facts, [name_blas()])
        self.model_ = replace(model, header=self._name_header(model.header))
        warn_of_constant(self.model_, rows.X, T, weights)
        self.dual_coef_, self.intercept_ = solution.dual_coef, self.model_.arrays['intercept']
        if problem.holds_out:
            self.loo_residuals_ = solution.residuals
        return solution


@dataclass(eq=False, repr=False)
class KernelELMClassifier(Labelled, KernelELM):
    """Train the kernel ELM for classes: targets of +-1, all classes in one solve.

    Source: Huang et al., Extreme learning machine for regression and multiclass classification, 2012.
    """

    _takes_sets = True

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'KernelELMClassifier':
        """Fit. Sets classes_, dual_coef_, model_, and loo_score_, the leave-one-out accuracy, when asked for."""
        X, y, own = self._read(X, y, sample_weight)
        codes, T = self._set_classes(y)
        if codes is None:
            self._fit_targets(TrainingRows(X, T, sample_weight=own), T)
        else:
            weights = row_weights(self.class_weight, self.classes_, codes, own)
            solution = self._fit_targets(TrainingRows(X, codes, name_classes(self.classes_), weights), T)
            if self.probabilities:
                leverages = solution.leverages(self.C, weights)
                rows = HeldOut(codes, fill_weights(weights, len(codes)), T - solution.residuals, leverages)
                self._hold_out(rows, X)
            if self.leave_one_out:
                scores = score_values(T - solution.residuals, codes, weights, len(self.classes_))
                self.loo_score_ = scores['accuracy']
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
        """Fit. Sets dual_coef_, model_, and loo_score_, the leave-one-out R2, as of `score`, when asked for."""
        X, y, weights = self._read(X, y, sample_weight)
        T = self._set_targets(y, X, weights)
        solution = self._fit_targets(TrainingRows(X, T.reshape(np.shape(y)), sample_weight=weights), T)
        if self.leave_one_out:
            self.loo_score_ = r2_score(y, self._to_targets(T - solution.residuals), sample_weight=weights)
        return self

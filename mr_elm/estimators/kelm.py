"""Offer the kernel ELM as scikit-learn estimators, by the solvers that the jobs use."""
import numpy as np

from mr_elm.estimators.kernel_or_nodes import PRECOMPUTED, KernelOrNodes
from mr_elm.estimators.values import OneVsAll, Targets, numbered_classes, row_weights
from mr_elm.features.kernel_rows import PrecomputedRows
from mr_elm.features.kernel_tiles import kernel_product, lower_triangle
from mr_elm.features.kernels import KERNELS
from mr_elm.scores.selection import score_values
from mr_elm.solvers.kernel.kelm import decompose, decompose_by_passes, solve_cholesky, unweigh, weigh
from mr_elm.solvers.kernel.kelm_cg import approximate, approximate_well, solve_cg
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.typing import ClassWeight, Labels, Rows, Weights

SOLVERS = ('cholesky', 'svd', 'cg')


class KernelELM(KernelOrNodes):
    """Fit A = (I/C + Omega)^-1 T on targets T, (n, K).

    Parameters
    ----------
    kernel : gaussian, laplacian, polynomial, linear or precomputed.
    sigma, gamma : width, gamma = 1/(2 sigma^2); by default sigma = sqrt(n_features) times the deviation of X.
    degree : of the polynomial (1 + u.v)^degree.
    C : > 0.
    solver : cholesky (memory for one kernel matrix), svd (for three, and slow), cg (for none).
    rank : svd: so many eigenvalues instead of all; cg: of the preconditioner, by default twice the effective dimension.
    tol, max_iter : cg: relative residual, and bound on passes over the rows.
    leave_one_out : keep residuals of machines that have not seen a row, in closed form; cholesky or svd.
    seed : of the choice of landmarks.
    """

    _method = 'mr-kelm'
    _kernels = (*KERNELS, PRECOMPUTED)

    def __init__(self, kernel: str = 'gaussian', sigma: float | None = None, gamma: float | None = None,
                 degree: int = 3, C: float = 1.0, solver: str = 'cholesky', rank: int | None = None,
                 tol: float = 1e-8, max_iter: int = 200, leave_one_out: bool = False, seed: int = 0) -> None:
        self.kernel, self.sigma, self.gamma, self.degree, self.C = kernel, sigma, gamma, degree, C
        self.solver, self.rank, self.tol, self.max_iter = solver, rank, tol, max_iter
        self.leave_one_out, self.seed = leave_one_out, seed

    def _fit_targets(self, X, T, weights):
        """Set dual_coef_, n_iter_, and loo_residuals_ when asked for."""
        self._demand_fitting()
        kernel = None if self.kernel == PRECOMPUTED else self._make_kernel(X, weights)
        if kernel is None:
            PrecomputedRows(X)  # is it a kernel?
        self.n_iter_ = 1
        solution = self._by_passes(X, kernel, T, weights) if self._takes_passes() else (
            self._by_matrix(X.copy() if kernel is None else lower_triangle(X, kernel), T, weights))
        self.dual_coef_ = solution.dual_coef
        if self.leave_one_out:
            self.loo_residuals_ = solution.residuals
        if kernel is not None:
            self._keep_kernel(kernel, X, solution.dual_coef)

    def _demand_fitting(self):
        self._demand_known_kernel()
        if self.solver not in SOLVERS:
            raise ValueError(f'solver: one of {", ".join(SOLVERS)} was expected, {self.solver!r} came')
        if self.leave_one_out and self.solver == 'cg':
            raise ValueError('leave_one_out: the solver cholesky or svd was expected, cg came')
        if self._takes_passes() and self.kernel == PRECOMPUTED:
            raise ValueError(f'solver: cholesky or svd without rank was expected for a ready matrix, {self.solver!r} '
                             'came')

    def _told(self):
        return {'solver': self.solver, 'rank': self.rank, 'tolerance': self.tol, 'max_passes': self.max_iter}

    def _takes_passes(self):
        return self.solver == 'cg' or self.solver == 'svd' and self.rank is not None

    def _by_matrix(self, omega, T, weights):
        s, T = weigh(omega, T, weights)
        if self.solver == 'cholesky':
            return unweigh(solve_cholesky(omega, T, self.C, self.leave_one_out), s)
        return unweigh(decompose(omega).solve(T, self.C, self.leave_one_out), s)

    def _by_passes(self, X, kernel, T, weights):
        s, T = weigh(None, T, weights)
        plain, scale = kernel_product(X, kernel), 1.0 if s is None else s[:, None]

        def multiply(V):
            return scale * plain(scale * V)

        if self.solver == 'svd':
            return unweigh(decompose_by_passes(multiply, X.shape[0], self.rank, self.seed).solve(
                T, self.C, self.leave_one_out), s)
        n = X.shape[0]
        M = approximate(X, kernel, min(self.rank, n), s, self.seed) if self.rank else (
            approximate_well(X, kernel, self.C, n, s, self.seed))
        solution, self.n_iter_, _ = solve_cg(multiply, T, self.C, M, self.tol, self.max_iter)
        return unweigh(solution, s)


class KernelELMClassifier(OneVsAll, KernelELM):
    """Train the kernel ELM for classes: targets of +-1, all classes in one solve.

    Parameters as in KernelELM; class_weight : None, balanced or a dictionary.
    """

    def __init__(self, kernel: str = 'gaussian', sigma: float | None = None, gamma: float | None = None,
                 degree: int = 3, C: float = 1.0, solver: str = 'cholesky', rank: int | None = None,
                 tol: float = 1e-8, max_iter: int = 200, leave_one_out: bool = False,
                 class_weight: ClassWeight = None, seed: int = 0) -> None:
        super().__init__(kernel, sigma, gamma, degree, C, solver, rank, tol, max_iter, leave_one_out, seed)
        self.class_weight = class_weight

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'KernelELMClassifier':
        """Fit. Sets classes_, dual_coef_, model_, and loo_score_, the leave-one-out accuracy, when asked for."""
        X, y = self._read(X, y=y)
        self.classes_, codes = numbered_classes(y)
        weights = row_weights(self.class_weight, self.classes_, codes, self._weights(X, sample_weight))
        T = class_targets(codes, len(self.classes_))
        self._fit_targets(X, T, weights)
        if self.leave_one_out:
            self.loo_score_ = score_values(T - self.loo_residuals_, codes, weights, len(self.classes_))['accuracy']
        return self


class KernelELMRegressor(Targets, KernelELM):
    """Train the kernel ELM for real targets. Parameters as in KernelELM.

    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = KernelELMRegressor('polynomial', degree=2, C=1e6).fit(X, [0, 1, 4, 9])
    >>> model.predict([[1.5]]).round(3).tolist()
    [2.25]
    """

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'KernelELMRegressor':
        """Fit. Sets dual_coef_, model_, and loo_score_, the leave-one-out RMSE, when asked for."""
        X, y = self._read(X, y=y, multi_output=True, y_numeric=True)
        self.single_ = np.ndim(y) == 1
        weights = self._weights(X, sample_weight)
        self._fit_targets(X, np.asarray(y, dtype=float).reshape(len(y), -1), weights)
        if self.leave_one_out:
            squares = (self.loo_residuals_**2).mean(axis=1)
            self.loo_score_ = float(np.sqrt(np.average(squares, weights=weights)))
        return self

"""Offer the machines of the dual: sparse ELM, optimisation ELM and SphereSVM."""
import numpy as np
from sklearn.base import ClassifierMixin

from mr_elm.estimators.kernel_or_nodes import PRECOMPUTED, RANDOM_NODES, KernelOrNodes, outputs
from mr_elm.estimators.values import numbered_classes, row_weights
from mr_elm.features.kernel_rows import PrecomputedRows, kernel_rows
from mr_elm.features.kernels import KERNELS
from mr_elm.solvers.box.box_qp import BoxQP, Settings
from mr_elm.solvers.rules import METHOD_RULES, solve_dual
from mr_elm.solvers.shared.multiclass import ONE_VS_ALL, ONE_VS_ONE, class_numbers, fit_machines, votes_and_sums
from mr_elm.solvers.sphere.sphere_svm import SphereProblem, solve_sphere
from mr_elm.typing import ClassWeight, Floats, Labels, Rows, Weights


class DualClassifier(ClassifierMixin, KernelOrNodes):
    """Fit two-class machines on the box-constrained dual, and answer from one model.

    Parameters
    ----------
    kernel : gaussian, laplacian, polynomial, linear, precomputed, or random nodes: sigmoid, sine, rbf, ...
    sigma, gamma : width, gamma = 1/(2 sigma^2); by default sigma = sqrt(n_features) times the deviation of X.
    degree : of the polynomial (1 + u.v)^degree.
    n_hidden, seed : how many random nodes, and the seed that they and the order of passes are drawn by.
    C : > 0. class_weight : None, balanced or a dictionary.
    rule : the solver. tol : violation of the optimality conditions. max_iter : None for the solver's own bound.
    cache_size : megabytes for kernel rows. multiclass : one-vs-one or one-vs-all.
    """

    def __init__(self, kernel: str = 'gaussian', sigma: float | None = None, gamma: float | None = None,
                 degree: int = 3, n_hidden: int = 200, C: float = 1.0, rule: str | None = None, tol: float = 1e-3,
                 max_iter: int | None = None, cache_size: float = 1000, multiclass: str = ONE_VS_ONE,
                 class_weight: ClassWeight = None, seed: int = 0) -> None:
        self.kernel, self.sigma, self.gamma, self.degree, self.n_hidden = kernel, sigma, gamma, degree, n_hidden
        self.C, self.rule, self.tol, self.max_iter, self.cache_size = C, rule, tol, max_iter, cache_size
        self.multiclass, self.class_weight, self.seed = multiclass, class_weight, seed

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'DualClassifier':
        """Fit the machines of all classes. Sets classes_, support_, dual_coef_, intercept_, results_, model_."""
        X, y = self._read(X, y=y)
        self._demand_known_kernel()
        self.classes_, codes = numbered_classes(y)
        sample_weight = self._weights(X, sample_weight)
        weights = row_weights(self.class_weight, self.classes_, codes, sample_weight)
        settings = Settings(self.tol, self.max_iter, int(self.cache_size * 1e6), seed=self.seed)
        fit = self._fit_nodes if self.kernel in RANDOM_NODES else self._fit_kernel
        machines = fit(X, codes, weights, settings, sample_weight)
        self.support_, self.dual_coef_, self.results_ = machines.support, machines.dual_coef, machines.results
        self.intercept_ = intercepts(machines)
        self.n_iter_ = max([1, *(result.n_iter for result in self.results_)])
        return self

    def _rule(self):
        rules = METHOD_RULES[self._method]
        if self.rule is not None and self.rule not in rules:
            raise ValueError(f'rule: {" or ".join(rules)} was expected, {self.rule!r} came')
        return self.rule or rules[0]

    def _told(self):
        return {'solver': self._rule(), 'eps': self.tol, 'max_iter': self.max_iter}

    def _fit_kernel(self, X, codes, weights, settings, sample_weight):
        kernel = None if self.kernel == PRECOMPUTED else self._make_kernel(X, sample_weight)
        source, rule = PrecomputedRows(X) if kernel is None else kernel_rows(X, kernel), self._rule()

        def solve(rows, targets):
            part = source if len(rows) == len(codes) else source.take(rows)
            return self._solve(part, targets, None if weights is None else weights[rows], rule, settings)

        machines = fit_machines(codes, len(self.classes_), solve, self.multiclass)
        if kernel is not None:
            self._keep_kernel(kernel, X[machines.support], machines.dual_coef, self.multiclass, intercepts(machines))
        return machines

    def _solve(self, source, targets, weights, rule, settings):
        """Solve a two-class machine over kernel rows."""
        return solve_dual(BoxQP(source, targets, self.C, weights), rule, settings)

    def _fit_nodes(self, X, codes, weights, settings, _):
        from mr_elm.solvers.box.node_dual import solve_node_dual
        layer = self._make_layer(X.shape[1])
        H = outputs(layer, X)

        def solve(rows, targets):
            return solve_node_dual(H[rows], targets, self.C, None if weights is None else weights[rows], settings)

        machines = fit_machines(codes, len(self.classes_), solve, self.multiclass)
        self._keep_nodes(layer, np.column_stack([result.beta for result in machines.results]), self.multiclass)
        return machines

    def _values_of(self, K):
        return K[:, self.support_] @ self.dual_coef_ + self.intercept_

    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n,) for two classes, else (n, K), the largest of which is the class predicted.

        Of pairs: the votes of a class, with its sum of decision values squeezed into (-1/3, 1/3).
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.multiclass == ONE_VS_ALL:
            return values
        votes, sums = votes_and_sums(values, len(self.classes_))
        return votes + sums / (3 * (np.abs(sums) + 1))

    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of each row."""
        values = self._values(X)
        return self.classes_[class_numbers(values, len(self.classes_), self.multiclass)]


class SparseELMClassifier(DualClassifier):
    """Train the sparse ELM. Parameters as in DualClassifier; rule : block or paper.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014.

    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ['same', 'same', 'apart', 'apart']
    >>> SparseELMClassifier(sigma=0.5, C=10).fit(X, y).predict([[0.1, 0], [0.1, 0.9]]).tolist()
    ['same', 'apart']
    """

    _method = 'sparse-elm'


class OELMClassifier(DualClassifier):
    """Train the optimisation ELM. Parameters as in DualClassifier; rule : oelm or bas.

    Source: Zhao et al., An efficient active set method for optimization extreme learning machines.
    """

    _method = 'oelm'


class SphereSVMClassifier(DualClassifier):
    """Train SphereSVM. Parameters as in DualClassifier, but kernels only, and normalised ones.

    normalise : divide K(u, v) by the root of K(u, u) K(v, v), which polynomial and linear need.
    rule : exact or paper. tol : relative gap of exact; eps of Algorithm 1 of paper.

    Source: Strack et al., Sphere support vector machines for large classification tasks, 2013.
    """

    _method = 'sphere-svm'
    _kernels = (*KERNELS, PRECOMPUTED)

    def __init__(self, kernel: str = 'gaussian', sigma: float | None = None, gamma: float | None = None,
                 degree: int = 3, normalise: bool = False, C: float = 1.0, rule: str | None = None, tol: float = 1e-3,
                 max_iter: int | None = None, cache_size: float = 1000, multiclass: str = ONE_VS_ONE,
                 class_weight: ClassWeight = None, seed: int = 0) -> None:
        super().__init__(kernel, sigma, gamma, degree, 0, C, rule, tol, max_iter, cache_size, multiclass,
                         class_weight, seed)
        self.normalise = normalise

    def _solve(self, source, targets, weights, rule, settings):
        return solve_sphere(SphereProblem(source, targets, self.C, weights), rule, settings)


def intercepts(machines):
    """Return the bias of each machine."""
    return np.array([result.intercept for result in machines.results])

"""Offer the solvers as scikit-learn estimators: thin, over rows in memory that the caller has scaled."""
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .esvm_estimators import ESVMClassifier, ESVMRegressor  # noqa: F401 - all estimators are found here
from .features.hidden import NODES, HiddenLayer, draw_nodes
from .features.kernel_rows import PrecomputedRows, kernel_rows
from .features.kernels import KERNELS, make_kernel, row_squares
from .models import HiddenNodeModel, KernelModel, layer_arrays, vector_arrays
from .solvers import elm
from .solvers.box_qp import BoxQP, Settings
from .solvers.dual import METHOD_RULES, solve_dual
from .solvers.multiclass import ONE_VS_ALL, ONE_VS_ONE, class_numbers, fit_machines, votes_and_sums
from .solvers.sphere_svm import SphereProblem, solve_sphere

PRECOMPUTED = 'precomputed'
RANDOM_NODES = tuple(kind for kind in NODES if kind != 'nystrom')


class KernelOrNodes(BaseEstimator):
    """Choose between kernels, random nodes and a ready matrix by one name, and hold the model."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != PRECOMPUTED
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _read(self, X, **how):
        return validate_data(self, X, accept_sparse='csr', dtype=float, **how)

    def _demand_known_kernel(self):
        if self.kernel not in (*KERNELS, *RANDOM_NODES, PRECOMPUTED):
            raise ValueError(f'kernel: one of {", ".join([*KERNELS, *RANDOM_NODES, PRECOMPUTED])} was expected, '
                             f'{self.kernel!r} came')

    def _make_kernel(self, X, weights=None):
        given = {name: getattr(self, name) for name in KERNELS[self.kernel].parameters}
        return make_kernel(self.kernel, X.shape[1] * variance(X, weights), getattr(self, 'normalise', False), **given)

    def _make_layer(self, d):
        if not self.n_hidden >= 1:
            raise ValueError(f'n_hidden: a number of at least 1 was expected, {self.n_hidden} came')
        nodes = draw_nodes(self.kernel, self.n_hidden, d, self.seed)
        return HiddenLayer(self.kernel, *nodes, np.zeros(d), np.ones(d))

    def _keep(self, kind, parameters, arrays, scheme=ONE_VS_ALL):
        """Make the model, with the header and arrays of a model file."""
        classes = [str(name) for name in getattr(self, 'classes_', ())]
        header = {'method': self._method, 'task': 'classification' if classes else 'regression', 'classes': classes,
                  'n_features': self.n_features_in_, 'parameters': {**parameters, 'C': self.C, 'multiclass': scheme}}
        self.model_ = kind(header, arrays)

    def _keep_kernel(self, kernel, vectors, dual_coef, scheme=ONE_VS_ALL, intercept=None):
        d = self.n_features_in_
        arrays = {'feature_offset': np.zeros(d), 'feature_scale': np.ones(d), **vector_arrays(vectors),
                  'dual_coef': dual_coef,
                  'intercept': np.zeros(dual_coef.shape[1]) if intercept is None else intercept}
        self._keep(KernelModel, {'kernel': kernel.name, 'normalised': kernel.normalised, **kernel.parameters}, arrays,
                   scheme)

    def _keep_nodes(self, layer, weights, scheme=ONE_VS_ALL):
        no_bias = np.zeros((1, weights.shape[1]))
        arrays = {**layer_arrays(layer), 'output_weights': np.concatenate([weights, no_bias])}
        self._keep(HiddenNodeModel, {'map': layer.kind}, arrays, scheme)


def variance(X, weights=None):
    """Return the variance of all values of X, or 1 when they are equal; a row of weight 2 counts as two rows.

    The default sigma is sqrt(d) on rows scaled to 1 and follows the scale of others.
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    squares, size = row_squares(X) @ weights, weights.sum() * X.shape[1]
    mean = weights @ np.asarray(X.sum(axis=1)).ravel() / size
    value = squares / size - mean**2
    return float(value) if value > 1e-12 * squares / size else 1.0


def intercepts(machines):
    """Return the bias of each machine."""
    return np.array([result.intercept for result in machines.results])


def outputs(layer, X):
    """Return the node outputs of all rows, (n, L)."""
    return layer.evaluate(X, np.empty((X.shape[0], layer.n_hidden)))


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

    def __init__(self, kernel='gaussian', sigma=None, gamma=None, degree=3, n_hidden=200, C=1.0, rule=None, tol=1e-3,
                 max_iter=None, cache_size=1000, multiclass=ONE_VS_ONE, class_weight=None, seed=0):
        self.kernel, self.sigma, self.gamma, self.degree, self.n_hidden = kernel, sigma, gamma, degree, n_hidden
        self.C, self.rule, self.tol, self.max_iter, self.cache_size = C, rule, tol, max_iter, cache_size
        self.multiclass, self.class_weight, self.seed = multiclass, class_weight, seed

    def fit(self, X, y, sample_weight=None):
        """Fit the machines of all classes. Sets classes_, support_, dual_coef_, intercept_, results_, model_."""
        X, y = self._read(X, y=y)
        check_classification_targets(y)
        self._demand_known_kernel()
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f'rows of two classes were expected, all are of one class, {self.classes_[0]!r}')
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=float)
        weights = self._bounds(codes, sample_weight)
        settings = Settings(self.tol, self.max_iter, int(self.cache_size * 1e6), seed=self.seed)
        fit = self._fit_nodes if self.kernel in RANDOM_NODES else self._fit_kernel
        machines = fit(X, codes, weights, settings, sample_weight)
        self.support_, self.dual_coef_, self.results_ = machines.support, machines.dual_coef, machines.results
        self.intercept_ = intercepts(machines)
        self.n_iter_ = max([1, *(result.n_iter for result in self.results_)])
        return self

    def _bounds(self, codes, sample_weight):
        """Return the weight of each row's bound."""
        if sample_weight is None and self.class_weight is None:
            return None
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        return of_class[codes] * (1.0 if sample_weight is None else sample_weight)

    def _rule(self):
        rules = METHOD_RULES[self._method]
        if self.rule is not None and self.rule not in rules:
            raise ValueError(f'rule: {" or ".join(rules)} was expected, {self.rule!r} came')
        return self.rule or rules[0]

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
        from .solvers.node_dual import solve_node_dual
        layer = self._make_layer(X.shape[1])
        H = outputs(layer, X)

        def solve(rows, targets):
            return solve_node_dual(H[rows], targets, self.C, None if weights is None else weights[rows], settings)

        machines = fit_machines(codes, len(self.classes_), solve, self.multiclass)
        self._keep_nodes(layer, np.column_stack([result.beta for result in machines.results]), self.multiclass)
        return machines

    def _decisions(self, X):
        check_is_fitted(self)
        X = self._read(X, reset=False)
        if self.kernel == PRECOMPUTED:
            return X[:, self.support_] @ self.dual_coef_ + self.intercept_
        return self.model_.decision_function(X)

    def decision_function(self, X):
        """Return decision values: (n,) for two classes, else (n, K), the largest of which is the class predicted.

        Of pairs: the votes of a class, with its sum of decision values squeezed into (-1/3, 1/3).
        """
        values = self._decisions(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.multiclass == ONE_VS_ALL:
            return values
        votes, sums = votes_and_sums(values, len(self.classes_))
        return votes + sums / (3 * (np.abs(sums) + 1))

    def predict(self, X):
        """Return the class of each row."""
        decisions = self._decisions(X)
        return self.classes_[class_numbers(decisions, len(self.classes_), self.multiclass)]


class SparseELMClassifier(DualClassifier):
    """Train the sparse ELM of paper 001. Parameters as in DualClassifier; rule : block or paper."""

    _method = 'sparse-elm'


class OELMClassifier(DualClassifier):
    """Train the optimization ELM of paper 004. Parameters as in DualClassifier; rule : oelm or bas."""

    _method = 'oelm'


class SphereSVMClassifier(DualClassifier):
    """Train SphereSVM of paper 002. Parameters as in DualClassifier, but kernels only, and normalised ones.

    normalise : divide K(u, v) by the root of K(u, u) K(v, v), which polynomial and linear need.
    rule : exact or paper. tol : relative gap of exact; eps of Algorithm 1 of paper.
    """

    _method = 'sphere-svm'

    def __init__(self, kernel='gaussian', sigma=None, gamma=None, degree=3, normalise=False, C=1.0, rule=None,
                 tol=1e-3, max_iter=None, cache_size=1000, multiclass=ONE_VS_ONE, class_weight=None, seed=0):
        super().__init__(kernel, sigma, gamma, degree, None, C, rule, tol, max_iter, cache_size, multiclass,
                         class_weight, seed)
        self.normalise = normalise

    def _demand_known_kernel(self):
        if self.kernel not in (*KERNELS, PRECOMPUTED):
            raise ValueError(f'kernel: one of {", ".join([*KERNELS, PRECOMPUTED])} was expected, {self.kernel!r} came')

    def _solve(self, source, targets, weights, rule, settings):
        return solve_sphere(SphereProblem(source, targets, self.C, weights), rule, settings)


class UnifiedELM(KernelOrNodes):
    """Fit the closed form on targets T, (n, K). Parameters as in DualClassifier."""

    _method = 'elm'

    def __init__(self, kernel='sigmoid', sigma=None, gamma=None, degree=3, n_hidden=200, C=1.0, seed=0):
        self.kernel, self.sigma, self.gamma, self.degree = kernel, sigma, gamma, degree
        self.n_hidden, self.C, self.seed = n_hidden, C, seed

    def _fit_targets(self, X, T):
        self._demand_known_kernel()
        if self.kernel in RANDOM_NODES:
            layer = self._make_layer(X.shape[1])
            self._keep_nodes(layer, elm.solve_nodes(outputs(layer, X), T, self.C))
        elif self.kernel in KERNELS:
            kernel = self._make_kernel(X)
            self._keep_kernel(kernel, X, elm.solve_kernel(kernel.tile(X, X), T, self.C))
        else:
            self.coefficients_ = elm.solve_kernel(X, T, self.C)

    def _values(self, X):
        check_is_fitted(self)
        X = self._read(X, reset=False)
        return X @ self.coefficients_ if self.kernel == PRECOMPUTED else self.model_.decision_function(X)


class ELMClassifier(ClassifierMixin, UnifiedELM):
    """Train the unified ELM for classes: targets of +-1, all classes in one solve. Parameters as in DualClassifier."""

    def fit(self, X, y):
        """Fit. Sets classes_ and model_."""
        X, y = self._read(X, y=y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f'rows of two classes were expected, all are of one class, {self.classes_[0]!r}')
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        self._fit_targets(X, targets[:, 1:] if len(self.classes_) == 2 else targets)
        return self

    def decision_function(self, X):
        """Return f(X): (n,) for two classes, else (n, K)."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X):
        """Return the class of each row."""
        values = self._values(X)
        return self.classes_[class_numbers(values, len(self.classes_), ONE_VS_ALL)]


class ELMRegressor(RegressorMixin, MultiOutputMixin, UnifiedELM):
    """Train the unified ELM for real targets. Parameters as in DualClassifier."""

    def fit(self, X, y):
        """Fit. Sets model_."""
        X, y = self._read(X, y=y, multi_output=True, y_numeric=True)
        self.single_ = np.ndim(y) == 1
        self._fit_targets(X, np.asarray(y, dtype=float).reshape(len(y), -1))
        return self

    def predict(self, X):
        """Return f(X), of the shape that y had."""
        values = self._values(X)
        return values[:, 0] if self.single_ else values

"""Offer the machines of the dual: sparse ELM, optimisation ELM and SphereSVM."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mr_elm.estimators.jobs import choose_classes, count_threads, watched
from mr_elm.estimators.kernel_or_nodes import PRECOMPUTED, RANDOM_NODES, KernelOrNodes, NodeParameters, outputs
from mr_elm.estimators.probabilities import Labelled, hold_out
from mr_elm.estimators.tables import check_weights
from mr_elm.estimators.values import numbered_classes, row_weights
from mr_elm.features.kernel_rows import PrecomputedRows, kernel_rows
from mr_elm.features.kernels import KERNELS, Kernel
from mr_elm.machines.dual import NodeMachine, find_machine
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.options import DualOptions, OELMOptions, SphereSVMOptions
from mr_elm.machines.pairs import ClassScheme, JoinedMachines, fit_machines, fit_pairs
from mr_elm.scores.selection import MACHINE_FOLD, fold_numbers
from mr_elm.solvers.box import ATTEMPTS, SUBSET, Result, Settings
from mr_elm.solvers.choose_solver import choose_rule
from mr_elm.solvers.multiclass import class_targets, machine_count
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights


@dataclass(eq=False, repr=False)
class DualClassifier(Labelled, KernelOrNodes):
    """Fit two-class machines on the box-constrained dual, and answer from one model.

    kernel : gaussian, laplacian, polynomial, linear, precomputed, or random nodes: sigmoid, sine, rbf, ...
    sigma, gamma : width, gamma = 1/(2 sigma^2); by default sigma^2 is the sum of the variances of the scaled features.
    degree : of the polynomial (1 + u.v)^degree.
    C : > 0, the weight of the errors.
    rule : the solver; None for the default of kernels or of random nodes.
    tol : violation of the optimality conditions.
    max_iter : None for the solver's own bound.
    cache_size : megabytes for kernel rows.
    multiclass : one-vs-one or one-vs-all.
    probabilities : fit probabilities to rows that the machines have not seen, by a training for each of five folds. The
        estimator then has `predict_proba` and `predict_log_proba`, and labels by them.
    n_jobs : threads, as in joblib; they share the machines of several classes, each of which takes a cache of its own,
        and the rows of a prediction.
    """

    rule: str | None = None
    tol: float = DualOptions.eps
    max_iter: int | None = None
    cache_size: float = DualOptions.memory
    multiclass: str = DualOptions.multiclass

    _called = {'eps': 'tol', 'memory': 'cache_size', 'kernel': ''}

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'DualClassifier':
        """Fit the machines of all classes. Sets classes_, support_, dual_coef_, intercept_, results_, model_."""
        X, y = self._read(X, y, sample_weight)
        self._demand_known_kernel()
        self.classes_, codes = numbered_classes(y)
        sample_weight = check_weights(sample_weight, X)
        weights = row_weights(self.class_weight, self.classes_, codes, sample_weight)
        T = class_targets(codes, len(self.classes_))
        if self.kernel in RANDOM_NODES:
            layer = self._place_layer(X, T, weights)
            source: Any = outputs(layer, X)
            take: Callable = source.__getitem__
            machines = self._fit_machines(source, take, codes, weights)
            self._keep_nodes(layer, machines.beta, self.multiclass)
        elif self.kernel == PRECOMPUTED:
            source = PrecomputedRows(X)
            take = source.take
            machines = self._fit_machines(source, take, codes, weights)
        else:
            kernel, Z = self._place_rows(X, T, weights)
            source = kernel_rows(Z, kernel)
            take = partial(take_rows, Z, kernel)
            machines = self._fit_machines(source, take, codes, weights)
            self._keep_kernel(kernel, Z[machines.support], machines.dual_coef, self.multiclass, machines.intercept)
        if self.probabilities:
            self._calibrate(X, hold_out(codes, weights, self._score_folds(X, source, take, codes, weights)), 'folds')
        self.support_, self.dual_coef_, self.results_ = machines.support, machines.dual_coef, machines.results
        self.intercept_ = machines.intercept
        self.n_iter_ = max(machines.n_iter, 1)
        return self

    def _score_folds(self, X: Rows, source: Any, take: Callable, codes: np.ndarray, weights: RowWeights) -> Floats:
        """Return the decision values of all rows, (N, P), by machines in which their fold weighs nothing."""
        folds = fold_numbers(X, FOLDS, self.seed_ + MACHINE_FOLD)
        decisions = np.empty((len(codes), machine_count(len(self.classes_), self.multiclass)))
        for fold in np.unique(folds):
            held = np.flatnonzero(folds == fold)
            kept = np.where(folds == fold, 0.0, 1.0 if weights is None else weights)
            machines = self._fit_machines(source, take, codes, kept)
            if self.kernel in RANDOM_NODES:
                decisions[held] = source[held] @ machines.beta
            else:
                decisions[held] = source.tile(held, machines.support) @ machines.dual_coef + machines.intercept
        return decisions

    def _fit_machines(self, source: Any, take: Callable, codes: np.ndarray, weights: RowWeights) -> JoinedMachines:
        """Train the machines of all classes over kernel rows, or over node outputs (N, L).

        take : numbers of rows -> the source of these rows.
        """
        kind = NodeMachine if self.kernel in RANDOM_NODES else find_machine(self._method)
        machine, scheme = kind(self.C, self._rule(), self._settings()), ClassScheme(len(self.classes_), self.multiclass)

        def solve(rows: np.ndarray, targets: Floats, given_up: bool = False) -> Result:
            if len(rows) < len(codes):
                part = take(rows)
            else:
                part = source
            some = None
            if weights is not None:
                some = weights[rows]
            if given_up or scheme.n_classes == 2:
                return machine.solve(part, targets, some)
            return machine.solve_alone(part, targets, some)

        with self._reporter.follow('machines', len(codes)):
            small = None if scheme.one_vs_all else machine.solve_pairs(source, codes, weights)
            n_threads = machine.settings.n_threads
            if small is None:
                return fit_machines(codes, scheme, solve, n_threads)
            return fit_pairs(small, solve, n_threads)

    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of each row, the most probable one where there are probabilities."""
        if self.kernel == PRECOMPUTED or not hasattr(self, 'model_'):
            return super().predict(X)
        return self.classes_[choose_classes(self.model_, self._validate(X, False), self.n_jobs)]

    def _settings(self) -> Settings:
        return Settings(
            self.tol, self.max_iter, int(self.cache_size * 1e6), seed=self.seed_, n_threads=count_threads(self.n_jobs)
        )

    def _rule(self) -> str:
        return choose_rule(self._method, self.rule, self.kernel in RANDOM_NODES)

    def _describe_solver(self) -> dict:
        return {'solver': self._rule(), 'eps': self.tol, 'max_iter': self.max_iter}

    def _values_of(self, K: Floats) -> Floats:
        return K[:, self.support_] @ self.dual_coef_ + self.intercept_


def take_rows(Z: Rows, kernel: Kernel, rows: np.ndarray) -> Any:
    """Return the kernel rows of some rows, as a task makes them that has these rows alone: so both round alike."""
    return kernel_rows(Z[rows], kernel)


@dataclass(eq=False, repr=False)
class SparseELMClassifier(NodeParameters, DualClassifier):
    """Train the sparse ELM: hinge loss on a kernel or on random nodes, without a bias.

    rule : block or paper, or on random nodes coordinate, which is their default.

    Source: Bai et al., Sparse extreme learning machine for classification, 2014.

    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ['same', 'same', 'apart', 'apart']
    >>> SparseELMClassifier(sigma=0.5, C=10).fit(X, y).predict([[0.1, 0], [0.1, 0.9]]).tolist()
    ['same', 'apart']
    """

    _method = 'sparse-elm'
    _declared = DualOptions


@dataclass(eq=False, repr=False)
class OELMClassifier(NodeParameters, DualClassifier):
    """Train the optimisation ELM: hinge loss on a kernel or on random nodes, by active sets.

    rule : newton, oelm or bas, or on random nodes coordinate, which is their default.

    Source: Zhao et al., An efficient active set method for optimization extreme learning machines.
    """

    _method = 'oelm'
    _declared = OELMOptions


@dataclass(eq=False, repr=False)
class SphereSVMClassifier(DualClassifier):
    """Train SphereSVM: the L2 support vector machine on a normalised kernel, as a ball around the rows.

    kernel : gaussian, laplacian, polynomial, linear or precomputed.
    normalise : divide K(u, v) by the root of K(u, u) K(v, v), which polynomial and linear need.
    rule : exact or paper.
    tol : relative gap of exact; eps of Algorithm 1 of paper.
    subset, attempts : N_r and N_a of Algorithm 1, of rule paper only; None for 59 and 20.

    Source: Strack et al., Sphere support vector machines for large classification tasks, 2013.
    """

    normalise: bool = False
    subset: int | None = None
    attempts: int | None = None

    _method = 'sphere-svm'
    _declared = SphereSVMOptions
    _kernels = (*KERNELS, PRECOMPUTED)

    def _settings(self) -> Settings:
        return replace(super()._settings(), subset=self.subset or SUBSET, attempts=self.attempts or ATTEMPTS)

    def _describe_solver(self) -> dict:
        facts = super()._describe_solver()
        if self._rule() == 'paper':
            settings = self._settings()
            facts |= {'subset': settings.subset, 'attempts': settings.attempts}
        return facts

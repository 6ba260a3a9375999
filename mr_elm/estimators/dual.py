"""Offer the machines of the dual: sparse ELM, optimisation ELM and SphereSVM."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mr_elm.estimators.conversion import name_blas
from mr_elm.estimators.jobs import watched
from mr_elm.estimators.kernel import KernelEstimator
from mr_elm.estimators.probabilities import Labelled
from mr_elm.estimators.values import name_classes, numbered_classes, row_weights
from mr_elm.machines.doubts import warn_of_constant
from mr_elm.machines.dual_task import DualTask, state_task
from mr_elm.machines.fold_machines import FOLDS, FoldMachines
from mr_elm.machines.nodes import make_header
from mr_elm.machines.options import DualOptions, OELMOptions, PESVMOptions, SphereSVMOptions
from mr_elm.machines.press import HeldOut
from mr_elm.model.file import make_model
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.scores.selection import MACHINE_FOLD, fold_numbers
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.statistics import list_classes
from mr_elm.typing import Labels, Rows, Weights


@dataclass(eq=False, repr=False)
class DualClassifier(Labelled, KernelEstimator):
    """Fit two-class machines on the box-constrained dual, and answer from one model.

    kernel : gaussian, laplacian, polynomial, linear, or random nodes: sigmoid, sine, rbf, ...
    sigma : width of gaussian or laplacian; by default sigma^2 is the sum of the variances of the scaled features.
    degree : of the polynomial (1 + u.v)^degree, by default 3.
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

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'DualClassifier':
        """Fit the machines of all classes. Sets classes_, support_, dual_coef_, intercept_, results_, model_."""
        X, y, weights = self._read(X, y, sample_weight)
        self.classes_, codes = numbered_classes(y)
        weights = row_weights(self.class_weight, self.classes_, codes, weights)
        classes: Any = name_classes(self.classes_)
        rows, options = TrainingRows(X, codes, classes, weights), self._make_options()
        summary = self._summarise_training(rows, options)
        task = replace(state_task(options, summary, classes), cache_bytes=int(self.cache_size * 1e6))
        with self._reporter.follow('machines', len(codes)):
            machines = task.fit(X, codes, weights)
        parameters = {**task.parameters, 'scale': self.scale, 'blas': [name_blas()]}
        header = make_header(options, summary, classes, task.n_features, parameters)
        self.model_ = make_model(self._name_header(header), task.name_arrays(machines, X))
        if self.probabilities:
            self._hold_out(self._score_folds(task, rows), X, 'folds')
        self.support_, self.dual_coef_, self.results_ = machines.support, machines.dual_coef, machines.results
        self.intercept_, self.n_iter_ = machines.intercept, max(machines.n_iter, 1)
        warn_of_constant(self.model_, X, codes, weights)
        return self

    def _score_folds(self, task: DualTask, rows: TrainingRows) -> HeldOut:
        """Score all rows by machines in which their fold weighs nothing."""
        X, codes, names = rows.X, rows.y, list_classes(rows.classes)
        folds, weights = fold_numbers(X, FOLDS, self.seed_ + MACHINE_FOLD), fill_weights(rows.sample_weight, len(codes))
        models = []
        for fold in range(FOLDS):
            machines = task.fit(X, codes, np.where(folds == fold, 0.0, weights))
            models.append(make_model(task.model_header(names), task.name_arrays(machines, X)))
        return FoldMachines(models, self.seed_).score(Block(X, tuple(names), codes), rows.sample_weight)


@dataclass(eq=False, repr=False, kw_only=True)
class NodeParameters:
    """Hold the parameters of random nodes.

    n_hidden : how many.
    weight_scale : s; sums of weights times features have deviation s.
    weights : normal, or uniform between -s and s.
    """

    n_hidden: int = PESVMOptions.n_hidden
    weight_scale: float = PESVMOptions.weight_scale
    weights: str = PESVMOptions.weights


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

    kernel : gaussian, laplacian, polynomial or linear.
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

"""Offer the unified ELM."""

from dataclasses import dataclass

import numpy as np

from mr_elm.estimators.jobs import watched
from mr_elm.estimators.kernel_or_nodes import PRECOMPUTED, RANDOM_NODES, KernelOrNodes, NodeParameters, outputs
from mr_elm.estimators.probabilities import Labelled, hold_out
from mr_elm.estimators.tables import check_weights
from mr_elm.estimators.values import Targets, is_set_matrix, row_weights
from mr_elm.features.kernels import KERNELS
from mr_elm.machines.kernel import KernelMachine
from mr_elm.machines.options import ELMOptions
from mr_elm.solvers import ridge as elm
from mr_elm.solvers.centred import CentredTargets
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights


@dataclass(eq=False, repr=False)
class UnifiedELM(NodeParameters, KernelOrNodes):
    """Fit the closed form on targets T, (n, K). Parameters as in `DualClassifier`; n_jobs : of predictions.

    C = inf on random nodes is the initial ELM, pinv(H) T.
    """

    kernel: str = ELMOptions.map

    _method = 'elm'
    _declared = ELMOptions
    _called = {'nu': 'C', 'map': '', 'kernel': ''}

    def _fit_targets(self, X: Rows, T: Floats, weights: RowWeights) -> None:
        self._demand_known_kernel()
        units, self.intercept_ = np.ones(T.shape[1]), np.zeros(T.shape[1])
        if getattr(self, 'center', False):
            centred = CentredTargets.of(T, weights)
            T, units, self.intercept_ = centred.T, centred.units, centred.mean
        if self.kernel in RANDOM_NODES:
            layer = self._place_layer(X, T, weights)
            B = elm.solve_nodes(outputs(layer, X), T, self.C, weights)
            self._keep_nodes(layer, B * units, intercept=self.intercept_)
        elif self.kernel in KERNELS:
            kernel, X = self._place_rows(X, T, weights)
            A = elm.solve_kernel(kernel.tile(X, X), T, self.C, weights)
            self._keep_kernel(kernel, X, A * units, intercept=self.intercept_)
        else:
            self.dual_coef_ = elm.solve_kernel(X.copy(), T, self.C, weights) * units


@dataclass(eq=False, repr=False)
class ELMClassifier(Labelled, UnifiedELM):
    """Train the unified ELM for classes: targets of +-1, all in one solve.

    Parameters as in `DualClassifier`; probabilities : see `Labelled`, by leave-one-out in closed form.
    """

    _takes_sets = True

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ELMClassifier':
        """Fit. Sets classes_ and model_."""
        X, y = self._read(X, y, sample_weight, multi_output=is_set_matrix(y))
        codes, T = self._set_classes(y)
        weights = row_weights(self.class_weight, self.classes_, codes, check_weights(sample_weight, X))
        with self._reporter.follow('Gram', len(T)):
            self._fit_targets(X, T, weights)
        if self.probabilities and codes is not None:
            self._calibrate(X, hold_out(codes, weights, *self._leave_one_out(X, T, weights)))
        self._warn_of_machine(X, codes, T, sample_weight)
        return self

    def _leave_one_out(self, X: Rows, T: Floats, weights: RowWeights) -> tuple[Floats, Floats]:
        """Return the decision values of each row, (N, K), by the machine of all other rows, and leverages, (N,)."""
        if self.kernel in RANDOM_NODES:
            return elm.leave_one_out(outputs(self.model_.layer, X), T, self.C, weights)
        if self.kernel == PRECOMPUTED:
            omega = X.copy()
        else:
            rows = self.model_.support_vectors  # all rows, as the kernel compares them
            omega = self.model_.kernel.tile(rows, rows)
        solution = KernelMachine(self.C, leave_one_out=True).solve_matrix(omega, T, weights)
        return T - solution.residuals, solution.leverages(self.C, weights)


@dataclass(eq=False, repr=False)
class ELMRegressor(Targets, UnifiedELM):
    """Train the unified ELM for real targets. Parameters as in `DualClassifier`; center : see `ESVMRegressor`."""

    center: bool = True

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ELMRegressor':
        """Fit. Sets model_."""
        X, y = self._read(X, y, sample_weight, multi_output=True, y_numeric=True)
        weights = check_weights(sample_weight, X)
        T = self._set_targets(y, X, weights)
        with self._reporter.follow('Gram', len(T)):
            self._fit_targets(X, T, weights)
        self._note_constant(X, T, sample_weight)
        return self

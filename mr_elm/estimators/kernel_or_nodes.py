"""Choose between kernels, random nodes and a ready matrix by one name: what the estimators of both have in common."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mr_elm import sparse as sp
from mr_elm.errors import demand_choice
from mr_elm.estimators.conversion import Convertible, describe
from mr_elm.estimators.jobs import decide
from mr_elm.estimators.metric import MetricLearner
from mr_elm.estimators.tables import AUTO
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import KERNELS, Kernel, make_kernel
from mr_elm.features.metric import apply_metric
from mr_elm.features.nodes import draw_nodes
from mr_elm.features.scaling import moments_of_nodes, scale_rows
from mr_elm.machines.options import RANDOM_NODES, PESVMOptions
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import kernel_arrays, node_arrays, scaling_arrays
from mr_elm.solvers.multiclass import ONE_VS_ALL
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights

PRECOMPUTED = 'precomputed'


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
class KernelOrNodes(MetricLearner, Convertible):
    """Choose between kernels, random nodes and a ready matrix by one name, and hold the model."""

    kernel: str = 'gaussian'
    sigma: float | None = None
    gamma: float | None = None
    degree: int = 3
    C: float = 1.0

    _kernels = (*KERNELS, *RANDOM_NODES, PRECOMPUTED)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != PRECOMPUTED
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return self._tag_tables(tags)

    def _read(self, X: Rows, y: Labels, sample_weight: Weights, **how: Any) -> tuple:
        """Return the rows of a training, unscaled, and their labels."""
        if self.kernel == PRECOMPUTED and self.encode == AUTO:
            raise ValueError('encode: expected refuse, a precomputed matrix has no columns to encode')
        if self.kernel == PRECOMPUTED and self.metric != 'none':
            raise ValueError('metric: expected none, a precomputed matrix has no features')
        X, y = self._validate(X, True, sample_weight, y=y, **how)
        self.n_rows_ = X.shape[0]
        return X, y

    @property
    def _has_features(self) -> bool:  # type: ignore[override]
        return self.kernel != PRECOMPUTED

    def _demand_known_kernel(self) -> None:
        demand_choice('kernel', self.kernel, self._kernels)

    @property
    def _power(self) -> int:
        kind = KERNELS.get(self.kernel)
        if kind is None or kind.of_distance:
            return 2
        return 4 * int(kind.factor({'degree': self.degree}))

    def _make_kernel(self) -> Kernel:
        parameters = {name: getattr(self, name) for name in KERNELS[self.kernel].parameters}
        return make_kernel(
            self.kernel,
            self._summary.measure_scaled(self.scale).total_variance,
            getattr(self, 'normalise', False),
            **parameters,
        )

    def _make_layer(self, d: int) -> HiddenLayer:
        weights, biases = draw_nodes(
            self.kernel,
            self.n_hidden,
            d,
            self.seed_,
            self.weight_scale,
            self.weights,
            moments_of_nodes(self.kernel, self.scale, self._summary.measure_scaled(self.scale)),
        )
        return HiddenLayer(self.kernel, weights, biases, *self.scaling_)

    def _place_layer(self, X: Rows, T: Floats, weights: RowWeights) -> HiddenLayer:
        """Return the nodes behind the metric, which is learned here. T : targets."""
        layer = self._make_layer(X.shape[1])
        self._learn_metric(layer, X, T, self.C, weights)
        return layer.pass_metric(self._learned.metric)

    def _place_rows(self, X: Rows, T: Floats, weights: RowWeights) -> tuple[Kernel, Rows]:
        """Return the kernel, and the rows that it compares: scaled, and behind the metric, which is learned here.

        X : unscaled. T : targets.
        """
        kernel = self._make_kernel()
        if sp.issparse(X) and kernel.kind.of_distance:
            self.scaling_ = np.zeros(self._width), self.scaling_[1]  # distances do not see it, and X stays sparse
        self._learn_metric(kernel, X, T, self.C, weights)
        return kernel, apply_metric(scale_rows(X, *self.scaling_), self._learned.metric)

    def _values(self, X: Rows) -> Floats:
        """Return the decision values of all machines, (n, P)."""
        if not hasattr(self, 'model_'):
            check_is_fitted(self)  # which takes as long as to predict a few rows
        X = self._validate(X, False)
        if self.kernel == PRECOMPUTED:
            return self._values_of(X)
        return decide(self.model_, X, self.n_jobs)

    def _values_of(self, K: Floats) -> Floats:
        """Return the decision values of rows of a ready matrix, (n, N)."""
        return K @ self.dual_coef_ + self.intercept_

    def _keep(self, kind: type[Model], parameters: dict, arrays: dict, scheme: str = ONE_VS_ALL) -> None:
        """Make the model, with the header and arrays of a model file."""
        # JSON knows no infinite number
        C = None
        if np.isfinite(self.C):
            C = self.C
        parameters = {
            **parameters,
            **self._describe_solver(),
            'C': C,
            'seed': self.seed_,
            'multiclass': scheme,
            **self._learned.facts,
        }
        self.model_ = kind(describe(self, self.n_rows_, parameters), arrays)

    def _describe_solver(self) -> dict:
        """Return what a model tells of its solver."""
        return {}

    def _keep_kernel(
        self,
        kernel: Kernel,
        vectors: Rows,
        dual_coef: Floats,
        scheme: str = ONE_VS_ALL,
        intercept: Floats | None = None,
    ) -> None:
        arrays = kernel_arrays(scaling_arrays(*self.scaling_, self._learned.metric), vectors, dual_coef, intercept)
        self._keep(
            KernelModel, {'kernel': kernel.name, 'normalised': kernel.normalised, **kernel.parameters}, arrays, scheme
        )

    def _keep_nodes(
        self, layer: HiddenLayer, weights: Floats, scheme: str = ONE_VS_ALL, intercept: Floats | None = None
    ) -> None:
        parameters = {
            'map': layer.kind,
            'n_hidden': layer.n_hidden,
            'weight_scale': self.weight_scale,
            'weights': self.weights,
        }
        self._keep(HiddenNodeModel, parameters, node_arrays(layer, weights, intercept), scheme)


def outputs(layer: HiddenLayer, X: Rows) -> Floats:
    """Return the node outputs of all rows, (n, L)."""
    return layer.evaluate(X, np.empty((X.shape[0], layer.n_hidden)))

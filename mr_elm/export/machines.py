"""Write what machines compute in the language of another program, which knows a few steps of arithmetic."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import Kernel, invert_root, row_squares
from mr_elm.features.nodes import NODES
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import spread_scaling
from mr_elm.typing import Floats, Rows

ACTIVATIONS = ('sigmoid', 'tanh', 'sine', 'rff', 'relu', 'hardlimit')
OF_DISTANCES = ('rbf', 'nystrom', 'laplacian', 'product-laplacian', 'multiquadric')
KNOWN_NODES = (*ACTIVATIONS, *OF_DISTANCES, 'identity')


class Writer(ABC):
    """Write decision values step by step. Values, (N, k), are whatever the language has for k numbers of each row."""

    def write_scores(self, model: Model, X: Any) -> Any:
        """Write decision values, (N, P). X : rows of features, (N, d). Raises ValueError for an unknown machine."""
        return self.average([self._write_machine(machine, X) for machine in model.members])

    def _write_machine(self, machine: Model, X: Any) -> Any:
        if isinstance(machine, HiddenNodeModel):
            layer, B = machine.layer, machine.arrays['output_weights']
            if layer.forest is None:
                return self._write_nodes(layer, X, B)
            leaves = self.fall(layer.forest, X, B[: layer.n_leaves])
            if not len(layer.biases):
                return self.shift(leaves, -B[-1])
            return self.add(self._write_nodes(layer.nodes, X, B[layer.n_leaves :]), leaves)
        if not isinstance(machine, KernelModel):
            raise ValueError(f'export: expected machines of hidden nodes or support vectors, found {machine}')
        Z = self._turn(
            self.scale(X, *spread_scaling(machine.arrays, machine.n_features)), machine.arrays.get('feature_metric')
        )
        return self._write_kernel(
            machine.kernel, Z, machine.support_vectors, machine.arrays['dual_coef'], machine.arrays['intercept']
        )

    def _turn(self, Z: Any, metric: Floats | None) -> Any:
        if metric is None:
            return Z
        if metric.ndim == 1:
            return self.scale(Z, np.zeros(len(metric)), metric)
        return self.multiply(Z, metric, np.zeros(len(metric)))

    def _write_nodes(self, layer: HiddenLayer, X: Any, B: Floats) -> Any:
        """Write [Phi(x), -1] B of nodes that are no leaves."""
        if layer.kind not in KNOWN_NODES:
            raise ValueError(f'export: expected nodes of kind {", ".join(KNOWN_NODES)}, found {layer.kind}')
        Z, node, W, r = self.scale(X, layer.offset, layer.scale), NODES[layer.kind], B[:-1].T, -B[-1]
        if layer.kind == 'identity':
            return self.multiply(Z, W @ layer.projections, W @ layer.biases + r)
        if layer.kind in OF_DISTANCES:
            D = self.measure(self._turn(Z, layer.metric), layer.weights, node.norm, node.takes_root)
            if layer.kind == 'multiquadric':
                return self.multiply(self.root(D, layer.biases**2), W, r)
            return self.multiply(self.exponentiate(D, 1 / layer.biases), W, r)
        return self.multiply(self.activate(layer.kind, self.multiply(Z, layer.projections, layer.biases)), W, r)

    def _write_kernel(self, kernel: Kernel, Z: Any, A: Rows, coefficients: Floats, r: Floats) -> Any:
        """Write K(z, A) coefficients + r. A linear machine has one weight a feature, however many rows A has."""
        if kernel.kind.exponent:
            D = self.measure(Z, A, 2, kernel.takes_root)
            return self.multiply(self.exponentiate(D, np.full(A.shape[0], kernel.factor)), coefficients.T, r)
        if kernel.name not in ('linear', 'polynomial'):
            raise ValueError(f'export: expected a kernel that other programs know, found {kernel.name}')
        if kernel.normalised:
            diagonal = replace(kernel, normalised=False).diagonal(row_squares(A))
            coefficients = coefficients * invert_root(diagonal)[:, None]
        zeros = np.zeros(coefficients.shape[1])
        if kernel.name == 'linear':
            values = self.multiply(Z, np.asarray(A.T @ coefficients).T, zeros)
        else:
            P = self.multiply(Z, A, np.ones(A.shape[0]))
            values = self.multiply(self.power(P, kernel.factor), coefficients.T, zeros)
        if kernel.normalised:
            size = self.square(Z)
            values = self.divide(
                values, size if kernel.name == 'linear' else self.power(self.shift(size, np.ones(1)), kernel.factor)
            )
        return self.shift(values, r)

    @abstractmethod
    def scale(self, X: Any, offset: Floats, scale: Floats) -> Any:
        """Write (x - offset) * scale, (N, d)."""

    @abstractmethod
    def multiply(self, Z: Any, W: Rows, b: Floats) -> Any:
        """Write Z W' + b, (N, L). W : (L, d), dense or CSR. b : (L,)."""

    @abstractmethod
    def measure(self, Z: Any, A: Rows, norm: int, takes_root: bool) -> Any:
        """Write distances of rows and centres A (L, d), dense or CSR: |z - a|_1, |z - a|, or |z - a|^2."""

    @abstractmethod
    def activate(self, kind: str, values: Any) -> Any:
        """Write a function of values. kind : one of ACTIVATIONS."""

    @abstractmethod
    def exponentiate(self, D: Any, gammas: Floats) -> Any:
        """Write exp(-gamma d), (N, L). gammas : (L,)."""

    @abstractmethod
    def root(self, D: Any, squares: Floats) -> Any:
        """Write sqrt(d + square), (N, L). squares : (L,)."""

    @abstractmethod
    def power(self, values: Any, degree: float) -> Any:
        """Write values^degree."""

    @abstractmethod
    def square(self, Z: Any) -> Any:
        """Write |z|^2, (N, 1)."""

    @abstractmethod
    def divide(self, values: Any, squares: Any) -> Any:
        """Write values / sqrt(square), and 0 where the square is 0. squares : (N, 1)."""

    @abstractmethod
    def fall(self, forest: Forest, X: Any, B: Floats) -> Any:
        """Write the sums over the trees of the weights of leaves, (N, K). B : (n_leaves, K)."""

    @abstractmethod
    def add(self, values: Any, others: Any) -> Any:
        """Write the sums of two values, (N, k)."""

    @abstractmethod
    def shift(self, values: Any, b: Floats) -> Any:
        """Write values + b, (N, k). b : (k,)."""

    @abstractmethod
    def average(self, parts: list[Any]) -> Any:
        """Write the means of several values, (N, k) each."""

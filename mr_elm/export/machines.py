"""Write what machines compute in the language of another program, which knows a few steps of arithmetic."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
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
from mr_elm.solvers.multiclass import ONE_VS_ONE, class_pairs
from mr_elm.typing import Floats, Rows

ACTIVATIONS = ('sigmoid', 'tanh', 'sine', 'rff', 'relu', 'hardlimit')
OF_DISTANCES = ('rbf', 'nystrom', 'laplacian', 'product-laplacian', 'multiquadric')
KNOWN_NODES = (*ACTIVATIONS, *OF_DISTANCES, 'identity')


class Writer(ABC):
    """Write a model step by step. Values, (N, k), are whatever the language has for k numbers of each row."""

    def write_answers(self, model: Model, X: Any) -> list[Any]:
        """Write label, decision values, and of a calibrated model probabilities. X : rows of features, (N, d)."""
        scores = self.write_scores(model, X)
        if model.multilabel:
            return [self.join_names(scores, model.classes, model.header.separator or ''), scores]
        if model.numeric:
            if model.header.is_log:
                scores = self.activate('exp', scores)
            return [scores, scores]
        label, *probabilities = self.write_classes(model, scores, model.classes)
        return [label, scores, *probabilities]

    def write_classes(self, model: Model, scores: Any, names: Sequence[Any]) -> list[Any]:
        """Write the name of the class, and of a calibrated model probabilities; see `scores.calibration`."""
        labelling = model.labelling
        if len(names) == 2:
            values = candidates = self.precede(0.0, scores)
        elif labelling.scheme == ONE_VS_ONE:
            votes, sums = self._write_votes(scores, len(names))
            values, candidates = self.add(votes, self.activate('squeeze', sums)), self.keep_largest(votes, sums)
        else:
            values = candidates = scores
        if labelling.calibration is None:
            return [self.choose(candidates, names)]
        logits = self.times(values, np.full(len(names), np.exp(labelling.calibration[0])))
        P = self.softmax(self.add(logits, np.append(0.0, labelling.calibration[1:])))
        if labelling.threshold is None:
            return [self.choose(P, names), P]
        positive = labelling.positive
        limited = self.precede(labelling.threshold, self.pick(P, positive))
        return [self.choose(limited, [names[1 - positive], names[positive]]), P]

    def _write_votes(self, scores: Any, n_classes: int) -> tuple[Any, Any]:
        """Write the votes of pairs for each class, and the sums of their decision values, (N, K) both."""
        pairs = class_pairs(n_classes)
        gain: Floats = np.zeros((n_classes, len(pairs)))
        for p, (i, j) in enumerate(pairs):
            gain[i, p], gain[j, p] = -1.0, 1.0
        lost = self.activate('hardlimit', self.times(scores, -np.ones(len(pairs))))
        votes = self.multiply(lost, -gain, (gain > 0).sum(axis=1).astype(float))
        return votes, self.multiply(scores, gain, np.zeros(n_classes))

    def write_scores(self, model: Model, X: Any) -> Any:
        """Write decision values, (N, P). X : rows of features, (N, d). Raises ValueError for an unknown machine."""
        first, *others = (self._write_machine(machine, X) for machine in model.members)
        for scores in others:
            first = self.add(first, scores)
        return self.times(first, np.full(model.n_scores, 1 / (1 + len(others))))

    def add(self, values: Any, others: Any) -> Any:
        """Write the sums of two values, or of values and numbers (k,)."""
        if isinstance(others, np.ndarray) and not others.any():
            return values
        return self.operate('+', values, others)

    def times(self, values: Any, numbers: Floats) -> Any:
        """Write the products of values and numbers (k,)."""
        if (numbers == 1).all():
            return values
        return self.operate('*', values, numbers)

    def scale(self, X: Any, offset: Floats, scale: Floats) -> Any:
        """Write (x - offset) * scale, (N, d)."""
        return self.times(self.add(X, -offset), scale)

    def _write_machine(self, machine: Model, X: Any) -> Any:
        if isinstance(machine, HiddenNodeModel):
            layer, B = machine.layer, machine.arrays['output_weights']
            if layer.forest is None:
                return self._write_nodes(layer, X, B)
            leaves = self.fall(layer.forest, X, B[: layer.n_leaves])
            if not len(layer.biases):
                return self.add(leaves, -B[-1])
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
            return self.times(Z, metric)
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
                return self.multiply(self.activate('root', self.add(D, layer.biases**2)), W, r)
            return self.multiply(self.activate('exp', self.times(D, -1 / layer.biases)), W, r)
        return self.multiply(self.activate(layer.kind, self.multiply(Z, layer.projections, layer.biases)), W, r)

    def _write_kernel(self, kernel: Kernel, Z: Any, A: Rows, coefficients: Floats, r: Floats) -> Any:
        """Write K(z, A) coefficients + r. A linear machine has one weight a feature, however many rows A has."""
        if kernel.kind.exponent:
            D = self.measure(Z, A, 2, kernel.takes_root)
            nodes = self.activate('exp', self.times(D, np.full(A.shape[0], -kernel.factor)))
            return self.multiply(nodes, coefficients.T, r)
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
                values, size if kernel.name == 'linear' else self.power(self.add(size, np.ones(1)), kernel.factor)
            )
        return self.add(values, r)

    @abstractmethod
    def multiply(self, Z: Any, W: Rows, b: Floats) -> Any:
        """Write Z W' + b, (N, L). W : (L, d), dense or CSR. b : (L,)."""

    @abstractmethod
    def measure(self, Z: Any, A: Rows, norm: int, takes_root: bool) -> Any:
        """Write distances of rows and centres A (L, d), dense or CSR: |z - a|_1, |z - a|, or |z - a|^2."""

    @abstractmethod
    def activate(self, kind: str, values: Any) -> Any:
        """Write a function of values. kind : one of ACTIVATIONS, exp, root, or squeeze: f / (3 (|f| + 1))."""

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
    def operate(self, sign: str, values: Any, others: Any) -> Any:
        """Write values + others, or values * others. others : values, or numbers (k,)."""

    @abstractmethod
    def precede(self, number: float, values: Any) -> Any:
        """Write a number before one value, (N, 2)."""

    @abstractmethod
    def pick(self, values: Any, number: int) -> Any:
        """Write one of several values, (N, 1)."""

    @abstractmethod
    def keep_largest(self, votes: Any, values: Any) -> Any:
        """Write the values whose votes are the most of a row, and below all others where they are not, (N, k)."""

    @abstractmethod
    def softmax(self, values: Any) -> Any:
        """Write e^f / sum e^f, (N, k)."""

    @abstractmethod
    def choose(self, values: Any, names: Sequence[Any]) -> Any:
        """Write the name of the largest value, the first of equal ones, (N,)."""

    @abstractmethod
    def join_names(self, scores: Any, names: Sequence[str], separator: str) -> Any:
        """Write the names of the labels whose score is above PRESENCE_THRESHOLD, (N,)."""

"""Write what a model computes in the language of another program, which knows a few steps of arithmetic."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import ROUNDING, Kernel, invert_root, row_squares
from mr_elm.features.nodes import NODES
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import spread_scaling
from mr_elm.rows.encoding import Column
from mr_elm.solvers.multiclass import ONE_VS_ONE, class_pairs
from mr_elm.typing import Floats, Rows

ACTIVATIONS = ('sigmoid', 'tanh', 'sine', 'relu', 'hardlimit')
OF_DISTANCES = ('rbf', 'nystrom', 'laplacian', 'product-laplacian', 'multiquadric')
KNOWN_NODES = (*ACTIVATIONS, *OF_DISTANCES, 'rff', 'identity')


def columns_of(model: Model) -> list[Column] | None:
    """Return the columns of the rows; None where they are numbers without names. A missing number may have no mean."""
    if model.encoding is not None:
        return list(model.encoding.columns)
    names = model.header.column_names
    if names is None:
        return None
    return [Column(name, mean=np.nan) for name in names]


class Writer(ABC):
    """Write a model step by step. Values, (N, k), are whatever the language has for k numbers of each row."""

    def write_answers(self, model: Model, X: Any) -> list[Any]:
        """Write label, decision values, and of a calibrated model probabilities. X : rows of features, (N, d)."""
        scores = self.write_scores(model, X)
        if model.multilabel:
            return [self.join_names(scores, model.classes, model.header.separator or ''), scores]
        if model.numeric:
            if model.header.is_log:
                scores = self.apply('exp', scores)
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
            candidates = self.apply('largest', votes, self.most(votes), sums)
            sizes = self.times(self.add(self.apply('abs', sums), np.ones(1)), np.array([3.0]))
            values = self.add(votes, self.apply('/', sums, sizes))
        else:
            values = candidates = scores
        if labelling.calibration is None:
            return [self.choose(candidates, names)]
        logits = self.times(values, np.exp(labelling.calibration[:1]))
        logits = self.add(logits, np.append(0.0, labelling.calibration[1:]))
        powers = self.apply('exp', self.apply('-', logits, self.most(logits)))
        P = self.apply('/', powers, self.total(powers))
        if labelling.threshold is None:
            return [self.choose(P, names), P]
        positive = labelling.positive
        limited = self.precede(labelling.threshold, self.pick(P, positive))
        return [self.choose(limited, [names[1 - positive], names[positive]]), P]

    def _write_votes(self, scores: Any, n_classes: int) -> tuple[Any, Any]:
        """Write the votes of pairs for each class, and the sums of their decision values, (N, K) both."""
        pairs = class_pairs(n_classes)
        gain = np.zeros((n_classes, len(pairs)))
        for p, (i, j) in enumerate(pairs):
            gain[i, p], gain[j, p] = -1.0, 1.0
        lost = self.apply('hardlimit', self.times(scores, -np.ones(1)))
        votes = self.multiply(lost, -gain, (gain > 0).sum(axis=1).astype(float))
        return votes, self.multiply(scores, gain, np.zeros(n_classes))

    def write_scores(self, model: Model, X: Any) -> Any:
        """Write decision values, (N, P). X : rows of features, (N, d). Raises ValueError for an unknown machine."""
        first, *others = (self._write_machine(machine, X) for machine in model.members)
        for scores in others:
            first = self.add(first, scores)
        return self.times(first, np.array([1 / len(model.members)]))

    def add(self, values: Any, others: Any) -> Any:
        """Write the sums of two values, or of values and numbers (k,) or (1,)."""
        if isinstance(others, np.ndarray) and not others.any():
            return values
        return self.apply('+', values, others)

    def times(self, values: Any, numbers: Floats) -> Any:
        """Write the products of values and numbers (k,) or (1,)."""
        if (numbers == 1).all():
            return values
        return self.apply('*', values, numbers)

    def square(self, Z: Any) -> Any:
        """Write |z|^2, (N, 1)."""
        return self.total(self.apply('*', Z, Z))

    def measure(self, Z: Any, A: Rows, norm: int, takes_root: bool) -> Any:
        """Write distances of rows and centres A (L, d), dense or CSR: |z - a|_1, |z - a|, or |z - a|^2."""
        if norm == 1:
            return self.add_differences(Z, sp.expand(A))
        size, row_norms = self.square(Z), row_squares(A)
        D = self.apply('squares', self.apply('+', self.multiply(Z, -2 * A, row_norms), size), size)
        if not takes_root:
            return D
        limits = self.times(self.apply('+', size, row_norms), np.array([ROUNDING]))
        return self.apply('distances', D, limits)

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
                return self.multiply(self.apply('root', self.add(D, layer.biases**2)), W, r)
            return self.multiply(self.apply('exp', self.times(D, -1 / layer.biases)), W, r)
        kind, biases = layer.kind, layer.biases
        if kind == 'rff':  # cos(z) = sin(z + pi/2): onnxruntime has no cosine of float64
            kind, biases = 'sine', biases + np.pi / 2
        return self.multiply(self.apply(kind, self.multiply(Z, layer.projections, biases)), W, r)

    def _write_kernel(self, kernel: Kernel, Z: Any, A: Rows, coefficients: Floats, r: Floats) -> Any:
        """Write K(z, A) coefficients + r. A linear machine has one weight a feature, however many rows A has."""
        if kernel.kind.exponent:
            D = self.measure(Z, A, 2, kernel.takes_root)
            nodes = self.apply('exp', self.times(D, np.array([-kernel.factor])))
            return self.multiply(nodes, coefficients.T, r)
        if kernel.name not in ('linear', 'polynomial'):
            raise ValueError(f'export: expected a kernel that other programs know, found {kernel.name}')
        if kernel.normalised:
            diagonal = replace(kernel, normalised=False).diagonal(row_squares(A))
            coefficients = coefficients * invert_root(diagonal)[:, None]
        zeros, degree = np.zeros(coefficients.shape[1]), np.array([kernel.factor], float)
        if kernel.name == 'linear':
            values = self.multiply(Z, np.asarray(A.T @ coefficients).T, zeros)
        else:
            P = self.multiply(Z, A, np.ones(A.shape[0]))
            values = self.multiply(self.apply('power', P, degree), coefficients.T, zeros)
        if kernel.normalised:
            size = self.square(Z)
            if kernel.name != 'linear':
                size = self.apply('power', self.add(size, np.ones(1)), degree)
            values = self.apply('normalised', values, size)
        return self.add(values, r)

    @abstractmethod
    def apply(self, kind: str, *operands: Any) -> Any:
        """Write a function of one or several values, number by number; those of one column go with each of k columns.

        operands : values, or numbers (k,) or (1,). kind : + - * / power, exp, root, abs, sigmoid, tanh, sine, relu,
        hardlimit; or
            normalised  a / sqrt(b), and 0 where b is 0
            squares     a squared distance a that is rounded; b is the square of the row, which may have overflown
            distances   the root of a squared distance a, 0 where that is below b
            largest     c where the votes a are the most votes b, and less than all other numbers elsewhere
        """

    @abstractmethod
    def multiply(self, Z: Any, W: Rows, b: Floats) -> Any:
        """Write Z W' + b, (N, L). W : (L, d), dense or CSR. b : (L,)."""

    @abstractmethod
    def add_differences(self, Z: Any, A: Floats) -> Any:
        """Write the distances |z - a|_1 of rows and centres A (L, d), (N, L)."""

    @abstractmethod
    def total(self, values: Any) -> Any:
        """Write the sum of the values of a row, (N, 1)."""

    @abstractmethod
    def most(self, values: Any) -> Any:
        """Write the largest of the values of a row, (N, 1)."""

    @abstractmethod
    def fall(self, forest: Forest, X: Any, B: Floats) -> Any:
        """Write the sums over the trees of the weights of leaves, (N, K). B : (n_leaves, K)."""

    @abstractmethod
    def precede(self, number: float, values: Any) -> Any:
        """Write a number before one value, (N, 2)."""

    @abstractmethod
    def pick(self, values: Any, number: int) -> Any:
        """Write one of several values, (N, 1)."""

    @abstractmethod
    def choose(self, values: Any, names: Sequence[Any]) -> Any:
        """Write the name of the largest value, the first of equal ones, (N,)."""

    @abstractmethod
    def join_names(self, scores: Any, names: Sequence[str], separator: str) -> Any:
        """Write the names of the labels whose score is above PRESENCE_THRESHOLD, (N,)."""

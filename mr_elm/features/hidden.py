"""Map rows to hidden nodes, Phi(x) = g(W z + b) on scaled features z, in place, a block at a time.

A new node is one entry of NODES. Two families: `projection` nodes see W z + b, `distance` nodes see |z - a|^2 and
their width b.
"""
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from mr_elm.typing import Floats, Rows

CACHE = 1 << 20  # bytes of pre-activations worked on at a time, so that they stay in a core's cache
FEWEST = 128  # rows, below which a matrix product is slow
DENSE_ENOUGH = 0.2  # a CSR block fuller than this is multiplied faster as a dense one


def sigmoid(Z: Floats, b: Floats) -> None:
    """1 / (1 + exp(-z)) from z / 2, written with tanh, which cannot overflow."""
    np.tanh(Z, out=Z)
    Z += 1.0
    Z *= 0.5


def tanh(Z: Floats, b: Floats) -> None:
    """tanh(z)."""
    np.tanh(Z, out=Z)


def sine(Z: Floats, b: Floats) -> None:
    """sin(z)."""
    np.sin(Z, out=Z)


def cosine(Z: Floats, b: Floats) -> None:
    """cos(z): random Fourier features of the Gaussian kernel, without the factor sqrt(2/L), so that nodes nest."""
    np.cos(Z, out=Z)


def relu(Z: Floats, b: Floats) -> None:
    """max(z, 0)."""
    np.maximum(Z, 0.0, out=Z)


def hardlimit(Z: Floats, b: Floats) -> None:
    """1 where z >= 0, else 0."""
    np.greater_equal(Z, 0.0, out=Z)


def gaussian(D: Floats, b: Floats) -> None:
    """exp(-|z - a|^2 / b)."""
    D /= b
    np.negative(D, out=D)
    np.exp(D, out=D)


def multiquadric(D: Floats, b: Floats) -> None:
    """sqrt(|z - a|^2 + b^2)."""
    D += b * b
    np.sqrt(D, out=D)


def identity(Z: Floats, b: Floats) -> None:
    """z, a node for each feature: the linear machine."""


@dataclass(frozen=True)
class NodeKind:
    """Say what a node computes.

    family : projection or distance. activate : its function, in place. bounded : whether values stay within [-1, 1].
    gain : the function takes gain * z, a power of two folded into the weights without rounding.
    """

    family: str
    activate: Callable
    bounded: bool = True
    gain: float = 1.0


NODES = {
    'sigmoid': NodeKind('projection', sigmoid, gain=0.5),
    'tanh': NodeKind('projection', tanh),
    'sine': NodeKind('projection', sine),
    'rff': NodeKind('projection', cosine),
    'relu': NodeKind('projection', relu, bounded=False),
    'hardlimit': NodeKind('projection', hardlimit),
    'rbf': NodeKind('distance', gaussian),
    'multiquadric': NodeKind('distance', multiquadric, bounded=False),
    'nystrom': NodeKind('distance', gaussian),
    'identity': NodeKind('projection', identity, bounded=False),
}


def draw_nodes(kind: str, n_hidden: int, n_features: int, seed: int = 0, weight_scale: float = 1.0,
               weights: str = 'normal') -> tuple[Floats, Floats]:
    """Draw random nodes: (W, b) of shapes (L, d) and (L,). The first nodes do not depend on n_hidden.

    weight_scale : s; pre-activations of standardised rows have deviation about s, and a Gaussian has width
        sigma = sqrt(d) / s.
    weights : normal (W normal with deviation s / sqrt(d), b uniform(-s, s)) or uniform (both uniform(-s, s)).
    identity draws nothing: a node for each feature, whatever n_hidden is.
    For rff b is uniform(-pi, pi). For rbf and multiquadric W are centres spread like the rows, b their widths.

    Source: Huang et al., Extreme learning machine, 2006; Rahimi, Recht, Random features, 2007 (rff).
    """
    if kind == 'identity':
        return np.eye(n_features), np.zeros(n_features)
    s = weight_scale
    draw_weights, draw_biases = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    if NODES[kind].family == 'distance':
        centres = draw_weights.standard_normal((n_hidden, n_features))
        sigma, u = np.sqrt(n_features) / s, draw_biases.uniform(0.5, 1.5, n_hidden)
        return centres, (2 * sigma**2 if kind == 'rbf' else sigma) * u
    if weights == 'uniform':
        W = draw_weights.uniform(-s, s, (n_hidden, n_features))
    else:
        W = draw_weights.standard_normal((n_hidden, n_features)) * (s / np.sqrt(n_features))
    limit = np.pi if kind == 'rff' else s
    return W, draw_biases.uniform(-limit, limit, n_hidden)


@dataclass(frozen=True)
class HiddenLayer:
    """Evaluate L nodes of one kind on raw rows; scaling is part of the layer.

    weights, biases : (L, d), (L,), on scaled features.
    offset, scale : (d,), z = (x - offset) * scale.
    """

    kind: str
    weights: np.ndarray
    biases: np.ndarray
    offset: np.ndarray
    scale: np.ndarray

    @property
    def n_hidden(self) -> int:
        """Return L."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """Return d."""
        return self.weights.shape[1]

    @cached_property
    def folded(self) -> tuple[Floats, Floats]:
        """Fold the scaling into the nodes, so that sparse rows are never shifted: W (d, L), b (L,) for x W + b."""
        W = self.weights * self.scale
        gain = NODES[self.kind].gain
        return np.ascontiguousarray(gain * W.T), gain * (self.biases - W @ self.offset)

    @cached_property
    def centres(self) -> list[tuple[Floats, Floats]]:
        """Return the centres (d, L) as rows without an offset see them, and their squared norms: dense, sparse."""
        shifted = self.weights + self.offset * self.scale
        return [(np.ascontiguousarray(A.T), np.einsum('ij,ij->i', A, A)) for A in (self.weights, shifted)]

    @cached_property
    def augmented(self) -> Floats:
        """Return [W b], (L, d + 1), for scaled rows that end in 1."""
        return NODES[self.kind].gain * np.column_stack([self.weights, self.biases])

    def evaluate(self, X: Rows, out: Floats) -> Floats:
        """Write Phi(X) into out, (n, L), for dense or CSR rows X (n, d). Raises ValueError on another width."""
        if X.shape[1] != self.n_features:
            raise ValueError(f'expected rows of {self.n_features} features, found rows of {X.shape[1]}')
        step = max(FEWEST, CACHE // (8 * self.n_hidden))
        for start in range(0, X.shape[0], step):
            self._evaluate_part(X[start:start + step], out[start:start + step])
        return out

    def _evaluate_part(self, X: Rows, out: Floats) -> None:
        node = NODES[self.kind]
        if node.family == 'projection':
            self._project(X, out)
        else:
            self._squared_distances(X, out)
        node.activate(out, self.biases)

    def _project(self, X: Rows, out: Floats) -> None:
        if sp.issparse(X):
            W, b = self.folded
            multiply(X, W, out)
            out += b
        else:
            Z = np.ones((len(X), self.n_features + 1))
            np.subtract(X, self.offset, out=Z[:, :-1])
            Z[:, :-1] *= self.scale
            np.matmul(Z, self.augmented.T, out=out)

    def _squared_distances(self, X: Rows, out: Floats) -> None:
        """|z - a|^2 = |z|^2 + |a|^2 - 2 z.a, with z and a both moved by offset * scale for sparse rows."""
        centres, centre_norms = self.centres[sp.issparse(X)]
        if sp.issparse(X):
            Z = X.multiply(self.scale).tocsr()
            norms = np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
            multiply(Z, centres, out)
        else:
            Z = (X - self.offset) * self.scale
            norms = np.einsum('ij,ij->i', Z, Z)
            np.matmul(Z, centres, out=out)
        out *= -2.0
        out += norms[:, None]
        out += centre_norms
        np.maximum(out, 0.0, out=out)

    def bound(self, low: Floats, high: Floats) -> float:
        """Bound |Phi(x)| for rows whose features lie between low and high, (d,) each, before scaling."""
        node = NODES[self.kind]
        if node.bounded:
            return 1.0
        z = np.maximum(np.abs((low - self.offset) * self.scale), np.abs((high - self.offset) * self.scale))
        if node.family == 'projection':
            return float(max(1.0, (np.abs(self.weights) @ z + np.abs(self.biases)).max()))
        farthest = ((np.abs(self.weights) + z)**2).sum(axis=1)
        return float(max(1.0, np.sqrt(farthest + self.biases**2).max()))


def multiply(X: Rows, W: Floats, out: Floats) -> None:
    """Write X W into out for CSR rows X; crowded blocks are multiplied as dense ones."""
    if X.nnz > DENSE_ENOUGH * X.shape[0] * X.shape[1]:
        np.matmul(X.toarray(), W, out=out)
    else:
        out[:] = X @ W

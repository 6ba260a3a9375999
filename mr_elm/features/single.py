"""Evaluate many nodes in float32, tile by tile; and f(x) = [Phi(x), -1] B with a bound of its error for each row.

float32 halves the bytes and doubles the numbers of an instruction. Products of tiles are added in float64.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import Kernel
from mr_elm.features.nodes import NODES
from mr_elm.parallel import map_in_threads
from mr_elm.sparse import issparse
from mr_elm.typing import Floats, Rows

MIN_NODES = 4096  # of a layer: a smaller one is fast as it is
TILE_ROWS, TILE_NODES = 512, 1024  # of a tile: 2 MB of float32, which stay in a core's cache
SAFETY_FACTOR = (
    4.0  # times the rounding of float32 on the sum of all |B|: 75 times the largest error seen on 8,000 landmarks
)


def takes_single(layer: HiddenLayer) -> bool:
    """Tell whether float32 pays for a layer: its nodes are smooth functions of inner products.

    A step or a root would enlarge rounding errors.
    """
    node = NODES[layer.kind]
    if layer.forest is not None:
        return False
    smooth = node.slope is not None and not node.takes_root and node.norm == 2
    return layer.n_hidden >= MIN_NODES and smooth and not issparse(layer.weights)


def make_landmarks(Z: Rows, kernel: Kernel) -> HiddenLayer | None:
    """Return the layer whose values are K(x, Z), where float32 pays for it: of many dense rows, a Gaussian kernel."""
    if issparse(Z) or kernel.kind.exponent != 2:
        return None
    n, d = Z.shape
    layer = HiddenLayer('nystrom', Z, np.full(n, 1 / kernel.factor), np.zeros(d), np.ones(d))
    if takes_single(layer):
        return layer
    return None


def make_single_product(layer: HiddenLayer, n_threads: int | None = None) -> Callable[[Floats], Floats]:
    """Return the function V -> K(Z, Z) V in float32, of landmarks Z. n_threads : see `map_in_threads`."""
    single = SingleLayer(layer)
    single.prepare()  # before threads would do it several times

    def multiply(V: Floats) -> Floats:
        machine = SingleMachine.of_product(single, V)
        parts = [slice(start, start + TILE_ROWS) for start in range(0, len(V), TILE_ROWS)]
        return np.concatenate(map_in_threads(lambda rows: machine.evaluate(layer.weights[rows])[0], parts, n_threads))

    return multiply


def product_error(layer: HiddenLayer) -> float:
    """Return about how large the error of `make_single_product` is relative to |V|, of vectors whose signs vary.

    With u = 2^-24, L nodes, V of deviation v and values of about 1, the errors of an entry of the product are

        of the terms:  each is off by about (4 + 2 s) u v, s the largest square in an exponent; of random signs the L of
                       them add up to (4 + 2 s) u v sqrt(L)
        of the sums:   float32 adds up to m = min(L, TILE_NODES) terms one after the other. The sum of k terms is about
                       v sqrt(k), and rounded by an error of deviation at most u v sqrt(k) / sqrt(3). m of these errors
                       add up to u v m / sqrt(6), those of L / m tiles to u v sqrt(m L / 6)

    This holds for every BLAS: those that add in several parts, as most do, round less.
    """
    terms, sums = 4 + 2 * SingleLayer(layer).constants[0].max(), np.sqrt(min(layer.n_hidden, TILE_NODES) / 6)
    return float(2.0**-24 * np.sqrt(layer.n_hidden) * (terms + sums))


class SingleLayer:
    """Evaluate a layer on dense rows in float32, a tile of rows and nodes at a time.

    Landmarks are 2^-|u - v|^2 in units in which their width is 1: rounded constants would have the same error, all of
    one sign, in every value.
    """

    def __init__(self, layer: HiddenLayer) -> None:
        self.layer, self.node = layer, NODES[layer.kind]
        self.of_distance = self.node.family == 'distance'
        self.of_landmarks = layer.kind == 'nystrom' and bool((layer.biases == layer.biases[0]).all())
        if self.of_landmarks:
            self.unit = float(np.sqrt(np.log2(np.e) / layer.biases[0]))
        else:
            self.unit = 1.0

    @cached_property
    def weights(self) -> np.ndarray:
        """Return the weights of projections, or -2 times the centres, (L, d or r)."""
        if self.of_distance:
            W = -2 * self.unit * self.layer.weights
        else:
            W = self.node.gain * self.layer.projections
        return W.astype(np.float32)

    @cached_property
    def constants(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what is added to the products, (L,), and the biases, (L,)."""
        W = self.layer.weights
        squares = None
        if self.of_distance:
            squares = np.einsum('ij,ij->i', W, W)
        if squares is None:
            added = self.node.gain * self.layer.biases
        else:
            added = self.unit**2 * squares
        return added.astype(np.float32), self.layer.biases.astype(np.float32)

    def prepare(self) -> None:
        """Compute weights and constants now."""
        self.weights, self.constants  # noqa: B018 - they are kept

    def place(self, X: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Return scaled rows, (n, d or r), and their squared norms, (n,), in float32."""
        if self.of_distance:
            Z = self.unit * self.layer.place_rows(X)
        else:
            Z = (X - self.layer.offset) * self.layer.scale
        return Z.astype(np.float32), np.einsum('ij,ij->i', Z, Z).astype(np.float32)

    def evaluate(self, Z: np.ndarray, squares: np.ndarray, nodes: slice) -> np.ndarray:
        """Return the values of some nodes on rows that `place` has returned, (n, nodes)."""
        added, biases = self.constants
        tile = Z @ self.weights[nodes].T
        if self.of_landmarks:
            from mr_elm.features import fused

            fused.exponentiate_single(tile, (squares, added[nodes]))
            return tile
        tile += added[nodes]
        if self.of_distance:
            tile += squares[:, None]
            np.maximum(tile, 0, out=tile)
        self.node.activate(tile, biases[nodes])
        return tile

    def cut(self) -> Iterator[slice]:
        """Yield the nodes of each tile."""
        for start in range(0, self.layer.n_hidden, TILE_NODES):
            yield slice(start, min(start + TILE_NODES, self.layer.n_hidden))


class SingleMachine:
    """Hold a layer and output weights B, (L + 1, K), in float32."""

    def __init__(self, layer: HiddenLayer, B: Floats, single: SingleLayer | None = None) -> None:
        self.layer, self.single = layer, single or SingleLayer(layer)
        self.B, self.bias = B[:-1].astype(np.float32), B[-1]
        self.size = float(np.abs(B).sum(axis=0).max())

    @classmethod
    def of_product(cls, single: SingleLayer, V: Floats) -> 'SingleMachine':
        """Hold a layer and vectors V, (L, K): the values are Phi(x) V."""
        return cls(single.layer, np.vstack([V, np.zeros(V.shape[1])]), single)

    def evaluate(self, X: Floats) -> tuple[Floats, Floats]:
        """Return decision values (n, K) of dense rows, and a bound of their errors, (n,): infinite on overflow."""
        values = np.tile(-self.bias, (len(X), 1))
        with np.errstate(over='ignore', invalid='ignore'):  # the bound of rows that overflow float32 is infinite
            Z, squares = self.single.place(X)
            for start in range(0, len(X), TILE_ROWS):
                rows = slice(start, start + TILE_ROWS)
                for nodes in self.single.cut():
                    values[rows] += self.single.evaluate(Z[rows], squares[rows], nodes) @ self.B[nodes]
            return values, SAFETY_FACTOR * 2.0**-24 * self.size * (1 + self.measure_size(squares))

    def measure_size(self, squares: Floats) -> Floats:
        """Return how large the terms of a pre-activation get, beside the width of its node, (n,).

        squares : of rows that `SingleLayer.place` has returned.
        """
        if self.single.of_landmarks:
            return squares + self.single.constants[0].max()
        if self.single.of_distance:
            return (squares + self.layer.centres[1].max()) / np.abs(self.layer.biases).min()
        longest = np.sqrt(np.einsum('ij,ij->i', self.layer.projections, self.layer.projections).max())
        return longest * np.sqrt(squares) + np.abs(self.layer.biases).max()

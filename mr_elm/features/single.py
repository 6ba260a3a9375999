"""Evaluate f(x) = [Phi(x), -1] B of many nodes in float32, tile by tile, with a bound of its error for each row.

float32 halves the bytes and doubles the numbers of an instruction. Products of tiles are added in float64.
"""
from functools import cached_property

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import NODES
from mr_elm.typing import Floats

FEWEST_NODES = 4096  # of a layer: a smaller one is fast as it is
ROWS, WIDTH = 512, 1024  # of a tile: 2 MB of float32, which stay in a core's cache
SAFETY = 4.0  # times the rounding of float32 on the sum of all |B|: 75 times the largest error seen on 8,000 landmarks


def takes_single(layer: HiddenLayer) -> bool:
    """Tell whether float32 pays for a layer, and its nodes are smooth: a step or a root enlarges rounding errors."""
    node = NODES[layer.kind]
    return layer.n_hidden >= FEWEST_NODES and node.slope is not None and not node.takes_root


class SingleLayer:
    """Hold a layer and output weights B, (L + 1, K), in float32."""

    def __init__(self, layer: HiddenLayer, B: Floats) -> None:
        self.layer, self.node = layer, NODES[layer.kind]
        self.B, self.bias = B[:-1].astype(np.float32), B[-1]
        self.size = float(np.abs(B).sum(axis=0).max())
        self.of_distance = self.node.family == 'distance'

    @cached_property
    def weights(self) -> np.ndarray:
        """Return the weights of projections, or -2 times the centres, (L, d or r)."""
        W = -2 * self.layer.weights if self.of_distance else self.node.gain * self.layer.projections
        return W.astype(np.float32)

    @cached_property
    def constants(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what is added to the products, (L,), and the biases, (L,)."""
        added = self.layer.centres[1] if self.of_distance else self.node.gain * self.layer.biases
        return added.astype(np.float32), self.layer.biases.astype(np.float32)

    def evaluate(self, X: Floats) -> tuple[Floats, Floats]:
        """Return decision values (n, K) of dense rows, and a bound of their errors, (n,)."""
        Z = self.layer.place_rows(X) if self.of_distance else (X - self.layer.offset) * self.layer.scale
        squares = np.einsum('ij,ij->i', Z, Z)
        values = np.tile(-self.bias, (len(X), 1))
        for start in range(0, len(X), ROWS):
            rows = slice(start, start + ROWS)
            self.add_products(Z[rows].astype(np.float32), squares[rows].astype(np.float32), values[rows])
        return values, SAFETY * 2.0**-24 * self.size * (1 + self.measure_size(squares))

    def add_products(self, Z: np.ndarray, squares: np.ndarray, values: Floats) -> None:
        """Add the products of some rows, scaled and of float32, with B to their decision values."""
        added, biases = self.constants
        for start in range(0, self.layer.n_hidden, WIDTH):
            nodes = slice(start, start + WIDTH)
            tile = Z @ self.weights[nodes].T
            tile += added[nodes]
            if self.of_distance:
                tile += squares[:, None]
                np.maximum(tile, 0, out=tile)
            self.node.activate(tile, biases[nodes])
            values += tile @ self.B[nodes]

    def measure_size(self, squares: Floats) -> Floats:
        """Return how large the terms of a pre-activation get, beside the width of its node, (n,)."""
        if self.of_distance:
            return (squares + self.layer.centres[1].max()) / np.abs(self.layer.biases).min()
        longest = np.sqrt(np.einsum('ij,ij->i', self.layer.projections, self.layer.projections).max())
        return longest * np.sqrt(squares) + np.abs(self.layer.biases).max()

"""Weigh the output weights of leaves and other nodes in one ridge regression.

    min_B  |E B - T|^2 + mu |B_leaves|^2 + lam B_nodes' (K + JITTER I) B_nodes + FREE b^2

E = [leaves | nodes | -1]. K (L, L) is the kernel between landmarks: the third term is the norm of their function in the
space of the kernel. For other nodes it is lam |B_nodes|^2. b is the bias.

    lam = 1 / nu,    mu = R / nu,    R the ridge of leaves

Source: Scholkopf, Smola, Learning with kernels, 2002, section 4.2 (the norm); leaves beside landmarks are ours.
"""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm.errors import one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.typing import Floats

JITTER = 1e-3  # added to the kernel between landmarks, whose values are at most 1: copies of a landmark share weights
FREE = 1e-6  # ridge of the bias, which is as good as free


@dataclass(frozen=True)
class Penalty:
    """Hold what the output weights of leaves and other nodes cost.

    n_leaves : they come first. leaves : mu, of each. nodes : lam (K + JITTER I), or lam I, (L, L), symmetric.
    """

    n_leaves: int
    leaves: float
    nodes: Floats
    __repr__ = one_line

    def add_to(self, system: Floats) -> None:
        """Add it to a matrix (m, m)."""
        first, last = self.n_leaves, len(system) - 1
        diagonal = np.arange(len(system))
        system[diagonal[:first], diagonal[:first]] += self.leaves
        system[first:last, first:last] += self.nodes
        system[last, last] += FREE

    def multiply(self, B: Floats) -> Floats:
        """Return the product with vectors (m, K)."""
        return np.concatenate([self.leaves * B[:self.n_leaves], self.nodes @ B[self.n_leaves:-1], FREE * B[-1:]])


def make_penalty(layer: HiddenLayer, mu: float, lam: float) -> Penalty:
    """Return the Penalty of the output weights of a layer with leaves."""
    return Penalty(layer.n_leaves, mu, lam * measure_nodes(layer))


def find_penalty(parameters: Mapping[str, Any], layer: HiddenLayer) -> Penalty | None:
    """Return the Penalty of a machine whose parameters name the ridge of its leaves, None for one without leaves."""
    if 'leaf_ridge' not in parameters:
        return None
    return make_penalty(layer, parameters['leaf_ridge'] / parameters['nu'], 1 / parameters['nu'])


def measure_nodes(layer: HiddenLayer) -> Floats:
    """Return K + JITTER I, (L, L), of the landmarks of a layer; I of other nodes."""
    if layer.kind not in LANDMARK_NODES.values():
        return np.eye(len(layer.biases))
    width = layer.weights.shape[1]
    placed = HiddenLayer(layer.kind, layer.weights, layer.biases, np.zeros(width), np.ones(width))
    K = placed.evaluate(layer.weights, np.empty((placed.n_hidden, placed.n_hidden)))
    return (K + K.T) / 2 + JITTER * np.eye(len(K))

"""Hold trees whose leaves are hidden nodes: a row has a 1 at one leaf of each tree, and a 0 at all other leaves."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.typing import Floats, Rows

FEW_ROWS = 2000  # up to which the compiler takes longer to load (0.3 s in 2026-11) than numpy to follow the rows


@dataclass(frozen=True)
class Forest:
    """Hold binary trees as arrays over their nodes, one tree behind the other.

    features : (n,), the feature that a node compares; -1 at a leaf.
    thresholds : (n,). A row goes to the first child where x <= threshold, else to the second; x is raw, not scaled.
    children : (n,), the number of the first child, the second is the next one; at a leaf the number of the leaf.
    roots : (n_trees,), the numbers of the first nodes. Leaves are numbered tree after tree.
    """

    features: np.ndarray
    thresholds: Floats
    children: np.ndarray
    roots: np.ndarray
    __repr__ = one_line

    @property
    def n_trees(self) -> int:
        """Return the number of trees."""
        return len(self.roots)

    @cached_property
    def n_leaves(self) -> int:
        """Return the number of leaves of all trees."""
        return int((self.features < 0).sum())

    @cached_property
    def used(self) -> np.ndarray:
        """Return the features that some node compares, in increasing order."""
        return np.unique(self.features[self.features >= 0])

    def find_leaves(self, X: Rows) -> np.ndarray:
        """Return the number of the leaf of each row in each tree, (n, n_trees) int32. X : (n, d), dense or CSR."""
        if sp.issparse(X):
            columns = sp.take_columns(X, self.used).toarray()
            return self._on_used_features.find_leaves(columns)
        if len(X) <= FEW_ROWS:
            return self._follow(X)
        from mr_elm.features.forest_loops import follow
        leaves = np.empty((len(X), self.n_trees), np.int32)
        follow(np.ascontiguousarray(X, dtype=float), self.features, self.thresholds, self.children, self.roots, leaves)
        return leaves

    @cached_property
    def _on_used_features(self) -> Forest:
        """Return the same trees for rows that have the used features alone."""
        features = np.where(self.features < 0, -1, np.searchsorted(self.used, self.features))
        return Forest(features, self.thresholds, self.children, self.roots)

    def _follow(self, X: Floats) -> np.ndarray:
        """Do what `follow` does, one level of all trees at a time."""
        nodes = np.tile(self.roots, (len(X), 1))
        rows = np.arange(len(X))[:, None]
        while True:
            features = self.features[nodes]
            inner = features >= 0
            if not inner.any():
                return self.children[nodes].astype(np.int32)
            goes_on = X[rows, features] > self.thresholds[nodes]
            nodes = np.where(inner, self.children[nodes] + goes_on, nodes)

    def take(self, n_trees: int) -> Forest:
        """Return the first trees."""
        if n_trees >= self.n_trees:
            return self
        last = self.roots[n_trees]
        return Forest(self.features[:last], self.thresholds[:last], self.children[:last], self.roots[:n_trees])


def write_indicators(leaves: np.ndarray, out: Floats) -> None:
    """Write the outputs of all leaves, (n, n_leaves), of rows whose leaves are given."""
    out[...] = 0.0
    np.put_along_axis(out, leaves.astype(np.int64), 1.0, axis=1)


def add_leaf_weights(leaves: np.ndarray, B: Floats, values: Floats) -> None:
    """Add the output weights of the leaves of each row: values (n, K) += sum over trees of B[leaf], B (n_leaves, K)."""
    for of_tree in leaves.T:
        values += B[of_tree]

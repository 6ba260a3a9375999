"""Hold trees whose leaves are hidden nodes: a row has a 1 at one leaf of each tree, and a 0 at all other leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.typing import Floats, Rows


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
    def depths(self) -> np.ndarray:
        """Return the largest number of comparisons on the way to a leaf of each tree, (n_trees,)."""
        depths = np.zeros(len(self.features), int)
        for node in np.flatnonzero(self.features >= 0):  # children stand behind their parents
            first = self.children[node]
            depths[first : first + 2] = depths[node] + 1
        return np.maximum.reduceat(depths, self.roots)

    @cached_property
    def used(self) -> np.ndarray:
        """Return the features that some node compares, in increasing order."""
        return np.unique(self.features[self.features >= 0])

    @cached_property
    def steps(self) -> tuple[np.ndarray, Floats, np.ndarray]:
        """Return, of each node, the place of its feature in `used`, its threshold, and where rows below it go.

        A leaf sends all rows to itself.
        """
        inner = self.features >= 0
        columns = np.where(inner, np.searchsorted(self.used, self.features), 0)
        following = np.where(inner, self.children, np.arange(len(inner)))
        return columns, np.where(inner, self.thresholds, np.inf), following

    def find_leaves(self, X: Rows) -> np.ndarray:
        """Return the number of the leaf of each row in each tree, (n, n_trees) int32. X : (n, d), dense or CSR."""
        parts = [self._find_leaves(X[start : start + BLOCK_ROWS]) for start in range(0, X.shape[0], BLOCK_ROWS)]
        if parts:
            return np.concatenate(parts)
        return np.zeros((0, self.n_trees), np.int32)

    def _find_leaves(self, X: Rows) -> np.ndarray:
        """Find the leaves of a block: all its rows walk down a tree together, as deep as it is."""
        if not len(self.used):
            return np.tile(self.children[self.roots], (X.shape[0], 1))
        if sp.issparse(X):
            numbers = sp.take_columns(X, self.used).toarray().ravel()
        else:
            numbers = X[:, self.used].ravel()
        columns, thresholds, following = self.steps
        first = np.arange(X.shape[0]) * len(self.used)  # number of each row
        leaves = np.empty((X.shape[0], self.n_trees), np.int32)
        for k, (root, depth) in enumerate(zip(self.roots, self.depths, strict=True)):
            nodes = np.full(len(first), root)
            for _ in range(depth):
                nodes = following[nodes] + (numbers[first + columns[nodes]] > thresholds[nodes])
            leaves[:, k] = self.children[nodes]
        return leaves

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

"""Hold trees whose leaves are hidden nodes: a row has a 1 at one leaf of each tree, and a 0 at all other leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.typing import Floats, Rows

MAX_LEAVES = 64  # of a tree: a word has a bit for each


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
    def depth(self) -> int:
        """Return the largest number of comparisons on the way to a leaf."""
        depths = np.zeros(len(self.features), int)
        for node in np.flatnonzero(self.features >= 0):  # children stand behind their parents
            first = self.children[node]
            depths[first : first + 2] = depths[node] + 1
        return int(depths.max())

    @cached_property
    def used(self) -> np.ndarray:
        """Return the features that some node compares, in increasing order."""
        return np.unique(self.features[self.features >= 0])

    @cached_property
    def masks(self) -> list[tuple[Floats, np.ndarray, np.ndarray]]:
        """Return thresholds, trees, and masks of each used feature.

        thresholds : (k,), increasing. trees : those that compare the feature. masks : (trees, k + 1) words. Word i has
        a 0 for each leaf that a row does not reach because its feature is above the first i thresholds.
        """
        tree_of = np.searchsorted(self.roots, np.arange(len(self.features)), side='right') - 1
        words = np.zeros(len(self.features), np.uint64)  # the leaves behind each node
        for node in range(len(words) - 1, -1, -1):  # children stand behind their parents
            if self.features[node] < 0:
                words[node] = np.uint64(1) << self.places[self.children[node]]
            else:
                words[node] = words[self.children[node]] | words[self.children[node] + 1]
        all_masks = []
        for feature in self.used:
            nodes = np.flatnonzero(self.features == feature)
            nodes = nodes[np.argsort(self.thresholds[nodes], kind='stable')]
            trees = np.unique(tree_of[nodes])
            masks = np.full((len(trees), len(nodes) + 1), ~np.uint64(0))
            for i, compared in enumerate(nodes):
                masks[:, i + 1] = masks[:, i]
                masks[np.searchsorted(trees, tree_of[compared]), i + 1] &= ~words[self.children[compared]]
            all_masks.append((self.thresholds[nodes], trees, masks))
        return all_masks

    @cached_property
    def places(self) -> np.ndarray:
        """Return the place of each leaf in its tree, from left to right, (n_leaves,) uint64."""
        places = np.zeros(self.n_leaves, np.uint64)
        for root in self.roots:
            waiting, place = [root], 0
            while waiting:
                node = waiting.pop()
                if self.features[node] < 0:
                    places[self.children[node]] = place
                    place += 1
                else:
                    waiting += [self.children[node] + 1, self.children[node]]
        return places

    @cached_property
    def leaf_numbers(self) -> np.ndarray:
        """Return the number of the leaf at each place of each tree, (n_trees, MAX_LEAVES)."""
        leaves = np.flatnonzero(self.features < 0)
        trees = np.searchsorted(self.roots, leaves, side='right') - 1
        numbers = np.zeros((self.n_trees, MAX_LEAVES), np.int32)
        numbers[trees, self.places[self.children[leaves]].astype(int)] = self.children[leaves]
        return numbers

    def find_leaves(self, X: Rows) -> np.ndarray:
        """Return the number of the leaf of each row in each tree, (n, n_trees) int32. X : (n, d), dense or CSR."""
        parts = [self._find_leaves(X[start : start + BLOCK_ROWS]) for start in range(0, X.shape[0], BLOCK_ROWS)]
        if parts:
            return np.concatenate(parts)
        return np.zeros((0, self.n_trees), np.int32)

    def _find_leaves(self, X: Rows) -> np.ndarray:
        """Find the leaves of a block: the first leaf of each tree, from left to right, that no comparison excludes.

        A comparison x > threshold excludes the leaves behind the first child of its node.
        Source: Lucchese et al., QuickScorer, 2015.
        """
        if sp.issparse(X):
            columns = sp.take_columns(X, self.used).toarray()
        else:
            columns = X[:, self.used]
        left = np.full((self.n_trees, X.shape[0]), ~np.uint64(0))
        for column, (thresholds, trees, masks) in zip(columns.T, self.masks, strict=True):
            left[trees] &= masks[:, np.searchsorted(thresholds, column)]
        first = left & (~left + np.uint64(1))  # the lowest 1
        places = np.log2(first.astype(float)).astype(int)
        return np.take_along_axis(self.leaf_numbers, places, axis=1).T.copy()

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

"""Map rows to hidden nodes, Phi(x) = g(W z + b) on scaled features z, in place, a block at a time.

`features.nodes` has the kinds of nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.features.forest import Forest, write_indicators
from mr_elm.features.kernels import finish_distances, row_squares, sum_rows
from mr_elm.features.metric import apply_metric
from mr_elm.features.nodes import NODES
from mr_elm.typing import Floats, Rows

CACHE_BYTES = 1 << 20  # bytes of pre-activations worked on at a time, so that they stay in a core's cache
MIN_ROWS = 128  # rows, below which a matrix product is slow


@dataclass(frozen=True)
class HiddenLayer:
    """Evaluate L nodes of one kind on raw rows, behind the leaves of trees where there are some.

    Scaling and metric are part of the layer; trees compare raw features.

    weights, biases : (L, d), (L,), on scaled features; (L, r) behind a metric (r, d). Landmarks may be CSR.
    offset, scale : (d,), z = (x - offset) * scale.
    metric : (d,), (r, d) or None; nodes see A z, see `features.metric`.
    forest : trees whose leaves are the first nodes, before those of the kind; None for no such nodes.
    """

    kind: str
    weights: np.ndarray
    biases: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    metric: np.ndarray | None = None
    forest: Forest | None = None
    __repr__ = one_line

    @property
    def n_leaves(self) -> int:
        """Return how many of the nodes are leaves."""
        if self.forest is None:
            return 0
        return self.forest.n_leaves

    @property
    def n_hidden(self) -> int:
        """Return the number of all nodes."""
        return self.n_leaves + len(self.biases)

    @cached_property
    def nodes(self) -> 'HiddenLayer':
        """Return the layer without its leaves."""
        if self.forest is None:
            return self
        return replace(self, forest=None)

    @property
    def n_features(self) -> int:
        """Return d."""
        return len(self.offset)

    @cached_property
    def projections(self) -> Floats:
        """Return the weights of projection nodes on scaled features, (L, d): the metric is folded in."""
        if self.metric is None:
            return self.weights
        if self.metric.ndim == 1:
            return self.weights * self.metric
        return self.weights @ self.metric

    @cached_property
    def factors(self) -> Floats:
        """Return what each feature is multiplied by, (d,), where the metric is no full one."""
        if self.metric is None:
            return self.scale
        return self.scale * self.metric

    @cached_property
    def folded(self) -> tuple[Floats, Floats]:
        """Fold the scaling into the nodes, so that sparse rows are never shifted: W (d, L), b (L,) for x W + b."""
        return self._fold(slice(None)), self._folded_biases

    def _fold(self, columns: slice | np.ndarray) -> Floats:
        """Return W of `folded` for some features. It is the only copy that is made: W may be as large as the memory."""
        factors = NODES[self.kind].gain * self.scale[columns]
        return np.multiply(self.projections[:, columns].T, factors[:, None], order='C')

    @cached_property
    def _folded_biases(self) -> Floats:
        gain = NODES[self.kind].gain
        if not self.offset.any():
            return gain * self.biases
        return gain * (self.biases - self.projections @ (self.scale * self.offset))

    @cached_property
    def dense_weights(self) -> Floats:
        """Return the weights as a dense array, also of sparse landmarks."""
        return sp.expand(self.weights)

    @cached_property
    def centres(self) -> tuple[Rows, Floats]:
        """Return the centres (d, L) of scaled rows, sparse where that multiplies faster, and their squared norms."""
        return turn(sp.expand_some(self.weights)), row_squares(self.weights)

    @cached_property
    def shifted_centres(self) -> tuple[Rows, Floats]:
        """Return the centres (d, L) as rows without an offset see them, and their squared norms."""
        if not self.offset.any():
            return self.centres
        A = self.dense_weights + self.offset * self.factors
        return turn(A), row_squares(A)

    @cached_property
    def augmented(self) -> Floats:
        """Return [W b], (L, d + 1), for scaled rows that end in 1."""
        return NODES[self.kind].gain * np.column_stack([self.projections, self.biases])

    def pass_metric(self, metric: Floats | None) -> 'HiddenLayer':
        """Return a layer without a metric as it is behind one: the same nodes on A z.

        Centres pass the metric as rows do. Weights (L, d) stay as they are, or are turned to the rows of A (r, d).
        """
        if metric is None:
            return self
        weights, biases = self.weights, self.biases
        if self.kind == 'identity':
            weights, biases = np.eye(len(metric)), np.zeros(len(metric))
        elif NODES[self.kind].family == 'distance':
            weights = apply_metric(weights, metric)
        elif metric.ndim == 2:
            weights = weights @ (metric / np.linalg.norm(metric, axis=1, keepdims=True)).T
        return replace(self, weights=weights, biases=biases, metric=metric)

    def take(self, n_hidden: int) -> 'HiddenLayer':
        """Return the layer of the first nodes."""
        return replace(self, weights=self.weights[:n_hidden], biases=self.biases[:n_hidden])

    def evaluate(self, X: Rows, out: Floats) -> Floats:
        """Write Phi(X) into out, (n, L), for dense or CSR rows X (n, d). Raises ValueError on another width."""
        if self.forest is not None:
            self.nodes.evaluate(X, out[:, self.n_leaves :])
            write_indicators(self.forest.find_leaves(X), out[:, : self.n_leaves])
            return out
        return self._fill(X, out, NODES[self.kind].activate)

    def find_leaves(self, X: Rows) -> np.ndarray | None:
        """Return the number of the leaf of each row in each tree, (n, n_trees); None where there are no trees."""
        if self.forest is None:
            return None
        return self.forest.find_leaves(X)

    def evaluate_slopes(self, X: Rows, out: Floats) -> Floats:
        """Write the slope of each node into out, (n, L). Raises ValueError where a kind has none."""
        slope = NODES[self.kind].slope
        if slope is None:
            raise ValueError(f'expected nodes with a slope to learn a metric by, found {self.kind}')
        return self._fill(X, out, slope)

    def _fill(self, X: Rows, out: Floats, function: Callable) -> Floats:
        if X.shape[1] != self.n_features:
            raise ValueError(f'expected rows of {self.n_features} features, found rows of {X.shape[1]}')
        node, step = NODES[self.kind], max(MIN_ROWS, CACHE_BYTES // (8 * max(self.n_hidden, 1)))
        if node.family == 'projection':
            see = self._project
        elif node.norm == 2:
            see = self._squared_distances
        else:  # rows become dense, and no product wants many of them
            see, step = self._absolute_distances, max(1, CACHE_BYTES // (8 * max(self.n_hidden, self.n_features)))
        for start in range(0, X.shape[0], step):
            part = out[start : start + step]
            see(X[start : start + step], part)
            function(part, self.biases)
        return out

    def _project(self, X: Rows, out: Floats) -> None:
        if sp.issparse(X):
            self._project_sparse(X, out)
        else:
            Z = np.ones((len(X), self.n_features + 1))
            np.subtract(X, self.offset, out=Z[:, :-1])
            Z[:, :-1] *= self.scale
            np.matmul(Z, self.augmented.T, out=out)

    def _project_sparse(self, X: Rows, out: Floats) -> None:
        """Write x W + b of sparse rows; where most features are 0 in all of them, without weights of these."""
        if 'folded' in self.__dict__ or sp.is_crowded(X):
            columns = None
        else:
            columns = sp.find_columns(X)
        if columns is None or 20 * len(columns) > self.n_features:  # to fold the weights of few columns is quicker
            W, b = self.folded
            multiply(X, W, out)
        else:
            b = self._folded_biases
            out[:] = sp.take_columns(X, columns) @ self._fold(columns)
        out += b

    def _squared_distances(self, X: Rows, out: Floats) -> None:
        """|z - a|^2 = |z|^2 + |a|^2 - 2 z.a; of sparse rows z and a are both moved by offset * factors."""
        if sp.issparse(X) and (self.metric is None or self.metric.ndim == 1):
            Z, (centres, centre_norms) = sp.multiply_columns(X, self.factors), self.shifted_centres
        else:
            Z, (centres, centre_norms) = self.place_rows(X), self.centres
        multiply(Z, centres, out)
        out *= -2.0
        finish_distances(out, row_squares(Z), centre_norms, NODES[self.kind].takes_root)

    def _absolute_distances(self, X: Rows, out: Floats) -> None:
        """Write sum_j |z_j - a_j|. Sparse rows become dense, but for features that are 0 in all centres."""
        W, columns = self.weights, None
        turned = self.offset.any() or (self.metric is not None and self.metric.ndim == 2)
        if sp.issparse(X) and sp.issparse(W) and not turned:
            columns = sp.find_columns(W)
        if columns is None:
            out[:] = linalg.cdist(self.place_rows(X), self.dense_weights, 'cityblock')
            return
        Z = sp.multiply_columns(X, self.factors)
        strip = sp.take_columns(Z, columns)
        out[:] = linalg.cdist(strip.toarray(), sp.take_columns(W, columns).toarray(), 'cityblock')
        out += (sum_rows(Z, np.abs(Z.data)) - sum_rows(strip, np.abs(strip.data)))[:, None]

    def place_rows(self, X: Rows) -> Floats:
        """Return A z, dense, (n, d or r)."""
        return apply_metric(((X.toarray() if sp.issparse(X) else X) - self.offset) * self.scale, self.metric)

    def bound(self, low: Floats, high: Floats) -> float:
        """Bound |Phi(x)| for rows whose features lie between low and high, (d,) each, before scaling."""
        node = NODES[self.kind]
        if node.bounded:
            return 1.0
        z = np.maximum(np.abs((low - self.offset) * self.scale), np.abs((high - self.offset) * self.scale))
        if node.family == 'projection':
            return float(max(1.0, (np.abs(self.projections) @ z + np.abs(self.biases)).max()))
        z = z if self.metric is None else apply_metric(z, np.abs(self.metric))
        apart = np.abs(self.weights) + z
        if node.norm == 2:
            farthest = (apart**2).sum(axis=1)
        else:
            farthest = apart.sum(axis=1) ** 2
        return float(max(1.0, np.sqrt(farthest + self.biases**2).max()))


def turn(weights: Rows) -> Rows:
    """Return weights (L, d) as (d, L), whose rows follow each other in memory."""
    if sp.issparse(weights):
        return weights.T.tocsr()
    return np.ascontiguousarray(weights.T)


def multiply(X: Rows, W: Rows, out: Floats) -> Floats:
    """Write X W into out for dense or CSR rows X, and return it; crowded CSR blocks are multiplied as dense ones."""
    if sp.issparse(W):
        if sp.issparse(X):
            out[:] = (X @ W).toarray()
        else:
            out[:] = (W.T @ X.T).T
        return out
    if not sp.issparse(X):
        return np.matmul(X, W, out=out)
    if sp.is_crowded(X):
        return np.matmul(X.toarray(), W, out=out)
    out[:] = X @ W
    return out

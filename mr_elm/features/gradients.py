"""Compute the average gradient outer product of a machine on hidden nodes, and the metric of it.

It tells where, and how much, the outputs change:

    f_k(z) = sum_j B_jk phi_j(A z),    G = 1/N sum_i sum_k grad f_k(z_i) grad f_k(z_i)',    z before the metric A

Projection nodes: G = V' [(B B') o S] V / N, with V = W A and the second Gram S = sum_i g'_i g'_i', g'_i the slopes of
the nodes at row i. Distance nodes: grad f_k = A' sum_j B_jk c_j(y) (y - a_j) at y = A z, with the slopes c_j; of
norm 1 there are the signs of y - a_j in place of y - a_j.

A function `along` takes from the gradients the directions that count: G is the product of what it returns.

Source: as in `features.metric`; the second Gram is ours.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import NODES
from mr_elm.parallel import sum_in_threads
from mr_elm.rows.blocks import fill_weights
from mr_elm.typing import Floats, Rows, RowWeights

BLOCK_NUMBERS = 1 << 22  # slopes, or gradients, in memory together
MAX_ROWS = 4096  # whose slopes are summed up together, at most
MAX_PRODUCTS = 1e10  # multiplications for gradients at distance nodes: fewer of the rows are taken beyond it
MIN_ROWS = 500  # rows that are taken all the same
Along = Callable[[Floats, np.ndarray], Floats]  # gradients (n, d), which features are used (d,) -> (n, m)
KEPT_SHARE = 0.999  # of the trace of G: a full metric leaves out directions that hold less


def average_gradients(
    layer: HiddenLayer,
    X: Rows,
    B: Floats,
    full: bool,
    weights: RowWeights = None,
    along: Along = np.multiply,
) -> Floats:
    """Return G, (d, d), or its diagonal, (d,). Features that are constant, or whose scale is 0, have no gradient.

    X : (n, d), raw rows, dense or CSR. B : (L, K), the output weights, without a bias. weights : (n,) of the rows.
    along : which directions count, all by default; of m directions G is (m, m), or (m,).
    """
    used = (layer.scale != 0) & find_varying(X)
    if NODES[layer.kind].family == 'projection':
        G = combine_slopes(layer, sum_slopes(layer, X, weights), B, full, used, along)
    else:
        G = sum_distance_gradients(layer, X, B, full, weights, used, along)
    return G / fill_weights(weights, X.shape[0]).sum()


def find_varying(X: Rows) -> np.ndarray:
    """Tell which features have different values in some rows, (d,) bool: nodes have slopes along all others too."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        return high.toarray().ravel() > low.toarray().ravel()
    return high > low


def combine_slopes(layer: HiddenLayer, S: Floats, B: Floats, full: bool, used: np.ndarray, along: Along) -> Floats:
    """Return V' [(B B') o S] V, (d, d), or its diagonal, of projection nodes. S : (L, L), symmetric."""
    V = along(layer.projections, used)
    PV = ((B @ B.T) * S) @ V
    if full:
        return V.T @ PV
    return np.einsum('ij,ij->j', V, PV)


def sum_slopes(layer: HiddenLayer, X: Rows, weights: RowWeights) -> Floats:
    """Return the second Gram S, (L, L), of the slopes of the nodes at some rows."""
    step = max(1, min(MAX_ROWS, BLOCK_NUMBERS // layer.n_hidden))

    def sum_part(start: int) -> Floats:
        part = slice(start, start + step)
        slopes = evaluate_slopes(layer, X[part])
        if weights is not None:
            slopes *= np.sqrt(weights[part])[:, None]
        return slopes.T @ slopes

    return sum_in_threads(sum_part, range(0, X.shape[0], step))


def sum_distance_gradients(
    layer: HiddenLayer, X: Rows, B: Floats, full: bool, weights: RowWeights, used: np.ndarray, along: Along
) -> Floats:
    """Return the sum of grad f grad f', (d, d), or its diagonal, of distance nodes.

    Of many rows the first are taken, and stand for all.
    """
    work = layer.n_hidden * layer.weights.shape[1] * B.shape[1]
    n = min(X.shape[0], max(MIN_ROWS, int(MAX_PRODUCTS / work)))
    metric, total = layer.metric, np.zeros(())
    # its r numbers are turned back at the end
    mixing = None
    if metric is not None and metric.ndim == 2:
        mixing = metric
    if NODES[layer.kind].norm == 2:
        together = 1
    else:
        together = B.shape[1]
    step = max(1, BLOCK_NUMBERS // max(layer.n_hidden, layer.n_features * together))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        for gradients in sum_gradients(layer, layer.place_rows(X[part]), evaluate_slopes(layer, X[part]), B):
            if mixing is None:
                gradients = along(gradients if metric is None else gradients * metric, used)
            if weights is not None:
                gradients *= np.sqrt(weights[part])[:, None]
            if full or mixing is not None:
                total = total + gradients.T @ gradients
            else:
                total = total + np.einsum('ij,ij->j', gradients, gradients)
    if weights is None:
        share = n / X.shape[0]
    else:
        share = weights[:n].sum() / weights.sum()
    total = total / share
    if mixing is None:
        return total
    A = along(mixing, used)
    if full:
        return A.T @ total @ A
    return np.einsum('ij,ij->j', A, total @ A)


def sum_gradients(layer: HiddenLayer, Y: Floats, slopes: Floats, B: Floats) -> Iterator[Floats]:
    """Yield the gradients of each output at rows Y behind the metric, (n, d or r). slopes : (n, L). B : (L, K)."""
    if NODES[layer.kind].norm == 2:
        yield from ((slopes @ b)[:, None] * Y - slopes @ (b[:, None] * layer.dense_weights) for b in B.T)
    else:
        along = [(slopes * np.sign(y[:, None] - a)) @ B for y, a in zip(Y.T, layer.dense_weights.T, strict=True)]
        yield from np.stack(along, axis=2).swapaxes(0, 1)


def evaluate_slopes(layer: HiddenLayer, X: Rows) -> Floats:
    """Return the slopes of the nodes at some rows, (n, L)."""
    return layer.evaluate_slopes(X, np.empty((X.shape[0], layer.n_hidden)))


def make_metric(gradients: Floats, variances: Floats | None = None) -> Floats | None:
    """Return the metric of an average gradient outer product, or None where that is 0.

    The sum of (A'A)_jj variances_j is that of the variances: of uncorrelated features rows spread behind the metric as
    far as before it, so that the widths of nodes and kernels keep their meaning.
    gradients : G, (d, d), or its diagonal, (d,). A full metric (r, d) keeps the leading eigenvectors of G that hold
    99.9 % of its trace.
    variances : (d,) of the features before the metric; None where all are 1: the trace of A'A is then d.
    """
    if variances is None:
        variances = np.ones(gradients.shape[-1])
    if gradients.ndim == 1:
        metric = np.sqrt(np.maximum(gradients, 0.0))
    else:
        values, vectors = linalg.eigh(gradients)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        n_kept = 1 + int(np.searchsorted(np.cumsum(values), KEPT_SHARE * values.sum()))
        metric = np.sqrt(values[:n_kept, None]) * vectors[:, :n_kept].T
    size = float((metric**2 * variances).sum())
    if 0 < size < np.inf:
        return metric * np.sqrt(variances.sum() / size)
    return None

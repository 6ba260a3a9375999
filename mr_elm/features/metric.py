"""Apply a learned metric A of the features: scaled rows z enter as A z, where trace(A'A) = d.

A metric is an array (d,), the diagonal of A, or (r, d) with orthogonal rows. It comes from the average gradient outer
product G of a fitted machine f, the mean of grad f grad f' over rows and outputs: A'A is proportional to G, so that
directions count as much as f changes along them.

Source: Radhakrishnan et al., Mechanism for feature learning in neural networks and backpropagation-free machine
learning models, 2024.
"""
import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from mr_elm.typing import Floats, Rows

KINDS = ('none', 'diagonal', 'full')
MOST_FEATURES = 2000  # of a full metric
KEPT = 0.999  # of the trace of G: a full metric leaves out directions that hold less


def apply_metric(Z: Rows, metric: Floats | None) -> Rows:
    """Return the rows A z, (n, d or r). CSR rows stay sparse behind a diagonal and become dense behind a full metric.

    Z : (n, d), scaled. metric : (d,), (r, d), or None, which leaves the rows as they are.
    """
    if metric is None:
        return Z
    if metric.ndim == 2:
        return Z @ metric.T
    return sp.csr_matrix(Z.multiply(metric)) if sp.issparse(Z) else Z * metric


def make_metric(gradients: Floats) -> Floats | None:
    """Return the metric of an average gradient outer product, or None where that is 0.

    gradients : G, (d, d), or its diagonal, (d,). A full metric (r, d) keeps the leading eigenvectors of G that hold
    99.9 % of its trace.
    """
    if gradients.ndim == 1:
        metric = np.sqrt(np.maximum(gradients, 0.0))
    else:
        values, vectors = eigh(gradients)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        n_kept = 1 + int(np.searchsorted(np.cumsum(values), KEPT * values.sum()))
        metric = np.sqrt(values[:n_kept, None]) * vectors[:, :n_kept].T
    size = float((metric**2).sum())
    return metric * np.sqrt(gradients.shape[-1] / size) if 0 < size < np.inf else None


def measure_importance(metric: Floats) -> Floats:
    """Return the importance of each feature, (d,): the diagonal of A'A, divided by its sum."""
    squares = metric**2 if metric.ndim == 1 else (metric**2).sum(axis=0)
    return squares / squares.sum()


def choose_kind(kind: str, n_features: int, sparse: bool) -> str:
    """Return the kind of metric to learn: diagonal instead of full for sparse rows and for more than 2,000 features."""
    if kind not in KINDS:
        raise ValueError(f'metric: expected one of {", ".join(KINDS)}, found {kind!r}')
    return 'diagonal' if kind == 'full' and (sparse or n_features > MOST_FEATURES) else kind

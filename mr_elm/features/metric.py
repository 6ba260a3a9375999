"""Apply a learned metric A of the features: scaled rows z enter as A z, where trace(A'A) = d.

A metric is an array (d,), the diagonal of A, or (r, d) with orthogonal rows. It comes from the average gradient outer
product G of a fitted machine f, the mean of grad f grad f' over rows and outputs: A'A is proportional to G, so that
directions count as much as f changes along them.

Source: Radhakrishnan et al., Mechanism for feature learning in neural networks and backpropagation-free machine
learning models, 2024.
"""
from mr_elm import sparse as sp
from mr_elm.typing import Floats, Rows

KINDS = ('none', 'diagonal', 'full')
MOST_FEATURES = 2000  # of a full metric


def apply_metric(Z: Rows, metric: Floats | None) -> Rows:
    """Return the rows A z, (n, d or r). CSR rows stay sparse behind a diagonal and become dense behind a full metric.

    Z : (n, d), scaled. metric : (d,), (r, d), or None, which leaves the rows as they are.
    """
    if metric is None:
        return Z
    if metric.ndim == 2:
        return Z @ metric.T
    return sp.csr_matrix(Z.multiply(metric)) if sp.issparse(Z) else Z * metric


def measure_importance(metric: Floats) -> Floats:
    """Return the importance of each feature, (d,): the diagonal of A'A, divided by its sum."""
    squares = metric**2 if metric.ndim == 1 else (metric**2).sum(axis=0)
    return squares / squares.sum()


def choose_kind(kind: str, n_features: int, sparse: bool) -> str:
    """Return the kind of metric to learn: diagonal instead of full for sparse rows and for more than 2,000 features."""
    if kind not in KINDS:
        raise ValueError(f'metric: expected one of {", ".join(KINDS)}, found {kind!r}')
    return 'diagonal' if kind == 'full' and (sparse or n_features > MOST_FEATURES) else kind

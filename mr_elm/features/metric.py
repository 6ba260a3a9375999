"""Apply a learned metric A of the features: scaled rows z enter as A z.

A is so large that A z spreads as far as z: the sum of (A'A)_jj var z_j is v, the sum of the variances. On standardised
rows trace(A'A) = d.

A metric is an array (d,), the diagonal of A, or (r, d) with orthogonal rows. It comes from the average gradient outer
product G of a fitted machine f, the mean of grad f grad f' over rows and outputs: A'A is proportional to G, so that
directions count as much as f changes along them.

Source: Radhakrishnan et al., Mechanism for feature learning in neural networks and backpropagation-free machine
learning models, 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import demand_choice, one_line
from mr_elm.rows.encoding import CATEGORY, Encoding
from mr_elm.typing import Floats, Rows

KINDS = ('none', 'diagonal', 'full')
MAX_FEATURES = 2000  # of a full metric


def apply_metric(Z: Rows, metric: Floats | None) -> Rows:
    """Return the rows A z, (n, d or r). CSR rows stay sparse behind a diagonal and become dense behind a full metric.

    Z : (n, d), scaled. metric : (d,), (r, d), or None, which leaves the rows as they are.
    """
    if metric is None:
        return Z
    if metric.ndim == 2:
        return Z @ metric.T
    if sp.issparse(Z):
        return sp.multiply_columns(Z, metric)
    return Z * metric


@dataclass(frozen=True)
class Importance:
    """Hold the shares of the features, and those of the columns of the rows: each list sums to 1."""

    features: list[float]
    columns: list[float]


@dataclass(frozen=True)
class FeatureColumns:
    """Know which features are indicators of the categories of one column, and how features vary in the training rows.

    mean, variance : (d,), of unscaled features over all rows of the training.
    starts : the first feature of each column, and behind them d; None where each column is one feature.
    categories : (number of the column, features) of all categories. In each row one of them is 1, all others are 0: no
        row moves along (1, ..., 1), and yet machines have a gradient along it.
    """

    mean: Floats
    variance: Floats
    starts: list[int] | None
    categories: list[tuple[int, slice]]
    __repr__ = one_line

    @classmethod
    def of(cls, statistics: Any, encoding: Encoding | None = None) -> FeatureColumns:
        """Make them of the ColumnStatistics of encoded rows, and of the Encoding of these."""
        variance = statistics.deviation**2
        if encoding is None:
            return cls(statistics.mean, variance, None, [])
        categories = [(number, features) for number, part, features in encoding.parts if part.kind == CATEGORY]
        return cls(statistics.mean, variance, encoding.starts, categories)

    def project(self, gradients: Floats, used: np.ndarray) -> Floats:
        """Take away the parts of gradients (n, d) along which no row moves: P g, P = I - 11'/k of k indicators.

        used : (d,) bool, the features that differ between rows.
        """
        gradients = gradients * used
        for _, part in self.categories:
            n_used = used[part].sum()
            if n_used:
                means = gradients[:, part].sum(axis=1, keepdims=True) / n_used
                gradients[:, part] -= means * used[part]
        return gradients

    def project_and_average(self, gradients: Floats, used: np.ndarray) -> Floats:
        """Return projected gradients, and behind them p'g of each column of categories, (n, d + C); p : frequencies."""
        projected = self.project(gradients, used)
        averages = [projected[:, part] @ self.mean[part] for _, part in self.categories]
        return np.column_stack([projected, *averages])

    def measure_importance(self, squares: Floats, scale: Floats) -> Importance | None:
        """Return the importance of features, M_jj S_jj, and of columns, tr(M_cc S_cc); None where nothing changes.

        M is the average outer product of projected gradients, S the covariance of the scaled features. Indicators of
        one column have S_cc = diag(p) - pp', so tr(M_cc S_cc) = sum_j p_j M_jj - p' M_cc p. A number and the indicator
        of its missing values have covariance 0, because the mean stands for a missing number. Days, month, weekday
        and hour of a date count as if they had covariance 0 too.

        squares : (d + C,), mean squares of `project_and_average`: M_jj of each feature, p' M_cc p of each column of
        categories. scale : (d,), of the features.
        """
        d = len(self.mean)
        features = squares[:d] * self.variance * scale**2
        if not 0 < features.sum() < np.inf:
            return None
        columns = features
        if self.starts is not None:
            terms = features.copy()
            for _, part in self.categories:
                terms[part] = squares[part] * self.mean[part]
            columns = np.add.reduceat(terms, self.starts[:-1])
            np.subtract.at(columns, [number for number, _ in self.categories], squares[d:])
            columns = np.maximum(columns, 0.0)
        return Importance((features / features.sum()).tolist(), (columns / columns.sum()).tolist())


def choose_kind(kind: str, n_features: int, sparse: bool) -> str:
    """Return the kind of metric to learn: diagonal instead of full for sparse rows and for more than 2,000 features."""
    demand_choice('metric', kind, KINDS)
    if kind == 'full' and (sparse or n_features > MAX_FEATURES):
        return 'diagonal'
    return kind

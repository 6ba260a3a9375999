"""Choose offset and scale of every feature, z = (x - offset) * scale, and measure how far scaled rows spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError, one_line
from mr_elm.typing import Floats, Rows

SCALES = ('standard', 'minmax', 'none')


def count_from_0(feature: int) -> str:
    """Name a column that has no name."""
    return f'{feature} (counted from 0)'


def choose_scaling(
    kind: str,
    statistics: Any,
    indicators: np.ndarray | None = None,
    name: Callable[[int], str] = count_from_0,
    power: int = 2,
) -> tuple[Floats, Floats]:
    """Return (offset, scale), each (d,), from ColumnStatistics.

    kind : standard (mean 0, population standard deviation 1), minmax (the papers' [-1, 1]) or none.
    Under standard and minmax a constant feature has the scale 0: it is ignored, whatever its value in later rows.
    indicators : (d,) bool, features that are 1 or 0 and stay so unless they are constant; none by default.
    name, power : see `demand_scalable`, which raises DataFormatError for a column whose numbers are too large.
    """
    low, high = statistics.minimum, statistics.maximum
    offset, scale = np.zeros(len(low)), np.ones(len(low))
    if kind != 'none':
        if kind == 'standard':
            offset, width = statistics.mean, statistics.deviation
        else:
            offset, width = low / 2 + high / 2, high / 2 - low / 2
        constant = (high <= low) | (width < np.finfo(float).tiny)  # beyond which 1 / width is infinite
        width = np.where(np.isinf(width), np.nan, width)  # 1 / inf would leave the column out in silence
        offset, scale = np.where(constant, low, offset), np.where(constant, 0.0, 1 / np.where(constant, 1.0, width))
        if indicators is not None:
            offset, scale = np.where(indicators, 0.0, offset), np.where(indicators & ~constant, 1.0, scale)
    demand_scalable((low, high), statistics.n, offset, scale, name, power)
    return offset, scale


def demand_scalable(
    bounds: tuple[Floats, Floats],
    n: float,
    offset: Floats,
    scale: Floats,
    name: Callable[[int], str],
    power: int = 2,
) -> None:
    """Raise DataFormatError for a column whose scaled numbers are not finite, or too large to add up powers of them.

    bounds : (least, largest) of each feature of rows, which may have fewer than d features. n : sum of their weights.
    offset, scale : (d,).
    name : function (number of a feature) -> its column, for the message.
    power : which power of the scaled numbers is added up: 2 for distances and variances, see also `Kernel.power`.
    """
    (low, high), d = bounds, len(bounds[0])
    with np.errstate(over='ignore', invalid='ignore'):
        largest = np.maximum(np.abs(low - offset[:d]), np.abs(high - offset[:d])) * scale[:d]
        too_large = ~np.isfinite(n * d * largest**power)
    if too_large.any():
        feature = int(too_large.argmax())
        bound = max(abs(float(low[feature])), abs(float(high[feature])))
        what = 'kernel values'
        if power == 2:
            what = 'squares'
        raise DataFormatError(
            f'column {name(feature)}: expected numbers whose {what} can be added up in float64, '
            f'found numbers as large as {bound:.3g}, too large to scale: where such a number '
            'stands for a missing value, leave the field empty and encode missing values; else '
            'divide the column by a constant, or use the scale minmax'
        )


@dataclass(frozen=True)
class ScaledMoments:
    """Hold mean and variance of every feature behind its scaling, over the rows of a training.

    means, variances : (d,). A constant feature has the variance 0, a standardised one exactly 1.
    indicators : (d,) bool, features that are 1 or 0, or None.
    """

    means: Floats
    variances: Floats
    indicators: np.ndarray | None = None
    __repr__ = one_line

    @classmethod
    def of(
        cls, kind: str, statistics: Any, scaling: tuple[Floats, Floats], indicators: np.ndarray | None = None
    ) -> ScaledMoments:
        """Measure the features of ColumnStatistics.

        scaling : the (offset, scale) that `choose_scaling` has chosen; kind, indicators : as it was given them.
        """
        offset, scale = scaling
        low, high = statistics.minimum, statistics.maximum
        with np.errstate(over='ignore', invalid='ignore'):
            variances = np.where(high > low, (statistics.deviation * scale) ** 2, 0.0)
        # no deviation is larger than half the range, also where the squares of the numbers overflow
        variances = np.fmin(variances, ((high / 2 - low / 2) * scale) ** 2)
        if kind == 'standard':
            standardised = scale != 0
            if indicators is not None:
                standardised &= ~indicators
            variances[standardised] = 1.0  # so that v is d, without rounding
        return cls((np.clip(statistics.mean, low, high) - offset) * scale, variances, indicators)

    @classmethod
    def of_standardised(cls, n_features: int) -> ScaledMoments:
        """Return those of rows whose features all have mean 0 and variance 1."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @property
    def total_variance(self) -> float:
        """Return v, the sum of the variances; 1 where all features are constant. Two rows are sqrt(2 v) apart."""
        return round_size(self.variances.sum())

    def measure(self, norm: int) -> float:
        """Return how far rows spread in the norm 1 or 2: the width of a kernel for the weight scale 1.

        Norm 2: sqrt(v). Norm 1: the sum over the features of the deviation, for an indicator of 2 p (1 - p), which is
        the mean distance of two rows; where p = 1/2 both are the same. d on standardised rows.
        """
        if norm == 2:
            return float(np.sqrt(self.total_variance))
        sizes = np.sqrt(self.variances)
        if self.indicators is not None:
            sizes = np.where(self.indicators, 2 * self.variances, sizes)
        return round_size(sizes.sum())


def moments_of_nodes(map: str, scale: str, moments: ScaledMoments) -> ScaledMoments:
    """Return the moments that nodes are drawn by.

    Random nodes on rows without scaling are those of standardised rows, whatever the rows are: so machines that were
    trained on parts of the rows have the same nodes, and one can be compared and merged with another.
    """
    if scale == 'none' and map != 'nystrom':
        return ScaledMoments.of_standardised(len(moments.variances))
    return moments


def round_size(size: float) -> float:
    """Return a sum of variances with 12 digits, so that it does not depend on how text was split; 1 in place of 0."""
    if size > 0:
        return float(f'{size:.12g}')
    return 1.0


def scale_rows(X: Rows, offset: Floats, scale: Floats) -> Rows:
    """Return (x - offset) * scale; offset, scale : (d,), or () where all are equal.

    CSR rows stay sparse where the offset is 0. Elsewhere they become dense, but for columns of scale 0: where these are
    more than half, the rows are CSR whose other columns are full.
    """
    if not offset.any():
        if (scale == 1).all():
            return X
        if sp.issparse(X):
            return sp.multiply_columns(X, scale)
        return X * scale
    if not sp.issparse(X):
        return (X - offset) * scale
    (n, d), columns = X.shape, np.flatnonzero(np.broadcast_to(scale, X.shape[1:]))
    if 2 * len(columns) > d:
        return (X.toarray() - offset) * scale
    offset, scale = (np.broadcast_to(each, d)[columns] for each in (offset, scale))
    Z = (sp.take_columns(X, columns).toarray() - offset) * scale
    ends = np.arange(n + 1) * len(columns)
    return sp.csr_matrix((Z.ravel(), np.tile(columns.astype(np.int32), n), ends), shape=(n, d))

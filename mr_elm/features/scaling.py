"""Choose offset and scale of every feature: z = (x - offset) * scale."""
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.typing import Floats, Rows

SCALES = ('standard', 'minmax', 'none')


def choose_scaling(kind: str, statistics: Any, indicators: np.ndarray | None = None) -> tuple[Floats, Floats]:
    """Return (offset, scale), each (d,), from ColumnStatistics.

    kind : standard (mean 0, population standard deviation 1), minmax (the papers' [-1, 1]) or none.
    Under standard and minmax a constant feature has the scale 0: it is ignored, whatever its value in later rows.
    indicators : (d,) bool, features that are 1 or 0 and stay so unless they are constant; none by default.
    """
    d = statistics.n_features
    if kind == 'none':
        return np.zeros(d), np.ones(d)
    low, high = statistics.minimum, statistics.maximum
    constant = high <= low
    if kind == 'standard':
        offset, width = statistics.mean, statistics.deviation
    elif kind == 'minmax':
        offset, width = low / 2 + high / 2, high / 2 - low / 2
    else:
        raise ValueError(f'scale: expected one of {", ".join(SCALES)}, found {kind!r}')
    constant = constant | (width < np.finfo(float).tiny)  # beyond which 1 / width is infinite
    offset, scale = np.where(constant, low, offset), np.where(constant, 0.0, 1 / np.where(constant, 1.0, width))
    if indicators is not None:
        offset, scale = np.where(indicators, 0.0, offset), np.where(indicators & ~constant, 1.0, scale)
    return offset, scale


def scale_rows(X: Rows, offset: Floats, scale: Floats) -> Rows:
    """Return (x - offset) * scale. CSR rows stay sparse where the offset is 0 and become dense elsewhere."""
    if not offset.any():
        if (scale == 1).all():
            return X
        return sp.csr_matrix(X.multiply(scale)) if sp.issparse(X) else X * scale
    return ((X.toarray() if sp.issparse(X) else X) - offset) * scale

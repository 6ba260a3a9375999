"""Predict intervals from the errors of rows that were held out: the jackknife, with widths that follow the leverage.

    f(x) +- q sqrt(1 + h(x)),  q the ceil(coverage (n + 1))-th smallest of |t_i - f_(i)(x_i)| / sqrt(1 + h_(i)(x_i))
    h(x) = e(x)'(I/nu + E'WE)^-1 e(x), or 0 everywhere where the sums E'WE are not at hand

f_(i), h_(i) are of the machine of all rows but i: h_(i)(x_i) = h_i / (1 - w_i h_i), w_i h_i the leverage of row i.

Source: Barber et al., Predictive inference with the jackknife+, 2021, section 1; the scaling is ours.
"""

import numpy as np

from mr_elm.typing import Floats


def scale_residuals(residuals: Floats, leverages: Floats, weights: Floats) -> Floats:
    """Return residuals of leave-one-out over sqrt(1 + h), (n,). leverages : w_i h_i, (n,). weights : (n,)."""
    return residuals / np.sqrt(1 + leverages / weights / np.maximum(1 - leverages, 1e-9))


def sort_sizes(residuals: Floats, weights: Floats) -> Floats:
    """Return the sizes of residuals in increasing order, (n,).

    weights : (n,); a row of a larger weight stands for more of the n numbers.
    """
    sizes = np.abs(residuals)
    order = np.argsort(sizes)
    below = np.cumsum(weights[order])
    n = len(sizes)
    return sizes[order][np.searchsorted(below / below[-1], (np.arange(n) + 1) / n - 1e-9)]


def find_quantile(sizes: Floats, coverage: float) -> float:
    """Return q. sizes : see `sort_sizes`. Raises ValueError when they are too few for the coverage."""
    rank = int(np.ceil(coverage * (len(sizes) + 1) - 1e-9))
    if coverage <= 0 or rank > len(sizes):
        raise ValueError(
            f'expected a coverage above 0 and at most {len(sizes) / (len(sizes) + 1):.4g}, as '
            f'{len(sizes):,} rows held out allow, found {coverage:g}'
        )
    return float(sizes[rank - 1])


def measure_coverage(sizes: Floats, residuals: Floats) -> tuple[Floats, Floats]:
    """Return shares of the targets that intervals of one width are to hold, and that they hold.

    sizes : see `sort_sizes`. residuals : of other rows, (n,).
    """
    shares = np.arange(1, len(sizes) + 1) / (len(sizes) + 1)
    return shares, np.searchsorted(np.sort(np.abs(residuals)), sizes, side='right') / len(residuals)

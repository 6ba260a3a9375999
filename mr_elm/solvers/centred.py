"""Center the targets of a regression, so that what is solved for depends neither on where their zero is nor on units.

    T = (t - m) / u,    m = sum w t / sum w,    f(x) = m + u f_T(x)

t (N, K) targets, w (N,) weights of the rows, m (K,) means, u (K,) powers of two near the deviations, which round
nothing. m is not penalised. When row i leaves, the mean of the others is m + d_i:

    d_i = w_i (m - t_i) / (sum w - w_i)
"""

from dataclasses import dataclass

import numpy as np

from mr_elm.errors import one_line
from mr_elm.rows.blocks import fill_weights
from mr_elm.typing import Floats, RowWeights


def choose_units(deviations: Floats) -> Floats:
    """Return a power of two near each deviation, (K,); 1 for 0."""
    return np.where(deviations > 0, 2.0 ** np.round(np.log2(np.where(deviations > 0, deviations, 1.0))), 1.0)


@dataclass(frozen=True)
class CentredTargets:
    """Hold centred targets T (N, K), and the mean m and the unit u of each, (K,). weights : (N,), None for 1.

    The unit of a constant target is 0: what a solver makes of its T, which is 0, is rounding.
    """

    T: Floats
    mean: Floats
    units: Floats
    weights: RowWeights
    __repr__ = one_line

    @classmethod
    def of(cls, targets: Floats, weights: RowWeights = None) -> 'CentredTargets':
        """Center targets, (N, K): their mean is found in two steps, so that it has all digits of their spread."""
        first = np.where(np.ptp(targets, axis=0) == 0, targets[0], np.average(targets, axis=0, weights=weights))
        rest = targets - first
        second = np.average(rest, axis=0, weights=weights)
        centred = rest - second
        deviations = np.sqrt(np.average(centred**2, axis=0, weights=weights))
        units = choose_units(deviations)
        return cls(centred / units, first + second, np.where(deviations > 0, units, 0.0), weights)

    @property
    def moves(self) -> Floats:
        """Return d / u, (N, K): how far the mean moves when a row leaves; 0 where no other row has a weight."""
        w = fill_weights(self.weights, len(self.T))[:, None]
        others = w.sum() - w
        return np.where(others > 0, -w * self.T / np.where(others > 0, others, 1.0), 0.0)

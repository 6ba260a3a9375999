"""Choose offset and scale of every feature: z = (x - offset) * scale."""
import numpy as np

SCALES = ('standard', 'minmax', 'none')


def choose_scaling(kind, statistics):
    """Return (offset, scale), each (d,), from ColumnStatistics.

    kind : standard (mean 0, population standard deviation 1), minmax (the papers' [-1, 1]) or none.
    A constant feature becomes 0 under standard and minmax.
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
        raise ValueError(f'scale: one of {", ".join(SCALES)} was expected, {kind!r} came')
    constant = constant | (width <= 0)
    return np.where(constant, low, offset), 1 / np.where(constant, 1.0, width)


def scale_range(low, high, offset, scale):
    """Return the range of the scaled features."""
    return (low - offset) * scale, (high - offset) * scale

"""Let a model live: add the sums of new rows to those it keeps, or take those of old rows away, and solve again.

    [w; r] = (I/nu + E0'E0 + E1'E1)^-1 (E0'T0 + E1'T1)

E0, T0 are the rows that the model knows, E1, T1 those that come (or leave, with minus for plus). The sums are exact,
so that records that leave as they came give the old bits back.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, IESVM and PIESVM. Ours: forgetting, classes
that come late, exact sums.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import compress

import numpy as np

from mr_elm.errors import AccountingError, NumericalWarning
from mr_elm.solvers.ridge import Sums, factor_ridge
from mr_elm.sums.exact_sum import add_pair, add_values
from mr_elm.sums.gram import GridSteps, pack_upper, unpack_upper

UNIT_ROUNDOFF = np.finfo(float).eps / 2
OF_CLASSES = ('class_sums', 'class_sums_low', 'counts', 'counts_low')
DOUBTFUL_ERROR = 1e3  # times u |E'E|: what lies below this is rounding


def sums_of(arrays: Mapping[str, np.ndarray]) -> Sums:
    """Read the Sums of a model's arrays."""
    low = {'counts_low': np.zeros_like(arrays['counts']), **arrays}
    return Sums(
        *(unpack_upper(low[name.name]) if name.name.startswith('gram') else low[name.name] for name in fields(Sums))
    )


def sum_arrays(sums: Sums) -> dict[str, np.ndarray]:
    """Name the arrays of Sums as the model file does."""
    return {
        name.name: pack_upper(part) if name.name.startswith('gram') else part
        for name in fields(sums)
        for part in [getattr(sums, name.name)]
    }


def select_classes(sums: Sums, numbers: np.ndarray) -> Sums:
    """Return the Sums with some of the classes."""
    return replace(sums, **{name: getattr(sums, name)[numbers] for name in OF_CLASSES})


def place_classes(sums: Sums, numbers: Sequence[int] | np.ndarray, n_classes: int) -> Sums:
    """Return Sums of n_classes classes, where class k of those given is class numbers[k]."""
    wide = {}
    for name in OF_CLASSES:
        part = getattr(sums, name)
        wide[name] = np.zeros((n_classes, *part.shape[1:]))
        wide[name][numbers] = part
    return replace(sums, **wide)


def move_origin(sums: Sums, steps: GridSteps, origin: tuple[float, ...]) -> Sums:
    """Return the Sums of a regression whose targets are counted from another origin.

    steps : grids of the sums, and the origin that they have. This rounds, as the product of a block does.

        E'(T + s) = E'T + s E'1,    (T + s)'(T + s) = T'T + 2 s T'1 + s^2 1'1,    E'1 = -(last column of E'E)
    """
    if steps.origin == origin:
        return sums
    s = np.array(steps.origin) - np.array(origin)
    E1, T1 = -sums.gram[:, -1], -sums.class_sums[:, -1]
    high, low = sums.class_sums.copy(), sums.class_sums_low.copy()
    squares, squares_low = sums.counts.copy(), sums.counts_low.copy()
    add_values(high, low, s[:, None] * E1, steps.target)
    add_values(squares, squares_low, s * (2 * T1 + s * sums.gram[-1, -1]), steps.square)
    return replace(sums, class_sums=high, class_sums_low=low, counts=squares, counts_low=squares_low)


def add_sums(sums: Sums, other: Sums, sign: int = 1) -> Sums:
    """Return the Sums of both sets of rows; with sign -1 those of the rows of `sums` that are not in `other`."""
    parts: dict[str, np.ndarray] = {}
    for name in ('gram', 'class_sums', 'counts'):
        high, low = getattr(sums, name).copy(), getattr(sums, f'{name}_low').copy()
        add_pair(high, low, sign * getattr(other, name), sign * getattr(other, f'{name}_low'))
        parts |= {name: high, f'{name}_low': low}
    return Sums(**parts)


def size_of(sums: Sums) -> float:
    """Return the trace of E'E, a bound on its norm."""
    return float(np.trace(sums.gram))


def demand_left(rest: Sums, before: Sums, peak: float, classes: Sequence[str] = ()) -> None:
    """Raise AccountingError when the rows that have gone from `before` cannot all have been there.

    peak : the largest trace of E'E that the model ever had, which its rounding errors follow. classes : their names.
    """
    if (missing := rest.counts < -DOUBTFUL_ERROR * UNIT_ROUNDOFF * before.counts).any():
        which = ''.join(
            f': of class {name!r}, {had - left:g} where it has {had:g} (by weight)'
            for name, had, left in compress(zip(classes, before.counts, rest.counts, strict=False), missing)
        )
        raise AccountingError(f'cannot forget these rows: there are more of them than the model was trained on{which}')
    empty = (rest.counts == 0) & (before.counts > 0)
    largest = np.maximum(peak, np.sqrt(peak * before.counts[empty]))  # that a sum over rows can have been
    if (np.abs(rest.class_sums[empty]) > DOUBTFUL_ERROR * UNIT_ROUNDOFF * largest[:, None]).any():
        raise AccountingError(
            'cannot forget these rows: some of them were never part of the model (a class would be '
            'left without rows, but with a sum)'
        )
    if factor_ridge(rest.gram, DOUBTFUL_ERROR * UNIT_ROUNDOFF * peak) is None:
        raise AccountingError(
            'cannot forget these rows: some of them were never part of the model (the remaining sums would be negative)'
        )


def largest_nu(peak: float) -> float:
    """Return the nu beyond which I/nu drowns in the rounding errors of E'E."""
    return 1 / (DOUBTFUL_ERROR * UNIT_ROUNDOFF * peak)


def warn_of_doubt(nu: float, peak: float) -> None:
    """Warn when the model's nu is beyond what the rounding errors of its sums allow."""
    if nu > largest_nu(peak):
        warnings.warn(
            f'nu = {nu:g} is large for sums that have been as large as {peak:.2g}: beyond '
            f'{largest_nu(peak):.1g} rounding errors may show in the model',
            NumericalWarning,
            stacklevel=2,
        )

"""Solve (I/nu + E'E) B = E'T, the finisher of every method that sums up a Gram.

    min_B  |E B - T|^2 + |B|^2 / nu

E (N, m) expanded rows, T (N, K) targets, nu > 0 the weight of the errors, B (m, K) the output weights, bias last.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, eq. 7.
"""
import warnings
from dataclasses import dataclass

import numpy as np

from mr_elm import linalg
from mr_elm.errors import NumericalWarning, one_line
from mr_elm.typing import Floats

STRIP = 256  # columns, whose sizes need little memory


@dataclass(frozen=True)
class Solution:
    """Hold the output weights (m, K), the estimated condition number of I/nu + E'E, and the factorisation used."""

    output_weights: np.ndarray
    condition: float
    factorisation: str
    __repr__ = one_line


def solve_regularized(gram: Floats, right_side: Floats, nu: float) -> Solution:
    """Solve (I/nu + G) B = R.

    gram : (m, m), upper triangle filled.
    right_side : (m, K).
    nu : regularisation, > 0; small values shrink B.
    When the Cholesky factorisation fails, warns and uses the eigenvectors of G. Raises ValueError when nu <= 0 or the
    sums are not finite.
    """
    if not nu > 0:
        raise ValueError(f'nu: expected a number above 0, found {nu}')
    if not (np.isfinite(gram).all() and np.isfinite(right_side).all()):
        raise ValueError('expected finite sums: hidden nodes overflowed on these rows (scale the features)')
    system = add_ridge(gram, 1 / nu)
    norm = measure_norm(system)
    factor, failed = linalg.dpotrf(system, lower=1, overwrite_a=1, clean=0)
    if not failed:
        condition = 1 / max(linalg.dpocon(factor, norm, uplo='L')[0], np.finfo(float).tiny)
        return Solution(linalg.dpotrs(factor, right_side, lower=1)[0], float(condition), 'cholesky')
    warnings.warn(f'I/nu + E\'E is not positive definite in floating point at row {failed} of {len(gram)}: its '
                  'eigenvectors are used, which take several times as long; a smaller nu would be more accurate',
                  NumericalWarning, stacklevel=2)
    return solve_by_eigenvectors(gram, right_side, nu)


def add_ridge(gram: Floats, ridge: float) -> Floats:
    """Return ridge I + G, (m, m) with the lower triangle filled, of G whose upper triangle is: LAPACK overwrites it."""
    system = gram.T.copy(order='F')
    system[np.diag_indices_from(system)] += ridge
    return system


def factor_ridge(gram: Floats, ridge: float) -> Floats | None:
    """Return the lower Cholesky factor of ridge I + G, G with the upper triangle filled; None where it has none.

    What is above the diagonal of the factor is arbitrary.
    """
    factor, failed = linalg.dpotrf(add_ridge(gram, ridge), lower=1, overwrite_a=1, clean=0)
    return None if failed else factor


def measure_norm(system: Floats) -> float:
    """Return the 1-norm of a symmetric matrix whose lower triangle is filled, a strip of columns at a time."""
    sums = -np.abs(system.diagonal())
    for start in range(0, len(system), STRIP):
        part = slice(start, start + STRIP)
        sizes = np.abs(system[:, part])
        sums += sizes.sum(axis=1)
        sums[part] += sizes.sum(axis=0)
    return float(sums.max())


def solve_by_eigenvectors(gram: Floats, right_side: Floats, nu: float) -> Solution:
    """Solve with G = V diag(l) V', negative l taken as 0."""
    values, vectors = linalg.eigh(gram, lower=False)
    shifted = np.maximum(values, 0.0) + 1 / nu
    weights = vectors @ ((vectors.T @ right_side) / shifted[:, None])
    return Solution(weights, float(shifted[-1] / shifted[0]), 'eigenvectors')

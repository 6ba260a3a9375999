"""Solve (I/nu + E'E) B = E'T, the finisher of every method that sums up a Gram.

    min_B  |E B - T|^2 + |B|^2 / nu

E (N, m) expanded rows, T (N, K) targets, nu > 0 the weight of the errors, B (m, K) the output weights, bias last. Or
with another penalty, see `penalty`.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, eq. 7.
"""
import warnings
from dataclasses import dataclass

import numpy as np

from mr_elm import linalg
from mr_elm.errors import NumericalWarning, one_line
from mr_elm.solvers.ridge.penalty import Penalty
from mr_elm.typing import Floats

STRIP = 256  # columns, whose sizes need little memory


@dataclass(frozen=True)
class Solution:
    """Hold the output weights (m, K), the estimated condition number of I/nu + E'E, and the factorisation used."""

    output_weights: np.ndarray
    condition: float
    factorisation: str
    __repr__ = one_line


def solve_regularized(gram: Floats, right_side: Floats, nu: float, penalty: Penalty | None = None) -> Solution:
    """Solve (I/nu + G) B = R, or (P + G) B = R with the matrix P of a penalty.

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
    system = add_penalty(gram, 1 / nu if penalty is None else penalty)
    norm = measure_norm(system)
    factor, failed = linalg.dpotrf(system, lower=1, overwrite_a=1, clean=0)
    if not failed:
        condition = 1 / max(linalg.dpocon(factor, norm, uplo='L')[0], np.finfo(float).tiny)
        return Solution(linalg.dpotrs(factor, right_side, lower=1)[0], float(condition), 'cholesky')
    if penalty is not None:
        return solve_penalised(gram, right_side, penalty)
    warnings.warn(f'I/nu + E\'E is not positive definite in floating point at row {failed} of {len(gram)}: its '
                  'eigenvectors are used, which take several times as long; a smaller nu would be more accurate',
                  NumericalWarning, stacklevel=2)
    return solve_by_eigenvectors(gram, right_side, nu)


def add_penalty(gram: Floats, penalty: float | Penalty) -> Floats:
    """Return P + G, (m, m) with the lower triangle filled, of G whose upper triangle is: LAPACK overwrites it.

    penalty : P, or a number for that multiple of the identity.
    """
    system = gram.T.copy(order='F')
    if isinstance(penalty, Penalty):
        penalty.add_to(system)
    else:
        system[np.diag_indices_from(system)] += penalty
    return system


def factor_ridge(gram: Floats, penalty: float | Penalty) -> Floats | None:
    """Return the lower Cholesky factor of P + G, G with the upper triangle filled; None where it has none.

    penalty : see `add_penalty`. What is above the diagonal of the factor is arbitrary.
    """
    factor, failed = linalg.dpotrf(add_penalty(gram, penalty), lower=1, overwrite_a=1, clean=0)
    return None if failed else factor


def solve_penalised(gram: Floats, right_side: Floats, penalty: Penalty) -> Solution:
    """Solve (P + G) B = R by the eigenvectors of P + G, those without a size left out; warns."""
    warnings.warn('the sums and the penalty of their weights are not positive definite in floating point: their '
                  'eigenvectors are used, which take several times as long', NumericalWarning, stacklevel=3)
    values, vectors = linalg.eigh(add_penalty(gram, penalty), lower=True)
    smallest = np.finfo(float).eps * len(values) * values[-1]
    inverse = np.where(values > smallest, 1 / np.maximum(values, smallest), 0.0)
    weights = vectors @ (inverse[:, None] * (vectors.T @ right_side))
    return Solution(weights, float(values[-1] / smallest), 'eigenvectors')


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

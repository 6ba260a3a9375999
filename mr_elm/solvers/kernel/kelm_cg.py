"""Solve (I/C + Omega) A = T without Omega: preconditioned block conjugate gradients, all targets at once.

    each pass:  Omega S for the current directions S (N, k), from a function that recomputes Omega tile by tile
    M^-1 = U ((l + 1/C)^-1 - 1/tau) U' + I/tau,   tau = l_r + 1/C,   Omega ~ U diag(l) U', the Nystrom approximation

Source: Frangella, Tropp, Udell, Randomized Nystrom preconditioning, 2023; `solvers.shared.block_cg` for the iteration.
Not in Zhao et al., 2015.
"""
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, eigh
from scipy.linalg.blas import dtrsm

from mr_elm import sparse as sp
from mr_elm.errors import ConvergenceWarning
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import Kernel
from mr_elm.features.landmarks import hash_rows
from mr_elm.solvers.kernel.kelm import KernelSolution, demand_C
from mr_elm.solvers.shared.block_cg import LIMITS, Approximation, CountedProduct, PassLimits, iterate, solve_positive
from mr_elm.typing import Floats, Rows

FLAT = 1e-12  # of the largest eigenvalue: below it the approximation is rounding
FIRST_RANK, ENOUGH = 500, 2  # the rank to begin with, and how many times d_eff is enough
DIGITS = 6  # of scaled features, that tell rows apart
SAMPLE = 1000  # rows on which the approximation is judged
ROWS_AT_ONCE = 4096  # rotated together: bounds the memory beside the vectors


@dataclass(frozen=True)
class Preconditioner:
    """Hold Omega ~ U diag(values) U' of rank r, and estimated eigenvalues of what it misses.

    values : (r,) falling. vectors : (N, r). missed : (m,), each standing for (N - r)/m of all.
    """

    values: np.ndarray
    vectors: np.ndarray
    missed: np.ndarray

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.values)

    def apply(self, R: Floats, C: float) -> Floats:
        """Return M^-1 R, (N, k)."""
        tau = self.values[-1] + 1 / C
        inverse = 1 / (self.values + 1 / C) - 1 / tau
        return self.vectors @ (inverse[:, None] * (self.vectors.T @ R)) + R / tau

    def effective_dimension(self, C: float) -> float:
        """Return d_eff = sum l / (l + 1/C), estimated."""
        return float((self.values / (self.values + 1 / C)).sum() + (self.missed / (self.missed + 1 / C)).sum())

    def expected_passes(self, C: float, tolerance: float, n_targets: int = 1, most: int = 1000) -> int:
        """Return about how many passes will do, mostly fewer: those of random targets on the estimated spectrum.

        The spectrum is that of M^-1 (I/C + Omega); eigenvectors make no difference.
        """
        spectrum = np.append((self.missed + 1 / C) / (self.values[-1] + 1 / C), 1.0)
        squares = np.append(np.full(len(self.missed), (len(self.vectors) - self.rank) / len(self.missed)), self.rank)
        T = np.random.default_rng(0).standard_normal((len(spectrum), n_targets)) * np.sqrt(squares)[:, None]
        product = CountedProduct(lambda S: spectrum[:, None] * S, most)
        iterate(product, T, np.linalg.norm(T, axis=0), lambda R: R, tolerance)
        return product.count


def choose_landmarks(Z: Rows, n: int, seed: int = 0) -> np.ndarray:
    """Return the numbers of the n distinct rows with the smallest keyed hashes: the same for any order of the rows."""
    return np.unique(hash_rounded(Z, seed), return_index=True)[1][:n]


def hash_rounded(Z: Rows, seed: int) -> np.ndarray:
    """Return a keyed hash of each row, (N,) uint64.

    The last digits do not count: of rows of text, scaled, they depend on the splits.
    """
    return np.concatenate([hash_rows(round_values(Z[start:start + ROWS_AT_ONCE]), seed)
                           for start in range(0, Z.shape[0], ROWS_AT_ONCE)])


def round_values(Z: Rows) -> Rows:
    """Return rows with their features rounded."""
    rounded = Z.copy()
    values = rounded.data if sp.issparse(rounded) else rounded
    np.round(values, DIGITS, out=values)
    return rounded


def approximate(Z: Rows, kernel: Kernel, rank: int, scale: Floats | None = None, seed: int = 0) -> Preconditioner:
    """Return the Preconditioner of rank at most `rank` for s K(Z, Z) s, in the memory of its vectors.

    scale : s, (N,), or None for 1.
    """
    order = choose_landmarks(Z, rank + SAMPLE, seed)
    chosen = order[:rank]
    core = weigh_tile(compute_kernel(Z[chosen], Z[chosen], kernel), scale, chosen, chosen)
    core[np.diag_indices_from(core)] += np.sqrt(len(core)) * np.finfo(float).eps * np.trace(core)
    F = compute_kernel(Z, Z[chosen], kernel)
    if scale is not None:
        F *= scale[:, None]
        F *= scale[chosen]
    factor = cho_factor(core, lower=False, overwrite_a=True)[0]
    dtrsm(1.0, factor, F.T, side=0, lower=0, trans_a=1, overwrite_b=1)  # F R^-1, in place
    values, Q = eigh(F.T @ F)
    kept = np.flatnonzero(values > FLAT * values[-1])[::-1]
    vectors = rotate_columns(F, Q[:, kept] / np.sqrt(values[kept]))
    sample = order[rank:] if len(order) > rank else order[:SAMPLE]
    share = (len(F) - len(chosen)) / len(sample)  # nothing is missed at the landmarks
    missed = weigh_tile(compute_kernel(Z[sample], Z[sample], kernel), scale, sample, sample)
    missed -= (vectors[sample] * values[kept]) @ vectors[sample].T
    return Preconditioner(values[kept], vectors, np.maximum(np.linalg.eigvalsh(missed), 0.0) * share)


def approximate_well(Z: Rows, kernel: Kernel, C: float, ranks: tuple[int, int], scale: Floats | None = None,
                     seed: int = 0) -> Preconditioner:
    """Return the Preconditioner of a rank of at least 2 d_eff, or of the largest rank allowed where that is less.

    ranks : the rank to begin with, and the largest one allowed. scale, seed : see `approximate`.
    """
    first, most = ranks
    found = approximate(Z, kernel, min(first, most), scale, seed)
    wanted = int(np.ceil(ENOUGH * found.effective_dimension(C)))
    if min(first, most) >= min(wanted, most):
        return found
    del found  # there is memory for one
    return approximate_well(Z, kernel, C, (min(int(1.1 * wanted), most), most), scale, seed)


def weigh_tile(K: Floats, scale: Floats | None, rows: np.ndarray, columns: np.ndarray) -> Floats:
    """Return s K s for some rows and columns."""
    return K if scale is None else K * scale[rows, None] * scale[columns]


def rotate_columns(F: Floats, Q: Floats) -> Floats:
    """Return F Q in the place of F, a view of its first columns."""
    for start in range(0, len(F), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        F[part, :Q.shape[1]] = F[part] @ Q
    return F[:, :Q.shape[1]]


def solve_cg(multiply: Callable[[Floats], Floats], T: Floats, C: float, preconditioner: Preconditioner,
             limits: PassLimits = LIMITS) -> tuple[KernelSolution, int, float]:
    """Return (KernelSolution, passes, relative residual), the largest of any target, computed anew at the end.

    multiply : function V (N, k) -> Omega V, one pass. Warns when `limits.max_passes` do not suffice.
    """
    demand_C(C)
    T = np.array(T, dtype=float)
    found, passes = solve_positive(lambda V: multiply(V) + V / C,
                                   lambda A: Approximation.of(A, T, multiply(A) + A / C),
                                   Approximation.of(np.zeros(T.shape), T), lambda R: preconditioner.apply(R, C), limits)
    residual = found.residual
    if residual > limits.tolerance:
        warnings.warn(f'conjugate gradients stopped after {passes} passes with a relative residual of '
                      f'{residual:.1e}, expected at most {limits.tolerance:g}: raise --rank, lower C, or allow more '
                      'passes',
                      ConvergenceWarning, stacklevel=2)
    return KernelSolution(found.X), passes, residual

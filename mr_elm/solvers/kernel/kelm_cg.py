"""Solve (I/C + Omega) A = T without Omega: preconditioned block conjugate gradients, all targets at once.

    each pass:  Omega S for the current directions S (N, k), from a function that recomputes Omega tile by tile
    M = B B' + tau I,   M^-1 = (I - B (B'B + tau I)^-1 B') / tau,   tau = 1/C
    B = F R^-1,   F = K(Z, landmarks),   R'R = K(landmarks, landmarks),   Omega ~ B B', the Nystrom approximation

Source: Frangella, Tropp, Udell, Randomized Nystrom preconditioning, 2023, here by Woodbury's formula instead of
eigenvectors, which take most of the time; `solvers.shared.block_cg` for the iteration. Not in Zhao et al., 2015.
"""
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from mr_elm import sparse as sp
from mr_elm.errors import ConvergenceWarning
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import Kernel
from mr_elm.features.landmarks import hash_rows
from mr_elm.parallel import map_in_threads
from mr_elm.solvers.kernel.kelm import KernelSolution, demand_C, inverse_diagonal
from mr_elm.solvers.shared.block_cg import (
    LIMITS,
    Approximation,
    CountedProduct,
    LateProduct,
    PassLimits,
    iterate,
    solve_positive,
)
from mr_elm.solvers.shared.tile_cholesky import add_gram, divide_rows, factor_upper
from mr_elm.typing import Floats, Rows

FLAT = 1e-12  # of the sum of eigenvalues: a tau below it would be rounding
FIRST_RANK, ENOUGH = 500, 2  # the rank to begin with, and how many times d_eff is enough
DIGITS = 6  # of scaled features, that tell rows apart
SAMPLE = 1000  # rows on which the approximation is judged
SHARE = 0.5  # of the tolerance, that rough products may take
ROWS_AT_ONCE = 4096  # hashed, or multiplied, together

Product = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RoughProduct:
    """Hold a function V (N, k) -> Omega V whose result is off by about `error` |V|."""

    multiply: Product
    error: float


@dataclass(frozen=True)
class Preconditioner:
    """Hold M = B B' + tau I ~ Omega + I/C, and estimated eigenvalues of what B B' misses of Omega.

    B : (N, r). upper : U with U'U = B'B + tau I, (r, r). tau : 1/C, or more where that would be rounding.
    missed : (m,), each standing for (N - r)/m of all. n_threads : see `map_in_threads`; no bit depends on it.
    """

    B: np.ndarray
    upper: np.ndarray
    tau: float
    missed: np.ndarray
    n_threads: int = 1

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.upper)

    def apply(self, R: Floats) -> Floats:
        """Return M^-1 R, (N, k)."""
        parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(R), ROWS_AT_ONCE)]
        right = sum(map_in_threads(lambda rows: self.B[rows].T @ R[rows], parts, self.n_threads))
        inner = cho_solve((self.upper, False), right)
        return (R - np.concatenate(map_in_threads(lambda rows: self.B[rows] @ inner, parts, self.n_threads))) / self.tau

    def effective_dimension(self) -> float:
        """Return d_eff = sum l / (l + tau) over the eigenvalues l of Omega, estimated."""
        captured = self.rank - self.tau * inverse_diagonal(self.upper.copy(order='F')).sum()
        return float(captured + (self.missed / (self.missed + self.tau)).sum())

    def expected_passes(self, tolerance: float, n_targets: int = 1, most: int = 1000) -> int:
        """Return about how many passes will do, mostly fewer: those of random targets on the estimated spectrum.

        The spectrum is that of M^-1 (Omega + tau I); eigenvectors make no difference.
        """
        spectrum = np.append((self.missed + self.tau) / self.tau, 1.0)
        squares = np.append(np.full(len(self.missed), (len(self.B) - self.rank) / len(self.missed)), self.rank)
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


def approximate(Z: Rows, kernel: Kernel, C: float, rank: int, scale: Floats | None = None, seed: int = 0,
                n_threads: int = 1) -> Preconditioner:
    """Return the Preconditioner of rank at most `rank` for s K(Z, Z) s + I/C, in the memory of its B.

    scale : s, (N,), or None for 1. n_threads : see `map_in_threads`; no bit depends on it.
    """
    order = choose_landmarks(Z, rank + SAMPLE, seed)
    chosen = order[:rank]
    B = compute_kernel(Z, Z[chosen], kernel, n_threads=n_threads)
    if scale is not None:
        B *= scale[:, None]
        B *= scale[chosen]
    core = np.asfortranarray(B[chosen])
    core[np.diag_indices_from(core)] += np.sqrt(len(core)) * np.finfo(float).eps * np.trace(core)
    demand_factor(core, n_threads)
    divide_rows(B, core, n_threads)
    del core
    upper = np.zeros((len(chosen), len(chosen)), order='F')
    add_gram(upper, B, 1.0, n_threads)
    tau = max(1 / C, FLAT * np.trace(upper))
    upper[np.diag_indices_from(upper)] += tau
    demand_factor(upper, n_threads)
    sample = order[rank:] if len(order) > rank else order[:SAMPLE]
    share = (len(B) - len(chosen)) / len(sample)  # nothing is missed at the landmarks
    missed = compute_kernel(Z[sample], Z[sample], kernel)
    if scale is not None:
        missed *= scale[sample, None] * scale[sample]
    missed -= B[sample] @ B[sample].T
    return Preconditioner(B, upper, tau, np.maximum(np.linalg.eigvalsh(missed), 0.0) * share, n_threads)


def demand_factor(A: Floats, n_threads: int) -> None:
    """Put U, A = U'U, into the upper triangle of A (r, r), Fortran order. Raises ValueError when A is not positive."""
    failed = factor_upper(A, n_threads)
    if failed:
        raise ValueError(f'expected a positive kernel, that of {len(A):,} landmarks has no Cholesky factor (row '
                         f'{failed}): use another kernel, or --solver cholesky')


def approximate_well(Z: Rows, kernel: Kernel, C: float, ranks: tuple[int, int], scale: Floats | None = None,
                     seed: int = 0, n_threads: int = 1) -> Preconditioner:
    """Return the Preconditioner of a rank of at least 2 d_eff, or of the largest rank allowed where that is less.

    ranks : the rank to begin with, and the largest one allowed. scale, seed, n_threads : see `approximate`.
    """
    first, most = ranks
    found = approximate(Z, kernel, C, min(first, most), scale, seed, n_threads)
    wanted = int(np.ceil(ENOUGH * found.effective_dimension()))
    if min(first, most) >= min(wanted, most):
        return found
    del found  # there is memory for one
    return approximate_well(Z, kernel, C, (min(int(1.1 * wanted), most), most), scale, seed, n_threads)


def solve_cg(multiply: Product, T: Floats, C: float, preconditioner: Preconditioner, limits: PassLimits = LIMITS,
             rough: RoughProduct | None = None) -> tuple[KernelSolution, int, float]:
    """Return (KernelSolution, passes, relative residual), the largest of any target, computed anew at the end.

    multiply : function V (N, k) -> Omega V, one pass. rough : the same, taken once its errors no longer matter: a step
    is at most C times as long as the residual. Warns when `limits.max_passes` do not suffice.
    """
    demand_C(C)
    T = np.array(T, dtype=float)
    late = None if rough is None else LateProduct(lambda V: rough.multiply(V) + V / C,
                                                  SHARE * limits.tolerance / (rough.error * C))
    found, passes = solve_positive(lambda V: multiply(V) + V / C,
                                   lambda A: Approximation.of(A, T, multiply(A) + A / C),
                                   Approximation.of(np.zeros(T.shape), T), preconditioner.apply, limits, late=late)
    residual = found.residual
    if residual > limits.tolerance:
        warnings.warn(f'conjugate gradients stopped after {passes} passes with a relative residual of '
                      f'{residual:.1e}, expected at most {limits.tolerance:g}: raise --rank, lower C, or allow more '
                      'passes',
                      ConvergenceWarning, stacklevel=2)
    return KernelSolution(found.X), passes, residual

"""Train the kernel ELM: regularised least squares in the space of a kernel, all targets in one solve.

    min_A  1/2 tr A' Omega A + C/2 |Omega A - T|^2           f(x) = K(x, X) A
    A = (I/C + Omega)^-1 T

X (N, d) rows, Omega = K(X, X) (N, N), T (N, K) targets, A (N, K) coefficients, C > 0 the weight of the errors. With
row weights w the ridge is 1/(C w_i): in s_i = sqrt(w_i), A = s (I/C + s Omega s)^-1 s T, the same problem again.

    cholesky:       I/C + Omega = L L', in the place of Omega
    decomposition:  I/C + Omega = U S V' with U = V, for Omega is symmetric and not negative; A = V S^-1 U'T
    leave-one-out:  t_i - f^(-i)(x_i) = A_i / ((I/C + Omega)^-1)_ii
    regression:     T = t - m, f(x) = K(x, X) A + m, see `centred`; the mean of the rows but i is m + d_i, so that
                    t_i - f^(-i)(x_i) = (A - d a)_i / ((I/C + Omega)^-1)_ii,  a = (I/C + Omega)^-1 1

Source: Zhao et al., Kernelized extreme learning machine in distributed environment, 2015, eqs. 1-6; Huang
et al., Extreme learning machine for regression and multiclass classification, 2012.

Errata of Zhao et al., corrected here: eq. 1 prints H+ for H' and leaves the inverse out; its
kernel replaces H H', not H'H; eq. 6 prints V S U'T where eq. 5 gives V S^-1 U'T; Algorithm 2, line 11, prints Z[i] T[i]
for both matrices, where V needs Z[i] / S[i] and U needs the pair (i, U[row, i] T[row]); I/C and the last product stand
in no stage of it; Algorithm 1 emits (i, i) twice, as (i, j) and as (j, i).

Conjugate gradients (ours, see `passes` and `nystrom`) solve (I/C + Omega) A = T without Omega: each pass multiplies it
with the current directions, tile by tile.

Algorithm 2 of Zhao et al.: A = (V S^-1) (U'T), whose products are sums over entries. A row Z of U or V gives

    printed (line 11):  V: Z[i] T[i]       U, fed rows of U: Z[i] T[i] under the key (U, row)
    corrected:          V: Z[i] / S[i]     U, fed rows of U': Z[i] T[i] under the key (U, row)

A row of U' is a column of U; with rows of U itself the pair is (U, i): Z[i] T[row] instead. S, the singular values of
I/C + Omega, and T come from the distributed cache.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mr_elm import linalg
from mr_elm.errors import ConvergenceWarning, one_line
from mr_elm.parallel import N_THREADS
from mr_elm.solvers.centred import CentredTargets
from mr_elm.solvers.cholesky import factor_upper
from mr_elm.solvers.passes import LIMITS, Approximation, PassLimits, solve_positive
from mr_elm.typing import Floats, RowWeights

if TYPE_CHECKING:
    from mr_elm.solvers.nystrom import Preconditioner

FactorProduct = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class KernelSolution:
    """Hold the coefficients (N, K), and the diagonal (N,) of (I/C + Omega)^-1 where leave-one-out was asked for.

    intercept : (K,), the mean of targets that were centred; None for 0. moves : d a, (N, K), of these.
    """

    dual_coef: np.ndarray
    inverse_diagonal: np.ndarray | None = None
    intercept: np.ndarray | None = None
    moves: np.ndarray | None = None
    __repr__ = one_line

    @property
    def residuals(self) -> Floats:
        """Return t_i - f(x_i) of a machine that has not seen row i, (N, K). Source: closed form, see the module.

        Raises ValueError where leave-one-out was not asked for.
        """
        diagonal = self._inverse_diagonal
        if self.moves is None:
            coefficients = self.dual_coef
        else:
            coefficients = self.dual_coef - self.moves
        return coefficients / np.where(diagonal > 0, diagonal, 1)[:, None]

    @property
    def _inverse_diagonal(self) -> Floats:
        if self.inverse_diagonal is None:
            raise ValueError('leave_one_out: expected a solution that was computed with leave_one_out=True')
        return self.inverse_diagonal

    def leverages(self, C: float, weights: RowWeights = None) -> Floats:
        """Return how much each row decides on its own value, (N,), from 0 to 1: 1 - (A^-1)_ii / (C w_i)."""
        return 1 - self._inverse_diagonal / (C if weights is None else C * np.where(weights > 0, weights, 1))


def demand_C(C: float) -> None:
    """Raise ValueError when C is not a finite number above 0."""
    if not (C > 0 and np.isfinite(C)):
        raise ValueError(f'C: expected a finite number above 0, found {C}')


def weigh(omega: Floats | None, T: Floats, weights: RowWeights) -> tuple[Floats | None, Floats]:
    """Put row weights into a problem, in the place of omega: (s, s T); s is None where every row counts once."""
    if weights is None or (weights == 1).all():
        return None, T
    s = np.sqrt(weights)
    if omega is not None:
        omega *= s[:, None]
        omega *= s
    return s, T * s[:, None]


def unweigh(solution: KernelSolution, s: Floats | None) -> KernelSolution:
    """Undo `weigh` on what was found."""
    if s is None:
        return solution
    diagonal = solution.inverse_diagonal
    if diagonal is not None:
        diagonal = diagonal * s**2
    return KernelSolution(solution.dual_coef * s[:, None], diagonal)


def list_targets(T: Floats, centred: CentredTargets | None, leave_one_out: bool) -> Floats:
    """Return the targets to solve for: T, (N, K); of centred ones a column of 1 behind them for leave-one-out."""
    if centred is None:
        return T
    if leave_one_out:
        return np.column_stack([centred.T, np.ones(len(centred.T))])
    return centred.T


def restore_mean(solution: KernelSolution, centred: CentredTargets | None) -> KernelSolution:
    """Return the KernelSolution of targets, by that of `list_targets`."""
    if centred is None:
        return solution
    n_targets = centred.T.shape[1]
    dual_coef, ones = np.hsplit(solution.dual_coef, [n_targets])
    moves = None
    if ones.size:
        moves = centred.units * (centred.moves * ones)
    return KernelSolution(centred.units * dual_coef, solution.inverse_diagonal, centred.mean, moves)


def solve_cholesky(omega: Floats, T: Floats, C: float, leave_one_out: bool = False) -> KernelSolution:
    """Return the KernelSolution of the whole system; omega, whose lower triangle is read, is overwritten.

    Raises ValueError when I/C + Omega is not positive.
    """
    demand_C(C)
    omega[np.diag_indices_from(omega)] += 1 / C
    if N_THREADS.get() is None:
        factor, failed = linalg.dpotrf(omega.T, lower=0, overwrite_a=1, clean=0)
    else:
        factor, failed = omega.T, factor_upper(omega.T)
    if failed > 0:
        raise ValueError(
            f'expected a positive kernel, I/C + Omega has no Cholesky factor (row {failed} of '
            f'{len(omega):,}): lower C, or use another kernel'
        )
    dual_coef = linalg.dpotrs(factor, np.asfortranarray(T, dtype=float), lower=0)[0]
    return KernelSolution(dual_coef, inverse_diagonal(factor) if leave_one_out else None)


def inverse_diagonal(factor: Floats) -> Floats:
    """Return the diagonal of (R'R)^-1, (N,), in the place of its factor R: the squared rows of R^-1."""
    inverse = linalg.dtrtri(factor, lower=0, overwrite_c=1)[0]
    return np.array([inverse[i, i:] @ inverse[i, i:] for i in range(len(inverse))])


@dataclass(frozen=True)
class Decomposition:
    """Hold the eigenvalues of Omega (N,) in falling order, and their eigenvectors (N, N)."""

    values: np.ndarray
    vectors: np.ndarray
    __repr__ = one_line

    def solve(
        self, T: Floats, C: float, leave_one_out: bool = False, multiply: FactorProduct | None = None
    ) -> KernelSolution:
        """Return the KernelSolution at C.

        multiply : function (vectors U, inverse (N,), T) -> U diag(inverse) U'T, or None to multiply here.
        """
        demand_C(C)
        inverse = 1 / (self.values + 1 / C)
        diagonal = None
        if leave_one_out:
            diagonal = np.array([row * inverse @ row for row in self.vectors])
        return KernelSolution((multiply or multiply_here)(self.vectors, inverse, T), diagonal)


def multiply_here(vectors: Floats, inverse: Floats, T: Floats) -> Floats:
    """Return U diag(inverse) U'T."""
    return vectors @ (inverse[:, None] * (vectors.T @ T))


def decompose(omega: Floats) -> Decomposition:
    """Return the Decomposition of Omega, whose lower triangle is read; it is overwritten.

    What rounding makes negative is 0. Source: Zhao et al., eq. 4, where S = l + 1/C.
    """
    values, vectors = linalg.eigh(omega.T, lower=False, overwrite_a=True, check_finite=False, driver='evd')
    return Decomposition(np.maximum(values[::-1], 0.0), vectors[:, ::-1])


Product = Callable[[Floats], Floats]


def solve_cg(
    multiply: Product,
    T: Floats,
    C: float,
    preconditioner: 'Preconditioner',
    limits: PassLimits = LIMITS,
) -> tuple[KernelSolution, int, float]:
    """Return (KernelSolution, passes, relative residual), the largest of any target, computed anew at the end.

    multiply : function V (N, k) -> Omega V, one pass. Warns when `limits.max_passes` do not suffice.
    """
    demand_C(C)
    T = np.array(T, dtype=float)
    solution, passes = solve_positive(
        lambda V: multiply(V) + V / C,
        lambda A: Approximation.of(A, T, multiply(A) + A / C),
        Approximation.of(np.zeros(T.shape), T),
        preconditioner.apply,
        limits,
    )
    residual = solution.residual
    if residual > limits.tolerance:
        warnings.warn(
            f'conjugate gradients stopped after {passes} passes with a relative residual of '
            f'{residual:.1e}, expected at most {limits.tolerance:g}: raise --rank, lower C, or allow more '
            'passes',
            ConvergenceWarning,
            stacklevel=2,
        )
    return KernelSolution(solution.X), passes, residual


U, V = 'U', 'V'
Entry = tuple[str, int, int]  # matrix, row, column of the product


def multiply_entries(matrix: str, row: int, Z: Floats, S: Floats, T: Floats) -> Iterator[tuple[Entry, float]]:
    """Yield ((matrix, row, column), value) for one row Z of U' or of V, entry by entry.

    S (n,) and T (N, K) as in the module; Z (N,) of U', (n,) of V.
    """
    for i, z in enumerate(Z):
        if matrix == V:
            yield (V, row, i), z / S[i]
        else:
            for k in range(T.shape[1]):
                yield (U, row, k), z * T[i, k]

"""Train the unified ELM: regularised least squares in closed form, all targets in one solve.

    min_B  1/2 |B|^2 + C/2 |H B - T|^2

H (N, L) node outputs, T (N, K) targets, B (L, K) output weights, C > 0 the weight of the errors. With row weights w
it is the same problem of sH and sT, s_i = sqrt(w_i), and A is s times the solution of s Omega s and sT.

    L <= N:       B = (I/C + H'H)^-1 H'T            otherwise:  B = H'(I/C + HH')^-1 T
    kernel form:  f(x) = K(x, X) A,  A = (I/C + Omega)^-1 T,  Omega = K(X, X)
    C = inf, the initial ELM:  B = pinv(H) T

Source: Huang et al., Extreme learning machine for regression and multiclass classification, 2012; Bai et al., 2014,
eqs. 9-11.
"""
import numpy as np

from mr_elm import linalg
from mr_elm.solvers.kernel.kelm import KernelSolution, demand_C, unweigh, weigh
from mr_elm.solvers.ridge.regularized import solve_regularized
from mr_elm.typing import Floats

SMALLEST = 1e-9  # of 1 - h: what lies below is rounding


def solve_nodes(H: Floats, T: Floats, C: float, weights: Floats | None = None) -> Floats:
    """Return the output weights B, (L, K), from the smaller side; with weights (N,) or C = inf H is overwritten.

    >>> H, T = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [1.0]])
    >>> solve_nodes(H, T, C=1.0).ravel().round(6).tolist()
    [0.5, 0.4]
    """
    if np.isinf(C):
        return solve_initial(H, T, weights)[0]
    s, T = weigh(None, T, weights)
    if s is not None:
        H *= s[:, None]
    if H.shape[1] <= H.shape[0]:
        return solve_targets(H.T @ H, H.T @ T, C)
    return H.T @ solve_targets(H @ H.T, T, C)


def leave_one_out(H: Floats, T: Floats, C: float, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the values of each row, (N, K), by the machine of all other rows, and leverages h, (N,); C is finite.

    t - (t - f)/(1 - h),  h_i = w_i h(x_i)'(I/C + H'WH)^-1 h(x_i)
    """
    demand_C(C)
    weights = np.ones(len(T)) if weights is None else weights
    WH = H * weights[:, None]
    factor = linalg.cho_factor(WH.T @ H + np.eye(H.shape[1]) / C, lower=True)
    rest = T - H @ linalg.cho_solve(factor, WH.T @ T)
    leverages = weights * np.einsum('ij,ji->i', H, linalg.cho_solve(factor, H.T))
    return T - rest / np.maximum(1 - leverages, SMALLEST)[:, None], leverages


def solve_initial(H: Floats, T: Floats, weights: Floats | None = None) -> tuple[Floats, int]:
    """Return (B = pinv(H) T, the rank of H) by the singular value decomposition; H is overwritten.

    Singular values below max(N, L) times the machine's precision times the largest one count as 0. Raises ValueError
    when node outputs are not finite.
    """
    s, T = weigh(None, T, weights)
    if s is not None:
        H *= s[:, None]
    cutoff = max(H.shape) * np.finfo(float).eps
    beta, _, rank, _ = linalg.lstsq(H, T, cond=cutoff, overwrite_a=True, lapack_driver='gelsd')
    return beta, int(rank)


def solve_kernel(omega: Floats, T: Floats, C: float, weights: Floats | None = None) -> Floats:
    """Return the coefficients A, (N, K), of the kernel form; with weights (N,), omega (N, N) is overwritten."""
    s, T = weigh(omega, T, weights)
    return unweigh(KernelSolution(solve_targets(omega, T, C)), s).dual_coef


def solve_targets(matrix: Floats, right: Floats, C: float) -> Floats:
    """Return (I/C + matrix)^-1 right. Raises ValueError when C <= 0."""
    demand_C(C)
    return solve_regularized(matrix, np.asfortranarray(right), C).output_weights

"""Find about where the minimum of the box-constrained dual is, by an interior point method.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box

    Qa - e - s + v = 0,   a s = mu,   (C - a) v = mu,   mu -> 0         s, v > 0, of the bounds 0 and C

Each step solves (Q + D) x = r, D = s/a + v/(C - a). It takes some 30 steps, whatever the condition of Q is: so it leads
`sparse_elm_blocks` on where that is slow, which then finds the face and ends exactly.

    Q = ZZ', Z (N, d):  (D + ZZ')^-1 r = D^-1 (r - Z (I + Z'D^-1 Z)^-1 Z'D^-1 r)

Source: Mehrotra, On the implementation of a primal-dual interior point method, 1992; Fine, Scheinberg, Efficient SVM
training using low-rank kernel representations, 2001.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mr_elm import linalg
from mr_elm.solvers.box import duality_gap, objective_of
from mr_elm.typing import Floats

MAX_STEPS = 100  # before giving up
GAP_TOLERANCE = 1e-13  # of the objective: a gap below this is rounding
ROUNDING_LIMIT = 1.0  # of the first condition, whose terms are about 1: rounding has made this of it
STEP_SHARE = 0.995  # of the way to the next bound
MAX_DENSE_ROWS = 2000  # rows of a problem whose Q is factorised
MAX_COLUMNS, ROWS_A_COLUMN = 1000, 4  # of Z, and rows for each of its columns

Solve = Callable[[Floats], Floats]


def is_small(problem: Any) -> bool:
    """Tell whether the method takes but seconds: Q is small, or has a thin factor."""
    n, Z = int(np.count_nonzero(problem.upper)), problem.rows.factor()
    return n <= MAX_DENSE_ROWS or (Z is not None and Z.shape[1] <= min(MAX_COLUMNS, n // ROWS_A_COLUMN))


def find_near_minimum(problem: Any) -> Floats | None:
    """Return alpha (N,) near the minimum of a BoxQP, at its bounds where it seems to be; None where it is not small."""
    if not is_small(problem):
        return None
    part = np.flatnonzero(problem.upper > 0)
    t, Z = problem.targets[part], problem.rows.factor()
    thin = Z is not None and ROWS_A_COLUMN * Z.shape[1] <= len(part)
    system = ThinSystem(Z[part] * t[:, None]) if thin else DenseSystem(problem.block(part))
    alpha = np.zeros(problem.n_samples)
    with np.errstate(all='ignore'):
        point = follow_centre(system, problem.upper[part], problem.curvature[part])
    if point is None:
        return None
    alpha[part] = point
    return alpha


class DenseSystem:
    """Multiply by Q (n, n), and factorise Q + D."""

    def __init__(self, Q: Floats) -> None:
        self.Q = Q

    def multiply(self, a: Floats) -> Floats:
        """Return Q a."""
        return self.Q @ a

    def factor(self, D: Floats) -> Solve:
        """Return the function r -> (Q + D)^-1 r; the matrix is factorised with a diagonal of ones."""
        lifted = self.Q.copy()
        lifted[np.diag_indices_from(lifted)] += D
        size = 1 / np.sqrt(lifted.diagonal())
        lifted *= size[:, None]
        lifted *= size
        factor = linalg.cholesky(lifted, lower=True, check_finite=False)
        return lambda r: size * linalg.cho_solve((factor, True), size * r, check_finite=False)


class ThinSystem:
    """Do the same for Q = ZZ', Z (n, d)."""

    def __init__(self, Z: Floats) -> None:
        self.Z = Z

    def multiply(self, a: Floats) -> Floats:
        """Return Q a."""
        return self.Z @ (a @ self.Z)

    def factor(self, D: Floats) -> Solve:
        """Return the function r -> (Q + D)^-1 r, improved once by its residual."""
        Z = self.Z
        inner = Z.T @ (Z / D[:, None])
        inner[np.diag_indices_from(inner)] += 1
        size = 1 / np.sqrt(inner.diagonal())
        factor = linalg.cholesky(inner * np.outer(size, size), lower=True, check_finite=False)

        def solve(r: Floats) -> Floats:
            middle = size * linalg.cho_solve((factor, True), size * (Z.T @ (r / D)), check_finite=False)
            return (r - Z @ middle) / D

        def solve_well(r: Floats) -> Floats:
            x = solve(r)
            return x + solve(r - D * x - self.multiply(x))

        return solve_well


def follow_centre(system: Any, upper: Floats, diagonal: Floats) -> Floats | None:
    """Return alpha near the minimum, put to its bounds where s and v say so; None where not a step succeeds.

    diagonal : Q_ii, at least a little above 0.
    """
    a = 0.5 * np.minimum(upper, 1 / diagonal)
    g = system.multiply(a) - 1
    s, v = np.maximum(g, 0) + 1, np.maximum(-g, 0) + 1
    best, least = None, np.inf
    for _ in range(MAX_STEPS):
        w = upper - a
        gap, true_gap = float(a @ s + w @ v), duality_gap(a, g, upper)
        if true_gap < least:
            best, least = (a, w, s, v), true_gap
        rest = s - v - g  # 0 but for rounding
        if not GAP_TOLERANCE * abs(objective_of(a, g)) < gap or not np.abs(rest).max() < ROUNDING_LIMIT:
            break
        try:
            solve = system.factor(s / a + v / w)
        except (np.linalg.LinAlgError, ValueError):
            break
        da = solve(rest - s + v)  # to mu = 0: how far it gets says how much to centre
        ds, dv = -s - s / a * da, -v + v / w * da
        size = reach((a, da), (w, -da), (s, ds), (v, dv))
        ahead = float((a + size * da) @ (s + size * ds) + (w - size * da) @ (v + size * dv))
        mu = (ahead / gap) ** 3 * gap / (2 * len(a))
        low, high = (mu - da * ds) / a - s, (mu + da * dv) / w - v
        da = solve(rest + low - high)
        ds, dv = low - s / a * da, high + v / w * da
        size = min(1.0, STEP_SHARE * reach((a, da), (w, -da), (s, ds), (v, dv)))
        a, s, v = a + size * da, s + size * ds, v + size * dv
        g = system.multiply(a) - 1
        if not (a > 0).all() or not (a < upper).all():
            break
    if best is None:
        return None
    a, w, s, v = best
    return np.where(a < s * a.mean(), 0.0, np.where(w < v * a.mean(), upper, a))


def reach(*pairs: tuple[Floats, Floats]) -> float:
    """Return how far values (n,) of at least 0 may go along their directions until the first is 0, at most 1."""
    farthest = 1.0
    for values, direction in pairs:
        falling = direction < 0
        if falling.any():
            farthest = min(farthest, float((-values[falling] / direction[falling]).min()))
    return farthest

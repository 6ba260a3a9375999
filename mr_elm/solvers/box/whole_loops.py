"""Solve small machines whole, compiled: pair steps on the whole matrix, then Newton steps on the free variables.

Letters as in `box_qp`. Q is float64, so that its gradient is the certificate.
"""
from typing import Any

import numpy as np

from mr_elm.compiled import jit
from mr_elm.solvers.box.projected_path import descend_path
from mr_elm.solvers.shared.loops import pair_steps
from mr_elm.solvers.shared.pair_rows import take_row
from mr_elm.typing import Floats

fast = jit(fastmath=True)
TINY = 1e-12  # of the largest diagonal value: one below this counts as this
SWEEPS = 4    # pair steps a variable, before and after each Newton step
WORTH = 50    # variables: for each so many, one more pair step a variable is cheap beside Newton's factorisation
FEW = 128     # variables, over all of which steps are so cheap that to choose between them does not pay
FIRST = 4     # a pair step for each so many variables, where they are more, shows which of them matter
ROUNDING = 4e-16  # of the sum of a: what rounding makes of a gradient
RIDGE = 1e-14     # of the largest diagonal value, the smallest that a factorisation begins with
MOST_FACE = 600  # free variables; beyond, `block_rule` and its LAPACK in float32 is faster (wine-quality-white)


@fast
def factorise(A: np.ndarray, ridge: float) -> bool:
    """Put the Cholesky factor of A + ridge I into the lower triangle of A; tell whether A is positive enough.

    The diagonal of the factor is kept as its inverse.
    """
    for i in range(len(A)):
        row = A[i]
        for j in range(i):
            other, s = A[j], row[j]
            for k in range(j):
                s -= row[k] * other[k]
            row[j] = s * other[j]
        pivot = row[i] + ridge
        for k in range(i):
            pivot -= row[k] * row[k]
        if not pivot > 0.5 * ridge:
            return False
        row[i] = 1 / np.sqrt(pivot)
    return True


@fast
def solve_factor(L: np.ndarray, x: Floats) -> None:
    """Solve L L' x = b in place; L as `factorise` left it."""
    n = len(x)
    for i in range(n):
        row, s = L[i], x[i]
        for k in range(i):
            s -= row[k] * x[k]
        x[i] = s * row[i]
    for i in range(n - 1, -1, -1):
        row = L[i]
        x[i] *= row[i]
        for k in range(i):
            x[k] -= x[i] * row[k]


@fast
def find_direction(Q: np.ndarray, g: Floats) -> Floats:
    """Return -Q^-1 g, with the smallest ridge that lets Q through."""
    largest = 0.0
    for i in range(len(g)):
        largest = max(largest, Q[i, i])
    ridge = RIDGE * np.sqrt(len(g)) * largest
    for _ in range(12):
        L = Q.copy()
        if factorise(L, ridge):
            x = -g
            solve_factor(L, x)
            return x
        ridge *= 10
    return -g / largest


@fast
def measure_rise(Q: np.ndarray, step: Floats, g: Floats) -> float:
    """Return how much the objective rises along a step."""
    rise = 0.0
    for i in range(len(g)):
        if step[i] != 0:
            row, s = Q[i], 0.0
            for j in range(len(g)):
                s += row[j] * step[j]
            rise += step[i] * (g[i] + 0.5 * s)
    return rise


@fast
def step_by_newton(Q: np.ndarray, a: Floats, g: Floats, upper: Floats) -> None:
    """Move to the first minimiser on the projected path of Newton's direction, or to its end where that is lower."""
    direction, first = find_direction(Q, g), a.copy()
    fallen = descend_path(Q, direction, first, g, upper)
    end = np.minimum(np.maximum(a + direction, 0), upper)
    reached = end if -measure_rise(Q, end - a, g) > fallen else first
    add_change(Q, reached - a, g)
    a[:] = reached


@fast
def add_change(Q: Any, change: Floats, g: Floats) -> None:
    """Add Q change to g."""
    for i in range(len(change)):
        if change[i] != 0:
            row, s = take_row(Q, i), change[i]
            for j in range(len(g)):
                g[j] += s * row[j]


@fast
def worst_violation(a: Floats, g: Floats, upper: Floats) -> float:
    """Return the largest violation of the optimality conditions."""
    worst = 0.0
    for i in range(len(a)):
        up = -g[i] if a[i] < upper[i] else 0.0
        down = g[i] if a[i] > 0 else 0.0
        worst = max(worst, max(up, down))
    return worst


@fast
def find_face(a: Floats, g: Floats, upper: Floats, tolerance: float) -> np.ndarray:
    """Return the free variables and the violators."""
    face, m = np.empty(len(a), np.int64), 0
    for i in range(len(a)):
        free = 0 < a[i] < upper[i]
        if free or (a[i] < upper[i] and -g[i] > tolerance) or (a[i] > 0 and g[i] > tolerance):
            face[m] = i
            m += 1
    return face[:m]


@fast
def refine_face(Q: Any, a: Floats, g: Floats, upper: Floats, diagonal: Floats, tolerance: float,
                face: np.ndarray, newton: bool, buffer: Floats) -> bool:
    """Step over the face, first by Newton if asked, and bring the gradient of all along; tell whether pairs ended."""
    m = len(face)
    inside = buffer[:m * m].reshape(m, m)
    for r in range(m):
        row, out = take_row(Q, face[r]), inside[r]
        for c in range(m):
            out[c] = row[face[c]]
    here, slope, top, own = a[face], g[face], upper[face], diagonal[face]
    if newton:
        step_by_newton(inside, here, slope, top)
    most = max(SWEEPS, m // WORTH) * m
    ended = pair_steps(inside, here, slope, top, own, 1 / own, tolerance, most) < most
    for r in range(m):
        i = face[r]
        s = here[r] - a[i]
        a[i] = here[r]
        if s != 0:
            row = take_row(Q, i)
            for j in range(len(g)):
                g[j] += s * row[j]
    return ended


@fast
def minimise(Q: Any, diagonal: Floats, a: Floats, g: Floats, upper: Floats, tolerance: float, limit: int,
             buffer: Floats) -> tuple[int, float]:
    """Minimise over all variables, in place: (rounds made, the largest violation, from a gradient computed anew).

    The first round steps over all variables, which shows which of them matter; the others step over these alone.
    Q : array or PairRows. diagonal : (n,), of Q. limit : rounds. buffer : (n^2,) of any values.
    """
    n = len(a)
    largest = diagonal.max()
    diagonal = np.maximum(diagonal, TINY * largest if largest > 0 else TINY)
    most = SWEEPS * n if n <= FEW else n // FIRST
    rounds, done = 1, pair_steps(Q, a, g, upper, diagonal, 1 / diagonal, tolerance, most) < most
    newton, first = n <= FEW, most
    while not done and first < 2 * n and 2 * len(find_face(a, g, upper, tolerance)) > n:
        done = pair_steps(Q, a, g, upper, diagonal, 1 / diagonal, tolerance, most) < most
        first += most
    while not done and rounds < limit:
        face = find_face(a, g, upper, tolerance)
        if len(face) > MOST_FACE:
            break
        rounds += 1
        newton = not refine_face(Q, a, g, upper, diagonal, tolerance, face, newton, buffer)
        done = worst_violation(a, g, upper) <= max(tolerance, ROUNDING * a.sum())
    g[:] = -1.0
    add_change(Q, a, g)
    return rounds, worst_violation(a, g, upper)

"""Move the weight of two rows at a time, compiled; letters as in `sphere_svm`: a, p_i = c.x~_i, t for y."""
import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

strict = jit()
DONE, EXHAUSTED, MISSING = 0, 1, 2


@strict
def two_weight_steps(slab: np.ndarray, slot_of: np.ndarray, t: Floats, ridge: float, square: float, a: Floats,
                     p: Floats, state: Floats, eps: float, draws: np.ndarray, at: int, attempts: int, steps: int,
                     limit: int) -> tuple[int, int, int, np.ndarray]:
    """Go through subsets of rows from number `at` on, a step for each with a row outside of (1 + e) R, in place.

    state : |c|^2, e, subsets in a row without a step. square : R^2.
    Returns (at, steps, DONE | EXHAUSTED | MISSING, rows wanted in the slab).
    """
    n, pair = len(a), np.zeros(2, np.int64)
    while at < len(draws) and steps < limit:
        v = draws[at, 0]
        for i in draws[at]:
            if p[i] < p[v]:
                v = i
        if state[0] - 2 * p[v] + square <= (1 + state[1])**2 * square:
            at += 1
            state[2] += 1
            if state[2] > attempts:
                state[2] = 0
                if state[1] <= eps:
                    return at, steps, EXHAUSTED, pair
                state[1] = max(state[1] / 2, eps)
            continue
        u = -1
        for i in range(n):
            if a[i] > 0 and (u < 0 or p[i] > p[u]):
                u = i
        pair[0], pair[1] = u, v
        if slot_of[u] < 0 or slot_of[v] < 0:
            return at, steps, MISSING, pair
        _move(slab[slot_of[u]], slab[slot_of[v]], u, v, t, ridge, square, a, p, state)
        at, state[2] = at + 1, 0
        steps += 1
    return at, steps, DONE, pair


@strict
def _move(row_u: np.ndarray, row_v: np.ndarray, u: int, v: int, t: Floats, ridge: float, square: float, a: Floats,
          p: Floats, state: Floats) -> None:
    """Move weight from u to v until x~_v is on the sphere or u has none left."""
    between = t[u] * t[v] * (row_u[v] + 1)
    V, U = state[0] - 2 * p[v] + square, state[0] - 2 * p[u] + square
    D = 2 * (square - between)
    rho, q = (V + D - U) / (2 * D), (V - square) / D
    beta = min(q / (rho + np.sqrt(max(rho * rho - q, 0.0))), a[u])
    a[u] = a[u] - beta if beta < a[u] else 0.0
    a[v] += beta
    state[0] += beta * (2 * (p[v] - p[u]) + beta * D)
    bv, bu = beta * t[v], beta * t[u]
    for j in range(len(p)):
        p[j] += t[j] * (bv * (row_v[j] + 1) - bu * (row_u[j] + 1))
    p[v] += beta * ridge
    p[u] -= beta * ridge

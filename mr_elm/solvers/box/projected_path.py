"""Follow the projected path P(a + mu d), on which every variable stops at its own bound.

Source: Zhao et al., An efficient active set method for optimization extreme learning machines, section 3.1.
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import inline, jit
from mr_elm.typing import Floats

with_infinities = jit(fastmath={'reassoc', 'contract', 'nsz'})


class BoxBlock(NamedTuple):
    """Hold a block of n variables, whose a and g change in place: Q (n, n); a, g, upper, diagonal (n,)."""

    Q: np.ndarray
    a: Floats
    g: Floats
    upper: Floats
    diagonal: Floats


def choose_lower_end(Q: np.ndarray, direction: Floats, start: Floats, g: Floats, upper: Floats) -> Floats:
    """Return the first minimiser of the projected path from start, or the end of the whole step where that is lower."""
    first = start.copy()
    fallen = descend_path(Q, direction, first, g, upper)
    end = np.clip(start + direction, 0, upper)
    step = end - start
    return end if -(g @ step + 0.5 * step @ (Q @ step.astype(Q.dtype))) > fallen else first


@inline
def stop_at_bounds(p: Floats, a: Floats, upper: Floats) -> Floats:
    """Return how far along p each variable meets its bound, or inf; p becomes 0 where a variable is there already."""
    reach = np.empty(len(a))
    for i in range(len(a)):
        reach[i] = np.inf
        if p[i] > 0:
            reach[i] = (upper[i] - a[i]) / p[i]
        elif p[i] < 0:
            reach[i] = -a[i] / p[i]
        if reach[i] <= 0:
            p[i] = 0.0
            reach[i] = np.inf
    return reach


@inline
def multiply(Q: np.ndarray, p: Floats) -> Floats:
    """Return Q p for a symmetric Q, from its rows where p is not 0."""
    n = len(p)
    Qp = np.empty(n)
    for i in range(n):
        Qp[i] = 0.0
    for i in range(n):
        if p[i] != 0:
            for j in range(n):
                Qp[j] += p[i] * Q[i, j]
    return Qp


@inline
def _first(reach: Floats) -> int:
    """Return who meets its bound first."""
    first = 0
    for i in range(len(reach)):
        if reach[i] < reach[first]:
            first = i
    return first


@with_infinities
def descend_path(Q: np.ndarray, d: Floats, a: Floats, g: Floats, upper: Floats) -> float:
    """Move a to the first minimiser on the path, break point by break point, and return the decrease.

    Q, d, a, g, upper are of the same variables; a changes in place, g does not. A variable that meets its bound stays
    there; slope, curvature and Q p lose its share: one row of Q a break point.
    """
    n = len(a)
    p, slopes = d.copy(), g.copy()
    reach = stop_at_bounds(p, a, upper)
    Qp = multiply(Q, p)
    decrease, mu = 0.0, 0.0
    for _ in range(n):
        k = _first(reach)
        slope, curvature = 0.0, 0.0
        for i in range(n):
            slope += slopes[i] * p[i]
            curvature += Qp[i] * p[i]
        if slope >= 0:
            break
        stretch = reach[k] - mu
        inside = curvature > 0 and -slope / curvature <= stretch
        if inside:
            stretch = -slope / curvature
        elif stretch == np.inf:
            break
        decrease -= stretch * (slope + 0.5 * stretch * curvature)
        for i in range(n):
            a[i] += stretch * p[i]
            slopes[i] += stretch * Qp[i]
        if inside:
            break
        mu = reach[k]
        a[k] = upper[k] if p[k] > 0 else 0.0
        for i in range(n):
            Qp[i] -= p[k] * Q[k, i]
        p[k], reach[k] = 0.0, np.inf
    for i in range(n):  # rounding must not leave the box
        a[i] = min(max(a[i], 0.0), upper[i])
    return decrease

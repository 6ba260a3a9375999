"""Choose who steps next and how far, and step, compiled; letters as in `box`: a, g, upper, t, Q, K.

Rows of K lie in a slab, see `row_cache`. Loops return instead of an index SETTLED, when no variable is left to move,
or OUT_OF_STEPS. LLVM vectorises a maximum of integers but not of floats, nor an arg-max: selection compares the bits of
numbers, whose order is theirs where they are not negative, and then looks for the largest, a stretch at a time.
"""

from typing import NamedTuple

import numpy as np

from mr_elm.compiled import INNER, inline, jit
from mr_elm.features.fused import exponentiate_negative, square_differences
from mr_elm.typing import Floats

fast = jit(fastmath=True)
inner = jit(fastmath=True, **INNER)
SETTLED, OUT_OF_STEPS = -1, -2
STRETCH_NUMBERS = 64  # numbers looked at together, then one by one where the largest is among them


@inline
def clipped_step(a: float, g: float, upper: float, inverse: float) -> float:
    """Return the step of the one-variable minimiser, kept inside the box."""
    return min(max(a - g * inverse, 0.0), upper) - a


@inline
def violation(a: float, g: float, upper: float) -> float:
    """Return by how much the gradient of one variable violates optimality, -J of Bai et al.; 0 where it does not."""
    up = 0.0
    if a < upper:
        up = -g
    down = 0.0
    if a > 0.0:
        down = g
    return max(up, down)


@inner
def find_largest(bits: np.ndarray) -> int:
    """Return where the largest of some numbers of at least 0 is, from their bits."""
    best, at = bits[0], 0
    for j in range(len(bits)):
        best = max(best, bits[j])
    while at + STRETCH_NUMBERS <= len(bits):
        index = 0
        for j in range(at, at + STRETCH_NUMBERS):
            index |= bits[j] == best
        if index:
            break
        at += STRETCH_NUMBERS
    while bits[at] != best:
        at += 1
    return at


@inline
def _best_alone(x: np.ndarray, h: np.ndarray, u: np.ndarray, d: np.ndarray, r: np.ndarray, bits: np.ndarray) -> int:
    """Return whose own step gains most, and fill in the bits of the gains. In float32: it is only a choice."""
    for j in range(len(x)):
        s = min(max(-h[j] * r[j], -x[j]), u[j] - x[j])
        gain = -s * (h[j] + np.float32(0.5) * s * d[j])
        bits[j] = np.float32(gain).view(np.int32)
    return find_largest(bits)


@inline
def _best_partner(
    row: np.ndarray,
    step: float,
    give: float,
    i: int,
    x: np.ndarray,
    h: np.ndarray,
    u: np.ndarray,
    d: np.ndarray,
    bits: np.ndarray,
) -> int:
    """Return the j that gains most after i's step, and fill in the bits of the gains.

    row is row i of Q, give is 1 / Q_ii: j's curvature is less what i gives way. In float32: it is only a choice.
    """
    for j in range(len(x)):
        q = np.float32(row[j])
        slope = h[j] + step * q
        curvature = max(d[j] - q * q * give, np.float32(1e-6) * d[j])
        s = min(max(-slope / curvature, -x[j]), u[j] - x[j])
        gain = -s * (slope + np.float32(0.5) * s * curvature)
        bits[j] = np.float32(gain).view(np.int32)
    bits[i] = -1
    return find_largest(bits)


@fast
def two_variables(
    qii: float, qjj: float, qij: float, gi: float, gj: float, ai: float, aj: float, ui: float, uj: float
) -> tuple[float, float]:
    """Return the minimiser (x_i, x_j) of the objective over the box of two variables: inside, or on one of 4 edges."""
    det = qii * qjj - qij * qij
    if det > 1e-12 * qii * qjj:
        si, sj = -(qjj * gi - qij * gj) / det, -(qii * gj - qij * gi) / det
        if 0 <= ai + si <= ui and 0 <= aj + sj <= uj:
            return ai + si, aj + sj
    bi, bj, best = ai, aj, 0.0
    for edge in range(4):
        if edge < 2:
            if edge == 0:
                xi = 0.0
            else:
                xi = ui
            xj = min(max(aj - (gj + qij * (xi - ai)) / qjj, 0.0), uj)
        else:
            if edge == 2:
                xj = 0.0
            else:
                xj = uj
            xi = min(max(ai - (gi + qij * (xj - aj)) / qii, 0.0), ui)
        si, sj = xi - ai, xj - aj
        value = gi * si + gj * sj + 0.5 * (qii * si * si + qjj * sj * sj) + qij * si * sj
        if value < best:
            best, bi, bj = value, xi, xj
    return bi, bj


class SignedRows(NamedTuple):
    """Hold Q, (n, n), of a machine of two classes, whose rows are filled when a step first needs them: few ever are.

    ready : (n,) bool, which rows of Q are filled. own, other : values of K within the classes. panel : between them,
    from its column `left` on; (0, 0) where values are computed from features when they are needed.
    features : (d, N), d a multiple of 4, with exponential, see `fused`. known : (N,) bool, of which rows K of their own
    class is there. first, second : where in features the rows of both classes begin. shift, ridge : see `pairs`.
    """

    Q: np.ndarray
    ready: np.ndarray
    own: np.ndarray
    other: np.ndarray
    panel: np.ndarray
    left: int
    features: np.ndarray
    exponential: tuple[float, bool]
    known: np.ndarray
    first: int
    second: int
    shift: float
    ridge: Floats


@inner
def bring_row(rows: SignedRows, i: int) -> np.ndarray:
    """Return row i of Q, which is filled if it is not yet."""
    out, m, shift = rows.Q[i], len(rows.own), rows.shift
    if rows.ready[i]:
        return out
    if i < m:
        values, here, cross, row, start, there = rows.own[i], out[:m], out[m:], rows.first + i, rows.first, rows.second
    else:
        values, here, cross, row, start, there = (
            rows.other[i - m],
            out[m:],
            out[:m],
            rows.second + i - m,
            rows.second,
            rows.first,
        )
    if not len(rows.panel):
        if not rows.known[row]:
            compute_values(rows.features, row, start, rows.exponential, values)
            rows.known[row] = True
        compute_values(rows.features, row, there, rows.exponential, cross)
    elif i < m:
        cross[:] = rows.panel[i, rows.left : rows.left + len(cross)]
    else:
        cross[:] = rows.panel[:, rows.left + i - m]
    for c in range(len(here)):
        here[c] = values[c] + shift
    for c in range(len(cross)):
        cross[c] = -(cross[c] + shift)
    out[i] += rows.ridge[i]
    rows.ready[i] = True
    return out


@inner
def compute_values(X: np.ndarray, i: int, start: int, exponential: tuple[float, bool], out: Floats) -> None:
    """Fill out with K between row i and those from start on, by sums of squared differences."""
    gamma, root = exponential
    square_differences(X, i, start, out)
    for j in range(len(out)):
        out[j] = -gamma * (np.sqrt(out[j]) if root else out[j])
    exponentiate_negative(out)


@inline
def hold_all(Q: np.ndarray) -> SignedRows:
    """Return the rows of a Q that is all there."""
    ready = np.ones(len(Q), np.bool_)
    return SignedRows(Q, ready, Q, Q, Q, 0, Q, (0.0, False), ready, 0, 0, 0.0, np.empty(0))


@inner
def sweep(rows: SignedRows, a: Floats, g: Floats, upper: Floats, inverse: Floats, tolerance: float) -> int:
    """Make the own step of every variable with |g| > tolerance once, in order, in place; return how many moved."""
    moved = 0
    for i in range(len(a)):
        if abs(g[i]) > tolerance:
            s = clipped_step(a[i], g[i], upper[i], inverse[i])
            if s != 0.0:
                a[i] += s
                row = bring_row(rows, i)
                for j in range(len(a)):
                    g[j] += s * row[j]
                moved += 1
    return moved


class Chooser(NamedTuple):
    """Hold what `pair_steps` chooses by.

    single : (5, at least n) float32, a, g, upper, the diagonal and its inverse, rounded. bits : (at least n,) int32,
    of gains.
    """

    single: np.ndarray
    bits: np.ndarray


@inline
def make_chooser(n: int) -> Chooser:
    """Return a Chooser for up to n variables; `round_variables` makes it ready."""
    return Chooser(np.empty((5, n), np.float32), np.empty(n, np.int32))


@inline
def round_variables(chooser: Chooser, a: Floats, g: Floats, upper: Floats, diagonal: Floats, inverse: Floats) -> None:
    """Make the chooser ready: round what is known of variables."""
    x, h, u, d, r = chooser.single[0], chooser.single[1], chooser.single[2], chooser.single[3], chooser.single[4]
    for k in range(len(a)):
        x[k], h[k], u[k], d[k], r[k] = a[k], g[k], upper[k], diagonal[k], inverse[k]


@inner
def pair_steps(
    rows: SignedRows,
    a: Floats,
    g: Floats,
    upper: Floats,
    diagonal: Floats,
    inverse: Floats,
    chooser: Chooser,
    tolerance: float,
    max_steps: int,
) -> tuple[int, int]:
    """Minimise over a block, two variables a step, in place: i gains most alone, j gains most together with i.

    Returns (steps made, SETTLED when no variable violates by more than tolerance, or OUT_OF_STEPS).
    """
    n, steps, least = len(a), 0, 0.25 * tolerance * tolerance * inverse[0]
    single, bits = chooser.single, chooser.bits[:n]
    x, h, u, d, r = single[0, :n], single[1, :n], single[2, :n], single[3, :n], single[4, :n]
    while steps < max_steps:
        i = _best_alone(x, h, u, d, r, bits)
        if np.int32(bits[i]).view(np.float32) <= least:
            moved = sweep(rows, a, g, upper, inverse, tolerance)
            steps += moved
            for k in range(n):
                x[k], h[k] = a[k], g[k]
            if moved == 0:
                return steps, SETTLED
            continue
        s, row = clipped_step(a[i], g[i], upper[i], inverse[i]), bring_row(rows, i)
        j = _best_partner(row, np.float32(s), r[i], i, x, h, u, d, bits)
        si, sj, other = s, 0.0, row
        if bits[j] > 0:
            xi, xj = two_variables(diagonal[i], diagonal[j], row[j], g[i], g[j], a[i], a[j], upper[i], upper[j])
            si, sj, other = xi - a[i], xj - a[j], bring_row(rows, j)
            a[j], x[j] = xj, xj
        a[i] += si
        x[i] = a[i]
        for k in range(n):
            g[k] += si * row[k] + sj * other[k]
            h[k] = g[k]
        steps += 1
    return steps, OUT_OF_STEPS


@fast
def step_pairs(
    Q: np.ndarray, a: Floats, g: Floats, upper: Floats, diagonal: Floats, tolerance: float, max_steps: int
) -> tuple[int, int]:
    """Do the same for a block whose Q is all there."""
    chooser, inverse = make_chooser(len(a)), 1 / diagonal
    round_variables(chooser, a, g, upper, diagonal, inverse)
    return pair_steps(hold_all(Q), a, g, upper, diagonal, inverse, chooser, tolerance, max_steps)


@fast
def sweeps(Q: np.ndarray, a: Floats, g: Floats, upper: Floats, diagonal: Floats, tolerance: float, most: int) -> int:
    """Sweep over a block whose Q is all there, at most so often; return how many steps that were."""
    rows, inverse, total = hold_all(Q), 1 / diagonal, 0
    for _ in range(most):
        moved = sweep(rows, a, g, upper, inverse, tolerance)
        total += moved
        if moved == 0:
            break
    return total

"""Solve what a small machine consists of, compiled: rows of Q, its face, a Newton step; letters as in `box_qp`.

Q is float64, so that its gradient is the certificate. What is known of variables is an array with the rows A, G, UPPER,
DIAGONAL, INVERSE. The face of a point: its free variables and those that violate.
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import INNER, inline, jit
from mr_elm.features.fused import exponentiate_negative
from mr_elm.typing import Floats

fast, inner = jit(fastmath=True), jit(fastmath=True, **INNER)
A, G, UPPER, DIAGONAL, INVERSE = range(5)
RIDGE = 1e-14   # of the largest diagonal value, the smallest that a factorisation begins with
ATTEMPTS = 12   # ridges, each 10 times as large as the one before
HALVINGS = 6    # of a step of Newton


class PairRows(NamedTuple):
    """Hold the rows of Q of one machine, of kernel values or of the features of its rows.

    Where K is computed from features, a row of Q is filled when a step first needs it: few ever are, and to fill all
    takes longer than to solve an easy machine.

    Q : (n, n), to be filled. ready : (n,) bool, which rows of Q are filled.
    own, other, cross : values of K of rows of one class, whose targets are -1, of another, and between them; cross is
        (0, 0) where K is computed from features, all are where there is one machine.
    features : (d, N), d a multiple of 4, with exponential, see `fused`; (0, 0) where K is there.
    known : (N,) bool, of which rows K of their own class is there already. first, second : where in features the rows
        of both classes begin. targets : (n,), where there is one machine; (0,) else.
    shift : what is added to K. ridge : (n,), what is added to the diagonal.
    """

    Q: np.ndarray
    ready: np.ndarray
    own: np.ndarray
    other: np.ndarray
    cross: np.ndarray
    features: np.ndarray
    known: np.ndarray
    first: int
    second: int
    targets: Floats
    exponential: tuple[float, bool]
    shift: float
    ridge: Floats


@inline
def fill_row(rows: PairRows, i: int) -> None:
    """Fill row i of Q from features."""
    if len(rows.targets):
        out, t, shift = rows.Q[i], rows.targets, rows.shift
        compute_values(rows.features, i, rows.first, rows.exponential, out)
        for j in range(len(t)):
            out[j] = t[i] * t[j] * (out[j] + shift)
    else:
        join_values(rows, i)
    rows.Q[i, i] += rows.ridge[i]
    rows.ready[i] = True


@inline
def join_values(rows: PairRows, i: int) -> None:
    """Fill row i of Q by what it has within its class, which serves all machines of the class, and with the other."""
    m, shift, out = len(rows.own), rows.shift, rows.Q[i]
    if i < m:
        own, cross, at, start, there = rows.own[i], out[m:], 0, rows.first, rows.second
    else:
        own, cross, at, start, there = rows.other[i - m], out[:m], m, rows.second, rows.first
    row = start + i - at
    if not rows.known[row]:
        compute_values(rows.features, row, start, rows.exponential, own)
        rows.known[row] = True
    compute_values(rows.features, row, there, rows.exponential, cross)
    for c in range(len(own)):
        out[at + c] = own[c] + shift
    for c in range(len(cross)):
        cross[c] = -(cross[c] + shift)


@inline
def fill_square(rows: PairRows) -> None:
    """Fill all rows of Q from values of K; none of a single machine, whose Q is there."""
    Q, own, other, cross, shift, m, n = rows.Q, rows.own, rows.other, rows.cross, rows.shift, *rows.cross.shape
    for i in range(m):
        for c in range(m):
            Q[i, c] = own[i, c] + shift
        for c in range(n):
            Q[i, m + c] = -(cross[i, c] + shift)
    for i in range(n):
        for c in range(m):
            Q[m + i, c] = Q[c, m + i]
        for c in range(n):
            Q[m + i, m + c] = other[i, c] + shift
    for i in range(m + n):
        Q[i, i] += rows.ridge[i]
        rows.ready[i] = True


@inner
def compute_values(X: np.ndarray, i: int, start: int, exponential: tuple[float, bool], out: Floats) -> None:
    """Fill out with K between row i and those from start on, by sums of squared differences, four features a pass."""
    (gamma, root), stop = exponential, start + len(out)
    out[:] = 0.0
    for f in range(0, len(X), 4):
        x0, x1, x2, x3 = X[f, start:stop], X[f + 1, start:stop], X[f + 2, start:stop], X[f + 3, start:stop]
        u0, u1, u2, u3 = X[f, i], X[f + 1, i], X[f + 2, i], X[f + 3, i]
        for j in range(len(out)):
            a, b, c, e = u0 - x0[j], u1 - x1[j], u2 - x2[j], u3 - x3[j]
            out[j] += a * a + b * b + c * c + e * e
    for j in range(len(out) if root else 0):
        out[j] = np.sqrt(out[j])
    for j in range(len(out)):
        out[j] *= -gamma
    exponentiate_negative(out)


@fast
def finish_square(K: Floats, t: Floats, shift: float, ridge: Floats) -> None:
    """Turn K of all rows of a machine into its Q, in place."""
    for i in range(len(t)):
        row, sign = K[i], t[i]
        for j in range(len(t)):
            row[j] = sign * t[j] * (row[j] + shift)
        row[i] += ridge[i]


@inner
def solve_four(s: float, t: float, u: float, v: float, L: np.ndarray, j: int) -> tuple[float, float, float, float]:
    """Solve for four numbers of a row from column j on, by what the factor has there; its diagonal is inverse."""
    s = s * L[j, j]
    t = (t - s * L[j + 1, j]) * L[j + 1, j + 1]
    u = (u - s * L[j + 2, j] - t * L[j + 2, j + 1]) * L[j + 2, j + 2]
    v = (v - s * L[j + 3, j] - t * L[j + 3, j + 1] - u * L[j + 3, j + 2]) * L[j + 3, j + 3]
    return s, t, u, v


@inner
def fill_two_rows(Q: np.ndarray, i: int, L: np.ndarray, j: int) -> None:
    """Fill in columns j to j + 3 of rows i and i + 1 of the factor: what is read serves eight sums."""
    a, b, c, d, x, y = L[j], L[j + 1], L[j + 2], L[j + 3], L[i], L[i + 1]
    s, t, u, v = Q[i, j], Q[i, j + 1], Q[i, j + 2], Q[i, j + 3]
    w, e, f, h = Q[i + 1, j], Q[i + 1, j + 1], Q[i + 1, j + 2], Q[i + 1, j + 3]
    for k in range(j):
        s -= x[k] * a[k]
        t -= x[k] * b[k]
        u -= x[k] * c[k]
        v -= x[k] * d[k]
        w -= y[k] * a[k]
        e -= y[k] * b[k]
        f -= y[k] * c[k]
        h -= y[k] * d[k]
    x[j], x[j + 1], x[j + 2], x[j + 3] = solve_four(s, t, u, v, L, j)
    y[j], y[j + 1], y[j + 2], y[j + 3] = solve_four(w, e, f, h, L, j)


@inner
def factorise(Q: np.ndarray, ridge: float, L: np.ndarray) -> bool:
    """Put the Cholesky factor of Q + ridge I into the lower triangle of L; tell whether Q is positive enough.

    The diagonal of the factor is kept as its inverse.
    """
    for i in range(0, len(Q), 2):
        last = min(i + 2, len(Q))
        done = i // 4 * 4 if last - i == 2 else 0  # columns; those that are left, and a lone last row, come one by one
        for j in range(0, done, 4):
            fill_two_rows(Q, i, L, j)
        for r in range(i, last):
            values, row, pivot = Q[r], L[r], Q[r, r] + ridge
            for j in range(done, r):
                other, s = L[j], values[j]
                for k in range(j):
                    s -= row[k] * other[k]
                row[j] = s * other[j]
            for k in range(r):
                pivot -= row[k] * row[k]
            if not pivot > 0.5 * ridge:
                return False
            row[r] = 1 / np.sqrt(pivot)
    return True


@inline
def find_direction(Q: np.ndarray, g: Floats, L: np.ndarray, x: Floats) -> None:
    """Fill in x = -Q^-1 g, with the smallest ridge that lets Q through; L : (n, n), of any values."""
    n, largest, attempt = len(g), 0.0, 0
    for i in range(n):
        largest = max(largest, Q[i, i])
    ridge = RIDGE * np.sqrt(n) * largest
    while attempt < ATTEMPTS and not factorise(Q, ridge, L):
        ridge *= 10
        attempt += 1
    for i in range(n):
        x[i] = -g[i]
    if attempt == ATTEMPTS:
        return
    for i in range(n):
        row, s = L[i], x[i]
        for k in range(i):
            s -= row[k] * x[k]
        x[i] = s * row[i]
    for i in range(n - 1, -1, -1):
        row, s = L[i], x[i] * L[i, i]
        x[i] = s
        for k in range(i):
            x[k] -= s * row[k]


@inner
def step_by_newton(Q: np.ndarray, a: Floats, g: Floats, upper: Floats, L: np.ndarray, room: Floats) -> None:
    """Move along Newton's direction, cut at the bounds: by the whole of it, a half, a quarter, ..., while it pays.

    L : room for the factor, (n, n). room : (5, n) for vectors.
    """
    n, size, lowest, cut = len(a), 1.0, 0.0, True
    direction, step, change, best, best_change = room[0], room[1], room[2], room[3], room[4]
    for i in range(n):
        best[i], best_change[i] = 0.0, 0.0
    find_direction(Q, g, L, direction)
    for _ in range(HALVINGS):
        rise, cut = 0.0, False
        for i in range(n):
            change[i], moved = 0.0, size * direction[i]
            step[i] = min(max(moved, -a[i]), upper[i] - a[i])
            cut |= step[i] != moved
        for i in range(n):
            row, s = Q[i], step[i]
            if s != 0:
                for j in range(n):
                    change[j] += s * row[j]
        for i in range(n):
            rise += step[i] * (g[i] + 0.5 * change[i])
        if rise < lowest:
            lowest = rise
            for i in range(n):
                best[i], best_change[i] = step[i], change[i]
        elif lowest < 0:
            break
        if not cut:
            break
        size *= 0.5
    for i in range(n):
        a[i] = min(max(a[i] + best[i], 0.0), upper[i])
        g[i] += best_change[i]


@inner
def find_face(a: Floats, g: Floats, upper: Floats, tolerance: float, face: np.ndarray) -> tuple[int, float, float]:
    """Fill in the face; return how many variables it has, the largest violation, and the sum of a."""
    m, worst, total = 0, 0.0, 0.0
    for i in range(len(a)):
        up = -g[i] if a[i] < upper[i] else 0.0
        down = g[i] if a[i] > 0 else 0.0
        misfit = max(up, down)
        worst = max(worst, misfit)
        total += a[i]
        if 0 < a[i] < upper[i] or misfit > tolerance:
            face[m] = i
            m += 1
    return m, worst, total


@inline
def count_free(a: Floats, upper: Floats) -> int:
    """Return how many variables are off their bounds."""
    free = 0
    for i in range(len(a)):
        free += 0 < a[i] < upper[i]
    return free


@inline
def take_face(Q: np.ndarray, face: np.ndarray, state: Floats, o: int, inside: np.ndarray, part: Floats) -> None:
    """Fill in the matrix of a face, and what is known of its variables; those of the machine begin at o."""
    for r in range(len(face)):
        row, out = Q[face[r]], inside[r]
        for c in range(len(face)):
            out[c] = row[face[c]]
        for k in range(5):
            part[k, r] = state[k, o + face[r]]


@inline
def move(Q: np.ndarray, where: np.ndarray, new: Floats, a: Floats, g: Floats) -> None:
    """Set a of some variables, whose rows are filled, to new values, and bring the gradient of all along."""
    for r in range(len(where)):
        i = where[r]
        row, s = Q[i], new[r] - a[i]
        a[i] = new[r]
        if s != 0:
            for j in range(len(g)):
                g[j] += s * row[j]

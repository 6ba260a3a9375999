"""Compute kernel tiles in one compiled pass: exp(-gamma |u - v|^p) of inner products, or of the rows themselves.

From rows, the distance is a sum of squared differences, not |u|^2 + |v|^2 - 2 u.v, so that nothing cancels: float32
costs no more than the rounding of the features. Throughout, squares = (|u|^2 (m,), |v|^2 (n,)) of a tile, and
exponential = (gamma, root), where `root` says p = 1, else p = 2.
"""

from typing import Any

import numpy as np

from mr_elm.compiled import INNER, inline, jit
from mr_elm.typing import Floats, Pair

SUMS = {'reassoc', 'contract', 'arcp', 'afn', 'nsz'}  # all of fastmath that keeps infinite numbers and NaN
fast, inner = jit(fastmath=SUMS), jit(fastmath=SUMS, **INNER)
# An exponential takes its argument apart, which no compiler may put together again.
ordered = jit(fastmath={'contract', 'nsz'})
BIAS_DOUBLE = 1.5 * 2.0**52 + 1023  # added to a whole number n, it leaves n + 1023 in the last bits: no conversion
BIAS_SINGLE = np.float32(1.5 * 2.0**23 + 127)
LEAST_DOUBLE = -708.3964185322641  # the least x whose exp is a normal number, here and in float32
LEAST_SINGLE = np.float32(-87.33654)
COLUMNS_AT_ONCE = 1024  # columns whose features stay in the second cache, for row after row


@inline
def _raise_two(n: Any, r: Any) -> Any:
    """Return 2^(n + r) in float32, n whole, r in [-1/2, 1/2]: a polynomial of degree 6; relative error 1e-7."""
    p = np.float32(1.535336188319500e-4)
    p = p * r + np.float32(1.339887440266574e-3)
    p = p * r + np.float32(9.618437357674640e-3)
    p = p * r + np.float32(5.550332471162809e-2)
    p = p * r + np.float32(2.402264791363012e-1)
    p = p * r + np.float32(6.931472028550421e-1)
    p = p * r + np.float32(1.0)
    power = np.int32(np.float32(n + BIAS_SINGLE).view(np.int32) << np.int32(23))
    return p * power.view(np.float32)


@ordered
def exponentiate_negative(x: np.ndarray) -> None:
    """Turn numbers x <= 0 of float64 into exp(x), in place; relative error 4e-16.

    0 where exp(x) is less than the least normal number; NaN stays NaN. Written out, because LLVM vectorises it and not
    a call of exp: 2^n times the Taylor polynomial of exp(r), where x = n log 2 + r, and log 2 is a sum of two numbers
    whose first one times n is exact.
    """
    for j in range(len(x)):
        n = np.floor(x[j] * 1.4426950408889634 + 0.5)
        r = x[j] - n * 0.693147180369123816490
        r = r - n * 1.90821492927058770002e-10
        p = 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 0.0001984126984126984
        p = p * r + 0.001388888888888889
        p = p * r + 0.008333333333333333
        p = p * r + 0.041666666666666664
        p = p * r + 0.16666666666666666
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        power = np.int64(np.float64(n + BIAS_DOUBLE).view(np.int64) << np.int64(52))
        if x[j] < LEAST_DOUBLE:
            x[j] = 0.0
        else:
            x[j] = p * power.view(np.float64)


@ordered
def exponentiate_negative_single(x: np.ndarray) -> None:
    """Turn numbers x <= 0 of float32 into exp(x), in place, as `exponentiate_negative`; relative error 1.2e-7."""
    for j in range(len(x)):
        n = np.floor(x[j] * np.float32(1.44269504) + np.float32(0.5))
        r = x[j] - n * np.float32(0.693359375)
        r = r + n * np.float32(2.12194440e-4)
        value = _raise_two(n, r * np.float32(1.44269504))
        if x[j] < LEAST_SINGLE:
            x[j] = np.float32(0)
        else:
            x[j] = value


@inline
def _square_distance(both: float, product: float) -> float:
    """Return |u - v|^2 from |u|^2 + |v|^2 and u.v: 0 where it is rounding, infinite where a square overflows."""
    d = both - 2.0 * product
    if d <= 1e-14 * both:
        d = 0.0
    if both < np.inf:
        return d
    return both


@inline
def _square_single(both: Any, twice: Any) -> Any:
    """Return |u - v|^2 from |u|^2 + |v|^2 and 2 u.v in float32, as `_square_distance`."""
    d = both - twice
    if d <= np.float32(0):
        d = np.float32(0)
    if both < np.float32(np.inf):
        return d
    return both


@fast
def fill_kernel_tile(
    products: np.ndarray, squares: Pair, exponential: tuple[float, bool], out: np.ndarray, start: int
) -> None:
    """Fill out[:, start:start + n] with float64 kernel values of inner products (m, n).

    It takes the whole of out: the compiler would not know that the columns of a slice are contiguous.
    """
    (a_squares, b_squares), (gamma, root) = squares, exponential
    m, n = products.shape
    for r in range(m):
        row, square, target = products[r], a_squares[r], out[r, start : start + n]
        for j in range(n):
            d = _square_distance(square + b_squares[j], row[j])
            target[j] = -gamma * (np.sqrt(d) if root else d)
        exponentiate_negative(target)


@fast
def fill_single_tile(
    products: np.ndarray, squares: Pair, exponential: tuple[float, bool], out: np.ndarray, start: int
) -> None:
    """Fill out[:, start:start + n] with float32 kernel values of float32 inner products (m, n)."""
    (a_squares, b_squares), (gamma, root) = squares, exponential
    m, n = products.shape
    g, column, distance = np.float32(gamma), b_squares.astype(np.float32), np.empty(n, np.float32)
    for r in range(m):
        row, square = products[r], np.float32(a_squares[r])
        for j in range(n):
            distance[j] = _square_single(square + column[j], np.float32(2) * row[j])
        _finish(distance, g, root, out[r, start : start + n])


@inner
def _finish(distance: np.ndarray, gamma: float, root: bool, out: np.ndarray) -> None:
    for j in range(len(out)):
        out[j] = -gamma * (np.sqrt(distance[j]) if root else distance[j])
    exponentiate_negative_single(out)


@inner
def square_differences(X: np.ndarray, i: int, start: int, out: np.ndarray) -> None:
    """Fill out with |u - v|^2 of column i of X, (d, N), and those from `start` on, four features a pass.

    d : a multiple of 4.
    """
    stop = start + len(out)
    out[:] = 0.0
    for f in range(0, len(X), 4):
        x0, x1, x2, x3 = X[f, start:stop], X[f + 1, start:stop], X[f + 2, start:stop], X[f + 3, start:stop]
        u0, u1, u2, u3 = X[f, i], X[f + 1, i], X[f + 2, i], X[f + 3, i]
        for j in range(len(out)):
            a, b, c, e = u0 - x0[j], u1 - x1[j], u2 - x2[j], u3 - x3[j]
            out[j] += a * a + b * b + c * c + e * e


@fast
def fill_kernel_rows(X: np.ndarray, indices: np.ndarray, exponential: tuple, out: np.ndarray) -> None:
    """Fill out (n, N) with the kernel values between columns `indices` (n,) and all of X, (d, N) float32."""
    (gamma, root), N = exponential, X.shape[1]
    for start in range(0, N, COLUMNS_AT_ONCE):
        for r in range(len(indices)):
            part = out[r, start : min(start + COLUMNS_AT_ONCE, N)]
            square_differences(X, indices[r], start, part)
            _finish(part, np.float32(gamma), root, part)


@fast
def add_rows(slab: np.ndarray, slots: np.ndarray, weights: Floats, total: Floats) -> None:
    """Add sum_r weights_r slab[slots_r] to total, in float64, one stretch of columns at a time."""
    stretch = 1024
    part = np.empty(stretch)
    for start in range(0, len(total), stretch):
        stop = min(start + stretch, len(total))
        m, r = stop - start, 0
        part[:m] = 0.0
        while r + 4 <= len(weights):
            w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
            k0, k1 = slab[slots[r], start:stop], slab[slots[r + 1], start:stop]
            k2, k3 = slab[slots[r + 2], start:stop], slab[slots[r + 3], start:stop]
            for j in range(m):
                part[j] += w0 * k0[j] + w1 * k1[j] + w2 * k2[j] + w3 * k3[j]
            r += 4
        while r < len(weights):
            w0, k0 = weights[r], slab[slots[r], start:stop]
            for j in range(m):
                part[j] += w0 * k0[j]
            r += 1
        for j in range(m):
            total[start + j] += part[j]


@fast
def add_to_rows(values: Floats, rows: np.ndarray, start: int, out: Floats) -> None:
    """Add values (m, n) to the numbers from `start` on of some rows (m,) of `out`."""
    for r in range(len(rows)):
        target, new = out[rows[r], start : start + values.shape[1]], values[r]
        for j in range(len(new)):
            target[j] += new[j]

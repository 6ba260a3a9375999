"""Add floating-point arrays so that the order of the additions does not change the result.

Every block sum is first rounded to a multiple of a fixed step, a power of two far below its own rounding error. Sums of
multiples are multiples, and two float64 (high and low) hold them exactly up to 2^104 steps: the total does not depend
on splits, retries or merging, bit for bit, and taking rows out again gives the old bits.

Source: Dekker, A floating-point technique for extending the available precision, 1971; Demmel, Nguyen, Fast
reproducible floating-point summation, 2013 (the step).
"""

import numpy as np

from mr_elm.typing import Floats

STEP_BITS = 66
EXACT_ROWS = 2.0**38  # at the bound, before a total could outgrow 2^104 steps
CHUNK_ENTRIES = 1 << 14  # entries added at a time, few enough to stay in a core's cache


def choose_step(bound: float) -> float:
    """Return the step for sums of terms of magnitude at most `bound`: a power of two, bound * 2^-66 or just above."""
    bound = max(bound, 1e-270)  # so that the step and its inverse are normal numbers
    return float(2.0 ** (np.ceil(np.log2(bound)) - STEP_BITS))


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return (s, e) with s = fl(a + b) and s + e = a + b exactly. Source: Knuth, TAOCP vol. 2, 4.2.2."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def add_values(high: Floats, low: Floats, values: Floats, step: float | Floats, room: Floats | None = None) -> None:
    """Round values to multiples of the step and add them to the pair (high, low), in place.

    room : (4, high.size or more) to work in, or None: new memory takes longer than the additions.
    """
    if room is None:
        room = np.empty((4, high.size))
    rounded, total, back, rest = (part[: high.size].reshape(high.shape) for part in room)
    np.multiply(values, 1 / step, out=rounded)
    np.rint(rounded, out=rounded)
    rounded *= step
    np.add(high, rounded, out=total)  # as `two_sum`
    np.subtract(total, high, out=back)
    rounded -= back
    np.subtract(total, back, out=back)
    np.subtract(high, back, out=rest)
    rest += rounded
    rest += low
    # the total is 0, or at least as large as the rest: where high and value cancel, no digit of the total is lost, and
    # low is at most half of the last digit of high. Then Dekker's sum needs fewer operations than Knuth's.
    np.add(total, rest, out=high)
    np.subtract(high, total, out=total)
    np.subtract(rest, total, out=low)


def add_pair(high: Floats, low: Floats, other_high: Floats, other_low: Floats) -> None:
    """Add the pair (other_high, other_low) to (high, low), in place."""
    total, error = two_sum(high, other_high)
    error += low
    error += other_low
    high[...], low[...] = two_sum(total, error)


def add_triangle(high: Floats, low: Floats, values: Floats, step: float) -> None:
    """Add the upper triangle of a square array to the pair (high, low), a few rows at a time."""
    m = len(values)
    rows = max(1, CHUNK_ENTRIES // m)
    room = np.empty((4, rows * m))
    for start in range(0, m, rows):
        part = (slice(start, start + rows), slice(start, m))
        add_values(high[part], low[part], values[part], step, room)

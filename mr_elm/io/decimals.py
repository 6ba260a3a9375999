"""Parse decimal numbers in compiled code, each to the nearest float64, as Python's float does.

A number is w * 10^q, w of at most 19 digits. Small ones are one exact division or product; for the others the product
of w and the first 128 bits of 5^q decides, except in rare cases, in which the text is refused.

Source: Clinger, How to read floating point numbers accurately, 1990; Lemire, Number parsing at a gigabyte per second,
2021, algorithm 1.
"""
from functools import cache

import numpy as np

from mr_elm.compiled import inline, jit

LEAST, LARGEST = -342, 308  # q, beyond which 19 digits make 0 or infinity
MOST_DIGITS = 19
NEW_LINE, POINT, PLUS, MINUS, ZERO, NINE, EXPONENT = (ord(character) for character in '\n.+-09e')
TENS = 10.0 ** np.arange(23)  # which float64 holds exactly
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
U0, U1, U2, U3, U9, U53, U63 = (np.uint64(number) for number in (0, 1, 2, 3, 9, 53, 63))
PRECISION, ALL = np.uint64(0x1FF), np.uint64(0xFFFFFFFFFFFFFFFF)
FRACTION = np.uint64((1 << 52) - 1)


@cache
def tabulate_powers() -> np.ndarray:
    """Return the first 128 bits of 5^q for q = LEAST to LARGEST, (651, 2) uint64: high and low part."""
    table = []
    for q in range(LEAST, LARGEST + 1):
        power = 5 ** abs(q)
        if q < 0:  # its inverse, rounded up
            n_bits = power.bit_length()
            power = (1 << (n_bits + 127 if q >= -27 else 2 * n_bits + 128)) // power + 1
        excess = power.bit_length() - 128
        power = power >> excess if excess > 0 else power << -excess
        table.append((power >> 64, power & 0xFFFFFFFFFFFFFFFF))
    return np.array(table, dtype=np.uint64)


@inline
def multiply(a: np.uint64, b: np.uint64) -> tuple:
    """Return a * b as two uint64, the high and the low one."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF), a * b


@jit()
def round_decimal(w: np.uint64, q: int, power_high: np.uint64, power_low: np.uint64) -> np.uint64:
    """Return the bits of the float64 that is nearest to w * 10^q, w > 0; 0 where that is not decided."""
    shift = 0
    while w >> U63 == U0:
        w, shift = w << U1, shift + 1
    high, low = multiply(w, power_high)
    if high & PRECISION == PRECISION:
        more, _ = multiply(w, power_low)
        low = low + more
        if low < more:
            high = high + U1
    if low == ALL:
        return U0
    upper = high >> U63
    drop = upper + U9
    mantissa = high >> drop
    exponent = (217706 * q >> 16) + 63 + int(upper) - shift + 1023
    if exponent <= 0 or exponent >= 2046:
        return U0
    if low <= U1 and -4 <= q <= 23 and mantissa & U3 == U1 and mantissa << drop == high:
        mantissa = mantissa - U1  # halfway between two numbers: to the even one
    mantissa = (mantissa + (mantissa & U1)) >> U1
    if mantissa >> U53 > U0:
        mantissa, exponent = mantissa >> U1, exponent + 1
    return (mantissa & FRACTION) | np.uint64(exponent) << np.uint64(52)


@inline
def scan_decimal(text: np.ndarray, at: int) -> tuple:
    """Read a number without its sign from text[at]: (position behind it, w, q), the position -1 where there is none."""
    w, q, n_digits, first, point = U0, 0, 0, at, -1
    while True:
        byte = text[at]
        if ZERO <= byte <= NINE:
            w = w * np.uint64(10) + np.uint64(byte - ZERO)
            n_digits += int(w > U0)
        elif byte == POINT and point < 0:
            point = at
        else:
            break
        at += 1
    if at - first - (point >= 0) == 0 or n_digits > MOST_DIGITS:
        return -1, w, q
    if point >= 0:
        q = point + 1 - at
    if text[at] | 32 == EXPONENT:
        at += 1
        is_negative = text[at] == MINUS
        at += is_negative or text[at] == PLUS
        first, exponent = at, 0
        while ZERO <= text[at] <= NINE and exponent < 10_000:
            exponent = 10 * exponent + int(text[at]) - ZERO
            at += 1
        if at == first:
            return -1, w, q
        q += -exponent if is_negative else exponent
    return at, w, q


@inline
def convert_decimal(out: np.ndarray, bits: np.ndarray, at: int, w: np.uint64, q: int, is_negative: bool,
                    powers: np.ndarray) -> bool:
    """Write the float64 that is nearest to w * 10^q, or its negative, to out[at]; returns whether that is decided.

    bits : the bits of out, as uint64.
    """
    if w >> U53 == U0 and -22 <= q <= 22:
        out[at] = np.float64(w) * TENS[q] if q >= 0 else np.float64(w) / TENS[-q]
    elif w == U0:
        out[at] = 0.0
    elif q < LEAST or q > LARGEST:
        return False
    else:
        bits[at] = round_decimal(w, q, powers[q - LEAST, 0], powers[q - LEAST, 1])
        if bits[at] == U0:
            return False
    if is_negative:
        out[at] = -out[at]
    return True

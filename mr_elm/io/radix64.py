"""Read base64 by compiled code, which takes a quarter of the time of binascii."""
from binascii import a2b_base64

import numpy as np

from mr_elm.compiled import jit

LETTERS = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
VALUES = np.full(256, 255, np.uint8)  # of each byte as a letter; 255 where it is none
VALUES[list(LETTERS)] = np.arange(64)
TWO, FOUR = np.uint8(2), np.uint8(4)


@jit()
def decode_letters(text: np.ndarray, values: np.ndarray, out: np.ndarray) -> bool:
    """Read 3 bytes from each 4 letters of text; returns whether all are letters."""
    seen = np.uint8(0)
    for i in range(len(out) // 3):
        a, b, c, d = values[text[4 * i]], values[text[4 * i + 1]], values[text[4 * i + 2]], values[text[4 * i + 3]]
        seen |= a | b | c | d
        out[3 * i] = a << 2 | b >> FOUR
        out[3 * i + 1] = b << 4 | c >> TWO
        out[3 * i + 2] = c << 6 | d
    return int(seen) < 64


def decode_bytes(text: bytes | memoryview) -> bytes | memoryview:
    """Do what `a2b_base64` does."""
    letters = np.frombuffer(text, np.uint8)
    whole = max(0, len(letters) // 4 - 1)  # the last 4 letters may be padding
    try:
        end = np.frombuffer(a2b_base64(letters[4 * whole:].data), np.uint8)
    except ValueError:
        return a2b_base64(text)
    out = np.empty(3 * whole + len(end), np.uint8)
    if not decode_letters(letters, VALUES, out[:3 * whole]):
        return a2b_base64(text)
    out[3 * whole:] = end
    return out.data

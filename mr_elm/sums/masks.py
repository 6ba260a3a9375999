"""Add exact sums as whole numbers on a ring, where masks of pairs of sites cancel: no site shows its own sums.

An exact sum is k steps of its grid, a whole number of at most 2^104 in size (see `exact_sum`). It becomes k modulo
2^128, two words of 64 bits, the lower one first. Sums of up to 2^22 sites are below 2^126 in size, so the ring never
turns over, and k is found again. Two sites that share a secret add the same random numbers, one of them with minus:
in the sum of all sites all masks are gone, to the last bit. A masked sum alone is uniformly distributed on the ring.

Source: Bonawitz et al., Practical secure aggregation for privacy-preserving machine learning, 2017, section 4, without
sites that drop out.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mr_elm.sums.exact_sum import add_pair
from mr_elm.typing import Floats

MAX_STEPS = 2.0**104  # steps of an exact sum
MAX_SITES = 1 << 22
WORD_SIZE = 2.0**64


def to_ring(high: Floats, low: Floats, step: float) -> np.ndarray:
    """Return exact sums high + low, (n,), as numbers on the ring, (n, 2) uint64.

    Raises OverflowError where a sum is larger than its grid holds, or is no multiple of the step.
    """
    ring = np.zeros((len(high), 2), np.uint64)
    for part in high, low:
        steps = np.abs(part) / step
        if not (steps <= MAX_STEPS).all() or (steps % 1 != 0).any():
            raise OverflowError('expected exact sums of at most 2^104 steps of their grid, found others')
        upper = np.floor(steps / WORD_SIZE)
        words = np.column_stack([steps - upper * WORD_SIZE, upper]).astype(np.uint64)
        words[part < 0] = negate(words[part < 0])
        ring = add(ring, words)
    return ring


def from_ring(ring: np.ndarray, step: float) -> tuple[Floats, Floats]:
    """Undo `to_ring`: (high, low), (n,) each. Raises OverflowError where a number is no exact sum."""
    below = ring[:, 1] >> np.uint64(63) == 1
    size = ring.copy()
    size[below] = negate(ring[below])
    high, low = size[:, 1] * WORD_SIZE, np.zeros(len(ring))
    if not (high <= MAX_STEPS).all():
        raise OverflowError(
            'expected exact sums of at most 2^104 steps of their grid, found others: the sums of a '
            'site are missing or damaged, or there are too many rows'
        )
    upper, lower = size[:, 0] >> np.uint64(32), size[:, 0] & np.uint64(2**32 - 1)
    add_pair(high, low, upper.astype(float) * 2.0**32, lower.astype(float))
    sign = np.where(below, -step, step)
    return high * sign, low * sign + 0.0  # 0 for -0


def add(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Add numbers on the ring, (n, 2)."""
    lower = one[:, 0] + other[:, 0]
    return np.column_stack([lower, one[:, 1] + other[:, 1] + (lower < one[:, 0])])


def negate(ring: np.ndarray) -> np.ndarray:
    """Return the negative of numbers on the ring, (n, 2)."""
    lower = ~ring[:, 0] + np.uint64(1)
    return np.column_stack([lower, ~ring[:, 1] + (lower == 0)])


def make_mask(private_key: Any, public_keys: Iterable[bytes], session: Sequence[str], n: int) -> np.ndarray:
    """Return the sum of the masks that a site shares with each other site, (n, 2).

    private_key : of X25519. public_keys : of the other sites, 32 bytes each. session : texts that no two rounds share;
    masks that are used twice show the difference of what they hide.
    """
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    public_key = private_key.public_key().public_bytes_raw()
    salt = hashlib.sha256('\0'.join(session).encode()).digest()
    mask = np.zeros((n, 2), np.uint64)
    for other in public_keys:
        secret = private_key.exchange(X25519PublicKey.from_public_bytes(other))
        info = b'mr_elm mask' + min(public_key, other) + max(public_key, other)
        key = HKDF(hashes.SHA256(), 32, salt, info).derive(secret)
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor().update(bytes(16 * n))
        shared = np.frombuffer(stream, '<u8').reshape(n, 2)
        mask = add(mask, shared if public_key < other else negate(shared))
    return mask

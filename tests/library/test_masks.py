"""Exact sums as whole numbers on a ring: they come back, masks cancel, and a masked sum alone tells nothing."""

import hashlib
import hmac
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2

from mr_elm.sums.masks import add, from_ring, make_mask, negate, to_ring

RING = 1 << 128
STEPS = st.sampled_from([2.0**-66, 1.0, 2.0**20])
COUNTS = st.lists(st.integers(-(2**103), 2**103) | st.integers(-9, 9), min_size=1, max_size=8)


def pair_of(counts, step):
    """Return (high, low) of whole numbers of steps, by exact arithmetic."""
    high = [float(Fraction(k) * Fraction(step)) for k in counts]
    low = [float(Fraction(k) * Fraction(step) - Fraction(h)) for k, h in zip(counts, high, strict=True)]
    return np.array(high), np.array(low)


def read_ring(ring):
    """Return numbers on the ring as whole numbers from 0 on."""
    return [int(lower) + (int(upper) << 64) for lower, upper in ring]


@given(COUNTS, STEPS)
@example([2**103 - 1, -(2**103) + 1, -1], 2.0**-66)
@example([2**104, -(2**104)], 0.5)
def test_a_sum_is_its_number_of_steps_on_the_ring_and_comes_back_bit_for_bit(counts, step):
    high, low = pair_of(counts, step)
    ring = to_ring(high, low, step)
    assert read_ring(ring) == [k % RING for k in counts]
    for found, wanted in zip(from_ring(ring, step), (high, low), strict=True):
        assert found.tobytes() == (wanted + 0.0).tobytes()


@given(st.lists(st.integers(0, RING - 1), min_size=1, max_size=5), st.integers(0, RING - 1))
def test_the_ring_adds_and_negates(numbers, other):
    def words(values):
        return np.array([[k % 2**64, k >> 64] for k in values], np.uint64)

    assert read_ring(add(words(numbers), words([other] * len(numbers)))) == [(k + other) % RING for k in numbers]
    assert read_ring(negate(words(numbers))) == [-k % RING for k in numbers]


@pytest.mark.parametrize('high, low', [(2.0**105, 0), (-(2.0**105), 0), (np.inf, 0), (np.nan, 0), (0.5, 0), (0, 0.25)])
def test_what_is_no_exact_sum_is_refused(high, low):
    says = r'^expected exact sums of at most 2\^104 steps of their grid, found others$'
    with pytest.raises(OverflowError, match=says):
        to_ring(np.array([float(high)]), np.array([float(low)]), 1.0)


def test_a_ring_of_random_numbers_is_no_sum(rng):
    with pytest.raises(OverflowError):
        from_ring(rng.integers(0, 2**64, (4, 2), np.uint64), 1.0)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_number_of_up_to_2_to_104_steps_is_a_sum_and_a_larger_one_is_refused(sign):
    def words(k):
        return np.array([[sign * k % RING % 2**64, sign * k % RING >> 64]], np.uint64)

    assert from_ring(words(2**104), 0.5)[0].tolist() == [sign * 2.0**103]
    for size in (2**104 + 2**64, 2**110, 2**126):
        with pytest.raises(OverflowError, match=r'^expected exact sums .* or damaged, or there are too many rows$'):
            from_ring(words(size), 0.5)


def test_masks_of_all_sites_cancel_and_each_alone_is_uniform():
    keys = [X25519PrivateKey.generate() for _ in range(4)]
    public, n = [key.public_key().public_bytes_raw() for key in keys], 4000
    masks = [
        make_mask(key, [other for other in public if other != own], ['layer', '1'], n)
        for key, own in zip(keys, public, strict=True)
    ]
    total = masks[0]
    for mask in masks[1:]:
        total = add(total, mask)
    assert not total.any()
    counts = to_ring(np.arange(n, dtype=float), np.zeros(n), 1.0)
    assert measure_bytes(counts) > 1e5
    for mask in masks:
        assert measure_bytes(add(counts, mask)) < chi2.ppf(1 - 1e-9, 16 * 255)
    again = make_mask(keys[0], public[1:], ['layer', '2'], n)
    assert (again != masks[0]).all(axis=1).mean() > 0.99


def test_a_mask_is_the_stream_of_chacha20_of_a_key_by_rfc_5869():
    """Sites of other versions must derive the same masks."""
    key, other = X25519PrivateKey.generate(), X25519PrivateKey.generate().public_key()
    own, public, n = key.public_key().public_bytes_raw(), other.public_bytes_raw(), 9
    extracted = hmac.digest(hashlib.sha256(b'layer\x001').digest(), key.exchange(other), 'sha256')
    expanded = hmac.digest(extracted, b'mr_elm mask' + b''.join(sorted([own, public])) + b'\x01', 'sha256')
    stream = Cipher(algorithms.ChaCha20(expanded, bytes(16)), None).encryptor().update(bytes(16 * n))
    expected = [int.from_bytes(stream[start : start + 16], 'little') for start in range(0, 16 * n, 16)]
    sign = 1 if own < public else -1
    assert read_ring(make_mask(key, [public], ['layer', '1'], n)) == [sign * k % RING for k in expected]


class Outsider:
    """Know the public key of a site, and guess the secret that it shares with another one."""

    def __init__(self, key, secret):
        self.public_key, self.exchange = key.public_key, lambda other: secret


def test_who_knows_public_keys_only_has_another_mask_and_who_knows_the_secret_has_it():
    key, other = X25519PrivateKey.generate(), X25519PrivateKey.generate().public_key()
    public = [other.public_bytes_raw()]
    mask = make_mask(key, public, ['layer', '1'], 50)
    assert not (make_mask(Outsider(key, bytes(32)), public, ['layer', '1'], 50) == mask).any()
    assert (make_mask(Outsider(key, key.exchange(other)), public, ['layer', '1'], 50) == mask).all()


def measure_bytes(ring):
    """Return the chi-square statistic of each of the 16 bytes of numbers, added up: 16 * 255 degrees of freedom."""
    table = ring.view(np.uint8).reshape(len(ring), 16)
    counts = np.array([np.bincount(column, minlength=256) for column in table.T])
    expected = len(ring) / 256
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.fixture
def rng():
    return np.random.default_rng(3)

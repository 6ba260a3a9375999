"""Compute which reduce task of Hadoop gets a key, and choose how many tasks share some keys."""

from collections.abc import Iterator
from math import inf

import numpy as np

REDUCE_TASKS = 8  # that share keys of about the same work, unless the user says mapreduce.job.reduces


def hash_key(key: str) -> int:
    """Return the hash by which Hadoop deals out a key, ASCII text. Source: its WritableComparator, HashPartitioner."""
    value = 1
    for byte in key.encode('ascii'):
        value = (31 * value + byte) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def measure_largest_shares(sizes: dict[str, float], most: int) -> Iterator[float]:
    """Yield the share of all bytes that the busiest of n reduce tasks gets, for n = 1 to `most`.

    sizes : key -> bytes.
    """
    hashes, weights = np.array([hash_key(key) for key in sizes]), np.array(list(sizes.values()), dtype=float)
    for n in range(1, most + 1):
        yield float(np.bincount(hashes % n, weights).max() / weights.sum())


def find_fewest_tasks(sizes: dict[str, float], share: float) -> tuple[int, float]:
    """Return (n, largest share) of the fewest reduce tasks of which none gets more than a share of all bytes.

    Where no number of up to twice as many tasks as keys is enough, return the number that deals most evenly.
    """
    most_even = inf, 0
    for n, largest in enumerate(measure_largest_shares(sizes, 2 * len(sizes)), 1):
        if largest <= share:
            return n, largest
        most_even = min(most_even, (largest, n))
    return most_even[::-1]


def count_tasks(keys: list[str]) -> int:
    """Return the fewest reduce tasks of which none gets more keys than `REDUCE_TASKS` would that share them evenly."""
    return find_fewest_tasks(dict.fromkeys(keys, 1.0), -(-len(keys) // REDUCE_TASKS) / len(keys))[0]

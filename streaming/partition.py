"""Foretell which reduce task of Hadoop gets a key, and choose how many tasks are to share some keys."""
import numpy as np

TASKS = 8  # that share keys of about the same work, unless the user says mapreduce.job.reduces


def hash_of(key):
    """Return the hash by which Hadoop deals out a key, ASCII text. Source: its WritableComparator, HashPartitioner."""
    value = 1
    for byte in key.encode('ascii'):
        value = (31 * value + byte) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def largest_shares(sizes, most):
    """Return the share of all bytes that the busiest of n reduce tasks gets, for n = 1 to `most`.

    sizes : key -> bytes.
    """
    hashes, weights = np.array([hash_of(key) for key in sizes]), np.array(list(sizes.values()), dtype=float)
    return np.array([np.bincount(hashes % n, weights).max() for n in range(1, most + 1)]) / weights.sum()


def fewest_tasks(sizes, share):
    """Return (n, largest share) of the fewest reduce tasks of which none gets more than a share of all bytes.

    Where no number of up to twice as many tasks as keys is enough, return the number that deals most evenly.
    """
    shares = largest_shares(sizes, 2 * len(sizes))
    enough = np.flatnonzero(shares <= share)
    n = int(enough[0] if len(enough) else shares.argmin())
    return n + 1, float(shares[n])


def tasks_for(keys):
    """Return how many reduce tasks have as few keys each as if `TASKS` had shared them evenly, or hardly more."""
    return fewest_tasks(dict.fromkeys(keys, 1.0), -(-len(keys) // TASKS) / len(keys))[0]

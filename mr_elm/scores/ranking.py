"""Count how probabilities or decision values rank rows, in counts that merge: curves, and the areas under them.

Each distinct value has the weights of the positive and of the negative rows. Beyond a limit, values that agree in their
leading bits are counted together: of 131,072 values that moves an area by less than 1e-4. How many bits are dropped
depends on the rows alone, not on the order in which counts merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mr_elm.errors import one_line
from mr_elm.typing import Floats

MAX_VALUES = 1 << 17  # distinct values of a class
MAX_ALL_VALUES = 1 << 21  # of all classes


@dataclass(frozen=True)
class Ranking:
    """Hold the weights of rows by value.

    keys : (m,) int64, increasing as the values. positive, negative : (m,) weights.
    dropped : bits that keys have lost. limit : on m.
    """

    keys: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    dropped: int = 0
    limit: int = MAX_VALUES
    __repr__ = one_line

    @classmethod
    def of(cls, keys: np.ndarray, positive: np.ndarray, weights: Floats, limit: int = MAX_VALUES) -> Ranking:
        """Count rows. keys : (n,), see `key_of` and `key_of_number`. positive : (n,) of bool. weights : (n,)."""
        return cls(keys, weights * positive, weights * ~positive, 0, limit).reduce()

    def merge(self, other: Ranking) -> Ranking:
        """Return the counts of both sets of rows."""
        dropped = max(self.dropped, other.dropped)
        keys = np.concatenate([one.keys >> (dropped - one.dropped) for one in (self, other)])
        return Ranking(
            keys,
            np.append(self.positive, other.positive),
            np.append(self.negative, other.negative),
            dropped,
            self.limit,
        ).reduce()

    def reduce(self) -> Ranking:
        """Add up equal keys, and drop bits while there are too many keys."""
        keys, places = np.unique(self.keys, return_inverse=True)
        positive, negative = (np.bincount(places.ravel(), part) for part in (self.positive, self.negative))
        if len(keys) <= self.limit:
            return Ranking(keys, positive, negative, self.dropped, self.limit)
        return Ranking(keys >> 1, positive, negative, self.dropped + 1, self.limit).reduce()

    @property
    def area(self) -> float | None:
        """Return the area under the ROC curve, None where there are no positive or no negative rows."""
        both = self.positive.sum() * self.negative.sum()
        below = np.cumsum(self.negative) - self.negative / 2
        if both:
            return float(self.positive @ below / both)
        return None

    @property
    def average_precision(self) -> float | None:
        """Return the mean precision over the positive rows, None where there are none.

        The precision of a row is that of all rows of its value or a larger one.
        """
        true, false = self.curve()
        if not true[-1]:
            return None
        n_positive = (true + false)[1:]
        precision = np.divide(true[1:], n_positive, out=np.zeros(len(n_positive)), where=n_positive > 0)
        return float(np.diff(true) @ precision / true[-1])

    def curve(self) -> tuple[Floats, Floats]:
        """Return the weights of positive and of negative rows above each cut, (m + 1,) each, the highest cut first."""
        true, false = (np.append(0.0, np.cumsum(part[::-1])) for part in (self.positive, self.negative))
        return true, false

    @property
    def probabilities(self) -> Floats:
        """Return the probability of each key that `key_of` made, (m,); a key that lost bits has the smallest one."""
        keys = self.keys << self.dropped
        mirrored = key_of(np.ones(1)) - keys
        return np.where(keys < mirrored, keys.view(float), 1 - mirrored.view(float))

    def to_arrays(self) -> list[np.ndarray]:
        """Return arrays for the wire: keys as two halves, which float64 holds exactly."""
        return [
            self.keys >> 32,
            self.keys & 0xFFFFFFFF,
            self.positive,
            self.negative,
            np.array([self.dropped, self.limit]),
        ]

    @classmethod
    def from_arrays(cls, arrays: Sequence[np.ndarray]) -> Ranking:
        """Undo `to_arrays`."""
        high, low, positive, negative, facts = arrays
        return cls((high.astype(np.int64) << 32) | low.astype(np.int64), positive, negative, *map(int, facts))


def key_of(probabilities: Floats) -> np.ndarray:
    """Return int64 keys in the order of probabilities (n,), with as many bits near 1 as near 0."""
    P = np.asarray(probabilities, dtype=float) + 0.0
    low, high = np.minimum(P, 0.5).view(np.int64), np.minimum(1 - P, 0.5).view(np.int64)
    return np.where(P <= 0.5, low, 2 * np.array(0.5).view(np.int64) - high)


def key_of_number(values: Floats) -> np.ndarray:
    """Return int64 keys in the order of finite numbers (n,)."""
    bits = np.asarray(values, dtype=float).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)

"""Plan the small machines of all pairs of classes: which there are, and where in which tile of K their values are."""
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from mr_elm.typing import Floats


@dataclass(frozen=True)
class PairPlan:
    """Say which machines are small, and where in the tiles their kernel values are; rows are in class order.

    counts : (K,), rows of each class. most_rows : of a small machine. tile : rows, up to which classes share a tile.
    """

    counts: np.ndarray
    most_rows: int
    tile: int

    @cached_property
    def starts(self) -> np.ndarray:
        """Return where each class begins, (K + 1,)."""
        return sum_before(self.counts)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes i < j of each machine, (P,) each."""
        return list_pairs(len(self.counts))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Return the rows of each machine, (P,)."""
        first, second = self.pairs
        return self.counts[first] + self.counts[second]

    @cached_property
    def small(self) -> np.ndarray:
        """Tell which machines are small, (P,) bool."""
        return self.sizes <= self.most_rows

    @cached_property
    def taken(self) -> np.ndarray:
        """Tell which classes have a small machine, (K,) bool."""
        taken = np.zeros(len(self.counts), bool)
        for classes in self.pairs:
            taken[classes[self.small]] = True
        return taken

    @cached_property
    def squares(self) -> np.ndarray:
        """Return where the tile of each class with itself is kept, (K + 1,)."""
        return sum_before(np.where(self.taken, self.counts, 0)**2)

    @cached_property
    def variables(self) -> tuple[np.ndarray, Floats]:
        """Return (rows, targets) of the variables of all machines, flat."""
        classes = np.column_stack(self.pairs).ravel()
        sizes = self.counts[classes]
        members = np.arange(sizes.sum()) + np.repeat(self.starts[classes] - sum_before(sizes)[:-1], sizes)
        return members, np.repeat(np.tile([-1.0, 1.0], len(self.sizes)), sizes)

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """Return (first, last) of the classes that share a tile, `last` not in it."""
        first, groups = 0, []
        for last in range(1, len(self.counts) + 1):
            full = last == len(self.counts) or self.starts[last + 1] - self.starts[first] > self.tile
            if full or not self.taken[first:last + 1].all():
                if self.taken[first]:
                    groups.append((first, last))
                first = last
        return groups

    def list_tasks(self) -> Iterator[tuple[tuple[int, int], tuple[int, int], np.ndarray]]:
        """Yield (classes of its rows, classes of its columns, tasks for `solve_pairs`) of each tile.

        A task, a line of numbers, is a machine: its number, the rows m and n of its classes, where its variables begin,
        where the squares of its classes begin, and where its rows of the tile and its columns of it begin.
        Tiles of classes with themselves come first: the others need their squares.
        """
        (first, second), group_of = self.pairs, np.full(len(self.counts), -1)
        for number, group in enumerate(self.groups):
            group_of[slice(*group)] = number
        begins = np.array([self.starts[one] for one, _ in self.groups])
        tasks = np.column_stack([
            np.arange(len(first)), self.counts[first], self.counts[second], sum_before(self.sizes)[:-1],
            self.squares[first], self.squares[second], self.starts[first] - begins[group_of[first]],
            self.starts[second] - begins[group_of[second]]])[self.small]
        own, other = group_of[first[self.small]], group_of[second[self.small]]
        numbers = range(len(self.groups))
        for one, another in [*zip(numbers, numbers, strict=True), *combinations(numbers, 2)]:
            here = tasks[(own == one) & (other == another)]
            if len(here) or one == another:
                yield self.groups[one], self.groups[another], here


@lru_cache(maxsize=16)
def list_pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs i < j of class numbers, once: to list them takes longer than to solve a small machine."""
    return np.triu_indices(n_classes, 1)


def sum_before(counts: np.ndarray) -> np.ndarray:
    """Return the sums of all counts before each, and of all, (n + 1,)."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums

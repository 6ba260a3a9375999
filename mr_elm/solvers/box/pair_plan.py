"""Plan the small machines of all pairs of classes: which there are, and where in which tile of K their values are."""
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from mr_elm.typing import Floats

Group = tuple[int, int]  # (first, last) of the classes that share a tile, `last` not among them


class PairPlan:
    """Say which machines are small, and where in the tiles their kernel values are; rows are in class order.

    counts : (K,), rows of each class. most_rows : of a small machine. tile : rows, up to which classes share a tile.

    Sets sizes, (P,), the rows of each machine; offsets, (P + 1,), where its variables begin; small, (P,) bool;
    starts, (K + 1,), where each class begins; squares, (K + 1,), where the tile of each class with itself is kept;
    groups, those of the classes that have a small machine.
    """

    def __init__(self, counts: np.ndarray, most_rows: int, tile: int) -> None:
        self.counts = counts
        first, second = list_pairs(len(counts))
        self.sizes = counts[first] + counts[second]
        self.small = self.sizes <= most_rows
        taken = np.zeros(len(counts), bool)
        taken[first[self.small]] = taken[second[self.small]] = True
        self.starts, self.offsets = sum_before(counts), sum_before(self.sizes)
        self.squares = sum_before((counts * taken)**2)
        self.groups = group_classes(counts.tolist(), taken.tolist(), tile)

    def list_variables(self) -> tuple[np.ndarray, Floats]:
        """Return (rows, targets) of the variables of all machines, flat."""
        classes, signs = list_sides(len(self.counts))
        sizes = self.counts[classes]
        ends = sizes.cumsum()
        members = np.arange(ends[-1])
        members += (self.starts[classes] - ends + sizes).repeat(sizes)
        return members, signs.repeat(sizes)

    def list_tasks(self) -> Iterator[tuple[Group, Group, np.ndarray]]:
        """Yield (classes of its rows, classes of its columns, tasks for `solve_pairs`) of each tile.

        A task, a line of numbers, is a machine: its number, the rows m and n of its classes, where its variables begin,
        where the squares of its classes begin, and where its rows of the tile and its columns of it begin.
        Tiles of classes with themselves come first: the others need their squares.
        """
        numbers = np.flatnonzero(self.small)
        first, second = (classes[numbers] for classes in list_pairs(len(self.counts)))
        tasks = np.empty((len(numbers), 8), np.int64)
        lines = (numbers, self.counts[first], self.counts[second], self.offsets[numbers], self.squares[first],
                 self.squares[second], self.starts[first], self.starts[second])
        for column, values in enumerate(lines):
            tasks[:, column] = values
        tiles = sorted(combinations_with_replacement(self.groups, 2), key=lambda tile: tile[0] != tile[1])
        for one, other in tiles:
            here = tasks
            if len(tiles) > 1:
                here = tasks[(first >= one[0]) & (first < one[1]) & (second >= other[0]) & (second < other[1])]
            here[:, 6:] -= self.starts[one[0]], self.starts[other[0]]
            if len(here) or one == other:
                yield one, other, here


def group_classes(counts: list[int], taken: list[bool], tile: int) -> list[Group]:
    """Return the groups of classes that share a tile: neighbours of so many rows at most, or one class.

    counts : rows of each class. taken : which classes are in a group.
    """
    groups: list[Group] = []
    n_rows = 0
    for number, count in enumerate(counts):
        if taken[number]:
            joins = groups and groups[-1][1] == number and n_rows + count <= tile
            first, n_rows = (groups.pop()[0], n_rows + count) if joins else (number, count)
            groups.append((first, number + 1))
    return groups


@lru_cache(maxsize=16)
def list_pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs i < j of class numbers, once: to list them takes longer than to solve a small machine."""
    return np.triu_indices(n_classes, 1)


@lru_cache(maxsize=16)
def list_sides(n_classes: int) -> tuple[np.ndarray, Floats]:
    """Return the classes of all pairs, i, j, i, j, ..., and the target of each in its pair, once."""
    classes = np.column_stack(list_pairs(n_classes)).ravel()
    return classes, np.tile([-1.0, 1.0], len(classes) // 2)


def sum_before(counts: np.ndarray) -> np.ndarray:
    """Return the sums of all counts before each, and of all, (n + 1,)."""
    sums = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=sums[1:])
    return sums

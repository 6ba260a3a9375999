"""Plan the small machines of all pairs of classes: which there are, and where in which tile of K their values are."""
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

Group = tuple[int, int]  # (first, last) of the classes that share a tile, `last` not among them
strict = jit()


class PairPlan:
    """Say which machines are small, and where in the tiles their kernel values are; rows are in class order.

    counts : (K,) int64, rows of each class. most_rows : of a small machine. tile : rows, up to which classes share a
    tile.

    Sets starts, (K + 1,), where each class begins; offsets, (P + 1,), where the variables of each machine begin;
    squares, (K + 1,), where the tile of each class with itself is kept; tasks, a line for each small machine, see
    `list_tasks`; groups, those of the classes that have a small machine.
    """

    def __init__(self, counts: np.ndarray, most_rows: int, tile: int) -> None:
        self.counts = counts
        self.starts, self.offsets, self.squares, taken, self.tasks = plan_machines(counts, most_rows)
        self.groups = group_classes(counts.tolist(), taken.tolist(), tile)

    @property
    def most_rows(self) -> int:
        """Return how many rows the largest small machine has."""
        return int((self.tasks[:, 1] + self.tasks[:, 2]).max())

    @property
    def mean_rows(self) -> float:
        """Return how many rows a small machine has, in the mean."""
        return self.tasks[:, 1:3].sum() / len(self.tasks)

    def list_tasks(self) -> Iterator[tuple[Group, Group, np.ndarray]]:
        """Yield (classes of its rows, classes of its columns, tasks for `solve_pairs`) of each tile.

        A task, a line of numbers, is a machine: its number, the rows m and n of its classes, where its variables begin,
        where the squares of its classes begin, and where its rows of the tile and its columns of it begin.
        Tiles of classes with themselves come first: the others need their squares.
        """
        if len(self.groups) == 1:
            one, = self.groups
            self.tasks[:, 6:] -= self.starts[one[0]]
            yield one, one, self.tasks
            return
        firsts = self.starts[[first for first, _ in self.groups]]
        tiles = np.searchsorted(firsts, self.tasks[:, 6:], 'right') - 1  # the groups of both classes
        numbers = tiles @ (len(firsts), 1)
        tasks = self.tasks[numbers.argsort(kind='stable')]
        ends = np.bincount(numbers, minlength=len(firsts)**2).cumsum()
        for i, j in sorted(combinations_with_replacement(range(len(firsts)), 2), key=lambda tile: tile[0] != tile[1]):
            number = i * len(firsts) + j
            here = tasks[ends[number - 1] if number else 0:ends[number]]
            here[:, 6:] -= firsts[[i, j]]
            if len(here) or i == j:
                yield self.groups[i], self.groups[j], here


@strict
def plan_machines(counts: np.ndarray, most_rows: int) -> tuple:
    """Return (starts, offsets, squares, which classes have a small machine, tasks in rows of K); see `PairPlan`."""
    n_classes, p, n_small = len(counts), 0, 0
    starts, squares = np.zeros(n_classes + 1, np.int64), np.zeros(n_classes + 1, np.int64)
    offsets = np.zeros(n_classes * (n_classes - 1) // 2 + 1, np.int64)
    taken = np.zeros(n_classes, np.bool_)
    for i in range(n_classes):
        starts[i + 1] = starts[i] + counts[i]
        for j in range(i + 1, n_classes):
            size = counts[i] + counts[j]
            offsets[p + 1] = offsets[p] + size
            p += 1
            if size <= most_rows:
                taken[i] = taken[j] = True
                n_small += 1
    for i in range(n_classes):
        squares[i + 1] = squares[i] + (counts[i]**2 if taken[i] else 0)
    tasks, p, n_small = np.empty((n_small, 8), np.int64), 0, 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            if counts[i] + counts[j] <= most_rows:
                task = tasks[n_small]  # number by number: a line at once takes numba long to compile
                task[0], task[1], task[2], task[3] = p, counts[i], counts[j], offsets[p]
                task[4], task[5], task[6], task[7] = squares[i], squares[j], starts[i], starts[j]
                n_small += 1
            p += 1
    return starts, offsets, squares, taken, tasks


@strict
def begin_machines(counts: np.ndarray, order: np.ndarray, diagonal: Floats, upper: Floats, ridge: Floats,
                   least: float) -> tuple:
    """Return (members, targets, ridge, state) of the variables of all machines, flat, which are 0; see `whole_loops`.

    order : (N,), rows in class order. diagonal, upper, ridge : (N,), of Q with its ridge, of the box, and the ridge.
    least : what a diagonal value counts as at least.
    """
    n_variables, at, begin = (len(counts) - 1) * len(order), 0, 0
    members, targets, extra = np.empty(n_variables, np.int64), np.empty(n_variables), np.empty(n_variables)
    state = np.empty((5, n_variables))
    for i in range(len(counts)):
        other = begin + counts[i]
        for j in range(i + 1, len(counts)):
            for k in range(counts[i] + counts[j]):
                first = k < counts[i]
                row = order[begin + k if first else other + k - counts[i]]
                members[at], targets[at], extra[at] = row, -1.0 if first else 1.0, ridge[row]
                value = max(diagonal[row], least)
                state[0, at], state[1, at], state[2, at], state[3, at], state[4, at] = (
                    0.0, -1.0, upper[row], value, 1 / value)
                at += 1
            other += counts[j]
        begin += counts[i]
    return members, targets, extra, state


def join_machines(alpha: Floats, targets: Floats, members: np.ndarray, offsets: np.ndarray
                  ) -> tuple[np.ndarray, Floats]:
    """Return (support, dual_coef): the rows that any machine uses, in increasing order, and t_i alpha_i, (., P)."""
    support, place = find_support(alpha, members)
    # numpy, from 2.2 on, asks Linux for large pages of memory: to bring in small ones takes three times as long
    dual_coef = np.zeros((len(support), len(offsets) - 1))
    fill_coefficients(alpha, targets, members, offsets, place, dual_coef)
    return support, dual_coef


@strict
def find_support(alpha: Floats, members: np.ndarray) -> tuple:
    """Return the rows that any machine uses, in increasing order, and of each row its place among them, 0 of others."""
    last, n_support = 0, 0
    for v in range(len(alpha)):
        last = max(last, members[v])
    place = np.zeros(last + 1, np.int64)
    for v in range(len(alpha)):
        if alpha[v] != 0 and place[members[v]] == 0:
            place[members[v]] = 1
            n_support += 1
    support, n_support = np.empty(n_support, np.int64), 0
    for row in range(len(place)):
        if place[row]:
            support[n_support], place[row] = row, n_support
            n_support += 1
    return support, place


@strict
def fill_coefficients(alpha: Floats, targets: Floats, members: np.ndarray, offsets: np.ndarray, place: np.ndarray,
                      dual_coef: Floats) -> None:
    """Put t_i alpha_i of each machine, a column of dual_coef, which is 0, at the places of its rows."""
    for p in range(len(offsets) - 1):
        for v in range(offsets[p], offsets[p + 1]):
            if alpha[v] != 0:
                dual_coef[place[members[v]], p] = alpha[v] * targets[v]


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

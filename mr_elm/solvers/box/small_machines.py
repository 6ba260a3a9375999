"""Solve the small machines of all pairs of classes in one compiled loop, on kernel values that pairs share.

Rows are put in class order. The tile of two classes serves one machine, the tile of a class with itself all machines
of this class. So half of the kernel matrix is computed, each value once, and only the tiles on the diagonal are kept.
Small classes share a tile: Python is called once a tile, not once a pair.

Machines that are too large (`count_most_rows`) or not solved after ROUNDS are left to `block_rule`.
"""
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from mr_elm.solvers.box import pair_loops
from mr_elm.solvers.box.box_qp import Result, Settings, duality_gap
from mr_elm.solvers.shared.workspace import borrowed
from mr_elm.typing import Floats

TILE = 512   # rows, up to which small classes share a tile: its values take 2 MB, as much as the second cache holds
ROUNDS = 50  # steps of Newton, after which a machine is left to blocks
# A machine is small up to ROWS_A_CLASS rows for each class of the problem, as the machines of a class share its kernel
# values, and up to MOST_ROWS. Measured on machines of two equal classes of pendigits, optdigits, yeast, covtype and
# wine-quality-white, gamma 0.3/d C 1, 1/d C 10, 3/d C 100 and 1/d C 1000, in processor seconds on one thread: solved
# together, they take as long as by `block_rule` at about 300 rows with 2 classes, 550 with 3, 1,000 with 5 and 1,200
# with 8.
ROWS_A_CLASS, MOST_ROWS = 180, 1200


@dataclass
class SmallMachines:
    """Hold the machines of all pairs; flat arrays hold what is machine p's at offsets[p] to offsets[p + 1].

    offsets : (P + 1,). members : flat, the row of each variable, rows of the first class first. targets : flat, +-1.
    upper, ridge : flat, bounds, and what is added to the diagonal of Q.
    alpha, gradient : flat, the dual variables and Q alpha - e.
    violation : (P,), from float64 kernel values. n_iter : (P,), rounds, 0 where a machine was left out.
    eps : largest violation allowed. seconds : processor time of all machines.
    """

    offsets: np.ndarray
    members: np.ndarray
    targets: Floats
    upper: Floats
    ridge: Floats
    alpha: Floats
    gradient: Floats
    violation: Floats
    n_iter: np.ndarray
    eps: float
    seconds: float = 0.0

    @property
    def n_machines(self) -> int:
        """Return P."""
        return len(self.n_iter)

    @property
    def unsolved(self) -> np.ndarray:
        """Return the numbers of the machines that are left to another solver."""
        return np.flatnonzero((self.n_iter == 0) | ~(self.violation <= self.eps))

    @cached_property
    def machines(self) -> np.ndarray:
        """Return the machine of each variable, flat."""
        return np.repeat(np.arange(self.n_machines), np.diff(self.offsets))

    def place(self, machine: int) -> np.ndarray:
        """Return where the variables of a machine are, its rows in increasing order."""
        start, stop = self.offsets[machine:machine + 2]
        return start + np.argsort(self.members[start:stop])

    def make_result(self, machine: int) -> Result:
        """Return the Result of a machine, its rows in increasing order."""
        place = self.place(machine)
        a, g, upper, t = self.alpha[place], self.gradient[place], self.upper[place], self.targets[place]
        violation = float(self.violation[machine])
        return Result(a, t * (g + 1), 0.5 * float(a @ (g - 1)), duality_gap(a, g, upper), violation,
                      int(self.n_iter[machine]), len(a), self.seconds / self.n_machines, violation <= self.eps)

    @cached_property
    def intercept(self) -> Floats:
        """Return the bias of each machine, (P,)."""
        return np.zeros(self.n_machines)


def solve_small_machines(rows: Any, codes: np.ndarray, upper: Floats, settings: Settings,
                         ridge: Floats | None = None, n_classes: int = 0) -> SmallMachines:
    """Solve the machines of all pairs of classes that are small.

    rows : source of kernel rows, (N, N). codes : (N,) class numbers, each of which has a row.
    upper : (N,), the largest alpha of each row. ridge : (N,), of the machines of balls: K + 1 + ridge; None for K.
    n_classes : of the whole problem, where codes are of two of them.
    """
    started = time.process_time()
    order, counts = np.argsort(codes, kind='stable'), np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(counts)])
    first, second = np.triu_indices(len(counts), 1)
    offsets = np.concatenate([[0], np.cumsum(counts[first] + counts[second])])
    members, targets = pair_loops.list_members(starts, offsets)
    members = order[members]
    found = SmallMachines(
        offsets, members, targets, upper[members], np.zeros(len(members)) if ridge is None else ridge[members],
        np.zeros(len(members)), np.full(len(members), -1.0), np.zeros(len(first)), np.zeros(len(first), np.int64),
        settings.eps)
    problem = pair_loops.PairProblem(starts, offsets, found.upper, found.ridge, 0.0 if ridge is None else 1.0,
                                     count_most_rows(counts, settings, n_classes), settings.eps,
                                     min(settings.max_iter or ROUNDS, ROUNDS))
    solve_tiles(rows, order, problem, (found.alpha, found.gradient, found.violation, found.n_iter))
    found.seconds = time.process_time() - started
    return found


def count_most_rows(counts: np.ndarray, settings: Settings, n_classes: int = 0) -> int:
    """Return how many rows a small machine has at most, so that what is kept fits into the cache.

    counts : rows of each class. n_classes : of the whole problem.
    """
    most = min(ROWS_A_CLASS * max(n_classes, len(counts)), MOST_ROWS)
    most = int(min(most, np.sqrt(settings.cache_bytes / 32)))  # two squares of a machine take half of the cache
    return most if 8 * (counts[find_small_classes(counts, most)]**2).sum() <= settings.cache_bytes / 2 else 0


def solve_tiles(rows: Any, order: np.ndarray, problem: pair_loops.PairProblem, found: tuple) -> None:
    """Compute the kernel values of one tile after another and solve the machines in it.

    found : alpha, gradient, violation and rounds, to be filled in.
    """
    starts = problem.starts
    counts = np.diff(starts)
    taken = find_small_classes(counts, problem.most_rows)
    places = np.concatenate([[0], np.cumsum(np.where(taken, counts, 0)**2)])
    groups = [(group, order[starts[group[0]]:starts[group[1]]]) for group in group_classes(starts, taken)]
    with borrowed() as space:
        buffers = tuple(space.array(name, (problem.most_rows**2,), float) for name in ('machine', 'face'))
        squares = space.array('squares', (places[-1],), float), places
        space.touched('squares', squares[0].nbytes)
        for group, members in groups:
            tile = rows.tile(members, members, space.array('tile', (len(members),) * 2, float))
            keep_squares(tile, group, starts, squares)
            pair_loops.solve_pairs(tile, (group, group), squares, problem, found, buffers)
        for (one, here), (other, there) in combinations(groups, 2):
            if min(counts[slice(*one)]) + min(counts[slice(*other)]) <= problem.most_rows:
                tile = rows.tile(here, there, space.array('tile', (len(here), len(there)), float))
                pair_loops.solve_pairs(tile, (one, other), squares, problem, found, buffers)


def find_small_classes(counts: np.ndarray, most_rows: int) -> np.ndarray:
    """Tell which classes have a small machine, (K,) bool: with the smallest of the others, if with any."""
    smallest, next_one = np.partition(counts, 1)[:2]
    others = np.where(np.arange(len(counts)) == counts.argmin(), next_one, smallest)
    return counts + others <= most_rows


def group_classes(starts: np.ndarray, taken: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of classes that share a tile, `last` not in it; taken : (K,) bool, the classes to group."""
    first, n_classes = 0, len(starts) - 1
    while first < n_classes:
        last = first + 1
        while last < n_classes and taken[first:last + 1].all() and starts[last + 1] - starts[first] <= TILE:
            last += 1
        if taken[first]:
            yield first, last
        first = last


def keep_squares(tile: Floats, group: tuple[int, int], starts: np.ndarray, squares: tuple) -> None:
    """Keep the tile of each class of a group with itself."""
    values, places = squares
    for number in range(*group):
        inside = slice(*(starts[number:number + 2] - starts[group[0]]))
        values[places[number]:places[number + 1]] = tile[inside, inside].ravel()

"""Choose the variables of the next block: free ones, the worst violators met before, and some of the worst new ones.

Half of the violators push f up and half down; where one side has few, the next to violate join in: a one-sided block of
a smooth kernel undoes the other side. Only some variables are new, so that a round fetches few kernel rows.

Letters as in `box_qp`; a variable is met when its row of the kernel matrix is there. All is one compiled call, beside
which other threads run.
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import INNER, jit
from mr_elm.typing import Floats

FEW = 0.1  # of the larger side: so many of the smaller one at least
SURE, MET = 1, 2  # marks of variables: new or free ones, and violators met before, of which one may be too many
strict, inner = jit(), jit(**INNER)
sums = jit(fastmath={'reassoc', 'contract'})  # in any order; NaN counts


class Point(NamedTuple):
    """Hold where a search is, (N,) each; slot_of : where the row of a variable is, -1 where it is not there."""

    a: Floats
    g: Floats
    upper: Floats
    t: Floats
    slot_of: np.ndarray


class BlockChoice:
    """Keep room for what is known of n variables, and choose among them."""

    def __init__(self, n: int) -> None:
        self.score, self.lists, self.marks = np.empty(n), np.empty((3, n), np.int64), np.zeros(n, np.int8)

    def choose(self, point: Point, goal: float, count: int, room: int, capacity: int) -> np.ndarray:
        """Return the variables of a block, rising.

        goal : violation to be reached. count : most new variables. room : variables that a block has room for, beside
        as many free ones as half of it. capacity : most variables whose rows can be there.
        """
        return choose_block(point, goal, count, room, capacity, self.score, self.lists, self.marks)


@sums
def survey(a: Floats, g: Floats, upper: Floats) -> tuple[float, float, int]:
    """Return the largest of `violations`, NaN where one is NaN; |a|^2; how many variables are not 0.

    The largest by bits, as in `loops`: those of NaN are larger than those of any number, all below 0 are negative.
    """
    worst, square, n_support = 0, 0.0, 0
    for i in range(len(a)):
        up = -g[i] if a[i] < upper[i] else 0.0
        down = g[i] if a[i] > 0 else 0.0
        unknown = abs(up + down) if g[i] != g[i] else 0.0  # NaN has two signs
        for misfit in (up, down, unknown):
            worst = max(worst, int(np.float64(misfit).view(np.int64)))
        square += a[i] * a[i]
        n_support += a[i] != 0
    return np.int64(worst).view(np.float64), square, n_support


@inner
def list_violators(point: Point, least: float, misfit: Floats, lists: np.ndarray) -> tuple[int, int, int]:
    """Fill in the violation of each variable, and three lists: new violators by more than least whose growth raises f,
    new ones whose growth lowers it, and free variables that were met. Returns how many each has.
    """
    a, g, upper, t, slot_of = point
    up, down, free = 0, 0, 0
    for i in range(len(a)):
        rise = -g[i] if a[i] < upper[i] else 0.0
        fall = g[i] if a[i] > 0 else 0.0
        misfit[i] = max(max(rise, fall), 0.0)
        if slot_of[i] >= 0:
            if 0 < a[i] < upper[i]:
                lists[2, free] = i
                free += 1
        elif misfit[i] > least:
            if t[i] * g[i] < 0:
                lists[0, up] = i
                up += 1
            else:
                lists[1, down] = i
                down += 1
    return up, down, free


@inner
def list_met(point: Point, marks: np.ndarray, least: float, gain: Floats,
             lists: np.ndarray) -> tuple[int, int, int, int]:
    """Fill in the gain of a rising f, and two lists of variables met and not marked: that can raise f, and lower it.

    Returns how many each has, and how many of each violate by more than least.
    """
    a, g, upper, t, slot_of = point
    up, down, violating_up, violating_down = 0, 0, 0, 0
    for i in range(len(a)):
        if slot_of[i] < 0 or marks[i]:
            continue
        gain[i] = -t[i] * g[i]
        grows, shrinks = a[i] < upper[i], a[i] > 0
        if (grows and t[i] > 0) or (shrinks and t[i] < 0):
            lists[0, up] = i
            up += 1
            violating_up += gain[i] > least
        if (grows and t[i] < 0) or (shrinks and t[i] > 0):
            lists[1, down] = i
            down += 1
            violating_down += -gain[i] > least
    return up, down, violating_up, violating_down


@inner
def select_largest(some: np.ndarray, score: Floats, sign: float, count: int) -> int:
    """Bring the count variables of the largest scores, times sign, to the front, in place; return how many there are.

    Source: Hoare, Algorithm 65: find, 1961.
    """
    first, last = 0, len(some) - 1
    while first < last and count < len(some):
        middle, i, j = sign * score[some[(first + last) // 2]], first, last
        while i <= j:
            while sign * score[some[i]] > middle:
                i += 1
            while sign * score[some[j]] < middle:
                j -= 1
            if i <= j:
                some[i], some[j] = some[j], some[i]
                i += 1
                j -= 1
        if count <= j:
            last = j
        elif count > i:
            first = i
        else:
            break
    return min(count, len(some))


@strict
def choose_block(point: Point, goal: float, count: int, room: int, capacity: int, score: Floats, lists: np.ndarray,
                 marks: np.ndarray) -> np.ndarray:
    """Return the variables of a block, see `BlockChoice`. score, lists : room for any. marks : zeros, also after it."""
    up, down, n_free = list_violators(point, 0.5 * goal, score, lists)
    count = min(count, capacity)
    half = (count + 1) // 2
    n_up = select_largest(lists[0, :up], score, 1.0, half)
    n_new = n_up + select_largest(lists[1, :down], score, 1.0, half)
    for k in range(n_up, n_new):
        lists[0, k] = lists[1, k - n_up]
    n_new = select_largest(lists[0, :n_new], score, 1.0, count)
    n_free = select_largest(lists[2, :n_free], score, 1.0, capacity - n_new)
    mark(lists[0, :n_new], SURE, marks)
    mark(lists[2, :n_free], SURE, marks)
    left = max(min(max(room - n_free, room // 2), capacity - n_free) - n_new, 0)
    mark_met(point, 0.1 * goal, left, score, lists, marks)
    chosen, n = np.empty(n_new + n_free + left, np.int64), 0
    for i in range(len(marks)):
        if marks[i] == SURE or (marks[i] == MET and left > 0):
            chosen[n] = i
            n += 1
            left -= marks[i] == MET
        marks[i] = 0
    return chosen[:n]


@inner
def mark_met(point: Point, least: float, count: int, gain: Floats, lists: np.ndarray, marks: np.ndarray) -> None:
    """Mark about count of the variables met that are not marked: of those that can raise f, and that can lower it, the
    worst half.

    They violate by more than least, except where one side has few: then its next ones come too.
    """
    up, down, violating_up, violating_down = list_met(point, marks, least, gain, lists)
    few, half = int(FEW * max(violating_up, violating_down)), (count + 1) // 2
    up = select_largest(lists[0, :up], gain, 1.0, min(max(violating_up, few), half))
    down = select_largest(lists[1, :down], gain, -1.0, min(max(violating_down, few), half))
    mark(lists[0, :up], MET, marks)
    mark(lists[1, :down], MET, marks)


@inner
def mark(some: np.ndarray, value: int, marks: np.ndarray) -> None:
    """Mark some variables."""
    for i in some:
        marks[i] = value

"""Choose the variables of the next block: free ones, the worst violators met before, and some of the worst new ones.

Half of the violators push f up and half down; where one side has few, the next to violate join in: a one-sided block of
a smooth kernel undoes the other side. Only some variables are new, so that a round fetches few kernel rows.

Letters as in `box_qp`; a variable is met when its row of the kernel matrix is there. Compiled passes list who comes
into question.
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

FEW = 0.1  # of the larger side: so many of the smaller one at least
strict = jit()


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
        self.misfit, self.gain, self.lists, self.taken = *np.empty((2, n)), np.empty((3, n), int), np.zeros(n, bool)

    def choose(self, point: Point, goal: float, count: int, room: int, capacity: int) -> np.ndarray:
        """Return the variables of a block, rising.

        goal : violation to be reached. count : most new variables. room : variables that a block has room for, beside
        as many free ones as half of it. capacity : most variables whose rows can be there.
        """
        up, down, n_free = list_violators(point, 0.5 * goal, self.misfit, self.lists)
        new = self.choose_new(up, down, min(count, capacity))
        free = choose_largest(self.lists[2, :n_free], self.misfit, capacity - len(new))
        left = min(max(room - len(free), room // 2), capacity - len(free)) - len(new)
        self.taken[free] = True
        met = self.choose_met(point, 0.1 * goal, max(left, 0))
        self.taken[free] = False
        chosen = np.concatenate([new, free, met])
        chosen.sort()
        return chosen

    def choose_new(self, up: int, down: int, count: int) -> np.ndarray:
        """Return up to count of the new violators listed, the worst, half of them from each side."""
        half = (count + 1) // 2
        sides = [choose_largest(some, self.misfit, half) for some in (self.lists[0, :up], self.lists[1, :down])]
        return choose_largest(np.concatenate(sides), self.misfit, count)

    def choose_met(self, point: Point, least: float, count: int) -> np.ndarray:
        """Return up to count of the variables met that are not taken: of those that can raise f, and that can lower it,
        the worst half.

        They violate by more than least, except where one side has few: then its next ones come too.
        """
        taken = self.taken
        up, down, *violating = list_met(point, taken, least, self.gain, self.lists)
        few, half = int(FEW * max(violating)), (count + 1) // 2
        raising = choose_largest(self.lists[0, :up], self.gain, min(max(violating[0], few), half))
        lowering = choose_largest(self.lists[1, :down], -self.gain, min(max(violating[1], few), half))
        taken[raising] = True
        members = np.concatenate([raising, lowering[~taken[lowering]]])
        taken[raising] = False
        members.sort()
        return members[:count]


def choose_largest(candidates: np.ndarray, score: Floats, count: int) -> np.ndarray:
    """Return the count candidates of the largest scores."""
    if len(candidates) <= count:
        return candidates
    return candidates[np.argpartition(-score[candidates], count)[:count]]


@strict
def worst_violation(a: Floats, g: Floats, upper: Floats) -> float:
    """Return the largest of `violations`, NaN where one is NaN."""
    worst = 0.0
    for i in range(len(a)):
        misfit = max(-g[i] if a[i] < upper[i] else 0.0, g[i] if a[i] > 0 else 0.0)
        if not misfit <= worst:
            worst = misfit
            if misfit != misfit:
                break
    return worst


@strict
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


@strict
def list_met(point: Point, taken: np.ndarray, least: float, gain: Floats,
             lists: np.ndarray) -> tuple[int, int, int, int]:
    """Fill in the gain of a rising f, and two lists of variables met and not taken: that can raise f, and lower it.

    Returns how many each has, and how many of each violate by more than least.
    """
    a, g, upper, t, slot_of = point
    up, down, violating_up, violating_down = 0, 0, 0, 0
    for i in range(len(a)):
        if slot_of[i] < 0 or taken[i]:
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

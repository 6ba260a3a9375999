"""Deal tasks out to slots as Hadoop does: list scheduling, stragglers, speculative copies of them."""
import heapq

import numpy as np

from mr_elm.typing import Floats

PATIENCE = 1.5  # a task that runs so many times longer than usual is started a second time


def list_schedule(durations: Floats, slots: int) -> tuple[Floats, Floats, list[float]]:
    """Give each task, in order, to the slot that is free first: (starts, ends) of the tasks, when the slots are free.

    Source: Graham, Bounds on multiprocessing timing anomalies, 1969: at most (2 - 1/slots) times the best schedule.
    """
    free = [0.0] * min(slots, len(durations))
    starts, ends = np.empty((2, len(durations)))
    for task, seconds in enumerate(durations.tolist()):
        starts[task] = free[0]
        ends[task] = free[0] + seconds
        heapq.heapreplace(free, ends[task])
    return starts, ends, free + [0.0] * (slots - len(free))


def makespan(durations: Floats, slots: int, usual: float | None = None) -> float:
    """Return when the last task ends.

    usual : seconds of a task as they should be, where tasks that take longer are copied to slots that are free: the
    copy takes as long as usual, and the task ends with the first of both.
    """
    starts, ends, free = list_schedule(durations, slots)
    if usual is None:
        return float(ends.max())
    heapq.heapify(free)
    late = [(-end, start) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    heapq.heapify(late)
    while True:
        end, start = -late[0][0], late[0][1]
        copied = max(free[0], start + PATIENCE * usual) + usual
        if copied >= end:
            return end
        heapq.heapreplace(free, copied)
        heapq.heapreplace(late, (-copied, copied))  # a copy is not copied again


def draw_durations(n_tasks: int, usual: float, spread: float, rng: np.random.Generator, stragglers: float = 0.0,
                   slowdown: float = 1.0) -> Floats:
    """Draw the seconds of tasks: log-normal about `usual`, a share of them slowed down.

    spread : deviation of their logarithm.
    """
    seconds = usual * np.exp(spread * rng.standard_normal(n_tasks) - spread**2 / 2)
    return np.where(rng.random(n_tasks) < stragglers, slowdown * seconds, seconds)

"""Choose how the sums of map tasks reach the reduce tasks: at once, or through a second job that adds up some each.

All map tasks send the same keys, and one reduce task adds up all values of a key. So no more reduce tasks are busy than
there are keys. If there are many map tasks, this is the slowest part of the job. A *tree of sums* adds a level: each
map task of a second job adds up the sums of `fan_in` tasks, and only these totals go to the reduce tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class SumCosts:
    """Hold what a tree of sums costs. job : seconds of one more job. byte : seconds to move and to add up a byte."""

    job: float
    byte: float


# Of a job of Hadoop Streaming without rows, and of a byte through 1 Gbit/s and a reducer.
USUAL_COSTS = SumCosts(15.0, 1.3e-8)


def predict_sum_seconds(
    n_maps: int, n_bytes: float, fan_in: int, slots: int, costs: SumCosts, find_share: Callable[[int], float]
) -> float:
    """Return the seconds from the last map task to the last sum.

    n_bytes : of the sums of one map task. fan_in : 1 for no tree. slots : tasks that run at once.
    find_share : number of tasks that send sums -> the largest share of all bytes that one reduce task gets.
    """
    if fan_in == 1:
        return costs.byte * n_maps * n_bytes * find_share(n_maps)
    n_groups = ceil(n_maps / fan_in)
    adding = ceil(n_groups / slots) * min(fan_in, n_maps) * n_bytes * costs.byte
    return costs.job + adding + predict_sum_seconds(n_groups, n_bytes, 1, slots, costs, find_share)


def choose_fan_in(
    n_maps: int, n_bytes: float, find_share: Callable[[int], float], costs: SumCosts = USUAL_COSTS
) -> int:
    """Return the power of two that takes the fewest seconds; 1, no tree, where that is as fast.

    It is assumed that all map tasks run at once. The arguments are those of `predict_sum_seconds`.
    """
    fan_ins = [2**k for k in range(max(n_maps, 1).bit_length())]
    return min(fan_ins, key=lambda fan_in: predict_sum_seconds(n_maps, n_bytes, fan_in, n_maps, costs, find_share))

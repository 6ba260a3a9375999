"""Judge curves of speedup, sizeup and scaleup: every runner and method has the same aims."""
from collections.abc import Callable
from math import nan
from statistics import median

from benchmarks.scaling.ratios import Ratio, name_nodes, name_of
from benchmarks.verdict import Claim, at_least, at_most

SHARE = {'speedup': 0.8, 'scaleup': 0.85}  # of the ideal, at least: on two nodes a speedup of 1.6
DEVIATION = 0.10  # of an increment of sizeup from the mean of all, at most


def judge_curves(experiment: str, curves: dict[tuple, list[Ratio]]) -> list[Claim]:
    """Return the Claims of all curves of an experiment. curves : key -> list of Ratio, as of `make_curves`."""
    judge = judge_increments if experiment == 'sizeup' else judge_ratios
    return [row for key, curve in curves.items() for row in judge(experiment, name_of(experiment, key), curve)]


def judge_ratios(experiment: str, name: str, curve: list[Ratio]) -> list[Claim]:
    """Return a Claim for each Ratio of a curve but the first, which the others are compared to; name : of the curve."""
    share, first = SHARE[experiment], seconds_of(curve[0])
    if len(curve) == 1:
        return [Claim(f'{experiment}, {name}', nan, at_least(share), [first],
                      'measured with one number of nodes only; the target is a share of the ideal')]
    return [Claim(f'{experiment}({ratio.x:g}), {name}', ratio.value, at_least(share * ratio.ideal),
                  [first, seconds_of(ratio)], f'median times: {describe_setting(curve[0])}, {describe_setting(ratio)}')
            for ratio in curve[1:]]


def describe_setting(ratio: Ratio) -> str:
    """Write the median seconds of a setting, and its nodes and rows."""
    run = ratio.runs[0]
    return f'{median(seconds_of(ratio)):.1f} s with {name_nodes(run.nodes)} and {run.rows:,} rows'


def judge_increments(experiment: str, name: str, curve: list[Ratio]) -> list[Claim]:
    """Return one Claim: how far the increment that deviates most is from the mean; needs three sizes."""
    title, runs = f'{experiment}, largest deviation of an increment from 1, {name}', list(map(seconds_of, curve))
    if len(curve) < 3:
        return [Claim(title, nan, at_most(DEVIATION), runs, 'fewer than three sizes')]
    increments, quickest = find_increments(curve), find_increments(curve, min)
    return [Claim(title, max(abs(increment - 1) for increment in increments), at_most(DEVIATION), runs,
                  f'increments of the median times: {join_numbers(increments)}; of the shortest times: '
                  f'{join_numbers(quickest)}')]


def find_increments(curve: list[Ratio], typical: Callable = median) -> list[float]:
    """Return seconds by work from each size to the next, over the same from the first size to the last."""
    seconds, work = [typical(seconds_of(ratio)) for ratio in curve], [ratio.ideal for ratio in curve]
    slopes = [(seconds[i + 1] - seconds[i]) / (work[i + 1] - work[i]) for i in range(len(work) - 1)]
    return [slope * (work[-1] - work[0]) / (seconds[-1] - seconds[0]) for slope in slopes]


def seconds_of(ratio: Ratio) -> list[float]:
    """List the seconds of the runs behind a Ratio."""
    return [run.seconds for run in ratio.runs]


def join_numbers(numbers: list[float]) -> str:
    """Write numbers in a row."""
    return ', '.join(f'{number:.2f}' for number in numbers)

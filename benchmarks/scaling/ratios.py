"""Turn runs into the ratios of an experiment: medians, with the spread of the repeats."""
from dataclasses import dataclass
from statistics import median

from benchmarks.scaling.methods import METHODS
from benchmarks.scaling.runs import Run, group_by

STAGES = {'start': 'start and end of jobs', 'map': 'map', 'reduce': 'shuffle and reduce', 'driver': 'driver'}


@dataclass(frozen=True)
class Ratio:
    """Give one value of a curve: a median, the least and the largest of the repeats, and what would be ideal.

    x : nodes, or of a sizeup how many times the rows of the first. map_only : the same for the map stage alone.
    runs : those behind it.
    """

    x: float
    value: float
    least: float
    largest: float
    ideal: float
    map_only: float
    runs: list


def make_curves(experiment: str, runs: list[Run]) -> dict[tuple, list[Ratio]]:
    """Return the curves of an experiment: what all runs of one have in common -> list of Ratio; see `name_of`."""
    curves = group_by(runs, lambda run: (run.runner, run.method, FIXED[experiment](run), run.features, run.hidden,
                                         run.maps_per_node))
    return {key: make_curve(experiment, curve) for key, curve in curves.items()}


def make_curve(experiment: str, runs: list[Run]) -> list[Ratio]:
    """Return the Ratios of one curve; the first, of the fewest nodes and rows, is what others are compared to."""
    settings = group_by(sorted(runs, key=lambda run: (run.nodes, run.rows)), lambda run: (run.nodes, run.problem))
    first = next(iter(settings.values()))
    return [make_ratio(experiment, first, group) for group in settings.values()]


def make_ratio(experiment: str, first: list[Run], group: list[Run]) -> Ratio:
    """Compare the runs of one setting with those of the first."""
    start, run = first[0], group[0]
    growth = work_of(run) / work_of(start)
    more = run.nodes / start.nodes
    base, seconds = median(one.seconds for one in first), [one.seconds for one in group]
    maps = median(one.map_seconds for one in first), median(one.map_seconds for one in group)
    if experiment == 'sizeup':
        values = [one / base for one in seconds]
        return Ratio(run.rows / start.rows, median(values), min(values), max(values), growth, divide(*maps[::-1]),
                     group)
    values = [base / one for one in seconds]
    return Ratio(run.nodes, base / median(seconds), min(values), max(values), more / growth, divide(*maps), group)


def divide(a: float, b: float) -> float:
    """Divide, where a runner that counts no map stage gives nothing to divide by."""
    return a / b if b else float('nan')


def work_of(run: Run) -> float:
    """Return the operations of a run's map tasks."""
    return METHODS[run.method].work(run.problem)


def stage_medians(group: list[Run]) -> dict[str, float]:
    """Return the median seconds of each stage."""
    return {stage: median(getattr(run, f'{stage}_seconds') for run in group) for stage in STAGES}


def name_of(experiment: str, key: tuple) -> str:
    """Name a curve."""
    runner, method, fixed, features, hidden, maps = key
    return (f'{method}, {runner}, {NAMED[experiment](fixed)}, d = {features}' + (f', L = {hidden}' if hidden else '')
            + (f', {maps} map tasks a node' if maps > 1 else ''))


def abbreviate(number: float) -> str:
    """Write a large number short."""
    for size, unit in ((1e9, 'G'), (1e6, 'M'), (1e3, 'k')):
        if number >= size:
            return f'{number / size:g}{unit}'
    return f'{number:g}'


def name_nodes(n: int) -> str:
    """Write a number of nodes."""
    return f'{n} node' if n == 1 else f'{n} nodes'


# what the runs of a curve have in common, and how it is written
FIXED = {'speedup': lambda run: run.rows, 'sizeup': lambda run: run.nodes, 'scaleup': lambda run: run.rows / run.nodes}
NAMED = {'speedup': lambda rows: f'{abbreviate(rows)} rows', 'sizeup': name_nodes,
         'scaleup': lambda rows: f'{abbreviate(rows)} rows a node'}

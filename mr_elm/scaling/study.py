"""Plan the runs of speedup, sizeup and scaleup, and make them, going on where an interruption was.

speedup(m) = T(1 node, D) / T(m nodes, D).  sizeup(m) = T(n nodes, mD) / T(n nodes, D).
scaleup(m) = T(1 node, D) / T(m nodes, mD).

Source: He et al., A parallel incremental extreme SVM classifier, 2011, section 5.
"""
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from mr_elm.scaling.data import Rows
from mr_elm.scaling.figures import draw
from mr_elm.scaling.measure import measure
from mr_elm.scaling.methods import METHODS, Problem
from mr_elm.scaling.places import PLACES, Local
from mr_elm.scaling.ratios import plural
from mr_elm.scaling.report import write_report
from mr_elm.scaling.runs import Point, Run, append_run, demand_same_model, read_runs, write_runs

TIMES = (1, 2, 4, 8)  # of sizeup
SHARE = {'speedup': 1, 'sizeup': 8, 'scaleup': 2}  # the smallest size is this part of the method's default


def plan_points(experiment: str, methods: list[str], nodes: list[int], sizes: Sequence[int], repeats: int,
                features: int | None = None, hidden: int | None = None) -> list[Point]:
    """List the Points of an experiment, repeats outermost: a machine that slows down slows all of them.

    nodes : numbers of nodes; sizeup takes the last. sizes : numbers of rows, or () for those of the method; scaleup
    takes the first for one node.
    """
    return [Point(experiment, method, n, problem, repeat) for repeat in range(repeats) for method in methods
            for n, problem in there_and_back(places_of(experiment, method, nodes, sizes, features, hidden), repeat)]


def there_and_back(places: list, repeat: int) -> list:
    """Turn the order round in every other repeat, so that a cluster is not restarted between two of them."""
    return places[::-1] if repeat % 2 else places


def places_of(experiment: str, method: str, nodes: list[int], sizes: Sequence[int], features: int | None,
              hidden: int | None) -> list[tuple[int, Problem]]:
    """List (nodes, Problem) of one repeat."""
    default = METHODS[method].default
    first = sizes[0] if sizes else default.rows // SHARE[experiment]
    if experiment == 'speedup':
        pairs = [(n, rows) for rows in sizes or [first] for n in nodes]
    elif experiment == 'sizeup':
        pairs = [(nodes[-1], rows) for rows in (sizes or [first * m for m in TIMES])]
    else:
        pairs = [(n, first * n) for n in nodes]
    return [(n, replace(default, rows=rows, features=features or default.features,
                        hidden=(hidden or default.hidden) if default.hidden else 0)) for n, rows in pairs]


def run_study(experiment: str, options: Namespace, passed: Sequence[str] = ()) -> list[Path]:
    """Measure all points of an experiment, then draw and report; the paths that were written.

    options : namespace with runner, method, nodes, sizes, repeats, features, hidden, output, resume, quiet and what a
    place needs. passed : more words of mr-elm. Raises ValueError where runs over the same rows made different models.
    """
    folder = Path(options.output)
    rows, path = Rows(folder / 'scale-data'), folder / f'{experiment}.csv'
    points = plan_points(experiment, options.method, options.nodes, options.sizes, options.repeats, options.features,
                         options.hidden)
    place = PLACES[options.runner](rows.folder, options)
    runs = begin(path, place.alias, () if options.resume else options.method)
    done = {run.key for run in runs}
    left = [point for point in points if key_of(point, place) not in done]
    try:
        for point in followed(left, options.quiet):
            runs.append(measure(point, place, rows, passed))
            append_run(path, runs[-1])
            demand_same_model(runs)
    finally:
        place.close()
    demand_same_model(runs)
    return [path, *draw(experiment, runs, folder), write_report(experiment, runs, folder)]


def begin(path: Path, runner: str, methods: Sequence[str]) -> list[Run]:
    """Return the runs that are there, without those of some methods on a runner, which are measured anew."""
    there = read_runs(path) if path.exists() else []
    runs = [run for run in there if run.runner != runner or run.method not in methods]
    write_runs(path, runs)
    return runs


def key_of(point: Point, place: Local) -> tuple:
    """Return the key that the Run of a Point will have."""
    return point.experiment, place.alias, point.method, point.nodes, point.problem, point.repeat


def followed(points: list[Point], quiet: bool) -> Iterator[Point]:
    """Yield the points, with a bar that knows how long the rest will take: runs of more rows take longer."""
    with tqdm(total=sum(weight(point) for point in points), disable=quiet, file=sys.stderr,
              bar_format='{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left') as bar:
        for point in points:
            bar.set_description_str(f'{point.experiment} {point.method}: {point.problem.rows:,} rows, '
                                    f'{plural(point.nodes)}, run {point.repeat + 1}')
            yield point
            bar.update(weight(point))


def weight(point: Point) -> float:
    """Guess what a run costs against others: its work, shared by the nodes, and something for each run."""
    method = METHODS[point.method]
    return method.work(point.problem) / method.work(method.default) / point.nodes + 0.05

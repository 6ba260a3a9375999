"""Plan the runs of speedup, sizeup and scaleup, and make them; a stopped study goes on where it was.

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

from benchmarks.machine import Sessions
from benchmarks.scaling.data import GeneratedRows
from benchmarks.scaling.figures import draw
from benchmarks.scaling.measure import measure
from benchmarks.scaling.methods import METHODS, Problem
from benchmarks.scaling.ratios import name_nodes
from benchmarks.scaling.report import write_report
from benchmarks.scaling.runs import Point, Run, append_run, demand_same_model, read_runs, write_runs
from benchmarks.scaling.testbeds import TESTBEDS, LocalTestbed

TIMES = (1, 2, 4, 8)  # of sizeup
SHARE = {'speedup': 1, 'sizeup': 8, 'scaleup': 2}  # the smallest size is this part of the method's default


def plan_points(experiment: str, options: Namespace) -> list[Point]:
    """List the Points of an experiment, repeats outermost: a machine that slows down slows all of them.

    options : see `run_study`. A cluster is not restarted between two repeats: every other one has the reverse order.
    """
    return [Point(experiment, method, n, problem, repeat, maps)
            for repeat in range(options.repeats) for method in options.method for maps in options.partitions
            for n, problem in list_settings(experiment, method, options)[::-1 if repeat % 2 else 1]]


def list_settings(experiment: str, method: str, options: Namespace) -> list[tuple[int, Problem]]:
    """List (nodes, Problem) of one repeat."""
    default, nodes, sizes = METHODS[method].default, options.nodes, options.sizes
    first = sizes[0] if sizes else default.rows // SHARE[experiment]
    if experiment == 'speedup':
        pairs = [(n, rows) for rows in sizes or [first] for n in nodes]
    elif experiment == 'sizeup':
        pairs = [(nodes[-1], rows) for rows in (sizes or [first * m for m in TIMES])]
    else:
        pairs = [(n, first * n) for n in nodes]
    return [(n, replace(default, rows=rows, features=options.features or default.features,
                        hidden=(options.hidden or default.hidden) if default.hidden else 0)) for n, rows in pairs]


def run_study(experiment: str, options: Namespace, passed: Sequence[str] = ()) -> list[Path]:
    """Measure all points of an experiment, then draw and report; the paths that were written.

    options : namespace with runner, method (a list), nodes (a list; sizeup takes the last), sizes (numbers of rows, the
    first for one node; or () for those of the method), partitions (numbers of map tasks for each node), repeats,
    features, hidden, output, resume, quiet and what a testbed needs. passed : more words of mr-elm. Raises ValueError
    where runs over the same rows made different models.
    """
    folder = Path(options.output)
    rows, path = GeneratedRows(folder / 'scale-data'), folder / f'{experiment}.csv'
    points = plan_points(experiment, options)
    testbed = TESTBEDS[options.runner](rows.folder, options)
    runs = start_file(path, testbed.alias, () if options.resume else options.method)
    done = {run.key for run in runs}
    left = [point for point in points if key_of(point, testbed) not in done]
    sessions = Sessions(path)
    session = sessions.begin() if left else ''
    try:
        for point in show_progress(left, options.quiet):
            runs.append(replace(measure(point, testbed, rows, passed), session=session))
            append_run(path, runs[-1])
            demand_same_model(runs)
    finally:
        testbed.close()
    demand_same_model(runs)
    return [path, *draw(experiment, runs, folder), write_report(experiment, runs, sessions.known, folder)]


def start_file(path: Path, runner: str, methods: Sequence[str]) -> list[Run]:
    """Return the runs that are there, without those of some methods on a runner, which are measured anew."""
    there = read_runs(path) if path.exists() else []
    runs = [run for run in there if run.runner != runner or run.method not in methods]
    write_runs(path, runs)
    return runs


def key_of(point: Point, testbed: LocalTestbed) -> tuple:
    """Return the key that the Run of a Point will have."""
    return (point.experiment, testbed.alias, point.method, point.nodes, point.problem, point.maps_per_node,
            point.repeat)


def show_progress(points: list[Point], quiet: bool) -> Iterator[Point]:
    """Yield the points, with a bar that knows how long the rest will take: runs of more rows take longer."""
    with tqdm(total=sum(estimate_work(point) for point in points), disable=quiet, file=sys.stderr,
              bar_format='{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left') as bar:
        for point in points:
            bar.set_description_str(f'{point.experiment} {point.method}: {point.problem.rows:,} rows, '
                                    f'{name_nodes(point.nodes)}, run {point.repeat + 1}')
            yield point
            bar.update(estimate_work(point))


def estimate_work(point: Point) -> float:
    """Guess what a run costs against others: its work, shared by the nodes, and something for each run."""
    method = METHODS[point.method]
    return method.work(point.problem) / method.work(method.default) / point.nodes + 0.05

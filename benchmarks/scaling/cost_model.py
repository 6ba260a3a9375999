"""Predict the seconds of a run from its size and the number of nodes, by costs that are fitted to measured runs.

    seconds = jobs * (job_start + 8 broadcast / bandwidth)                 a job starts and ends; nodes get the rows
            + makespan of M tasks of task_start + operation * work / M     on the slots of n nodes, list scheduling
            + jobs * reduce_start + (byte + 1/bandwidth) * queued + reduce_operation * reduce / R
            + driver_start + driver_operation * solve + driver_number * gather

queued = sent / R are the bytes that one reduce task gets, R = min(slots, reducers that can share). With a tree of sums
(`rows/sum_tree.py`) fewer tasks send sums to the reducers, after one more job that adds them up. Spark adds up inside
the job: each step of its tree costs another reduce_start, and queues the sums of `FAN_IN` tasks. A session of Spark
starts once for all jobs, in driver_start; between two tasks of a slot there are task_gap seconds.

work, sent, reduce, solve, gather and broadcast are the formulas of methods.py.
The rest, an operation's seconds and a start's, is fitted to the measured runs by non-negative least squares on relative
errors; what these cannot determine is assumed. The tasks' spread is measured too. Bandwidth, stragglers and splits are
properties of the simulated cluster.
"""
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from scipy.optimize import nnls

from benchmarks.scaling.methods import METHODS, MeasuredMethod, Problem
from benchmarks.scaling.runs import Run, group_by
from benchmarks.scaling.schedule import draw_durations, makespan
from mr_elm.engines import find_engine
from mr_elm.engines.spark.job import ALL, FAN_IN
from mr_elm.engines.sum_tree import SumCosts, predict_sum_seconds
from mr_elm.rows.wire import NUMBER_BYTES
from mr_elm.typing import Floats

LEAST_SPREAD = 0.02
DRAWS = 5  # schedules whose median counts, where there are few tasks
DISTINCT = 0.05  # columns of a fit whose ratio varies by less are taken for one
OPERATION, BYTE, NUMBER = 1e-10, 5e-9, 2e-8  # seconds that are assumed where all runs have as many of them


@dataclass(frozen=True)
class SimulatedCluster:
    """Describe a cluster to simulate, and how it adds up the sums of a job.

    slots : tasks at once on a node. split : bytes of a map task, at most. bandwidth : bytes a second into a node, or
    None where the measured runs have paid for it. stragglers : share of tasks that take `slowdown` times as long.
    speculate : start these a second time. reducers : how many, or None for as many as mr_elm takes. tree : how many map
    tasks' sums a task of a second job adds up, 1 for no such job, None for what mr_elm chooses. waves : so many map
    tasks a slot, whatever the split; 0 for as many as there are splits.
    """

    slots: int = 1
    split: float = 128e6
    bandwidth: float | None = 125e6
    stragglers: float = 0.02
    slowdown: float = 3.0
    speculate: bool = True
    reducers: float | None = None
    tree: int | None = None
    waves: int = 0


MEASURED = SimulatedCluster(split=np.inf, bandwidth=None, stragglers=0.0, speculate=False,
                            tree=1)  # where the runs were made


@dataclass(frozen=True)
class Costs:
    """Hold what a method costs by its measured runs; see above."""

    method: str
    runner: str
    jobs: int
    job_start: float
    task_start: float
    operation: float
    spread: float
    bytes_a_number: float
    reduce_start: float
    byte: float
    reduce_operation: float
    driver_start: float
    driver_operation: float
    driver_number: float
    task_gap: float = 0.0


def fit(runs: list[Run]) -> Costs:
    """Return the Costs of runs of one method and runner."""
    method, seconds = METHODS[runs[0].method], collect(runs, lambda run: run.seconds)
    jobs = collect(runs, lambda run: run.jobs)
    per_task = collect(runs, lambda run: (count_working_jobs(method, run.jobs) * method.work(run.problem)
                                          * run.jobs / run.maps))
    shared = collect(runs, count_reducers)
    sent = collect(runs, lambda run: run.shuffle_bytes)
    steps, queued = np.array([measure_queue(run) for run in runs], dtype=float).T
    emitted = collect(runs, lambda run: method.emit(run.problem, run.maps / run.jobs))
    reducing, solving, gathered = (collect(runs, lambda run, part=part: part(run.problem))
                                   for part in (method.reduce, method.solve, method.gather))
    tasks = collect(runs, lambda run: sum(map(np.mean, run.tasks)))
    fitted = [*fit_non_negative(tasks, [(jobs, 0), (per_task, OPERATION)], seconds), measure_spread(runs),
              float(np.median(sent / emitted)) if emitted.all() else 0.0,
              *fit_non_negative(collect(runs, lambda run: run.reduce_seconds),
                                [(jobs + steps, 0), (queued, BYTE), (reducing / shared, OPERATION)], seconds),
              *fit_non_negative(collect(runs, lambda run: run.driver_seconds),
                                [(np.ones(len(runs)), 0), (solving, OPERATION), (gathered, NUMBER)], seconds),
              measure_gap(runs)]
    job_start = float(np.median(collect(runs, lambda run: run.start_seconds) / jobs))
    return Costs(runs[0].method, runs[0].runner, round(np.median(jobs)), job_start, *fitted)


def collect(runs: list[Run], part: Callable) -> Floats:
    """Return a number of each run."""
    return np.array([part(run) for run in runs], dtype=float)


def count_reducers(run: Run) -> float:
    """Return how many reduce tasks worked at once in a measured run: mrjob has as many as it may on one machine."""
    if not find_engine(run.runner).is_cluster and not adds_in_steps(run.runner):
        return run.nodes
    return min(run.nodes, METHODS[run.method].reducers(run.problem, run.maps / run.jobs))


def adds_in_steps(runner: str) -> bool:
    """Tell whether a runner adds up sums in a tree inside a job."""
    return find_engine(runner).adds_in_steps


def measure_queue(run: Run) -> tuple[float, float]:
    """Return how many steps a tree of sums inside a run had, and the bytes that came to one task after another."""
    share = 1 / count_reducers(run)
    if not adds_in_steps(run.runner) or METHODS[run.method].fan_in is None or not run.maps:
        return 0, run.shuffle_bytes * share
    return queue_sums(round(run.maps / run.jobs), run.shuffle_bytes / run.maps * run.jobs, run.nodes, lambda n: share)


def queue_sums(maps: int, one: float, slots: int, find_share: Callable[[int], float],
               fan_in: int = FAN_IN) -> tuple[float, float]:
    """Return the steps of a tree inside a job, and the bytes that come to one task after another.

    one : bytes of the sums of a map task. find_share : tasks that send sums -> share of all bytes that a reducer gets.
    """
    steps, queued, senders = 0, 0.0, maps
    while senders > fan_in:
        groups = ceil(senders / fan_in)
        queued += ceil(groups / slots) * fan_in * one
        steps, senders = steps + 1, groups
    return steps, queued + senders * one * find_share(senders)


def count_working_jobs(method: MeasuredMethod, jobs: int) -> int:
    """Return how many jobs of a run do the work: every pass, or one."""
    return max(jobs - 1, 1) if method.passes else 1


def fit_non_negative(target: Floats, columns: list[tuple[Floats, float]], total: Floats) -> list[float]:
    """Fit target = x @ columns with x >= 0, errors counted relative to the seconds of the whole run.

    columns : list of (column, x that is assumed where the column is everywhere about the same multiple of the first,
    and so cannot be told from it, as long as the target has so many seconds).
    """
    assumed = [x for _, x in columns]
    matrix = np.array([values for values, _ in columns]).T
    x = np.zeros(len(columns))
    ratios = matrix / matrix[:, :1]
    known = [k for k in range(len(x)) if k == 0 or np.ptp(ratios[:, k]) > DISTINCT * np.abs(ratios[:, k]).max()]
    for k in set(range(len(x))) - set(known):
        largest = matrix[:, k].max()
        x[k] = min(assumed[k], target.min() / largest) if largest > 0 else 0.0
    scale = matrix[:, known].max(axis=0)
    scale[scale == 0] = 1.0
    rest = target - matrix @ x
    x[known] = nnls(matrix[:, known] / scale / total[:, None], rest / total)[0] / scale
    return x.tolist()


def measure_spread(runs: list[Run]) -> float:
    """Return the deviation of the logarithm of tasks of one job."""
    logs = [np.log(np.array(tasks) / np.mean(tasks)) for run in runs for tasks in run.tasks if len(tasks) > 1]
    return max(LEAST_SPREAD, float(np.sqrt(np.mean(np.concatenate(logs)**2)))) if logs else LEAST_SPREAD


def measure_gap(runs: list[Run]) -> float:
    """Return the seconds between two tasks of a slot; 0 where no run had more tasks than slots."""
    gaps = [(run.map_seconds - sum(makespan(np.array(tasks), run.nodes) for tasks in run.tasks))
            / sum(ceil(len(tasks) / run.nodes) - 1 for tasks in run.tasks)
            for run in runs if any(len(tasks) > run.nodes for tasks in run.tasks)]
    return max(0.0, float(np.median(gaps))) if gaps else 0.0


def predict(costs: Costs, problem: Problem, nodes: int, cluster: SimulatedCluster = MEASURED,
            seed: int = 0) -> dict[str, float]:
    """Return the seconds of a run by stage: start, map, reduce, driver."""
    method, slots = METHODS[costs.method], nodes * cluster.slots
    maps = count_maps(problem, slots, cluster)
    moved = 0.0 if cluster.bandwidth is None else 8 * method.broadcast(problem) / cluster.bandwidth
    return {'start': costs.jobs * (costs.job_start + moved),
            'map': predict_map(costs, problem, maps, slots, cluster, seed),
            'reduce': predict_reduce(costs, problem, maps, slots, cluster),
            'driver': costs.driver_start + costs.driver_operation * method.solve(problem)
            + costs.driver_number * method.gather(problem)}


def count_maps(problem: Problem, slots: int, cluster: SimulatedCluster) -> int:
    """Return the number of map tasks of a job: as many as there are splits, but at least one a slot."""
    if cluster.waves:
        return cluster.waves * slots
    return max(slots, ceil(NUMBER_BYTES * problem.rows * problem.features / cluster.split))


def predict_map(costs: Costs, problem: Problem, maps: int, slots: int, cluster: SimulatedCluster, seed: int) -> float:
    """Return the map seconds of all jobs."""
    method = METHODS[costs.method]
    worked = count_working_jobs(method, costs.jobs)
    usual = costs.task_start + costs.operation * method.work(problem) / maps
    idle = (costs.jobs - worked) * costs.task_start + costs.jobs * (ceil(maps / slots) - 1) * costs.task_gap
    rng = np.random.default_rng(seed)
    spans = [makespan(draw_durations(maps, usual, costs.spread, rng, cluster.stragglers, cluster.slowdown), slots,
                      usual if cluster.speculate else None) for _ in range(DRAWS if maps < 1000 else 1)]
    return idle + worked * float(np.median(spans))


def predict_reduce(costs: Costs, problem: Problem, maps: int, slots: int, cluster: SimulatedCluster) -> float:
    """Return the seconds behind the last map, of all jobs: a second job where there is a tree, then the reducers."""
    method = METHODS[costs.method]
    byte = costs.byte + (0.0 if cluster.bandwidth is None else 1 / cluster.bandwidth)

    def find_share(n_maps: int) -> float:
        return 1 / min(slots, cluster.reducers or method.reducers(problem, n_maps))

    one = costs.bytes_a_number * method.emit(problem, maps) / maps
    if method.fan_in is not None and adds_in_steps(costs.runner):
        steps, queued = queue_sums(maps, one, slots, find_share, ALL if cluster.tree == 1 else cluster.tree or FAN_IN)
        return (costs.jobs + steps) * costs.reduce_start + byte * queued
    fan_in = 1 if method.fan_in is None else cluster.tree or method.fan_in(problem, maps)
    summing = SumCosts(costs.job_start + costs.task_start, byte)
    return (costs.jobs * costs.reduce_start + predict_sum_seconds(maps, one, fan_in, slots, summing, find_share)
            + costs.reduce_operation * method.reduce(problem) * find_share(maps))


def add_stages(stages: dict[str, float]) -> float:
    """Return the seconds of a run."""
    return sum(stages.values())


def validate(runs: list[Run]) -> list[tuple]:
    """Compare measured seconds with those of the model: a list of (setting, measured, fitted, predicted).

    `measured` is the median of the repeats of a setting. `predicted` comes from a model that was fitted without the
    runs of this setting.
    """
    found = []
    for setting, group in group_by(runs, lambda run: run.setting).items():
        others = [run for run in runs if run.setting != setting]
        said = [predict_run(fit(known), group[0]) if known else np.nan for known in (runs, others)]
        found.append((setting, float(np.median([run.seconds for run in group])), *said))
    return found


def predict_run(costs: Costs, run: Run) -> float:
    """Return what the model says of a measured run."""
    waves, tree = max(1, round(run.maps / run.jobs / run.nodes)), None if adds_in_steps(run.runner) else 1
    cluster = replace(MEASURED, waves=waves, reducers=count_reducers(run), tree=tree)
    return add_stages(predict(costs, run.problem, run.nodes, cluster))

"""Predict speedup, sizeup and scaleup on larger clusters, and find where and why a method stops scaling."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from statistics import median
from typing import Any

from benchmarks.scaling.cost_model import Costs, SimulatedCluster, add_stages, adds_in_steps, fit, predict, validate
from benchmarks.scaling.methods import METHODS, Problem
from benchmarks.scaling.runs import Run, group_by
from benchmarks.verdict import Claim, at_most

ERROR = 0.15  # of the model's seconds, where it knows the other settings only, in the median
KEPT = 0.5  # a method scales as long as so much of the ideal speed is left
WAVES = 3
ENOUGH = 'runs on at least two numbers of nodes, with the seconds of their tasks,'
TIMES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Check:
    """Compare the model with the runs of a method on a runner.

    comparisons : what `validate` found. claim : whether the model is good enough.
    """

    method: str
    runner: str
    comparisons: list
    claim: Claim


@dataclass(frozen=True)
class Forecast:
    """Hold the forecast of a method, and how well the model predicts the measurements behind it.

    nodes, rows : lists to look at.
    """

    costs: Costs
    check: Check
    default: Problem
    nodes: list
    rows: list
    cluster: SimulatedCluster

    @property
    def error(self) -> float:
        """Return the median error relative to the measured seconds, fitted to all settings."""
        return median(abs(fitted / seconds - 1) for _, seconds, fitted, _ in self.check.comparisons)

    @property
    def error_left_out(self) -> float:
        """Return the median error in leave-one-out validation over the settings; nan where there are none."""
        return find_error(self.check.comparisons)

    def stages(self, rows: float, nodes: int, **other: Any) -> dict[str, float]:
        """Return the seconds by stage of a run; other : properties of the Cluster to change."""
        problem = replace(self.default, rows=round(rows))
        return predict(self.costs, problem, nodes, replace(self.cluster, **other))

    def seconds(self, rows: float, nodes: int, **other: Any) -> float:
        """Return the seconds of a run."""
        return add_stages(self.stages(rows, nodes, **other))

    def speedup(self, rows: float, **other: Any) -> list[float]:
        """Return T(1) / T(n) for every number of nodes."""
        one = self.seconds(rows, 1, **other)
        return [one / self.seconds(rows, n, **other) for n in self.nodes]

    @property
    def some_nodes(self) -> list[int]:
        """Return the least, a middle and the largest number of nodes."""
        return sorted({self.nodes[0], self.nodes[len(self.nodes) // 2], self.nodes[-1]})

    def sizeup(self, nodes: int, rows: float) -> list[float]:
        """Return T(m rows) / T(rows) for every m of TIMES."""
        one = self.seconds(rows, nodes)
        return [self.seconds(m * rows, nodes) / one for m in TIMES]

    def scaleup(self, rows: float) -> list[float]:
        """Return T(1, rows) / T(n, n rows) for every number of nodes."""
        one = self.seconds(rows, 1)
        return [one / self.seconds(n * rows, n) for n in self.nodes]

    @property
    def remedies(self) -> dict[str, dict[str, int]]:
        """Return ways to move the wall of the one reducer: name -> properties of the Cluster to change."""
        return list_steps(self.cluster) if self.adds_in_steps else list_remedies(self.cluster)

    @property
    def adds_in_steps(self) -> bool:
        """Return whether the runner adds up sums in a tree inside a job."""
        return adds_in_steps(self.costs.runner)

    def wall(self, rows: float, **other: Any) -> tuple[float, str | None]:
        """Return (nodes at which half of the ideal speed is lost, the stage that loses most); (inf, None): nowhere."""
        one = self.stages(rows, 1, **other)
        for n in self.nodes:
            stages = self.stages(rows, n, **other)
            if add_stages(one) / add_stages(stages) < KEPT * n:
                return n, max(stages, key=lambda stage: stages[stage] - one[stage] / n)
        return inf, None


def make_forecasts(runs: list[Run], nodes: list[int], rows: list[float], cluster: SimulatedCluster,
                   say: Callable[[str], object]) -> list[Forecast]:
    """Return a Forecast for each method and runner with enough runs; `say` gets a line about each of the others.

    Raises ValueError where there is none.
    """
    groups = group_runs(runs, say)
    if not groups:
        raise ValueError(f'expected {ENOUGH}, of at least one method on a runner')
    return [make_forecast(group, nodes, rows, cluster) for group in groups]


def group_runs(runs: Iterable[Run], say: Callable[[str], object] = lambda text: None) -> list[list[Run]]:
    """Return the runs of each method and runner that has enough of them; `say` gets a line about each of the others."""
    groups = []
    for (method, runner), group in group_by(runs, lambda run: (run.method, run.runner)).items():
        if len({run.nodes for run in group}) > 1 and all(run.tasks for run in group):
            groups.append(group)
        else:
            say(f'{method} on {runner}: left out, expected {ENOUGH}')
    return groups


def make_forecast(runs: list[Run], nodes: list[int], rows: list[float], cluster: SimulatedCluster) -> Forecast:
    """Return the Forecast of one method on one runner."""
    first = runs[0]
    most = METHODS[first.method].most
    known = [n for n in rows if n <= most] or [most / 100, most / 10, most]
    return Forecast(fit(runs), check_model(runs), first.problem, nodes, known, cluster)


def check_model(runs: list[Run]) -> Check:
    """Check the model by runs of one method on one runner, which it predicts by those of the other settings."""
    comparisons, settings = validate(runs), group_by(runs, lambda run: run.setting).values()
    method, runner = runs[0].method, runs[0].runner
    claim = Claim(f'median error of the simulation, {method}, {runner}', find_error(comparisons), at_most(ERROR),
                  [[run.seconds for run in group] for group in settings],
                  f'{len(settings)} settings, each predicted from the runs of the others')
    return Check(method, runner, comparisons, claim)


def find_error(comparisons: list[tuple]) -> float:
    """Return the median error relative to the measured seconds, of a model that knows the other settings only."""
    return median(abs(predicted / seconds - 1) for _, seconds, _, predicted in comparisons)


def list_steps(cluster: SimulatedCluster) -> dict[str, dict[str, int]]:
    """Return what the tree of sums inside a job is worth; see `list_remedies`."""
    return {f'blocks of {cluster.split / 1e6:g} MB, no tree of sums': {'tree': 1},
            'with the tree of sums that Spark has': {},
            f'the same, {WAVES * cluster.slots} map tasks a node': {'waves': WAVES}}


def list_remedies(cluster: SimulatedCluster) -> dict[str, dict[str, int]]:
    """Return ways to move the wall of the one reducer: name -> properties of the Cluster to change."""
    no_tree = {'tree': 1}
    one = {**no_tree, 'reducers': 1}
    return {f'blocks of {cluster.split / 1e6:g} MB, one reducer': one,
            f'{WAVES * cluster.slots} map tasks a node, one reducer': {**one, 'waves': WAVES},
            'a reducer for each GB': no_tree,
            'and a tree of sums, where mr-elm takes one': {},
            f'the same, {WAVES * cluster.slots} map tasks a node': {'waves': WAVES}}


def space_evenly(low: float, high: float, steps: tuple[int, ...] = (1, 2, 5)) -> list[float]:
    """List round numbers from low to high, evenly on a logarithmic axis; both ends are in."""
    found, ten = {low, high}, 1
    while ten <= high:
        found |= {step * ten for step in steps if low <= step * ten <= high}
        ten *= 10
    return sorted(found)

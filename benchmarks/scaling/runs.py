"""Keep what runs took: one row of a CSV file a run."""
import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.scaling.methods import Problem
from mr_elm.store import replace_file


@dataclass(frozen=True)
class Point:
    """Name a run. maps_per_node : map tasks of a job for each node."""

    experiment: str
    method: str
    nodes: int
    problem: Problem
    repeat: int
    maps_per_node: int = 1


@dataclass(frozen=True)
class Run:
    """Describe a run, and what it took.

    seconds : all of it, as the user waits; those of its jobs are start + map + reduce, the rest is the driver's.
    maps, map_tasks : of all jobs; the seconds of the tasks, those of a job joined by `;`, jobs by `|`.
    input_bytes, shuffle_bytes, output_bytes : of all jobs. model : digest of the arrays. session : when and where
    it was measured, as of `machine.Sessions`.
    """

    experiment: str
    runner: str
    method: str
    nodes: int
    rows: int
    features: int
    hidden: int
    repeat: int
    seconds: float
    start_seconds: float
    map_seconds: float
    reduce_seconds: float
    driver_seconds: float
    input_bytes: int
    shuffle_bytes: int
    output_bytes: int
    jobs: int
    maps: int
    map_tasks: str
    model: str
    session: str = ''

    @property
    def key(self) -> tuple:
        """Tell runs of one plan apart."""
        return self.experiment, *self.setting, self.repeat

    @property
    def problem(self) -> Problem:
        """Return the Problem."""
        return Problem(self.rows, self.features, self.hidden)

    @property
    def setting(self) -> tuple:
        """Return what repeats have in common."""
        return self.runner, self.method, self.nodes, self.problem, self.maps_per_node

    @property
    def maps_per_node(self) -> int:
        """Return how many map tasks of a job there were for each node. Only on Spark it is the user who says that."""
        return max(1, round(self.maps / self.jobs / self.nodes)) if self.runner == 'spark' else 1

    @property
    def tasks(self) -> list[list[float]]:
        """List the seconds of the map tasks, a list a job."""
        return [[float(text) for text in job.split(';')] for job in self.map_tasks.split('|') if job]


TYPES: dict[str, Any] = {field.name: field.type for field in fields(Run)}


def read_runs(path: str | Path) -> list[Run]:
    """Read a file of runs; a last line without its end, as an interruption leaves it, is left out.

    Raises ValueError when it is another file.
    """
    with open(path, newline='') as stream:
        table = csv.DictReader(line for line in stream if line.endswith('\n'))
        if table.fieldnames != list(TYPES):
            raise ValueError(f'{path}: expected runs of speedup, sizeup or scaleup, found other columns')
        try:
            return [Run(**{name: kind(row[name]) for name, kind in TYPES.items()}) for row in table]
        except (TypeError, ValueError) as error:
            raise ValueError(f'{path}: expected a run a line ({error})') from None


def write_runs(path: str | Path, runs: list[Run]) -> None:
    """Write a file of runs in place of the one that is there."""
    with replace_file(path, 'w', newline='') as stream:
        table = csv.DictWriter(stream, list(TYPES))
        table.writeheader()
        table.writerows(map(asdict, runs))


def append_run(path: str | Path, run: Run) -> None:
    """Write a run behind the others, so that an interruption loses none."""
    with open(path, 'a', newline='') as stream:
        csv.DictWriter(stream, list(TYPES)).writerow(asdict(run))


def demand_same_model(runs: list[Run]) -> None:
    """Raise ValueError where runs over the same rows have made different models."""
    first: dict[tuple, Run] = {}
    for run in runs:
        known = first.setdefault((run.method, run.problem), run)
        if known.model != run.model:
            raise ValueError(f'{run.method}, {run.rows:,} rows on {run.nodes} nodes of {run.runner}: expected the '
                             f'model {known.model}, as on {known.nodes} nodes of {known.runner}, found {run.model}')


def group_by(items: Iterable, key: Callable) -> dict[Any, list]:
    """Collect items by a function of them, in the order in which they come."""
    groups: dict[Any, list] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups

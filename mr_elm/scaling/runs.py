"""Keep what runs took: one row of a CSV file a run."""
import csv
from dataclasses import asdict, dataclass, fields

from mr_elm.io.store import replacing
from mr_elm.scaling.methods import Problem


@dataclass(frozen=True)
class Run:
    """Describe a run, and what it took.

    seconds : all of it, as the user waits; those of its jobs are start + map + reduce, the rest is the driver's.
    maps, map_tasks : of all jobs; the seconds of the tasks, those of a job joined by `;`, jobs by `|`.
    input_bytes, shuffle_bytes, output_bytes : of all jobs. model : digest of the arrays.
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

    @property
    def key(self):
        """Tell runs of one plan apart."""
        return self.experiment, self.runner, self.method, self.nodes, self.problem, self.repeat

    @property
    def problem(self):
        """Return the Problem."""
        return Problem(self.rows, self.features, self.hidden)

    @property
    def place(self):
        """Return what repeats have in common."""
        return self.runner, self.method, self.nodes, self.problem

    @property
    def tasks(self):
        """List the seconds of the map tasks, a list a job."""
        return [[float(text) for text in job.split(';')] for job in self.map_tasks.split('|') if job]


NAMES = [field.name for field in fields(Run)]


def read_runs(path):
    """Read a file of runs; a last line without its end, as an interruption leaves it, is left out.

    Raises ValueError when it is another file.
    """
    with open(path, newline='') as stream:
        table = csv.DictReader(line for line in stream if line.endswith('\n'))
        if table.fieldnames != NAMES:
            raise ValueError(f'{path}: runs of mr-elm speedup, sizeup or scaleup were expected, their columns are '
                             'other ones')
        try:
            return [Run(**{field.name: field.type(row[field.name]) for field in fields(Run)}) for row in table]
        except (TypeError, ValueError) as error:
            raise ValueError(f'{path}: a run a line was expected ({error})') from None


def write_runs(path, runs):
    """Write a file of runs in place of the one that is there."""
    with replacing(path, 'w', newline='') as stream:
        table = csv.DictWriter(stream, NAMES)
        table.writeheader()
        table.writerows(map(asdict, runs))


def append_run(path, run):
    """Write a run behind the others, so that an interruption loses none."""
    with open(path, 'a', newline='') as stream:
        csv.DictWriter(stream, NAMES).writerow(asdict(run))


def demand_same_model(runs):
    """Raise ValueError where runs over the same rows have made different models."""
    first = {}
    for run in runs:
        known = first.setdefault((run.method, run.problem), run)
        if known.model != run.model:
            raise ValueError(f'{run.method}, {run.rows:,} rows on {run.nodes} nodes of {run.runner}: the model of '
                             f'{known.nodes} nodes of {known.runner}, {known.model}, was expected, {run.model} came')


def grouped(items, key):
    """Collect items by a function of them, in the order in which they come."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups

"""Estimate what a training costs on a rented cluster: node-hours, and dollars where a price is known.

    busy    = n_rows * seconds_a_row / (n_instances * vcores)     the tasks, dealt out evenly
    elapsed = start + n_jobs * job + busy                         a cluster must start, and so must each job
    node-hours = elapsed * (n_instances + 1) / 3600               the master is paid too

seconds_a_row is measured: by a short training on one core of this machine, or from the counters of a job that has run.
`start` and `job` are assumptions, and so is that a core there is worth a core here: take the result for right within a
factor of two. The time that a cluster idles before it ends itself comes on top.
"""
import gzip
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mrjob.logs.step import _parse_step_syslog

from benchmarks.timing import wall_seconds
from mr_elm.arithmetic import one_thread
from mr_elm.data.generators import generate, write_rows
from mr_elm.drivers import pesvm
from mr_elm.drivers.pack import pack
from mr_elm.engines import make_engine
from mr_elm.machines.options import PESVMOptions
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import fetch_file

START = 360.0  # seconds until a cluster of EMR takes its first job
JOB = 45.0  # seconds a job needs beside the work of its tasks
ENOUGH = 1.0  # seconds of a training that is long enough to be measured
SMALL = 512  # rows of the first one
VCORE_TIME = 'Total vcore-milliseconds taken by all {} tasks'


@dataclass(frozen=True)
class Rental:
    """Describe what is rented: machines that compute, tasks at once on each, dollars an hour for one."""

    n_instances: int
    vcores: int
    price: float | None = None


@dataclass(frozen=True)
class Usage:
    """Count what jobs have used: rows that they read (the largest of them), seconds of a core, how many jobs."""

    n_rows: int
    core_seconds: float
    n_jobs: int

    @property
    def seconds_a_row(self) -> float:
        """Return the seconds of a core that a row took in all jobs together."""
        return self.core_seconds / self.n_rows


def estimate(n_rows: int, seconds_a_row: float, n_jobs: int, cluster: Rental) -> dict[str, float]:
    """Return a dictionary: seconds_a_row, busy_seconds, elapsed_seconds, node_hours, and dollars with a price."""
    busy = n_rows * seconds_a_row / (cluster.n_instances * cluster.vcores)
    elapsed = START + n_jobs * JOB + busy
    hours = elapsed * (cluster.n_instances + 1) / 3600
    found = {'rows': n_rows, 'seconds_a_row': seconds_a_row, 'busy_seconds': busy, 'elapsed_seconds': elapsed,
             'node_hours': hours}
    return found if cluster.price is None else {**found, 'dollars': hours * cluster.price}


def measure(n_features: int, n_hidden: int, packed: bool = False) -> Usage:
    """Return what a row takes on one core: two short trainings on generated rows, the second long enough."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder, one_thread():
        time_training(folder, SMALL, n_features, n_hidden, packed)  # once uncounted: the first run loads code
        first, n_rows = time_training(folder, SMALL, n_features, n_hidden, packed), SMALL
        seconds = first
        while seconds < first + ENOUGH:
            n_rows *= 2
            seconds = time_training(folder, n_rows, n_features, n_hidden, packed)
    return Usage(n_rows - SMALL, seconds - first, 1 if packed else 2)


def time_training(folder: str, n_rows: int, n_features: int, n_hidden: int, packed: bool) -> float:
    """Return the seconds of a training inline on rows of a generator."""
    path, options = Path(folder, f'{n_rows}.csv'), RowOptions()
    if not path.exists():
        write_rows(generate('ndc', n_rows, n_features, 0), path)
    source = path.with_suffix('.packed') if packed else path
    with make_engine() as engine:
        if not source.exists():
            pack([str(path)], str(source), options, engine)
        plan = plan_inputs([str(source)], options)
        return wall_seconds(partial(pesvm.train, plan, PESVMOptions(n_hidden=n_hidden), engine))


def read_counters(paths: list[str]) -> Usage:
    """Return what jobs have used by the counters in the logs of their clients, which may be on S3 and compressed.

    Raises ValueError when a log holds no counters.
    """
    jobs = [read_log(path) for path in paths]
    milliseconds = sum(job['Job Counters'].get(VCORE_TIME.format(kind), 0)
                       for job in jobs for kind in ('map', 'reduce'))
    return Usage(max(job['mr_elm']['rows'] for job in jobs), milliseconds / 1000, len(jobs))


def read_log(path: str) -> dict[str, dict[str, int]]:
    """Return the counters in a log: group -> name -> number."""
    with fetch_file(path) as local:
        data = Path(local).read_bytes()
    text = (gzip.decompress(data) if path.endswith('.gz') else data).decode('utf-8', 'replace')
    found = _parse_step_syslog(text.splitlines()).get('counters') or {}
    counters = {group.strip(): names for group, names in found.items()}  # Hadoop says 'Job Counters '
    if not counters.get('mr_elm', {}).get('rows') or VCORE_TIME.format('map') not in counters.get('Job Counters', {}):
        raise ValueError(f'{path}: expected the log of a job of mr-elm with its counters (steps/s-.../syslog.gz below '
                         "the cluster's logs), found no counters")
    return counters

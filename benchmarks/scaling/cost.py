"""Estimate what a training costs on a rented cluster: node-hours, and dollars where a price is known.

    busy    = n_rows * seconds_a_row / (instances * vcores)       the tasks, dealt out evenly
    elapsed = START + n_jobs * JOB + busy                         a cluster must start, and so must each job
    node-hours = elapsed * (instances + 1) / 3600                 the master is paid too

seconds_a_row is measured: by a short training on one core of this machine, or from the counters of jobs that have run.
START and JOB are assumptions, and so is that a core there is worth a core here: take the result for right within a
factor of two. The time that a cluster idles before it ends itself comes on top.
"""

import argparse
import gzip
import json
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mrjob.logs.step import _parse_step_syslog

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
UNITS = {
    'seconds_a_row': 's of a core',
    'busy_seconds': 's',
    'elapsed_seconds': 's',
    'node_hours': 'h',
    'dollars': '$',
    'core_hours': 'h',
}
VCORE_TIME = 'Total vcore-milliseconds taken by all {} tasks'


class Usage(NamedTuple):
    """Count what jobs have used: rows that they read (the largest of them), seconds of a core, how many jobs."""

    n_rows: int
    core_seconds: float
    n_jobs: int


def measure(n_features: int, n_hidden: int, packed: bool) -> Usage:
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
    source, options = Path(folder, f'{n_rows}.csv'), RowOptions()
    if not source.exists():
        write_rows(generate('ndc', n_rows, n_features, 0), source)
    with make_engine() as engine:
        if packed:
            csv, source = source, source.with_suffix('.packed')
            if not source.exists():
                pack([str(csv)], str(source), options, engine)
        plan = plan_inputs([str(source)], options)
        start = time.perf_counter()
        pesvm.train(plan, PESVMOptions(n_hidden=n_hidden), engine)
        return time.perf_counter() - start


def read_counters(paths: list[str]) -> Usage:
    """Return what jobs have used by the counters in the logs of their clients, which may be on S3 and compressed."""
    jobs = [read_log(path) for path in paths]
    milliseconds = sum(
        job['Job Counters'].get(VCORE_TIME.format(kind), 0) for job in jobs for kind in ('map', 'reduce')
    )
    return Usage(max(job['mr_elm']['rows'] for job in jobs), milliseconds / 1000, len(jobs))


def read_log(path: str) -> dict[str, dict[str, int]]:
    """Return the counters in a log: group -> name -> number. Raises ValueError when it holds no counters."""
    with fetch_file(path) as local:
        data = Path(local).read_bytes()
    text = (gzip.decompress(data) if path.endswith('.gz') else data).decode('utf-8', 'replace')
    groups = _parse_step_syslog(text.splitlines()).get('counters') or {}
    counters = {group.strip(): names for group, names in groups.items()}  # Hadoop says 'Job Counters '
    if not counters.get('mr_elm', {}).get('rows') or VCORE_TIME.format('map') not in counters.get('Job Counters', {}):
        raise ValueError(
            f'{path}: expected the log of a job of mr-elm with its counters (steps/s-.../syslog.gz below '
            "the cluster's logs), found no counters"
        )
    return counters


def main(words: Sequence[str], program: str) -> None:
    """Print an estimate, from a short training here or from the counters of jobs that have run."""
    parser = argparse.ArgumentParser(
        program,
        allow_abbrev=False,
        description=(
            f'Estimate node-hours of training PESVM: elapsed = {START:g} s to start a cluster + {JOB:g} s for each job '
            '+ rows x seconds per row / (instances x vcores); node-hours = elapsed x (instances + 1). The seconds per '
            'row are measured on one core of this machine, or read from the counters of jobs that have run. The true '
            'value is between half and twice the estimate. Add the idle minutes before the cluster terminates.'
        ),
    )
    for name, default, about in (
        ('--rows', None, 'rows to train on'),
        ('--features', None, 'features of a row'),
        ('--hidden', 1000, 'hidden nodes'),
        ('--instances', None, 'machines that run tasks'),
        ('--vcores', 4, 'tasks at once on each machine'),
    ):
        parser.add_argument(
            name,
            type=int,
            default=default,
            required=name == '--instances',
            metavar='N',
            help=f'{about} (default: {default})' if default else about,
        )
    parser.add_argument('--packed', action='store_true', help='the rows are packed: one job instead of two')
    parser.add_argument(
        '--counters',
        nargs='+',
        metavar='LOG',
        help='instead of measuring here: logs of the jobs of '
        'a training that has run, such as s3://bucket/logs/j-.../steps/s-.../syslog.gz',
    )
    parser.add_argument('--price', type=float, metavar='P', help='dollars per hour for one machine, with that of EMR')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    args = parser.parse_args(words)
    if not args.counters and not (args.rows and args.features):
        parser.error('expected --rows and --features, or --counters')
    numbers = [
        number for number in (args.rows, args.features, args.hidden, args.instances, args.vcores) if number is not None
    ]
    if min(numbers) < 1 or not 0 <= (args.price or 0) < math.inf:
        parser.error('expected numbers from 1 on, and a price in dollars')
    usage = read_counters(args.counters) if args.counters else measure(args.features, args.hidden, args.packed)
    rows, seconds_a_row = args.rows or usage.n_rows, usage.core_seconds / usage.n_rows
    busy = rows * seconds_a_row / (args.instances * args.vcores)
    elapsed = START + usage.n_jobs * JOB + busy
    hours = elapsed * (args.instances + 1) / 3600
    answer = {
        'rows': rows,
        'seconds_a_row': seconds_a_row,
        'busy_seconds': busy,
        'elapsed_seconds': elapsed,
        'node_hours': hours,
    }
    if args.counters:
        answer |= {'jobs': usage.n_jobs, 'core_hours': usage.core_seconds / 3600}
    if args.price is not None:
        answer['dollars'] = hours * args.price
    if args.json:
        print(json.dumps(answer))
        return
    for name, value in answer.items():
        print(f'{name.replace("_", " "):16} {value:>14,.6g} {UNITS.get(name, "")}'.rstrip())

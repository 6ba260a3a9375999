"""Estimate what a training costs on a rented cluster: node-hours, and dollars where a price is known.

    busy    = n_rows * seconds_a_row / (instances * vcores)       the tasks, dealt out evenly
    elapsed = START + n_jobs * JOB + busy                         a cluster must start, and so must each job
    node-hours = elapsed * (instances + 1) / 3600                 the master is paid too

seconds_a_row is measured by a short training on one core of this machine.
START and JOB are assumptions, and so is that a core there is worth a core here: take the result for right within a
factor of two. The time that a cluster idles before it ends itself comes on top.
"""

import argparse
import json
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mr_elm.arithmetic import one_thread
from mr_elm.data.generators import generate, write_rows
from mr_elm.drivers import pesvm
from mr_elm.drivers.pack import pack
from mr_elm.engines import make_engine
from mr_elm.machines.options import PESVMOptions
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions

START = 360.0  # seconds until a cluster of EMR takes its first job
JOB = 45.0  # seconds a job needs beside the work of its tasks
ENOUGH = 1.0  # seconds of a training that is long enough to be measured
SMALL = 512  # rows of the first one


def measure(n_features: int, n_hidden: int, packed: bool) -> float:
    """Return the seconds of a row on one core: of two short trainings on generated rows, the second long enough."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder, one_thread():
        time_training(folder, SMALL, n_features, n_hidden, packed)  # once uncounted: the first run loads code
        first, n_rows = time_training(folder, SMALL, n_features, n_hidden, packed), SMALL
        seconds = first
        while seconds < first + ENOUGH:
            n_rows *= 2
            seconds = time_training(folder, n_rows, n_features, n_hidden, packed)
    return (seconds - first) / (n_rows - SMALL)


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


def estimate(n_rows: int, seconds_a_row: float, n_jobs: int, instances: int, vcores: int) -> dict[str, float]:
    """Return what a training takes: name -> number."""
    busy = n_rows * seconds_a_row / (instances * vcores)
    elapsed = START + n_jobs * JOB + busy
    return {
        'rows': n_rows,
        'seconds_a_row': seconds_a_row,
        'busy_seconds': busy,
        'elapsed_seconds': elapsed,
        'node_hours': elapsed * (instances + 1) / 3600,
    }


def main(words: Sequence[str], program: str) -> None:
    """Print an estimate from a short training here."""
    parser = argparse.ArgumentParser(
        program, allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
            required=not default,
            metavar='N',
            help=f'{about} (default: {default})' if default else about,
        )
    parser.add_argument('--packed', action='store_true', help='the rows are packed: one job instead of two')
    parser.add_argument('--price', type=float, metavar='P', help='dollars per hour for one machine, with that of EMR')
    args = parser.parse_args(words)
    numbers = args.rows, args.features, args.hidden, args.instances, args.vcores
    if min(numbers) < 1 or not 0 <= (args.price or 0) < math.inf:
        parser.error('expected numbers from 1 on, and a price in dollars')
    seconds_a_row = measure(args.features, args.hidden, args.packed)
    answer = estimate(args.rows, seconds_a_row, 1 if args.packed else 2, args.instances, args.vcores)
    if args.price is not None:
        answer['dollars'] = answer['node_hours'] * args.price
    print(json.dumps(answer, indent=1))

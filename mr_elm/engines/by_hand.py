"""Run one stage as a program of its own: rows in, `key TAB value` lines out, every row accounted for.

    python -m mr_elm.streaming.mr_gram --layer LAYER.npz [options] INPUT... [-r inline|local|hadoop|emr] > OUTPUT

On this machine, mrjob's own runners run it; a task alone may stand in a pipe, see `run_piped`.

Options of mrjob may stand anywhere. The exit status is 0 when the stage is done, 1 when it failed or a row or an input
could not be used, 2 for wrong usage, 130 after an interrupt, 143 after SIGTERM, 129 after SIGHUP; an error is one
sentence on standard error.
"""

import argparse
import inspect
import sys
from pathlib import Path
from typing import Any

from mr_elm.engines import make_engine
from mr_elm.engines.base import Engine
from mr_elm.engines.mrjob_private import own_options, split_words
from mr_elm.engines.mrjob_runner import MRJobRunner
from mr_elm.engines.tasks import DEAF
from mr_elm.errors import DataFormatError, describe_error
from mr_elm.passes.data_set import DataSet
from mr_elm.processes import Terminated, terminable
from mr_elm.progress import Reporter
from mr_elm.rows.accounting import RECORDS
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.storage import store_of

PLANNED = {'plan', 'planned_splits'}  # options of tasks alone
OUR_PART = {'args', 'runner', 'quiet', 'output_dir', 'cat_output', 'bad_rows', 'column_encoding', *PLANNED}


def main(job_class: Any, argv: list[str]) -> int:
    """Run the stage that a command line describes; returns the exit status. Exits with 2 on wrong usage."""
    if {'-h', '--help'} & set(argv) and '-r' not in argv:
        print_help(job_class)
        return 0
    job = parse_job(job_class, argv)
    try:
        with terminable():
            if job.is_task():
                run_piped(job)
            else:
                run(job, argv)
    except KeyboardInterrupt as error:
        if isinstance(error, Terminated):
            return 128 + error.args[0]
        return 130
    except BrokenPipeError:
        return 1
    except Exception as error:
        print(f'{program(job_class)}: {describe_error(error)}', file=sys.stderr)
        return 1
    return 0


def run_piped(job: Any) -> None:
    """Run a mapper or a reducer that a user pipes rows or lines through, without Hadoop.

    `cat rows.csv | python -m mr_elm.streaming.mr_stats --mapper | sort | python -m mr_elm.streaming.mr_stats --reducer`
    """
    job.listener = DEAF  # Hadoop alone wants to know how far the task is
    try:
        job.execute()
    except BrokenPipeError:
        raise
    except Exception as error:
        job.trouble = job.trouble or describe_error(error)
    if job.trouble is not None:
        raise DataFormatError(f'standard input: {job.trouble.removeprefix("standard input: ")}')


def parse_job(job_class: Any, argv: list[str]) -> Any:
    """Return the job that a command line describes. Exits with 2 where it describes none."""
    try:
        job = job_class(args=argv)
        options = job.options
        if not options.run_reducer:
            job.demand_options()
        if options.plan is not None and not job.is_task():
            raise ValueError('--plan is for tasks: name the inputs instead')
        if not options.args and not job.is_task():
            raise ValueError('expected an INPUT, found none')
    except ValueError as error:
        print(f'{program(job_class)}: {error} (--help tells more)', file=sys.stderr)
        sys.exit(2)
    return job


def run(job: Any, argv: list[str]) -> None:
    """Run a job over its inputs; copy what it writes to standard output, or leave it in --output-dir, a new folder."""
    options = job.options
    folder = job.options.output_dir
    if folder and store_of(folder).find(folder):
        raise FileExistsError(f'{folder}: expected a new folder, it exists')
    own, passed = split_options(job, argv)
    with choose_engine(options.runner or 'inline', passed, Reporter(options.quiet)) as engine:
        engine.prepare([*options.args, *filter(None, [folder])])
        rows = job.row_options(job.load_encoding())
        data = DataSet(plan_inputs(options.args, rows, closed=False), engine, options.bad_rows)
        stage = data.run(type(job), own, program(type(job)))
        with stage.open_output() as output:
            copies = options.cat_output
            if copies is None:
                copies = not folder
            for line in output.lines(stage.accounts):
                if copies:
                    job.stdout.write(line)
            job.stdout.flush()
            data.reconcile(stage.accounts)
            if folder:
                store_of(folder).move(output.folder, folder)


def choose_engine(runner: str, passed: list[str], reporter: Reporter) -> Engine:
    """Make the engine that a stage is run by: on this machine, a runner of mrjob as it is."""
    if runner in ('inline', 'local'):
        return MRJobRunner(tuple(passed), reporter, runner=runner)
    return make_engine(runner, passed, reporter=reporter)


def split_options(job: Any, argv: list[str]) -> tuple[list[str], list[str]]:
    """Separate the words of a stage, for its tasks, from mrjob's runner options: (own, passed)."""
    own = []
    passed = []
    for dest, words in split_words(job, argv):
        if dest in own_options(job) - OUR_PART:
            own += words
        elif dest not in OUR_PART:
            passed += words
    return own, passed


def program(job_class: Any) -> str:
    """Return the name of the file that holds a job: mr_gram of MRGram."""
    if job_class.__module__ == '__main__':
        return Path(inspect.getfile(job_class)).stem
    return job_class.__module__.rpartition('.')[2]


def print_help(job_class: Any) -> None:
    """Print what a stage reads and writes, and its options."""
    job = job_class(args=[])
    name = program(job_class)
    parser = argparse.ArgumentParser(
        f'python -m mr_elm.streaming.{name}',
        usage=f'python -m mr_elm.streaming.{name} [options] INPUT...',
        description=inspect.getdoc(job_class),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        epilog=f'{RECORDS}\n\nAny option of mrjob may follow, such as -r local, -r hadoop, --output-dir DIR or\n'
        '-D mapreduce.job.maps=8; `--help -r RUNNER` lists those of a runner.',
    )
    for action in job.arg_parser._actions:
        if action.dest in own_options(job) - PLANNED:
            parser._add_action(action)
    parser.print_help()

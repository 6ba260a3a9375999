"""Run one stage as a program of its own: rows in, `key TAB value` lines out, every row accounted for.

    python -m mr_elm.streaming.mr_gram --layer LAYER.npz [options] INPUT... [-r inline|local|hadoop|emr] > OUTPUT

Options of mrjob may stand anywhere. The exit status is 0 when the stage is done, 1 when it failed or a row or an input
could not be used, 2 for wrong usage; an error is one sentence on standard error.
"""
import argparse
import inspect
import sys

from mrjob.options import _parse_raw_args

from mr_elm.engines.progress import Reporter
from mr_elm.engines.runner import EMBEDDED, Runner
from mr_elm.errors import sentence
from mr_elm.files.storage import store_of
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import row_options
from mr_elm.streaming.passes import DataSet
from mr_elm.streaming.stage import RECORDS

OUR_PART = ('args', 'runner', 'quiet', 'output_dir', 'cat_output', 'plan', 'planned_splits', 'bad_rows')


def main(job_class, argv):
    """Run the stage that a command line describes; returns the exit status. Exits with 2 on wrong usage."""
    if {'-h', '--help'} & set(argv) and '-r' not in argv:
        print_help(job_class)
        return 0
    job = understand(job_class, argv)
    try:
        run(job, argv)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except Exception as error:
        print(f'{program(job_class)}: {sentence(error)}', file=sys.stderr)
        return 1
    return 0


def understand(job_class, argv):
    """Return the job that a command line describes. Exits with 2 where it describes none."""
    try:
        job = job_class(args=argv)
        job.demand_options()
        if job.options.plan is not None:
            raise ValueError('--plan is for tasks: name the inputs instead')
        if not job.options.args:
            raise ValueError('an INPUT was expected, none was named')
    except ValueError as error:
        print(f'{program(job_class)}: {error} (--help tells more)', file=sys.stderr)
        sys.exit(2)
    return job


def run(job, argv):
    """Run a job over its inputs; its --output-dir, if it has one, is new, and vanishes when the job fails."""
    folder = job.options.output_dir
    if folder and store_of(folder).find(folder):
        raise FileExistsError(f'{folder}: a new folder was expected, it exists')
    try:
        copy_lines(job, argv)
    except BaseException:
        if folder and store_of(folder).find(folder):
            store_of(folder).remove(folder)
        raise


def copy_lines(job, argv):
    """Run a job and copy what it writes to standard output, or leave it in --output-dir."""
    options = job.options
    own, passed = part(job, argv)
    rows = row_options(options, labelled=not options.no_label, numeric_labels=options.task == 'regression')
    alias = options.runner or 'inline'
    with Runner(alias, tuple(passed), Reporter(options.quiet)) as runner:
        runner.prepare([*options.args, *filter(None, [options.output_dir])])
        data = DataSet(plan_inputs(options.args, rows, closed=False), runner, options.bad_rows)
        embedded = alias in EMBEDDED
        target = ['--output-dir', options.output_dir] if options.output_dir and embedded else []
        stage = data.run(type(job), [*own, *target], program(type(job)))
        with stage.finished() as finished:
            lines = finished.lines(stage.accounts)
            for line in lines if job._should_cat_output() else map(discard, lines):
                job.stdout.write(line)
            job.stdout.flush()
        data.reconcile(stage.accounts)
        if options.output_dir and not embedded:
            store_of(options.output_dir).move(finished.folder, options.output_dir)


def discard(line):
    """Return nothing of a line, which has been accounted for."""
    return b''


def part(job, argv):
    """Separate the words of a stage, for its tasks, from mrjob's runner options: (own, passed)."""
    own, passed = [], []
    for dest, option, values in _parse_raw_args(job.arg_parser, argv):
        if dest in OUR_PART:
            continue
        mine = dest in job._passthru_arg_dests | job._file_arg_dests
        (own if mine else passed).extend([option, *values])
    return own, passed


def program(job_class):
    """Return the name of the file that holds a job: mr_gram of MRGram."""
    return job_class.__module__.rpartition('.')[2] if job_class.__module__ != '__main__' else (
        inspect.getsourcefile(job_class).rpartition('/')[2].removesuffix('.py'))


def print_help(job_class):
    """Print what a stage reads and writes, and its options."""
    job = job_class(args=[])
    name = program(job_class)
    parser = argparse.ArgumentParser(
        f'python -m mr_elm.streaming.{name}', usage=f'python -m mr_elm.streaming.{name} [options] INPUT...',
        description=inspect.getdoc(job_class), formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False,
        epilog=f'{RECORDS}\n\nAny option of mrjob may follow, such as -r local, -r hadoop, --output-dir DIR or\n'
               '-D mapreduce.job.maps=8; `--help -r RUNNER` lists those of a runner.')
    ours = (job._passthru_arg_dests | job._file_arg_dests) - {'plan', 'planned_splits'}
    for action in job.arg_parser._actions:
        if action.dest in ours:
            parser._add_action(action)
    parser.print_help()

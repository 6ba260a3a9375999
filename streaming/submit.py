"""Run a job on the runner that the user chose: the one place that makes a runner."""
import json
import logging
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field

from mr_elm.streaming.inputs import plan_splits
from mr_elm.streaming.progress import Reporter

EMBEDDED = ('inline', 'local')
THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Runner:
    """Say where jobs run.

    alias : inline or local.
    arguments : mrjob's runner options, as on the command line.
    reporter : speaks to the user.
    """

    alias: str = 'inline'
    arguments: tuple = ()
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))

    @property
    def n_maps(self):
        """Return how many map tasks to plan: mapreduce.job.maps when it is set, else one a core, or one inline."""
        wanted = self.value_of('mapreduce.job.maps')
        if wanted is not None and not wanted.isdigit():
            raise ValueError(f'-D mapreduce.job.maps: a whole number was expected, {wanted!r} came')
        if wanted is not None:
            return int(wanted)
        cores = self.option('--num-cores') or os.cpu_count()
        return 1 if self.alias == 'inline' else int(cores)

    def option(self, name):
        """Return the last value given for a runner option, or None."""
        values = [value for flag, value in pairs_of(self.arguments) if flag == name]
        return values[-1] if values else None

    def value_of(self, key):
        """Return the last value given for a jobconf key, or None."""
        values = [value.partition('=')[2] for flag, value in pairs_of(self.arguments)
                  if flag in ('-D', '--jobconf') and value.partition('=')[0] == key]
        return values[-1] if values else None


def pairs_of(arguments):
    """Yield (option, value) for neighbours on a command line, and for --option=value."""
    for flag, value in zip(arguments, [*arguments[1:], ''], strict=False):
        name, equals, rest = flag.partition('=')
        yield (name, rest) if equals and name.startswith('--') else (flag, value)


@contextmanager
def run_job(job_class, plan, job_arguments, runner, stage):
    """Run a job over a data set; the context's value is the `Finished` job, to be read inside.

    job_class : a subclass of MRRows.
    plan : InputPlan.
    job_arguments : options of the job.
    stage : its name, for progress.
    """
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        job = prepared(job_class, plan, job_arguments, runner, folder)
        with job.make_runner() as running:
            # where the tasks of the embedded runners leave their counters; mrjob offers no public name for it
            with runner.reporter.stage(stage, plan.size, running._get_local_tmp_dir()):
                running.run()
            yield Finished(job, running)


class Finished:
    """Give access to the output of a job that has run."""

    def __init__(self, job, running):
        self.job, self.running = job, running

    def pairs(self, accounts):
        """Yield the output pairs, except those about the input, which `accounts` takes."""
        for key, value in self.job.parse_output(self.running.cat_output()):
            if not accounts.take(key, value):
                yield key, value


def prepared(job_class, plan, job_arguments, runner, folder):
    """Make the job with its plan and its input written to a folder."""
    arguments = ['-r', runner.alias, *conf_arguments(runner), *runner.arguments,
                 *stage_output(job_class, runner), *(text for name in THREADS for text in ('--cmdenv', f'{name}=1')),
                 '--plan', write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *job_arguments]
    if runner.alias in EMBEDDED:
        arguments += ['--planned-splits', *write_splits(plan_splits(plan, runner.n_maps), folder)]
    if runner.alias == 'local':
        arguments.append('--no-bootstrap-mrjob')  # tasks run in this environment, where it is installed
    return job_class(args=arguments)


def stage_output(job_class, runner):
    """Give each stage a folder of its own below the --output-dir that the user named."""
    folder = runner.option('--output-dir')
    if folder is None:
        return []
    path = os.path.join(folder, job_class.__name__)
    if os.path.exists(path):
        raise FileExistsError(f'{path}: a new folder was expected, it exists')
    return ['--output-dir', path]


def conf_arguments(runner):
    """Leave mrjob's own configuration files out unless the user names one."""
    named = any(flag in ('-c', '--conf-path') for flag, _ in pairs_of(runner.arguments)) or 'MRJOB_CONF' in os.environ
    return [] if named else ['--no-conf']


def write_splits(tasks, folder):
    """Write the splits of each task to a file of one line, so that mrjob starts one map task a file."""
    return [write_json(os.path.join(folder, f'task-{number:05d}.json'), task, '\n')
            for number, task in enumerate(tasks)]


def write_json(path, value, end=''):
    """Write a value as JSON and return the path."""
    with open(path, 'w') as stream:
        stream.write(json.dumps(value) + end)
    return path

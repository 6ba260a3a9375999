"""Run a job on the runner that the user chose: the one place that makes a runner."""
import json
import logging
import os
import re
import sys
import tempfile
import uuid
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from getpass import getuser

from mr_elm.streaming.bundle import bundle_arguments
from mr_elm.streaming.failures import explain
from mr_elm.streaming.hadoop import HadoopRunner, is_local_cluster
from mr_elm.streaming.hadoop_progress import HadoopProgress
from mr_elm.streaming.inputs import plan_splits
from mr_elm.streaming.progress import Reporter
from mr_elm.streaming.shipping import zip_code
from mr_elm.streaming.storage import is_local, store_of

EMBEDDED = ('inline', 'local')
THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
KERNELS = ('OPENBLAS_CORETYPE', 'MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES')

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Runner:
    """Say where jobs run. A context: what was put on the cluster for them vanishes at its end.

    alias : inline, local or hadoop.
    arguments : mrjob's runner options, as on the command line.
    reporter : speaks to the user.
    python : the Python of the nodes, with numpy and scipy; None for `python3`, or for this one on the local cluster.
    bundle : archive with Python's environment and the code for the nodes, from `make_bundle`; or None.
    staging : folder of HDFS for files of this machine; staged : path here -> URI there.
    """

    alias: str = 'inline'
    arguments: tuple = ()
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))
    python: str | None = None
    bundle: str | None = None
    staging: str = field(default_factory=lambda: f'hdfs:///tmp/mr_elm-{getuser()}-{uuid.uuid4().hex[:12]}')
    staged: dict = field(default_factory=dict)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.alias == 'hadoop' and store_of(self.staging).find(self.staging):
            store_of(self.staging).remove(self.staging)

    @contextmanager
    def scratch(self, name):
        """Give the name of a folder where tasks can write; it vanishes with all that is in it."""
        if self.alias in EMBEDDED:
            with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
                yield os.path.join(folder, name)
            return
        folder = f'{self.staging}/{name}-{uuid.uuid4().hex[:8]}'
        try:
            yield folder
        finally:
            if store_of(folder).find(folder):
                store_of(folder).remove(folder)

    def placed(self, plan):
        """Return the plan with every file where tasks can read it; files of this machine are copied to HDFS once."""
        if self.alias in EMBEDDED:
            for file in plan.files:
                self.demand_reach(file.path)
            return plan
        return replace(plan, files=[replace(file, uri=self.uri_of(file)) for file in plan.files])

    def demand_reach(self, path):
        """Raise ValueError when tasks cannot read or write at a path."""
        if is_local(path) != (self.alias in EMBEDDED):
            place = 'on this machine' if self.alias in EMBEDDED else 'on HDFS'
            raise ValueError(f'{path}: a path {place} was expected by -r {self.alias}')

    def uri_of(self, file):
        """Return where the cluster finds a file."""
        if not is_local(file.path):
            return file.path
        if file.path not in self.staged:
            ending = ''.join(end for end in ('.gz', '.bz2') if file.path.endswith(end))
            uri = f'{self.staging}/input/{len(self.staged):06d}{ending}'
            store_of(uri).put(file.path, uri)
            self.staged[file.path] = uri
        return self.staged[file.path]

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

    def reducers(self, n):
        """Return the arguments that ask for n reduce tasks, none where the user has said how many."""
        if self.alias in EMBEDDED or self.value_of('mapreduce.job.reduces') is not None:
            return []
        return ['-D', f'mapreduce.job.reduces={n}']

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
        with make_runner(job, runner) as running:
            # where the tasks of the embedded runners leave their counters; mrjob offers no public name for it
            with runner.reporter.stage(stage, plan.size, running._get_local_tmp_dir()), \
                    HadoopProgress(runner.reporter, stage) if runner.alias == 'hadoop' else nullcontext():
                run(running, job_class)
            yield Finished(job, running)


def run(running, job_class):
    """Run a job; when it fails, say why. Raises TaskError."""
    try:
        running.run()
    except Exception as error:
        raise explain(error, running, job_class) from error


def make_runner(job, runner):
    """Make the runner of mrjob, or ours for Hadoop, which starts fewer JVMs."""
    return HadoopRunner(**job._runner_kwargs()) if runner.alias == 'hadoop' else job.make_runner()


class Finished:
    """Give access to the output of a job that has run."""

    def __init__(self, job, running):
        self.job, self.running = job, running

    def pairs(self, accounts):
        """Yield the output pairs, except those about the input, which `accounts` takes."""
        accounts.map_input_records = self.map_input_records
        for key, value in self.job.parse_output(self.running.cat_output()):
            if not accounts.take(key, value):
                yield key, value

    @property
    def map_input_records(self):
        """Return how many lines Hadoop says its map tasks were given; None where nobody counts but the tasks."""
        if self.running.alias in EMBEDDED:
            return None
        counters = self.running.counters()
        return counters[0].get('Map-Reduce Framework', {}).get('Map input records') if counters else None


def prepared(job_class, plan, job_arguments, runner, folder):
    """Make the job with its plan and its input written to a folder."""
    plan = runner.placed(plan)
    arguments = ['-r', runner.alias, *conf_arguments(runner), *runner.arguments,
                 *stage_output(job_class, runner), *task_environment(),
                 '--plan', write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *job_arguments]
    if runner.alias in EMBEDDED:
        arguments += ['--planned-splits', *write_splits(plan_splits(plan, runner.n_maps), folder)]
    if runner.alias == 'local':
        arguments.append('--no-bootstrap-mrjob')  # tasks run in this environment, where it is installed
    if runner.alias == 'hadoop':
        arguments += [*hadoop_arguments(runner, folder), *(glob_escaped(file.uri) for file in plan.files)]
    return job_class(args=arguments)


def hadoop_arguments(runner, folder):
    """Keep mrjob from starting a JVM for what needs none, and give tasks Python and the code."""
    return ['--no-bootstrap-mrjob', '--no-check-input-paths', '--no-read-logs', *python_arguments(runner, folder)]


def python_arguments(runner, folder):
    """Choose the Python of the tasks and how the code gets there."""
    if runner.bundle is not None:
        return bundle_arguments(runner.bundle)
    if runner.python is None and is_local_cluster():
        return ['--task-python-bin', sys.executable]  # its nodes are this machine, where the code is installed
    python = [] if runner.python is None else ['--task-python-bin', runner.python]
    return ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip')), *python]


def glob_escaped(uri):
    """Keep Hadoop from taking a file's name for a pattern."""
    return re.sub(r'([*?\[\]{}\\])', r'\\\1', uri)


def task_environment():
    """Give tasks one BLAS thread, and the kernels that the driver was told to use: both decide the last bits."""
    values = {**dict.fromkeys(THREADS, '1'), **{name: os.environ[name] for name in KERNELS if name in os.environ}}
    return [text for name, value in values.items() for text in ('--cmdenv', f'{name}={value}')]


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

"""Run a job on the runner that the user chose: the one place that makes a runner."""
import json
import logging
import os
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module

from mr_elm.streaming.bundle import bundle_arguments
from mr_elm.streaming.failures import explain
from mr_elm.streaming.finished import Finished, map_input_records
from mr_elm.streaming.hadoop import HadoopRunner, glob_escaped, is_local_cluster
from mr_elm.streaming.hadoop_progress import HadoopProgress
from mr_elm.streaming.inputs import plan_splits
from mr_elm.streaming.progress import Reporter
from mr_elm.streaming.shipping import source_digest, zip_code
from mr_elm.streaming.storage import copy, is_local, scheme_of
from mr_elm.streaming.trace import traced
from mr_elm.streaming.work import Work, copy_name, key_of, new_staging
from mr_elm.streaming.yarn import Yarn

EMBEDDED = ('inline', 'local')
REACH = {'hadoop': ('hdfs', 's3a'), 'emr': ('s3', 's3a')}  # where tasks of a cluster can read and write
THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
KERNELS = ('OPENBLAS_CORETYPE', 'MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES')

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Runner:
    """Say where jobs run. A context: what was put on the cluster for them vanishes at its end.

    alias : inline, local, hadoop or emr.
    arguments : mrjob's runner options, as on the command line.
    reporter : speaks to the user.
    python : the Python of the nodes, with numpy and scipy; None for `python3`, or for this one on the local cluster.
    bundle : archive with Python's environment and the code for the nodes, from `make_bundle`; or None.
    output : what the run makes, for the record of an unfinished run; resume : go on with that one.
    trace : a file of this machine to write down what each job took, or None.
    clusters : the cluster of EMR that the jobs share, once there is one.
    """

    alias: str = 'inline'
    arguments: tuple = ()
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))
    python: str | None = None
    bundle: str | None = None
    output: str | None = None
    resume: bool = False
    trace: str | None = None
    clusters: list = field(default_factory=list)

    def __enter__(self):
        if self.alias not in EMBEDDED:
            self.work.open()
        return self

    def __exit__(self, kind, error, trace):
        if self.alias not in EMBEDDED:
            self.work.close(error)
        if 'copies' in self.__dict__:
            self.copies.cleanup()

    @cached_property
    def work(self):
        """Return what the run keeps on the cluster."""
        if self.alias == 'emr':
            staging = new_staging(self.emr_options['cloud_tmp_dir'].rstrip('/'))
            return Work(staging, self.reporter, emr().Steps(self.emr_options), self.output, self.resume)
        return Work(new_staging(), self.reporter, Yarn(), self.output, self.resume)

    @cached_property
    def copies(self):
        """Return a folder of this machine for copies of files that tasks here cannot read where they are."""
        return tempfile.TemporaryDirectory(prefix='mr_elm-')

    @cached_property
    def emr_options(self):
        """Return mrjob's options for EMR."""
        return emr().read_options((*conf_arguments(self), *self.arguments))

    def prepare(self, inputs):
        """Refuse inputs that tasks cannot be given, and let S3 be found where mrjob's options say that it is."""
        if self.alias == 'emr':
            emr().use_connection(self.emr_options)
        for path in inputs:
            if self.alias in REACH and not is_local(path):
                self.demand_reach(path)

    def placed(self, plan):
        """Return the plan with every file where tasks can read it; others are copied there once."""
        return replace(plan, files=[replace(file, uri=self.uri_of(file)) for file in plan.files])

    def uri_of(self, file):
        """Return where tasks find a file."""
        if self.reaches(file.path):
            return file.path
        if self.alias in REACH:
            return self.work.place(file)
        path = os.path.join(self.copies.name, copy_name(file))
        if not os.path.exists(path):
            copy(file.path, path)
        return path

    def reaches(self, path):
        """Tell whether tasks can read and write at a path."""
        return scheme_of(path) in REACH.get(self.alias, ('',))

    def demand_reach(self, path):
        """Raise ValueError when tasks cannot read or write at a path."""
        if not self.reaches(path):
            place = {'hadoop': 'on HDFS', 'emr': 'on S3'}.get(self.alias, 'on this machine')
            hint = f': a cluster with hadoop-aws reads s3a{path[2:]}' if path.startswith('s3:') else ''
            raise ValueError(f'{path}: a path {place} was expected by -r {self.alias}{hint}')

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
    """Run a job over a data set, or take what it wrote before; the context's value is `Finished`, to be read inside.

    job_class : a subclass of MRRows. plan : InputPlan. job_arguments : options of the job.
    stage : its name, for progress.
    """
    if runner.alias in EMBEDDED:
        with ran(job_class, plan, job_arguments, stage_output(job_class, runner), runner, stage) as running:
            yield Finished(job_class, running.get_output_dir())
        return
    key = key_of(job_class, plan, job_arguments, source_digest())
    folder = stage_output(job_class, runner) or runner.work.folder(key)
    done = runner.work.finished(key, folder, stage)
    if done:
        runner.reporter.say(f'{stage}: finished before')
    else:
        runner.work.begin()
        arguments = ['-D', f'mapreduce.job.tags={tags(runner, key)}', *job_arguments]
        with ran(job_class, plan, arguments, folder, runner, stage) as running:
            done = runner.work.finish(key, folder, map_input_records(running))
    yield Finished(job_class, **done)


@contextmanager
def ran(job_class, plan, job_arguments, output, runner, stage):
    """Run a job that writes to the folder `output`, or where mrjob likes; the context's value is mrjob's runner."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        output = ['--output-dir', output] if output else []
        job = prepared(job_class, plan, [*output, *job_arguments], runner, folder)
        with make_runner(job, runner) as running:
            # where the tasks of the embedded runners leave their counters; mrjob offers no public name for it
            with (runner.reporter.stage(stage, plan.size, running._get_local_tmp_dir()), progress_of(runner, stage),
                  traced(runner.trace, running, stage, plan.size)):
                run(running, job_class)
            if runner.alias == 'emr' and running._opts['pool_clusters']:
                runner.clusters[:] = [running.get_cluster_id()]
            yield running


def run(running, job_class):
    """Run a job; when it fails, say why. Raises TaskError."""
    try:
        running.run()
    except Exception as error:
        raise explain(error, running, job_class) from error


def make_runner(job, runner):
    """Make the runner of mrjob, or ours for a cluster."""
    if runner.alias not in REACH:
        return job.make_runner()
    return (HadoopRunner if runner.alias == 'hadoop' else emr().EMRRunner)(**job._runner_kwargs())


def emr():
    """Return the module of EMR; only who runs there waits for boto3."""
    return import_module('mr_elm.streaming.emr')


def progress_of(runner, stage):
    """Follow a job on a cluster by what mrjob says of it."""
    if runner.alias == 'emr':
        return emr().EMRProgress(runner.reporter, stage, runner.emr_options['region'])
    return HadoopProgress(runner.reporter, stage) if runner.alias == 'hadoop' else nullcontext()


def tags(runner, key):
    """Mark a job on the cluster as one of this run, beside what the user marks it with."""
    named = runner.value_of('mapreduce.job.tags')
    return ','.join([*([named] if named else []), runner.work.tag(), runner.work.tag(key)])


def prepared(job_class, plan, job_arguments, runner, folder):
    """Make the job with its plan and its input written to a folder."""
    plan = runner.placed(plan)
    conf = conf_arguments(runner)
    if conf:  # mrjob would name a folder by the microsecond, which two drivers may share
        conf += ['--local-tmp-dir', folder]
    arguments = ['-r', runner.alias, *conf, *runner.arguments, *task_environment(),
                 '--plan', write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *job_arguments]
    if runner.alias in EMBEDDED:
        arguments += ['--planned-splits', *write_splits(plan_splits(plan, runner.n_maps), folder)]
    if runner.alias == 'local':
        arguments.append('--no-bootstrap-mrjob')  # tasks run in this environment, where it is installed
    if runner.alias in REACH:
        arguments += [*cluster_arguments(runner, folder), *(glob_escaped(file.uri) for file in plan.files)]
    return job_class(args=arguments)


def cluster_arguments(runner, folder):
    """Keep mrjob from starting a JVM for what needs none, and give tasks Python and the code."""
    own = ['--cluster-id', *runner.clusters] if runner.clusters else []
    if runner.alias == 'hadoop' and not runner.option('--hadoop-tmp-dir'):
        own = ['--hadoop-tmp-dir', f'{runner.work.staging}/mrjob']
    return [*own, '--no-bootstrap-mrjob', '--no-check-input-paths', '--no-read-logs',
            *python_arguments(runner, folder)]


def python_arguments(runner, folder):
    """Choose the Python of the tasks and how the code gets there."""
    if runner.bundle is not None:
        return bundle_arguments(runner.bundle)
    if runner.alias == 'hadoop' and runner.python is None and is_local_cluster():
        return ['--task-python-bin', sys.executable]  # its nodes are this machine, where the code is installed
    python = [] if runner.python is None else ['--task-python-bin', runner.python]
    return ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip')), *python]


def task_environment():
    """Give tasks one BLAS thread, and the kernels that the driver was told to use: both decide the last bits."""
    values = {**dict.fromkeys(THREADS, '1'), **{name: os.environ[name] for name in KERNELS if name in os.environ}}
    return [text for name, value in values.items() for text in ('--cmdenv', f'{name}={value}')]


def stage_output(job_class, runner):
    """Return a folder of its own for each stage below the --output-dir that the user named, else None."""
    folder = runner.option('--output-dir')
    if folder is None:
        return None
    path = os.path.join(folder, job_class.__name__)
    if os.path.exists(path):
        raise FileExistsError(f'{path}: a new folder was expected, it exists')
    return path


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

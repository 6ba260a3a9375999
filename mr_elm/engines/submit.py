"""Run a job where the user chose: the one place that makes a runner of mrjob."""
import json
import os
import sys
import tempfile
from contextlib import contextmanager, nullcontext

from mr_elm.engines.bundle import bundle_arguments
from mr_elm.engines.failures import explain
from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.engines.local import LocalRunner
from mr_elm.engines.runner import EMBEDDED, REACH, conf_arguments, emr
from mr_elm.engines.shipping import source_digest, zip_code
from mr_elm.engines.trace import traced
from mr_elm.files.hadoop import HadoopRunner, glob_escaped, is_local_cluster
from mr_elm.passes.finished import Finished, map_input_records
from mr_elm.passes.work import key_of
from mr_elm.rows.inputs import demand_unchanged, plan_splits

THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
KERNELS = ('OPENBLAS_CORETYPE', 'MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES')


@contextmanager
def run_job(job_class, plan, job_arguments, runner, stage):
    """Run a job over a data set, or take what it wrote before; the context's value is `Finished`, to be read inside.

    job_class : a subclass of MRRows. plan : InputPlan. job_arguments : options of the job.
    stage : its name, for progress.
    Raises DataFormatError when a file has changed since the plan was made, before the output, which may not fit, is
    read.
    """
    if runner.alias in EMBEDDED:
        with ran(job_class, plan, job_arguments, stage_output(job_class, runner), runner, stage) as running:
            demand_unchanged(plan)
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
    demand_unchanged(plan)
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
    """Make the runner of mrjob, or ours."""
    if runner.alias == 'inline':
        return job.make_runner()
    ours = {'local': LocalRunner, 'hadoop': HadoopRunner}
    return (ours.get(runner.alias) or emr().EMRRunner)(**job._runner_kwargs())


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
    if runner.option('--task-python-bin') is not None:
        return ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip'))]
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


def write_splits(tasks, folder):
    """Write the splits of each task to a file of one line, so that mrjob starts one map task a file."""
    return [write_json(os.path.join(folder, f'task-{number:05d}.json'), task, '\n')
            for number, task in enumerate(tasks)]


def write_json(path, value, end=''):
    """Write a value as JSON and return the path."""
    with open(path, 'w') as stream:
        stream.write(json.dumps(value) + end)
    return path

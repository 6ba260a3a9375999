"""Run stages by a runner of mrjob: the base of all engines that do."""
from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.engines.mrjob_private import scratch_folder
from mr_elm.engines.trace import trace_job
from mr_elm.json_file import write_json
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.splits import plan_splits

THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
KERNELS = ('OPENBLAS_CORETYPE', 'MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES')

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


class MRJobEngine(Engine):
    """Run jobs by a runner of mrjob, whose options are the engine's arguments.

    A subclass defines `make_runner`, `job_arguments` and `explain`.
    """

    def make_runner(self, job: Any) -> Any:
        """Return the runner of mrjob that runs a job."""
        raise NotImplementedError

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Return the arguments that give a job its input and its environment; files for them go to a folder."""
        raise NotImplementedError

    def explain(self, error: Exception, running: Any) -> str | None:
        """Say in a sentence why a job failed; None when nothing more than the error is known."""
        raise NotImplementedError

    def follow(self, stage: str) -> AbstractContextManager:
        """Tell the user how far a stage is, beside what its tasks count."""
        return nullcontext()

    @contextmanager
    def start(self, job_class: Any, plan: InputPlan, arguments: list[str], output: str | None,
              stage: str) -> Iterator[Any]:
        """Run a job that writes to the folder `output`, or where mrjob likes; the context's value is mrjob's runner.

        Raises TaskError when it fails.
        """
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
            target = ['--output-dir', output] if output else []
            job = self.make_job(job_class, plan, [*target, *arguments], folder)
            with self.make_runner(job) as running:
                with (self.reporter.stage(stage, plan.size, scratch_folder(running), plan.n_rows), self.follow(stage),
                      trace_job(self, running, stage, plan.size)):
                    self.run(running, job_class)
                yield running

    def run(self, running: Any, job_class: type) -> None:
        """Run a job; when it fails, say why. Raises TaskError."""
        try:
            running.run()
        except Exception as error:
            try:
                text = self.explain(error, running)
            except (OSError, ValueError, KeyError) as problem:
                text = f'{error} (its logs cannot be read: {problem})'
            if text is None:
                raise
            raise TaskError(f'{job_class.__name__}: {text}') from error

    def make_job(self, job_class: Any, plan: InputPlan, arguments: list[str], folder: str) -> Any:
        """Make the job with its plan and its input written to a folder."""
        plan = self.copy_inputs(plan)
        conf = self.conf_arguments()
        if conf:  # mrjob would name a folder by the microsecond, which two drivers may share
            conf += ['--local-tmp-dir', folder]
        return job_class(args=[
            '-r', self.name, *conf, *self.arguments, *task_environment(),
            '--plan', write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *arguments,
            *self.job_arguments(plan, folder)])

    def conf_arguments(self) -> list[str]:
        """Leave mrjob's own configuration files out unless the user names one."""
        named = any(flag in ('-c', '--conf-path') for flag, _ in pairs_of(self.arguments))
        return [] if named or 'MRJOB_CONF' in os.environ else ['--no-conf']

    def stage_output(self, job_class: type) -> str | None:
        """Return a folder of its own for each stage below the --output-dir that the user named, else None."""
        folder = self.option('--output-dir')
        if folder is None:
            return None
        path = os.path.join(folder, job_class.__name__)
        if os.path.exists(path):
            raise FileExistsError(f'{path}: expected a new folder, it exists')
        return path

    @property
    def wanted_maps(self) -> int | None:
        """Return the value of mapreduce.job.maps, or None where it is not set. Raises ValueError."""
        wanted = self.value_of('mapreduce.job.maps')
        if wanted is not None and not wanted.isdigit():
            raise ValueError(f'-D mapreduce.job.maps: expected a whole number, found {wanted!r}')
        return None if wanted is None else int(wanted)

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan: mapreduce.job.maps when it is set, else one a core."""
        if self.wanted_maps is not None:
            return self.wanted_maps
        return int(self.option('--num-cores') or os.cpu_count() or 1)

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one for each of Hadoop's usual splits, or more where wanted."""
        return max(super().maps_over(n_bytes), self.wanted_maps or 1)

    def option(self, name: str) -> str | None:
        """Return the last value given for a runner option, or None."""
        values = [value for flag, value in pairs_of(self.arguments) if flag == name]
        return values[-1] if values else None

    def value_of(self, key: str) -> str | None:
        """Return the last value given for a jobconf key, or None."""
        values = [value.partition('=')[2] for flag, value in pairs_of(self.arguments)
                  if flag in ('-D', '--jobconf') and value.partition('=')[0] == key]
        return values[-1] if values else None


class TaskError(RuntimeError):
    """Say that a task of a job failed, and why."""


def pairs_of(arguments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (option, value) for neighbours on a command line, and for --option=value."""
    for flag, value in zip(arguments, [*arguments[1:], ''], strict=False):
        name, equals, rest = flag.partition('=')
        yield (name, rest) if equals and name.startswith('--') else (flag, value)


def task_environment() -> list[str]:
    """Give tasks one BLAS thread, and the kernels that the driver was told to use: both decide the last bits."""
    values = {**dict.fromkeys(THREADS, '1'), **{name: os.environ[name] for name in KERNELS if name in os.environ}}
    return [text for name, value in values.items() for text in ('--cmdenv', f'{name}={value}')]


def plan_tasks(plan: InputPlan, n_maps: int, folder: str) -> list[str]:
    """Write the splits of each of at most n_maps tasks to a file of one line, so that there is one map task a file.

    Returns the arguments that give a job these tasks.
    """
    return ['--planned-splits', *(write_json(os.path.join(folder, f'task-{number:05d}.json'), task, '\n')
                                  for number, task in enumerate(plan_splits(plan, n_maps)))]

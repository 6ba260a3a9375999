"""Run stages on a cluster, by mrjob or another way: inputs are copied once, and what has finished outlives the driver.

The cluster itself tries a failed task again, by default four times in all (mapreduce.map.maxattempts).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from mrjob.step import StepFailedException

from mr_elm.engines.base import Engine
from mr_elm.engines.bundle import bundle_arguments, source_digest, zip_code
from mr_elm.engines.mrjob_private import protect_words
from mr_elm.engines.mrjob_runner import make_words, plan_tasks
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import JobOutput, map_input_records
from mr_elm.passes.work import Work, key_of
from mr_elm.progress import LogLines, Stage
from mr_elm.rows.hdfs import escape_glob
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.storage import is_local
from mr_elm.store import temporary_folder

COMMAND = re.compile('Command .*(?= returned | died )', re.DOTALL)  # of a step, more than 1,000 characters
WHOLE_FILE_BYTES = 1 << 40  # bytes; Hadoop cuts no file into smaller splits


class Remote(Engine):
    """Run jobs on a cluster that may lose nodes, tasks, or this driver.

    A subclass defines `work` and `write_output`.
    """

    is_cluster = True

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on the cluster."""
        raise NotImplementedError

    def write_output(
        self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, stage: str
    ) -> int | None:
        """Run a job that writes to a folder of the cluster; see `run_job`.

        Returns how many lines its map tasks were given, None where nobody counts.
        """
        raise NotImplementedError

    def __enter__(self) -> Remote:
        self.work.open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove what was put on the cluster, unless another try could go on with it."""
        self.work.close(error)

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Run a job, or take what it wrote before; the context's value is its `JobOutput`."""
        key = key_of(job_class, plan, arguments, source_digest())
        folder = self.stage_output(job_class) or self.work.folder(key)
        done = self.work.finished(key, folder)
        if done:
            self.reporter.say(f'{stage}: finished in the earlier run')
        else:
            self.work.begin()
            done = self.work.finish(key, folder, self.write_output(job_class, plan, arguments, folder, stage))
        yield JobOutput(job_class, done['folder'], None if plan.in_parts else done['map_input_records'])

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when an input is on another cluster."""
        for path in inputs:
            if not is_local(path):
                self.demand_reach(path)

    def bring(self, file: InputFile) -> str:
        """Copy a file of this machine to the cluster, once; returns where it is."""
        return self.work.place(file)

    @contextmanager
    def attempts_folder(self, folder: str) -> Iterator[str]:
        """Give a folder among what the run keeps, for files of attempts of tasks."""
        yield f'{self.work.staging}/attempts'


class Cluster(Remote):
    """Run jobs on a cluster that may lose nodes, tasks, or this driver, by a runner of mrjob.

    The options of the runner are the engine's arguments. A subclass defines `work`, `make_runner`, `follow` and
    `explain`.
    """

    def make_runner(self, job: Any) -> Any:
        """Return the runner of mrjob that runs a job."""
        raise NotImplementedError

    def explain(self, error: Exception, running: Any) -> str | None:
        """Say in a sentence why a job failed; None when nothing more than the error is known."""
        raise NotImplementedError

    def follow(self, progress: Stage) -> LogLines:
        """Return what tells the user how far a stage is, from the log of mrjob."""
        raise NotImplementedError

    @contextmanager
    def start(self, job_class: Any, plan: InputPlan, arguments: list[str], output: str, stage: str) -> Iterator[Any]:
        """Run a job that writes to the folder `output`; the context's value is mrjob's runner.

        Raises TaskError when it fails.
        """
        with temporary_folder() as folder:
            job = self.make_job(job_class, plan, ['--output-dir', output, *arguments], folder)
            with self.make_runner(job) as running:
                with Stage(self.reporter, stage, plan.size) as progress:
                    log = self.follow(progress)
                    with log.listening('mrjob'):
                        self.run(running, job_class, log)
                yield running

    def run(self, running: Any, job_class: type, log: LogLines) -> None:
        """Run a job; when it fails, say why. Raises TaskError. log : what mrjob says."""
        try:
            running.run()
        except Exception as error:
            known = f'{COMMAND.sub("its command", str(error))} {log.last} (--verbose prints the whole log)'
            try:
                text = self.explain(error, running)
            except (OSError, ValueError, KeyError) as problem:
                text = f'{known}; the logs of its tasks cannot be read: {problem}'
            if text is None and not isinstance(error, StepFailedException):
                raise
            raise TaskError(f'{job_class.__name__}: {text or known}') from error

    def make_job(self, job_class: Any, plan: InputPlan, arguments: list[str], folder: str) -> Any:
        """Make the job with its plan and its input written to a folder."""
        plan = self.copy_inputs(plan)
        words = [*arguments, *self.job_arguments(plan, folder)]
        job = job_class(args=make_words(self.name, plan, self.arguments, words, folder))
        protect_words(job)
        return job

    def write_output(
        self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, stage: str
    ) -> int | None:
        """Run a job that writes to a folder of the cluster, marked as one of this run beside what the user says."""
        tags = ','.join(filter(None, [self.value_of('mapreduce.job.tags'), self.work.tag]))
        arguments = ['-D', f'mapreduce.job.tags={tags}', *arguments]
        with self.start(job_class, plan, arguments, folder, stage) as running:
            return map_input_records(running)

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for about n reduce tasks, none where one will do or the user has said how many.

        Hadoop deals keys out by the hash 31 h + byte of their bytes. Modulo a power of two, keys with consecutive
        numbers go to different tasks.
        """
        if n == 1 or self.value_of('mapreduce.job.reduces') is not None:
            return []
        return ['-D', f'mapreduce.job.reduces={1 << (n - 1).bit_length()}']

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Keep mrjob from starting a JVM for what needs none, give tasks Python and the code, and name the inputs."""
        return [
            '--no-bootstrap-mrjob',
            '--no-check-input-paths',
            '--no-read-logs',
            *self.python_arguments(folder),
            *self.input_arguments(plan, folder),
        ]

    def input_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Name the files of lines; tasks open other files themselves, and read the splits that are planned here."""
        if not plan.in_parts:
            return [escape_glob(file.uri or file.path) for file in plan.files]
        return [
            '-D',
            f'mapreduce.input.fileinputformat.split.minsize={WHOLE_FILE_BYTES}',
            *plan_tasks(plan, self.wanted_maps or self.maps_over(plan.size), folder),
        ]

    def python_arguments(self, folder: str) -> list[str]:
        """Choose the Python of the tasks and how the code gets there."""
        if self.bundle is not None:
            return bundle_arguments(self.bundle)
        words = ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip'))]
        if self.python is not None and not self.option('--task-python-bin'):
            words += '--task-python-bin', self.python
        return words

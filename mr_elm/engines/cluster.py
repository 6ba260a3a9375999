"""Run stages on a cluster: inputs are copied to it once, and what has finished outlives the driver."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

from mr_elm.engines.bundle import bundle_arguments
from mr_elm.engines.mrjob_engine import MRJobEngine, plan_tasks
from mr_elm.engines.shipping import source_digest, zip_code
from mr_elm.files.hadoop import escape_glob
from mr_elm.files.storage import is_local, store_of
from mr_elm.passes.finished import Finished, map_input_records
from mr_elm.passes.work import Work, key_of
from mr_elm.rows.inputs import InputFile, InputPlan, demand_unchanged

WHOLE = 1 << 40  # bytes; Hadoop cuts no file into smaller splits


class Cluster(MRJobEngine):
    """Run jobs on a cluster that may lose nodes, tasks, or this driver. A subclass defines `work`."""

    is_cluster = True

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on the cluster."""
        raise NotImplementedError

    def __enter__(self) -> Cluster:
        self.work.open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove what was put on the cluster, unless another try could go on with it."""
        self.work.close(error)

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[Finished]:
        """Run a job, or take what it wrote before; the context's value is its `Finished` output."""
        key = key_of(job_class, plan, arguments, source_digest())
        folder = self.stage_output(job_class) or self.work.folder(key)
        done = self.work.finished(key, folder, stage)
        if done:
            self.reporter.say(f'{stage}: finished in the earlier run')
        else:
            self.work.begin()
            tags = ['-D', f'mapreduce.job.tags={self.tags(key)}']
            with self.start(job_class, plan, [*tags, *arguments], folder, stage) as running:
                done = self.work.finish(key, folder, map_input_records(running))
        demand_unchanged(plan)
        yield Finished(job_class, done['folder'], None if plan.in_parts else done['map_input_records'])

    def tags(self, key: str) -> str:
        """Mark a job on the cluster as one of this run, beside what the user marks it with."""
        named = self.value_of('mapreduce.job.tags')
        return ','.join([*([named] if named else []), self.work.tag(), self.work.tag(key)])

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when an input is on another cluster."""
        for path in inputs:
            if not is_local(path):
                self.demand_reach(path)

    def bring(self, file: InputFile) -> str:
        """Copy a file of this machine to the cluster, once; returns where it is."""
        return self.work.place(file)

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for n reduce tasks, none where one will do or the user has said how many."""
        if n == 1 or self.value_of('mapreduce.job.reduces') is not None:
            return []
        return ['-D', f'mapreduce.job.reduces={n}']

    @contextmanager
    def output_arguments(self, folder: str) -> Iterator[list[str]]:
        """Give no arguments: a job writes among what the run keeps, until it is delivered."""
        yield []

    def deliver(self, finished: Finished, folder: str) -> None:
        """Move the output of a job to the folder that was asked for."""
        store_of(folder).move(finished.folder, folder)

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Keep mrjob from starting a JVM for what needs none, give tasks Python and the code, and name the inputs."""
        return ['--no-bootstrap-mrjob', '--no-check-input-paths', '--no-read-logs', *self.python_arguments(folder),
                *self.input_arguments(plan, folder)]

    def input_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Name the files of lines; tasks open other files themselves, and read the splits that are planned here."""
        if not plan.in_parts:
            return [escape_glob(file.uri or file.path) for file in plan.files]
        n_maps = self.wanted_maps or self.maps_over(plan.size)
        return ['-D', f'mapreduce.input.fileinputformat.split.minsize={WHOLE}', *plan_tasks(plan, n_maps, folder)]

    def python_arguments(self, folder: str) -> list[str]:
        """Choose the Python of the tasks and how the code gets there."""
        if self.bundle is not None:
            return bundle_arguments(self.bundle)
        python = [] if self.python is None or self.option('--task-python-bin') else ['--task-python-bin', self.python]
        return ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip')), *python]

"""Run stages on this machine: their tasks are calls in this process, or in processes on its cores."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.engines.tasks import (
    KEY,
    Pair,
    Pool,
    carry,
    name_splits,
    name_stage,
    plan_reduces,
    run_map,
    run_reduce,
    write_map,
)
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import JobOutput
from mr_elm.passes.work import copy_name
from mr_elm.progress import Stage
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.splits import plan_splits
from mr_elm.rows.storage import copy
from mr_elm.store import temporary_folder, write_json

ROOM_FACTOR = 8  # times the bytes of the input must be free for parsed rows: compressed text grows
REDUCES_A_PROCESS = 2  # reduce tasks for each process: their keys take unequal time


class LocalCopies(Engine):
    """Keep copies on the disk of this machine, which all tasks share."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove the copies."""
        if 'copies' in self.__dict__:
            self.copies.cleanup()

    @cached_property
    def copies(self) -> tempfile.TemporaryDirectory:
        """Return a folder of this machine for copies of files that tasks here cannot read where they are."""
        return temporary_folder()

    def bring(self, file: InputFile) -> str:
        """Copy a file to this machine, once; returns where it is."""
        path = os.path.join(self.copies.name, copy_name(file))
        if not os.path.exists(path):
            copy(file.path, path)
        return path

    def keep_parsed(self, plan: InputPlan) -> InputPlan:
        """Return the plan with a folder for parsed rows, unless the rows are binary or the disk has little room."""
        room = shutil.disk_usage(tempfile.gettempdir()).free
        if find_kind(plan.form.kind).reader is not None or ROOM_FACTOR * plan.size > room:
            return plan
        return replace(plan, parsed=tempfile.mkdtemp(dir=self.copies.name))


@dataclass(frozen=True)
class Reduced(JobOutput):
    """Give access to pairs that are reduced as they are read, once: no text stands between reducer and driver."""

    read_pairs: Callable[[], Iterator[Pair]] = lambda: iter(())

    def all_pairs(self) -> Iterator[Pair]:
        """Yield the pairs."""
        return self.read_pairs()

    def write(self) -> str:
        """Write the pairs to a file of the folder, and return the folder."""
        protocol = self.job_class.OUTPUT_PROTOCOL()
        with open(os.path.join(self.folder, 'part-00000'), 'wb') as stream:
            stream.writelines(protocol.write(*pair) + b'\n' for pair in self.read_pairs())
        return self.folder


@dataclass
class Job:
    """Run the tasks of a job.

    stage : made with the options of the job, `words`. tasks : the splits of each map task.
    folder, output : where map tasks and reduce tasks write. progress : hears how far the tasks are.
    """

    stage: Any
    words: list[str]
    tasks: list[list[list[int]]]
    folder: str
    output: str
    progress: Stage

    def run_here(self) -> JobOutput:
        """Run the tasks in this process; a reduce task runs while the driver reads its pairs."""
        pairs: list[Pair] = []
        for number, splits in enumerate(self.tasks):
            with self.name_errors(name_task('map', number, splits)):
                if self.stage.MAP_ONLY:
                    write_map(self.stage, splits, self.part(number), self.progress)
                else:
                    pairs += map(carry, run_map(self.stage, splits, self.progress))
        if self.stage.MAP_ONLY:
            return JobOutput(type(self.stage), self.output)
        return Reduced(type(self.stage), self.output, read_pairs=lambda: self.reduce(pairs))

    def reduce(self, pairs: list[Pair]) -> Iterator[Pair]:
        """Yield the pairs of the reduce task."""
        with self.name_errors(name_task('reduce', 0)):  # the values of a key stay in the order of the map tasks
            yield from map(carry, run_reduce(self.stage, sorted(pairs, key=KEY), self.progress))

    def run_in_pool(self, pool: Pool, n_processes: int) -> JobOutput:
        """Run the tasks in a pool: they write files."""
        if self.stage.MAP_ONLY:
            self.run_all(pool, n_processes, 'map', self.tasks, self.part)
        else:
            paths = [os.path.join(self.folder, f'map-{number}') for number in range(len(self.tasks))]
            indexes = self.run_all(pool, n_processes, 'map', self.tasks, paths.__getitem__)
            reduces = plan_reduces(zip(paths, indexes, strict=True), REDUCES_A_PROCESS * n_processes)
            self.run_all(pool, n_processes, 'reduce', reduces, self.part)
        return JobOutput(type(self.stage), self.output)

    def run_all(
        self, pool: Pool, n_processes: int, kind: str, tasks: list, name_file: Callable[[int], str]
    ) -> list[Any]:
        """Run all map tasks, or all reduce tasks: what they return. name_file : number of a task -> its output."""
        stage = [name_stage(type(self.stage)), *self.words]
        requests = [
            {
                'task': name_task(kind, number, task if kind == 'map' else ()),
                'stage': stage,
                'kind': kind,
                'work': task,
                'path': name_file(number),
            }
            for number, task in enumerate(tasks)
        ]
        with self.name_errors():
            return pool.run_all(requests, n_processes, self.progress)

    def part(self, number: int) -> str:
        """Return the path of a part of the output."""
        return os.path.join(self.output, f'part-{number:05d}')

    @contextmanager
    def name_errors(self, task: str = '') -> Iterator[None]:
        """Name the stage, and a task of this process, in what is raised inside. Raises TaskError."""
        name = type(self.stage).__name__
        try:
            yield
        except TaskError as error:
            raise TaskError(f'{name}: {error}') from None
        except Exception as error:
            raise TaskError(f'{name}: {type(error).__name__}: {error} ({task})') from error


def name_task(kind: str, number: int, splits: Iterable[list[int]] = ()) -> str:
    """Name a task and its splits, for people."""
    names = name_splits(splits)
    return f'{kind} task {number}' + (f', split {names}' if names else '')


@dataclass(frozen=True)
class Local(LocalCopies):
    """Run tasks in processes on the cores of this machine.

    jobs : how many processes at most, or None: MR_ELM_JOBS, or all cores.
    memory : MB that the sums of all processes may take together, or None.
    small : bytes of rows, below which the tasks run in this process, one after another.
    """

    name = 'local'

    jobs: int | None = None
    memory: float | None = None
    small: float = 0

    @contextmanager
    def run_job(self, job_class: Any, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Run a job; the context's value is its `JobOutput`, which vanishes at the end."""
        with temporary_folder() as folder:
            words = [
                '--no-conf',
                '--plan',
                write_json(os.path.join(folder, 'plan.json'), self.copy_inputs(plan).to_json()),
                *arguments,
            ]
            job_stage = job_class(args=words)
            kept_folder = self.stage_output(job_class)
            output_folder = kept_folder or os.path.join(folder, 'output')
            os.makedirs(output_folder)
            n_processes = self.count_processes(plan, job_stage)
            tasks = plan_splits(plan, self.wanted_maps or n_processes)
            with Stage(self.reporter, stage, plan.size, n_rows=plan.n_rows) as progress:
                job = Job(job_stage, words, tasks, folder, output_folder, progress)
                if n_processes > 1 or not self.small:
                    output = job.run_in_pool(self.pool, n_processes)
                else:
                    output = job.run_here()
                if kept_folder:
                    output = JobOutput(job_class, output.write())
                yield output

    def count_processes(self, plan: InputPlan, stage: Any) -> int:
        """Return in how many processes the tasks of a job run; 1 is this one where the rows are few."""
        if plan.size < self.small or (self.small and plan.size < stage.thread_bytes):
            return 1
        n_processes = self.n_processes
        if self.memory and (n_bytes := stage.task_bytes):  # which may read a large file
            n_processes = min(int(self.memory * 1e6 // n_bytes), n_processes)
        return max(1, n_processes)

    @property
    def n_processes(self) -> int:
        """Return how many processes there may be. Raises ValueError when the user's number is none."""
        if self.jobs is not None:
            return self.jobs
        for name, text in ('--num-cores', self.option('--num-cores')), ('MR_ELM_JOBS', os.environ.get('MR_ELM_JOBS')):
            if text:
                if not text.isdecimal() or int(text) < 1:
                    raise ValueError(f'{name}: expected a whole number above 0, found {text!r}')
                return int(text)
        return os.cpu_count() or 1

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError where the number of processes is none."""
        _ = self.n_processes

    @cached_property
    def pool(self) -> Pool:
        """Return the processes that run the tasks of all jobs."""
        return Pool()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the processes and remove the copies."""
        if 'pool' in self.__dict__:
            self.pool.close()
        super().__exit__(kind, error, trace)


@dataclass(frozen=True)
class Inline(Local):
    """Run tasks one after another in this process."""

    name = 'inline'

    small: float = inf

    @property
    def n_processes(self) -> int:
        """Return one: this process."""
        return 1

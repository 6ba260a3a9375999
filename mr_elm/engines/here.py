"""Run stages on this machine: their tasks are calls in this process, or in processes on its cores."""
from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mr_elm.engines.copies import LocalCopies
from mr_elm.engines.pool import Pool
from mr_elm.engines.progress import Stage
from mr_elm.engines.tasks import (
    Pair,
    carry,
    is_map_only,
    measure_pair,
    name_stage,
    plan_reduces,
    run_map,
    run_reduce,
    sort_pairs,
    write_map,
)
from mr_elm.engines.trace import Times, account, trace_job
from mr_elm.errors import TaskError
from mr_elm.json_file import write_json
from mr_elm.passes.finished import Finished
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan, demand_unchanged
from mr_elm.rows.splits import plan_splits

REDUCES = 2  # reduce tasks for each process: their keys take unequal time


@dataclass(frozen=True)
class Reduced(Finished):
    """Give access to pairs that are reduced as they are read: no text stands between reducer and driver."""

    read_pairs: Callable[[], Iterator[Pair]] = lambda: iter(())

    def all_pairs(self) -> Iterator[Pair]:
        """Yield the pairs, once."""
        return self.read_pairs()

    def lines(self, accounts: Accounts) -> Iterator[bytes]:
        """Yield all lines that the wire would carry; `accounts` takes the records about the input among them."""
        write = self.job_class.OUTPUT_PROTOCOL().write
        yield from self.job_class.watch((write(*pair) + b'\n' for pair in self.read_pairs()), accounts.take)


@dataclass
class Job:
    """Run a job of a stage, and keep account of its tasks.

    stage : made with the options of the job. words : these options. tasks : the splits of each map task.
    output : the folder for its output. keeps : whether the user wants to have that.
    progress : hears how far the tasks are.
    """

    stage: Any
    words: list[str]
    tasks: list[list[list[int]]]
    output: str
    keeps: bool
    progress: Stage
    maps: Times = field(default_factory=list)
    reduces: Times = field(default_factory=list)
    shuffled: int = 0
    written: int = 0

    @property
    def name(self) -> str:
        """Return the name of the stage."""
        return type(self.stage).__name__

    def part(self, number: int) -> str:
        """Return the path of a part of the output."""
        return os.path.join(self.output, f'part-{number:05d}')

    def run_here(self) -> Finished:
        """Run the tasks in this process: the output, whose pairs are reduced when they are read."""
        if is_map_only(self.stage):
            for number, splits in enumerate(self.tasks):
                with self.task('map', number, splits):
                    write_map(self.stage, splits, self.part(number), self.progress)
                self.written += os.path.getsize(self.part(number))
            return Finished(type(self.stage), self.output)
        pairs: list[Pair] = []
        for number, splits in enumerate(self.tasks):
            with self.task('map', number, splits):
                pairs += map(carry, run_map(self.stage, splits, self.progress))
        if self.keeps:
            _, write = self.stage.pick_protocols(0, 'reducer')
            with open(self.part(0), 'wb') as stream:
                stream.writelines(write(*pair) + b'\n' for pair in self.reduce_here(pairs))
            return Finished(type(self.stage), self.output)
        return Reduced(type(self.stage), self.output, read_pairs=lambda: self.reduce_here(pairs))

    def reduce_here(self, pairs: list[Pair]) -> Iterator[Pair]:
        """Yield the pairs of the one reduce task."""
        self.shuffled = sum(map(measure_pair, pairs))
        self.progress.begin_reduce(self.shuffled)
        with self.task('reduce', 0):
            for pair in map(carry, run_reduce(self.stage, sort_pairs(pairs), self.progress)):
                self.written += measure_pair(pair)
                yield pair

    @contextmanager
    def task(self, kind: str, number: int, splits: Sequence[list[int]] = ()) -> Iterator[None]:
        """Keep the times of a task of this process, and name it when it fails. Raises TaskError."""
        times = self.maps if kind == 'map' else self.reduces
        begin = time.time()
        try:
            yield
        except GeneratorExit:
            raise
        except Exception as error:
            raise TaskError(f'{self.name}: {type(error).__name__}: {error} ({name_task(kind, number, splits)})'
                            ) from error
        finally:
            times.append((begin, time.time()))

    def run_in(self, pool: Pool, n_processes: int) -> Finished:
        """Run the tasks in processes of a pool: the output, in parts."""
        folder = None if is_map_only(self.stage) else tempfile.TemporaryDirectory(prefix='mr_elm-')
        try:
            paths = [self.part(number) if folder is None else os.path.join(folder.name, str(number))
                     for number in range(len(self.tasks))]
            answers = self.run_all(pool, n_processes, 'map', self.tasks, paths, self.maps)
            sizes = [answer['size'] for answer in answers]
            if folder is None:
                self.written = sum(sizes)
                return Finished(type(self.stage), self.output)
            self.shuffled = sum(sizes)
            self.progress.begin_reduce(self.shuffled)
            runs = plan_reduces(zip(paths, (answer['done'] for answer in answers), strict=True),
                                REDUCES * n_processes)
            parts = [self.part(number) for number in range(len(runs))]
            answers = self.run_all(pool, n_processes, 'reduce', runs, parts, self.reduces)
            self.written = sum(answer['size'] for answer in answers)
            return Finished(type(self.stage), self.output)
        finally:
            if folder is not None:
                folder.cleanup()

    def run_all(self, pool: Pool, n_processes: int, kind: str, work: list, paths: list[str],
                times: Times) -> list[dict[str, Any]]:
        """Run all map tasks, or all reduce tasks, and keep their times; returns the answers."""
        stage = [*name_stage(type(self.stage)), self.words]
        requests = [{'task': name_task(kind, number, part if kind == 'map' else ()), 'stage': stage, 'kind': kind,
                     'work': part, 'path': path}
                    for number, (part, path) in enumerate(zip(work, paths, strict=True))]
        try:
            answers = pool.run_all(requests, n_processes, self.progress)
        except TaskError as error:
            raise TaskError(f'{self.name}: {error}') from None
        times += [tuple(answer['times']) for answer in answers]
        return answers


def name_task(kind: str, number: int, splits: Sequence[list[int]] = ()) -> str:
    """Name a task and its splits, for people."""
    places = ', '.join(f'file {file} from byte {start}' for file, start, _ in splits)
    return f'{kind} task {number}' + (f', split {places}' if places else '')


@dataclass(frozen=True)
class Here(LocalCopies):
    """Run jobs on this machine."""

    name = 'inline'

    @contextmanager
    def run_job(self, job_class: Any, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[Finished]:
        """Run a job; the context's value is its `Finished` output, which vanishes at the end."""
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
            plan_path = write_json(os.path.join(folder, 'plan.json'), self.copy_inputs(plan).to_json())
            words = ['--no-conf', '--plan', plan_path, *arguments]
            job_stage = job_class(args=words)
            n_processes = self.count_processes(plan, job_stage)
            kept = job_stage.options.output_dir or self.stage_output(job_class)
            output = kept or os.path.join(folder, 'output')
            os.makedirs(output)
            tasks = plan_splits(plan, plan.n_tasks or self.wanted_maps or n_processes)
            with self.reporter.stage(stage, plan.size, None, plan.n_rows) as progress:
                job = Job(job_stage, words, tasks, output, kept is not None, progress)
                with trace_job(self, job, stage, plan.size):
                    finished = self.run_tasks(job, n_processes)
                    demand_unchanged(plan)
                    yield finished

    def count_processes(self, plan: InputPlan, stage: Any) -> int:
        """Return in how many processes the tasks of a job run; 1 is this one."""
        return 1

    def run_tasks(self, job: Job, n_processes: int) -> Finished:
        """Run the tasks of a job."""
        return job.run_here()

    def task_times(self, running: Job) -> dict[str, object]:
        """Put together what is known of the tasks of a job."""
        return account(running.maps, running.reduces, running.shuffled, running.written)


class Inline(Here):
    """Run tasks one after another in this process."""

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan: one, unless mapreduce.job.maps is set."""
        return self.wanted_maps or 1


@dataclass(frozen=True)
class Local(Here):
    """Run tasks in processes on the cores of this machine.

    jobs : how many processes at most, or None: MR_ELM_JOBS, or all cores.
    memory : MB that the sums of all processes may take together, or None.
    small : bytes of rows, below which the tasks run in this process, one after another.
    """

    name = 'local'

    jobs: int | None = None
    memory: float | None = None
    small: int = 0

    @property
    def n_processes(self) -> int:
        """Return how many processes there may be. Raises ValueError when MR_ELM_JOBS is no number."""
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

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan: mapreduce.job.maps when it is set, else one a process."""
        return self.wanted_maps or self.n_processes

    @cached_property
    def pool(self) -> Pool:
        """Return the processes that run the tasks of all jobs."""
        return Pool()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the processes and remove the copies."""
        if 'pool' in self.__dict__:
            self.pool.close()
        super().__exit__(kind, error, trace)

    def count_processes(self, plan: InputPlan, stage: Any) -> int:
        """Return in how many processes the tasks of a job run; 1 is this one where the rows are few."""
        if plan.size < self.small:
            return 1
        n_bytes = stage.task_bytes
        fitting = int(self.memory * 1e6 // n_bytes) if self.memory and n_bytes else self.n_processes
        return max(1, min(fitting, self.n_processes))

    def run_tasks(self, job: Job, n_processes: int) -> Finished:
        """Run the tasks of a job in the pool, or here where the rows are few."""
        if n_processes == 1 and self.small:
            return job.run_here()
        return job.run_in(self.pool, n_processes)

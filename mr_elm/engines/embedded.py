"""Run stages on this machine: in this process, or as processes on its cores."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from typing import IO, Any

from mr_elm.engines.copies import LocalCopies
from mr_elm.engines.mrjob_engine import MRJobEngine, plan_tasks
from mr_elm.engines.mrjob_private import ThreadedTasks, failed_input, import_lightly, runner_arguments, task_files
from mr_elm.engines.task_logs import describe_failure, find_cause
from mr_elm.engines.trace import account
from mr_elm.engines.worker import Worker
from mr_elm.passes.finished import Finished
from mr_elm.rows.inputs import InputPlan, demand_unchanged

INLINE = import_lightly('mrjob.inline')


class Embedded(LocalCopies, MRJobEngine):
    """Run jobs on this machine, each task on splits that the driver has planned."""

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[Finished]:
        """Run a job; the context's value is its `Finished` output, which vanishes at the end."""
        with self.start(job_class, plan, arguments, self.stage_output(job_class), stage) as running:
            demand_unchanged(plan)
            yield Finished(job_class, running.get_output_dir())

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Write the planned splits, one file a task."""
        return plan_tasks(plan, plan.n_tasks or self.n_maps, folder)

    def task_times(self, running: Any) -> dict[str, object]:
        """Read begin and end of tasks off their files: a task begins with its input and ends with its output.

        Where there are more tasks than processes, the seconds of a task are those that it waits too.
        """
        maps, reduces = (list(finished_tasks(running, kind)) for kind in ('mapper', 'reducer'))
        shuffled = sum(size for _, _, size in maps) if reduces else 0
        return account([task[:2] for task in maps], [task[:2] for task in reduces], shuffled,
                       sum(size for _, _, size in reduces or maps))


class Inline(Embedded):
    """Run tasks one after another in this process."""

    name = 'inline'

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan: one, unless mapreduce.job.maps is set."""
        return self.wanted_maps or 1

    def make_runner(self, job: Any) -> Any:
        """Return mrjob's own runner."""
        return INLINE.InlineMRJobRunner(**runner_arguments(job))

    def explain(self, error: Exception, running: Any) -> str | None:
        """Tell which task of this process failed, and on which split."""
        path = failed_input(running)
        if path is None:
            return None
        kind, task = path.split(os.sep)[-3:-1]
        return describe_failure(f'{type(error).__name__}: {error}', f'{kind} {int(task)}', socket.gethostname(),
                                splits_in(path), None)


class Local(Embedded):
    """Run tasks as processes on the cores of this machine."""

    name = 'local'

    def make_runner(self, job: Any) -> Any:
        """Return a runner that a killed task ends."""
        return LocalRunner(self.tasks, **runner_arguments(job))

    @cached_property
    def tasks(self) -> Processes:
        """Return the processes that run the tasks of all jobs."""
        return Processes()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the processes and remove the copies."""
        self.tasks.end()
        super().__exit__(kind, error, trace)

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Write the planned splits; tasks run in this environment, where mrjob is installed."""
        return [*super().job_arguments(plan, folder), '--no-bootstrap-mrjob']

    def explain(self, error: Any, running: Any) -> str | None:
        """Read what a failed process left behind."""
        if not hasattr(error, 'task_type'):
            return None
        given, log, _ = task_files(running, error.task_type, error.step_num, error.task_num)
        with open(log, errors='replace') as stream:
            cause = find_cause(stream.read())
        return describe_failure(cause or str(error.reason), f'{error.task_type} {error.task_num}',
                                socket.gethostname(), splits_in(given), log)


def splits_in(path: str) -> str | None:
    """Name the splits that the input of a task lists."""
    with open(path, 'rb') as stream:
        line = stream.readline(1 << 16)
    try:
        return ', '.join(f'file {number} from byte {start}' for number, start, _ in json.loads(line))
    except (ValueError, TypeError):
        return None


def finished_tasks(running: Any, kind: str) -> Iterator[tuple[float, float, int]]:
    """Yield (begin, end, bytes of output) for each task."""
    for number in count():
        given, log, output = task_files(running, kind, 0, number)
        if not os.path.exists(given):
            return
        yield os.path.getmtime(given), max(map(os.path.getmtime, (log, output))), os.path.getsize(output)


class LocalRunner(ThreadedTasks, import_lightly('mrjob.local').LocalMRJobRunner):  # type: ignore[misc]
    """Start each task from the driver itself.

    mrjob's own starts them from a pool of processes: when one of these is killed, as by a machine that is short of
    memory, the driver waits for it for ever, and its task runs on.

    tasks : the Processes that run tasks.
    """

    def __init__(self, tasks: Processes, **options: Any) -> None:
        super().__init__(**options)
        self.tasks = tasks

    def start_all(self, functions: list[Callable[[], None]], n_cores: int) -> None:
        """Call functions, each of which runs a task, as many at a time as there are cores."""
        self.tasks.ended = False
        with ThreadPoolExecutor(n_cores) as pool:
            try:
                for call in [pool.submit(function) for function in functions]:
                    call.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.tasks.end()
                raise

    def run_process(self, arguments: list[str], **options: Any) -> None:
        """Run a task in another process."""
        self.tasks.run(arguments, **options)


class Processes:
    """Know the processes that run tasks, so that all can be ended at once.

    A script of Python runs in a Worker, which is kept for the next task; anything else in a process of its own.
    """

    def __init__(self) -> None:
        self.lock, self.ended = threading.Lock(), False
        self.running: set[Worker | subprocess.Popen] = set()
        self.idle: list[Worker] = []

    def run(self, arguments: list[str], **options: Any) -> None:
        """Run a task to its end. Raises CalledProcessError when it fails, or when all have been ended."""
        is_script = arguments[0] == sys.executable and arguments[1].endswith('.py')
        with self.lock:
            if self.ended:
                raise subprocess.CalledProcessError(-9, arguments)
            if not is_script:
                process: Worker | subprocess.Popen = subprocess.Popen(arguments, **options)
            else:
                process = self.idle.pop() if self.idle else Worker(options['cwd'], options['env'])
            self.running.add(process)
        status = run_script(process, arguments[1:], **options) if isinstance(process, Worker) else process.wait()
        with self.lock:
            self.running.discard(process)
            if isinstance(process, Worker) and process.is_running():
                self.idle.append(process)
        if status:
            raise subprocess.CalledProcessError(status, arguments)

    def end(self) -> None:
        """Kill all tasks that run, end all processes, and start nothing more."""
        with self.lock:
            self.ended = True
            for process in self.running:
                process.kill()
            while self.idle:
                self.idle.pop().close()


def run_script(worker: Worker, words: list[str], stdin: IO, stdout: IO, stderr: IO, cwd: str,
               env: dict[str, str]) -> int:
    """Run a script in a Worker with the files that are open for it; returns its exit status."""
    return worker.run(words, [stream.name for stream in (stdin, stdout, stderr)], cwd, env)

"""Call the map and the reduce of a stage: what a task does, in this process or in processes of our own.

A process runs one task after another. It is asked by lines of JSON on its standard input, and answers by lines of JSON:
words and names of files, never rows. It needs no `__main__` guard, is in a session of its own, so that Ctrl-C reaches
the driver alone, and ends with its standard input, so with the driver, whatever ends that. What a task prints goes to
standard error. A task that fails ends the command: on one machine it would fail again. Hadoop and Spark try a task four
times.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from copy import copy
from functools import lru_cache
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pkgutil import resolve_name
from typing import IO, Any

import numpy as np

from mr_elm.errors import TaskError
from mr_elm.progress import Listener
from mr_elm.store import temporary_folder

Pair = tuple[str, Any]  # key and value
Run = tuple[str, int, int]  # path, start and length of a line, with its end, in what a map task wrote
KEY = itemgetter(0)  # by which pairs are sorted, byte by byte as Hadoop does it: keys are ASCII
OPEN_FILES = 100  # outputs of map tasks that a reduce task holds open: systems allow 256 or more
DEAF = Listener()
THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
KERNELS = ('OPENBLAS_CORETYPE', 'MKL_CBWR', 'NPY_DISABLE_CPU_FEATURES')  # they decide the last bits too
REPORT_SECONDS = 0.2  # seconds between two reports of a task


def run_map(job: Any, splits: list[list[int]], listener: Listener = DEAF) -> Iterator[Pair]:
    """Yield the pairs of a map task.

    job : the stage, made with its options, --plan among them. It may run any number of tasks, in any order.
    splits : what the task reads, [file number, start, length] each, as of `plan_splits`.
    """
    task = copy(job)  # without what other tasks have left in it
    task.listener = listener
    return task.map_splits(splits)


def run_reduce(job: Any, pairs: Iterable[Pair], listener: Listener = DEAF) -> Iterator[Pair]:
    """Yield the pairs of a reduce task. pairs : what the map tasks have yielded, sorted by KEY."""
    task = copy(job)
    task.listener = listener
    return task.reduce_pairs(pairs)


def carry(pair: Pair) -> Pair:
    """Return a pair as the wire would deliver it: tasks may reuse their arrays, and JSON knows texts and lists only."""
    key, value = pair
    if isinstance(value, dict):
        return key, json.loads(json.dumps(value))
    arrays = [np.array(array, '<f8', order='C') for array in value]
    for array in arrays:
        array.flags.writeable = False
    return key, arrays


def name_splits(splits: Iterable[list[int]]) -> str:
    """Name the splits of a task, for people."""
    return ', '.join(f'file {file} from byte {start}' for file, start, _ in splits)


def write_map(job: Any, splits: list[list[int]], path: str, listener: Listener = DEAF) -> list[tuple[str, int]]:
    """Run a map task that writes its pairs to a file, a line each; returns (key, bytes) of the lines."""
    _, write = job.pick_protocols(0, 'mapper')
    index = []
    with open(path, 'wb') as stream:
        for pair in run_map(job, splits, listener):
            index.append((pair[0], stream.write(write(*pair) + b'\n')))
    return index


def write_reduce(job: Any, runs: Iterable[Run], path: str, listener: Listener = DEAF) -> None:
    """Run a reduce task over lines that map tasks have written, and write its pairs to a file."""
    read, write = job.pick_protocols(0, 'reducer')
    with open(path, 'wb') as stream:
        for pair in run_reduce(job, map(read, read_runs(runs)), listener):
            stream.write(write(*pair) + b'\n')


def read_runs(runs: Iterable[Run]) -> Iterator[bytes]:
    """Yield lines in the order of their runs; only so many files are open at once."""
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for path, start, length in runs:
            if path not in files:
                if len(files) == OPEN_FILES:
                    stack.close()
                    files.clear()
                files[path] = stack.enter_context(open(path, 'rb'))
            files[path].seek(start)
            yield files[path].read(length)


def plan_reduces(outputs: Iterable[tuple[str, list[tuple[str, int]]]], n_tasks: int) -> list[list[Run]]:
    """Share the lines of all map tasks among at most n reduce tasks: (path, index as of `write_map`) -> runs of each.

    The tasks take the sorted keys in turn, each about the same number of bytes, so that their outputs, one behind the
    other, are those of one task.
    """
    lines = []
    for path, index in outputs:
        start = 0
        for key, length in index:
            lines.append((key, (path, start, length)))
            start += length
    lines.sort(key=KEY)
    tasks: list[list[Run]] = [[] for _ in range(n_tasks)]
    n_bytes = sum(run[2] for _, run in lines)
    done = 0
    for _, group in groupby(lines, KEY):
        runs = [run for _, run in group]
        tasks[done * n_tasks // n_bytes] += runs
        done += sum(run[2] for run in runs)
    return [task for task in tasks if task]


def name_stage(job_class: type) -> str:
    """Return 'module:name', by which another process imports the class of a stage. Raises ValueError."""
    module = job_class.__module__
    if module == '__main__':
        spec = getattr(import_module('__main__'), '__spec__', None)
        if spec is None:
            raise ValueError(
                f'{job_class.__name__}: expected a stage that other processes can import, found one of '
                'the script itself: move it to a module, or run it with -r inline'
            )
        module = spec.name
    return f'{module}:{job_class.__qualname__}'


WORK: dict[str, Callable] = {'map': write_map, 'reduce': write_reduce}  # kind of a task -> what runs it


def task_variables() -> dict[str, str]:
    """Return variables for the environment of a task: one BLAS thread, and the kernels that this process has.

    Both decide the last bits.
    """
    return {**dict.fromkeys(THREADS, '1'), **{name: os.environ[name] for name in KERNELS if name in os.environ}}


class Worker:
    """Start a process and hand it tasks, one at a time. folder : for its temporary files; it may be killed."""

    def __init__(self, folder: str) -> None:
        environment = {
            **os.environ,
            **task_variables(),
            'TMPDIR': folder,
            'PYTHONPATH': os.pathsep.join(map(os.path.abspath, sys.path)),
        }
        # it starts in an empty folder: `python -m` looks for modules there first
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'mr_elm.engines.tasks', os.getcwd()],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, request: dict[str, Any], listener: Listener) -> Any:
        """Run a task; returns what it returns. Raises TaskError."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b'\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as what it writes tells
        for line in self.process.stdout:
            if not line.endswith(b'\n'):
                break  # it was killed while it answered
            answer = json.loads(line)
            for name, amount in answer.get('counts', {}).items():
                listener.count(name, amount)
            if 'status' in answer:
                listener.set_status(answer['status'])
            if 'error' in answer:
                raise TaskError(answer['error'])
            if 'done' in answer:
                return answer['done']
        raise TaskError(describe_end(self.process.wait()))

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]


def describe_end(status: int) -> str:
    """Say how a process ended that should not have. status : as of `Popen.wait`."""
    if status >= 0:
        return f'its process ended with status {status}'
    hint = ''
    if status == -signal.SIGKILL:
        hint = ', perhaps because memory ran out: try --jobs 1, or a smaller --memory'
    return f'its process was killed by {signal.Signals(-status).name}{hint}'


class Pool:
    """Keep processes that run tasks from one job to the next. To be closed."""

    def __init__(self) -> None:
        self.folder = temporary_folder()
        self.workers: list[Worker] = []

    def run_all(self, requests: list[dict[str, Any]], n: int, listener: Listener) -> list[Any]:
        """Run tasks in n processes: what they return. The first that fails ends all others. Raises TaskError."""
        self.workers += [Worker(self.folder.name) for _ in range(min(n, len(requests)) - len(self.workers))]
        waiting = iter(list(enumerate(requests)))
        answers = dict[int, Any]()

        def work(worker: Worker) -> None:
            for number, request in waiting:  # which each goes to one of the threads
                try:
                    answers[number] = worker.run(request, listener)
                except TaskError as error:
                    raise TaskError(f'{error} ({request["task"]})') from None

        threads = ThreadPoolExecutor(n)
        try:
            futures = [threads.submit(work, worker) for worker in self.workers[:n]]
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            self.end()  # with them, the threads end
            raise
        finally:
            threads.shutdown()
        return [answers[number] for number in range(len(requests))]

    def end(self) -> None:
        """Kill all processes, whatever they do."""
        for worker in self.workers:
            worker.kill()
        self.workers.clear()

    def close(self) -> None:
        """End all processes and remove what they have left."""
        self.end()
        self.folder.cleanup()


class Reports(Listener):
    """Tell the driver now and then how far a task is. write : takes a dictionary of JSON."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self.write = write
        self.counts = Counter[str]()
        self.spoken = time.monotonic()

    def count(self, name: str, amount: int) -> None:
        """Add to a counter."""
        self.counts[name] += amount
        if time.monotonic() - self.spoken > REPORT_SECONDS:
            self.write({'counts': self.take()})

    def set_status(self, text: str) -> None:
        """Tell what the task does."""
        self.write({'status': text})

    def take(self) -> dict[str, int]:
        """Return what was counted since the last report."""
        counts = dict(self.counts)
        self.counts = Counter()
        self.spoken = time.monotonic()
        return counts


@lru_cache(maxsize=1)
def make_stage(name: str, *words: str) -> Any:
    """Make a stage, which all tasks of a job use."""
    return resolve_name(name)(args=list(words))


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Run the tasks that are asked for.

    A request has stage, its name and options; kind, map or reduce; work, the splits or the runs; path of the
    output. An answer has counts, since the one before; status; done, or error.
    """

    def write(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer).encode() + b'\n')
        answers.flush()

    for request in listen(requests):
        reports = Reports(write)
        try:
            stage = make_stage(*request['stage'])
            answer = {'done': WORK[request['kind']](stage, request['work'], request['path'], reports)}
        except BaseException as error:
            if not isinstance(error, Exception):
                traceback.print_exc()
            answer = {'error': f'{type(error).__name__}: {error}'}
        write({**answer, 'counts': reports.take()})


def listen(requests: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield requests; when they end, end the process at once, also within a task: the driver is gone."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        try:
            for line in requests:
                lines.put(line)
        finally:  # also where memory runs out: nobody would hear the next request
            os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(lines.get())


if __name__ == '__main__':
    os.chdir(sys.argv[1])
    standard_output = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), 'rb')
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    serve(requests, standard_output)

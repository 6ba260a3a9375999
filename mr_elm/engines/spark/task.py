"""Run one task of a stage in a worker of Spark: the lines that it reads and writes are those of Hadoop Streaming."""
import io
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mr_elm.engines.partition import hash_key

LARGE = 1 << 28  # bytes of a task, from which on it pays to load numba, by which rows are read and summed up faster
Line = tuple[tuple[int, bytes], bytes]  # (group, key), and the rest of a line; all groups meet in the last step


@dataclass(frozen=True)
class StageTask:
    """Say what the tasks of a job run. It is sent to all workers, and holds no rows.

    module, name : of the class of the stage. words : its options; files stand there by their names in `files`.
    files : Broadcast of a dictionary, name -> bytes.
    times : Accumulator of (kind, begin, end, bytes written) of each task.
    folder : where the tasks write how far they are, on a disk that the driver sees; or None.
    """

    module: str
    name: str
    words: tuple[str, ...]
    files: Any
    times: Any
    folder: str | None

    @contextmanager
    def open(self, kind: str, number: int, lines: Any) -> Iterator[Any]:
        """Give the stage, with its files written to a folder. kind : mapper or reducer. lines : standard input."""
        files = self.files.value
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder, self.open_log(kind, number) as log:
            for name, content in files.items():
                with open(os.path.join(folder, name), 'wb') as stream:
                    stream.write(content)
            words = [os.path.join(folder, word) if word in files else word for word in self.words]
            stage = getattr(import_module(self.module), self.name)(args=words)
            stage.sandbox(stdin=lines, stdout=io.BytesIO(), stderr=log)
            with name_task(kind, number):
                yield stage

    def open_log(self, kind: str, number: int) -> Any:
        """Open the file to which a task writes its counters, as Streaming's standard error."""
        if self.folder is None:
            return open(os.devnull, 'wb')
        path = os.path.join(self.folder, kind, f'{number:05d}')
        os.makedirs(path, exist_ok=True)
        return open(os.path.join(path, 'stderr'), 'wb')

    def measure(self, kind: str, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Pass on what a task writes, and add its times and bytes to the account."""
        begin, size = time.time(), 0
        for line in lines:
            size += len(line) + 1
            yield line
        self.times.add([(kind, begin, time.time(), size)])


class StageError(Exception):
    """Say which task failed, where and why: Spark does not always tell."""


class JoinLists:
    """Join lists: an AccumulatorParam of pyspark."""

    def zero(self, value: list) -> list:
        """Return the empty list."""
        return []

    def addInPlace(self, value1: list, value2: list) -> list:
        """Return both lists as one."""
        return value1 + value2


@contextmanager
def name_task(kind: str, number: int) -> Iterator[None]:
    """Turn what is raised inside into a StageError."""
    try:
        yield
    except Exception as error:
        raise StageError(f'{kind} {number} on {describe_place()}: {type(error).__name__}: {error}') from error


def describe_place() -> str:
    """Name this machine, and the executor where the cluster tells it."""
    executor = os.environ.get('CONTAINER_ID') or os.environ.get('SPARK_EXECUTOR_ID')
    return socket.gethostname() + (f', executor {executor}' if executor else '')


def map_lines(task: StageTask, number: int, splits: Iterable[str]) -> Iterator[bytes]:
    """Run a map task over planned splits: the lines that it writes."""
    lines = list(splits)
    if sum(length for line in lines for _, _, length in json.loads(line)) >= LARGE:
        import_module('mr_elm.compiled')
    return run_map(task, number, '\n'.join(lines).encode(), None)


def map_kept(task: StageTask, number: int, records: Iterable[bytes]) -> Iterator[bytes]:
    """Run a map task over rows that were parsed before: the lines that it writes."""
    return run_map(task, number, b'', records)


def run_map(task: StageTask, number: int, text: bytes, records: Iterable[bytes] | None) -> Iterator[bytes]:
    """Run a map task: the lines that it writes. text : its standard input. records : its rows if they are kept."""
    with task.open('mapper', number, io.BytesIO(text)) as stage:
        stage.kept = records
        _, write = stage.pick_protocols(0, 'mapper')
        yield from task.measure('mapper', (write(*pair) for pair in stage.map_pairs(())))


def reduce_lines(task: StageTask, number: int, lines: Iterable[Line]) -> Iterator[bytes]:
    """Run a reduce task over sorted lines: the lines that it writes."""
    whole = (b'%b\t%b\n' % (key, rest) for (_, key), rest in lines)
    with task.open('reducer', number, whole) as stage:
        read, write = stage.pick_protocols(0, 'reducer')
        pairs = stage.reduce_pairs(map(read, stage.reduced))
        yield from task.measure('reducer', (write(*pair) for pair in pairs))


def key_lines(tasks_per_group: int, number: int, lines: Iterable[bytes]) -> Iterator[Line]:
    """Cut each line behind its key. number : of the task that wrote it."""
    for line in lines:
        key, _, rest = line.partition(b'\t')
        yield (number // tasks_per_group, key), rest


def choose_partition(n_reducers: int, place: tuple[int, bytes]) -> int:
    """Return the reduce task of a key: that of Hadoop, in each group. place : (group, key)."""
    group, key = place
    return group * n_reducers + hash_key(key.decode()) % n_reducers

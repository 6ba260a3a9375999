"""Run one task of a stage in a worker of Spark: the lines that it reads and writes are those of Hadoop Streaming."""
from __future__ import annotations

import io
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any

from mr_elm.rows.storage import is_local, store_of

LARGE = 1 << 28  # bytes of a task, from which on it pays to load numba, by which rows are read and summed up faster
BATCH_BYTES = 1 << 23  # of lines that travel together: one Arrow array of bytes holds 2 GB at most
ROWS = 'group int, key binary, value binary'  # lines between the tasks, cut behind their keys
ENDED = 'ended-'  # begins the name of the report of a task that has ended


class StageError(Exception):
    """Say which task failed, where and why: Spark does not always tell."""


@dataclass(frozen=True)
class StageTask:
    """Say what the tasks of a job run. It is sent to all workers, and holds no rows.

    module, name : of the class of the stage. words : its options; files stand there by their names.
    files : name -> content of small files, None for one that is an artifact of the session.
    splits : those of each map task, as [file number, start, length].
    reports : folder where tasks report their end and, where it is on this machine, how far they are; '' for none.
    """

    module: str
    name: str
    words: tuple[str, ...]
    files: dict[str, bytes | None]
    splits: list[list[list[int]]]
    reports: str

    def map_splits(self, tasks_per_group: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Run the map tasks whose numbers come in: their lines, marked by the group that adds them up."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if sum(length for _, _, length in self.splits[number]) >= LARGE:
                    import_module('mr_elm.compiled')
                text = io.BytesIO(json.dumps(self.splits[number]).encode())
                with self.open('mapper', number, number, text) as stage:
                    yield from make_batches(number // tasks_per_group, self.map(stage, number))

    def map(self, stage: Any, number: int) -> Iterator[bytes]:
        """Yield the lines of a map task."""
        _, write = stage.pick_protocols(0, 'mapper')
        return self.report('mapper', number, (write(*pair) for pair in stage.map_pairs(())))

    def reduce_groups(self, tasks_per_group: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Run a reduce task over the sorted lines of some groups: its lines, marked by the next group."""
        context = import_module('pyspark').TaskContext.get()
        number, name = context.partitionId(), f'{context.stageId()}-{context.partitionId()}'
        for group, rows in groupby(read_batches(batches), itemgetter(0)):
            lines = (b'%b\t%b\n' % row[1:] for row in rows)
            with self.open('reducer', number, name, lines) as stage:
                reduced = self.report('reducer', f'{name}-{group}', reduce_lines(stage))
                yield from make_batches(group // tasks_per_group, reduced)

    @contextmanager
    def open(self, kind: str, number: int, name: object, lines: Any) -> Iterator[Any]:
        """Give the stage, with its files in a folder. kind : mapper or reducer. lines : its standard input."""
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder, self.open_log(kind, name) as log:
            paths = {file: place_file(folder, file, content) for file, content in self.files.items()}
            words = [paths.get(word, word) for word in self.words]
            stage = getattr(import_module(self.module), self.name)(args=words)
            stage.sandbox(stdin=lines, stdout=io.BytesIO(), stderr=log)
            with name_task(f'{kind} {number}'):
                yield stage

    def open_log(self, kind: str, name: object) -> Any:
        """Open the file to which a task writes its counters, as Streaming's standard error."""
        if not self.reports or not is_local(self.reports):
            return open(os.devnull, 'wb')
        folder = os.path.join(self.reports, kind, str(name))
        os.makedirs(folder, exist_ok=True)
        return open(os.path.join(folder, 'stderr'), 'wb')

    def report(self, kind: str, name: object, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Pass on what a task writes, and report at the end when it ran and how many bytes that was."""
        begin, size = time.time(), 0
        for line in lines:
            size += len(line)
            yield line
        if not self.reports:
            return
        # who cannot report has done its work all the same
        with suppress(OSError), tempfile.NamedTemporaryFile('w', prefix='mr_elm-') as file:
            json.dump([kind, begin, time.time(), size], file)
            file.flush()
            store_of(self.reports).put(file.name, f'{self.reports}/{ENDED}{kind}-{name}')


def place_file(folder: str, name: str, content: bytes | None) -> str:
    """Return the path of a file of a stage, which is written to a folder unless Spark has brought it."""
    if content is None:
        return import_module('pyspark').SparkFiles.get(name)
    path = os.path.join(folder, name)
    with open(path, 'wb') as stream:
        stream.write(content)
    return path


@contextmanager
def name_task(task: str) -> Iterator[None]:
    """Turn what is raised inside into a StageError."""
    try:
        yield
    except Exception as error:
        container = os.environ.get('CONTAINER_ID')  # of YARN
        place = socket.gethostname() + (f', executor {container}' if container else '')
        raise StageError(f'{task} on {place}: {type(error).__name__}: {error}') from error


def reduce_lines(stage: Any) -> Iterator[bytes]:
    """Yield the lines of a stage that reduces its standard input, sorted lines."""
    read, write = stage.pick_protocols(0, 'reducer')
    return (write(*pair) for pair in stage.reduce_pairs(map(read, stage.reduced)))


def make_batches(group: int, lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield lines as record batches with the columns of ROWS."""
    keys, values, size = [], [], 0
    for line in lines:
        key, _, value = line.partition(b'\t')
        keys.append(key)
        values.append(value)
        size += len(line)
        if size >= BATCH_BYTES:
            yield make_batch(group, keys, values)
            keys, values, size = [], [], 0
    yield make_batch(group, keys, values)


def make_batch(group: int, keys: list[bytes], values: list[bytes]) -> Any:
    """Return a record batch of some lines."""
    arrow = import_module('pyarrow')
    groups = arrow.array([group] * len(keys), arrow.int32())
    return arrow.record_batch([groups, arrow.array(keys, arrow.binary()), arrow.array(values, arrow.binary())],
                              ['group', 'key', 'value'])


def read_batches(batches: Iterable[Any]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (group, key, value) of the lines in record batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def list_reports(folder: str, kind: str = '') -> list[str]:
    """List the paths of the reports of the tasks that have ended."""
    return [entry.path for entry in store_of(folder).entries(folder) if entry.name.startswith(ENDED + kind)]

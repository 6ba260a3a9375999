"""Run one task of a stage in a worker of Spark: the lines that it reads and writes are those of Hadoop Streaming."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from mr_elm.engines.tasks import run_map, run_reduce
from mr_elm.rows.storage import store_of
from mr_elm.store import temporary_folder, temporary_prefix

BATCH_LINES = 16  # lines that travel together: one has 16 MB at most, and an Arrow array of bytes 2 GB
ROWS = 'group long, key binary, value binary'  # lines between the tasks, cut behind their keys
FACTS = 'partition long, size long, digest long'  # of a partition of a DataFrame
ENDED = 'ended-'  # begins the name of the report of a map task that has ended
REPEATED = 'repeated-'  # begins that of a task that runs again, since an attempt failed


class StageError(Exception):
    """Say which task failed, where and why: Spark does not always tell."""


@dataclass(frozen=True)
class StageTask:
    """Say what the tasks of a job run. It is sent to all workers, and holds no rows.

    name : of the class of the stage, 'module:name'. words : its options; files stand there by their names.
    files : name -> content of small files, None for one that is an artifact of the session.
    splits : those of each map task, as [file number, start, length].
    reports : folder where tasks report that they have ended, or run again; '' for none.
    partitions : partition of a DataFrame -> (its map task, digest of its rows), where tasks read no files.
    """

    name: str
    words: tuple[str, ...]
    files: dict[str, bytes | None]
    splits: list[list[list[int]]]
    reports: str
    partitions: dict[int, tuple[int, int]] = field(default_factory=dict)

    def map_splits(self, tasks_per_group: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Run the map tasks whose numbers come in: their lines, marked by the group that adds them up."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                with self.open('mapper', number) as stage:
                    _, write = stage.pick_protocols(0, 'mapper')
                    lines = (write(*pair) for pair in run_map(stage, self.splits[number]))
                    yield from make_batches(number // tasks_per_group, lines)
                self.put_report(f'{ENDED}{number}')

    def map_rows(self, tasks_per_group: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Run the map task of a partition of a DataFrame, whose rows come in: its lines, as of `map_splits`.

        The rows are written to a file, which the task reads as any other one. Raises StageError when they are not
        those of the first pass: Spark computes them each time.
        """
        partition = import_module('pyspark').TaskContext.get().partitionId()
        with temporary_folder() as folder:
            path = os.path.join(folder, 'rows.parquet')
            digest = write_batches(path, batches)
            number, expected = self.partitions.get(partition, (partition, None))
            if digest != expected:
                raise StageError(
                    f'mapper {number} on {socket.gethostname()}: ValueError: df: expected the same rows '
                    f'in each pass, partition {partition} changed: write df to a table, train on that'
                )
            if digest is not None:
                name = self.words[self.words.index('--plan') + 1]
                plan = json.loads(self.files[name] or b'')
                plan['files'][number]['uri'] = path
                task = replace(self, files={**self.files, name: json.dumps(plan).encode()})
                yield from task.map_splits(tasks_per_group, [import_module('pyarrow').table({'id': [number]})])

    def reduce_groups(self, tasks_per_group: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Run a reduce task over the sorted lines of some groups: its lines, marked by the next group."""
        number = import_module('pyspark').TaskContext.get().partitionId()
        for group, rows in groupby(read_batches(batches), itemgetter(0)):
            with self.open('reducer', number) as stage:
                lines = reduce_lines(stage, (b'%b\t%b' % row[1:] for row in rows))
                yield from make_batches(group // tasks_per_group, lines)

    @contextmanager
    def open(self, kind: str, number: int) -> Iterator[Any]:
        """Give the stage, with its files in a folder. kind : mapper or reducer."""
        with name_task(f'{kind} {number}'), temporary_folder() as folder:
            paths = {file: place_file(folder, file, content) for file, content in self.files.items()}
            words = [paths.get(word, word) for word in self.words]
            stage = resolve_name(self.name)(args=words)
            if (attempt := import_module('pyspark').TaskContext.get().attemptNumber()) > 0:
                self.put_report(f'{REPEATED}{kind}-{number}-{attempt}')
            yield stage

    def put_report(self, name: str) -> None:
        """Leave an empty file of a name where the driver counts such files."""
        if not self.reports:
            return
        # who cannot report has done its work all the same
        with suppress(OSError), tempfile.NamedTemporaryFile(prefix=temporary_prefix()) as file:
            store_of(self.reports).put(file.name, f'{self.reports}/{name}')


def write_batches(path: str, batches: Iterable[Any]) -> int | None:
    """Write the rows of record batches to a file of Parquet; returns its digest, None where there are none."""
    from pyarrow import parquet

    with ExitStack() as stack:
        writer = None
        for batch in filter(len, batches):
            writer = writer or stack.enter_context(parquet.ParquetWriter(path, batch.schema))
            writer.write_batch(batch)
    if writer is None:
        return None
    return zlib.crc32(Path(path).read_bytes())


def describe_partition(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the facts of a partition of a DataFrame, with the columns of FACTS."""
    with temporary_folder() as folder:
        path = os.path.join(folder, 'rows.parquet')
        digest = write_batches(path, batches)
        if digest is not None:
            partition = import_module('pyspark').TaskContext.get().partitionId()
            yield import_module('pyarrow').record_batch(
                {'partition': [partition], 'size': [os.path.getsize(path)], 'digest': [digest]}
            )


def place_file(folder: str, name: str, content: bytes | None) -> str:
    """Return the path of a file of a stage, which is written to a folder unless Spark has brought it."""
    if content is None:
        return import_module('pyspark').SparkFiles.get(name)
    path = os.path.join(folder, name)
    Path(path).write_bytes(content)
    return path


@contextmanager
def name_task(task: str) -> Iterator[None]:
    """Turn what is raised inside into a StageError."""
    try:
        yield
    except Exception as error:
        container = os.environ.get('CONTAINER_ID')  # of YARN
        name = socket.gethostname() + (f', executor {container}' if container else '')
        raise StageError(f'{task} on {name}: {type(error).__name__}: {error}') from error


def reduce_lines(stage: Any, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stage that reduces sorted lines."""
    read, write = stage.pick_protocols(0, 'reducer')
    return (write(*pair) for pair in run_reduce(stage, map(read, lines)))


def make_batches(group: int, lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield lines as record batches with the columns of ROWS."""
    lines = iter(lines)
    while rows := [line.partition(b'\t')[::2] for line in islice(lines, BATCH_LINES)]:
        keys, values = zip(*rows, strict=True)
        yield import_module('pyarrow').record_batch({'group': [group] * len(rows), 'key': keys, 'value': values})


def read_batches(batches: Iterable[Any]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (group, key, value) of the lines in record batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def list_reports(folder: str, prefix: str) -> list[str]:
    """List the names of the reports of tasks that begin with ENDED or REPEATED."""
    return sorted(entry.name for entry in store_of(folder).entries(folder) if entry.name.startswith(prefix))

"""Call the map and the reduce of a stage: what a task does on this machine, in this process or in another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from importlib import import_module
from operator import itemgetter
from typing import IO, Any

import numpy as np

from mr_elm.progress import Listener

Pair = tuple[str, Any]  # key and value
Run = tuple[str, int, int]  # path, start and length of a line, with its end, in what a map task wrote
KEY = itemgetter(0)  # by which pairs are sorted, byte by byte as Hadoop does it: keys are ASCII
OPEN_FILES = 100  # outputs of map tasks that a reduce task holds open: systems allow 256 or more


DEAF = Listener()


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


def is_map_only(job: Any) -> bool:
    """Tell whether a stage, with its options, has no reduce tasks."""
    return job.steps()[0]['reducer'] is None


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
    files: dict[str, IO[bytes]] = {}
    try:
        for path, start, length in runs:
            if path not in files and len(files) == OPEN_FILES:
                files.pop(next(iter(files))).close()
            stream = files.pop(path) if path in files else open(path, 'rb')  # noqa: SIM115 - closed below
            files[path] = stream  # the one used last stands last
            stream.seek(start)
            yield stream.read(length)
    finally:
        for stream in files.values():
            stream.close()


def plan_reduces(outputs: Iterable[tuple[str, list[tuple[str, int]]]], n_tasks: int) -> list[list[Run]]:
    """Share the lines of all map tasks among at most n reduce tasks: (path, index as of `write_map`) -> runs of each.

    The tasks take the sorted keys in turn, each about the same number of bytes, so that their outputs, one behind the
    other, are those of one task.
    """
    lines: list[tuple[str, Run]] = []
    for path, index in outputs:
        start = 0
        for key, length in index:
            lines.append((key, (path, start, length)))
            start += length
    lines.sort(key=KEY)
    share = sum(run[2] for _, run in lines) / n_tasks
    tasks: list[list[Run]] = [[]]
    room, previous = share, None
    for key, run in lines:
        if room <= 0 and key != previous:
            tasks.append([])
            room += share
        tasks[-1].append(run)
        room, previous = room - run[2], key
    return tasks


def name_stage(job_class: type) -> tuple[str, str]:
    """Return (module, name) by which another process imports the class of a stage. Raises ValueError."""
    module = job_class.__module__
    if module == '__main__':
        spec = getattr(import_module('__main__'), '__spec__', None)
        if spec is None:
            raise ValueError(
                f'{job_class.__name__}: expected a stage that other processes can import, found one of '
                'the script itself: move it to a module, or run it with -r inline'
            )
        module = spec.name
    return module, job_class.__qualname__


def import_stage(module: str, name: str) -> Callable:
    """Return the class of a stage."""
    return getattr(import_module(module), name)

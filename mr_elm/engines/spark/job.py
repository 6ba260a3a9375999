"""Run a stage on Spark as one job: a map over planned splits, a tree of sums, a shuffle and reduce."""
from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mr_elm.engines.mrjob_private import file_options, split_words
from mr_elm.engines.spark.task import (
    JoinLists,
    StageTask,
    choose_partition,
    key_lines,
    map_kept,
    map_lines,
    reduce_lines,
)
from mr_elm.sums.gram import merge_pairs

FAN_IN = 16  # tasks whose sums one task adds up
ALL = sys.maxsize  # tasks in one group
REDUCERS = 'mapreduce.job.reduces'  # how drivers say how many reduce tasks share the keys


class SparkJob:
    """Run a stage over splits.

    context : SparkContext. stage : the stage, made with all its options. argv : these options.
    splits : those of each map task, as [file number, start, length]. kept : RDD of their records, see `RowCache`, or
        None.
    """

    def __init__(self, context: Any, stage: Any, argv: list[str], splits: list[list[list[int]]],
                 kept: Any = None) -> None:
        self.context, self.stage, self.argv, self.splits, self.kept = context, stage, argv, splits, kept
        self.times: list[tuple[str, float, float, int]] = []

    def write(self, output: str, folder: str | None) -> None:
        """Run the job. output : URI of a new folder. folder : see `StageTask`."""
        with self.prepare_task(folder) as task:
            lines = self.map(task)
            if not self.stage.MAP_ONLY:
                lines = self.reduce(lines, task)
            lines.saveAsTextFile(output)
            self.times = task.times.value

    def map(self, task: StageTask) -> Any:
        """Return the lines that the map tasks write."""
        if self.kept is not None:
            return self.kept.mapPartitionsWithIndex(partial(map_kept, task))
        texts = [json.dumps(split) for split in self.splits]
        return self.context.parallelize(texts, len(texts)).mapPartitionsWithIndex(partial(map_lines, task))

    @contextmanager
    def prepare_task(self, folder: str | None) -> Iterator[StageTask]:
        """Give what the tasks run; the files of the stage are sent to each worker once."""
        words, files = self.separate_files()
        times = self.context.accumulator([], JoinLists())
        sent = self.context.broadcast(files)
        try:
            yield StageTask(module_of(type(self.stage)), type(self.stage).__name__, words, sent, times, folder)
        finally:
            sent.destroy()

    def separate_files(self) -> tuple[tuple[str, ...], dict[str, bytes]]:
        """Return the options of the tasks, with names in the place of files, and the contents of these files."""
        words: list[str] = []
        files: dict[str, bytes] = {}
        for dest, texts, is_own in split_words(self.stage, self.argv):
            if is_own and dest in file_options(self.stage):
                name = f'mr_elm-{len(files)}-{os.path.basename(texts[1])}'
                files[name] = Path(texts[1]).read_bytes()
                words += [texts[0], name]
            elif is_own:
                words += texts
        return tuple(words), files

    def reduce(self, lines: Any, task: StageTask) -> Any:
        """Return the lines that the reducers write. Where the stage adds up sums, they are merged by a tree."""
        n_reducers = int((self.stage.options.jobconf or {}).get(REDUCERS, 1))
        groups, tasks_per_group = len(self.splits), FAN_IN
        while is_sum(type(self.stage)) and groups > FAN_IN:
            groups = -(-groups // FAN_IN)
            lines = shuffle(lines, task, tasks_per_group, groups * n_reducers, n_reducers)
            tasks_per_group = FAN_IN * n_reducers
        return shuffle(lines, task, ALL, n_reducers, n_reducers)


def shuffle(lines: Any, task: StageTask, tasks_per_group: int, n_partitions: int, n_reducers: int) -> Any:
    """Send the lines of each group of tasks to the reducers of the group, sorted by key, and reduce them."""
    keyed = lines.mapPartitionsWithIndex(partial(key_lines, tasks_per_group))
    order = keyed.repartitionAndSortWithinPartitions(n_partitions, partial(choose_partition, n_reducers))
    return order.mapPartitionsWithIndex(partial(reduce_lines, task))


def is_sum(job_class: Any) -> bool:
    """Tell whether a stage only adds up exact pairs, which may be done in steps."""
    return set(job_class.MERGE.values()) == {merge_pairs}


def module_of(job_class: Any) -> str:
    """Return the name of the module of a stage, also of one that runs as a program."""
    if job_class.__module__ != '__main__':
        return job_class.__module__
    spec = sys.modules['__main__'].__spec__
    if spec is None:
        raise ValueError(f'-r spark: expected a stage that workers can import (python -m MODULE), found '
                         f'{inspect.getfile(job_class)}')
    return spec.name

"""Run a stage on Spark as one job of DataFrames: a map over planned splits, a tree of sums, a shuffle and reduce."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from mr_elm.engines.mrjob_private import file_options, own_options, split_words
from mr_elm.engines.spark.session import read_details, send_file
from mr_elm.engines.spark.task import ROWS, StageTask, name_task, read_batches, reduce_lines
from mr_elm.engines.task_logs import describe_failure, find_cause, find_java_cause
from mr_elm.engines.tasks import name_splits
from mr_elm.rows.storage import store_of
from mr_elm.store import temporary_folder
from mr_elm.sums.gram import merge_pairs

FAN_IN = 16  # tasks whose sums one task adds up
ALL = sys.maxsize  # tasks in one group
REDUCERS = 'mapreduce.job.reduces'  # how drivers say how many reduce tasks share the keys
CLOSURE_BYTES = 1 << 20  # bytes of a file that travels with the tasks; larger ones are sent once, as artifacts
# Lines are up to 16 MB long, and an Arrow array holds 2 GB
LINES_PER_BATCH = 'spark.sql.execution.arrow.maxRecordsPerBatch', '64'
RAISED = re.compile(r'StageError: (mapper|reducer) (\d+) on (.+?): (.*)')  # what the task says
LOST = re.compile(r'Lost task (\d+)\.\d+ in stage [\d.]+ \(TID \d+\) \((\S+) executor (\w+)\)')  # what Spark says
WORKER_DIED = 'Python worker exited unexpectedly'
SERVER_LEFT = 'StatusCode.UNAVAILABLE'
EXECUTOR_LOST = re.compile(r'ExecutorLostFailure \(.*')


@dataclass(frozen=True)
class SparkJob:
    """Run a stage over splits.

    session : SparkSession, of either kind. stage : the stage, made with all its options. task : what its tasks run.
    frame : the DataFrame of the partitions.
    """

    session: Any
    stage: Any
    task: StageTask
    frame: Any = None

    @property
    def n_reducers(self) -> int:
        """Return how many reduce tasks share the keys."""
        return int((self.stage.options.jobconf or {}).get(REDUCERS, 1))

    def write(self, output: str, uri: str) -> None:
        """Run the job. output : a new folder. uri : how Spark names it, '' where Spark cannot write there."""
        with self.use_short_batches():
            rows, n_groups = self.map_and_add()
            if self.stage.MERGE and self.n_reducers == 1 and n_groups <= FAN_IN:
                write_part(output, self.reduce_here(rows.toArrow()))  # a shuffle would take longer
                return
            if not self.stage.MAP_ONLY:
                rows = self.shuffle(rows, self.n_reducers, ALL)
            if uri:
                rows.selectExpr(r"cast(concat(key, X'09', value) as string)").write.text(uri)
            else:
                write_part(output, (b'%b\t%b' % row[1:] for row in read_batches(rows.toArrow().to_batches())))

    @contextmanager
    def use_short_batches(self) -> Iterator[None]:
        """Let Spark hand few lines at a time to Python."""
        if self.task.partitions:
            yield  # the rows of a DataFrame are short
            return
        name, value = LINES_PER_BATCH
        before = self.session.conf.get(name)
        self.session.conf.set(name, value)
        try:
            yield
        finally:
            self.session.conf.set(name, before)

    def map_and_add(self) -> tuple[Any, int]:
        """Return the lines of the map tasks, and how many groups of tasks they come from.

        Where the stage only adds up exact pairs, which may be done in steps, a tree of tasks adds up FAN_IN each.
        """
        n_groups = len(self.task.splits)
        adds = set(self.stage.MERGE.values()) == {merge_pairs}
        tasks_per_group = ALL
        if adds and n_groups > FAN_IN:
            tasks_per_group = FAN_IN
        if self.task.partitions:
            rows = self.frame.mapInArrow(partial(self.task.map_rows, tasks_per_group), ROWS)
        else:
            numbers = self.session.range(0, n_groups, 1, n_groups)  # the i-th partition holds i alone
            rows = numbers.mapInArrow(partial(self.task.map_splits, tasks_per_group), ROWS)
        while tasks_per_group != ALL:
            n_groups = -(-n_groups // FAN_IN)
            if n_groups <= FAN_IN:
                tasks_per_group = ALL
            rows = self.shuffle(rows, n_groups * self.n_reducers, tasks_per_group)
        return rows, n_groups

    def shuffle(self, rows: Any, n_tasks: int, tasks_per_group: int) -> Any:
        """Return the lines of reduce tasks, each of which reads whole keys of whole groups, sorted.

        Spark sorts on disk where a group has more lines than memory; a table of `applyInArrow` has to fit.
        """
        ordered = rows.repartition(n_tasks, 'group', 'key').sortWithinPartitions('group', 'key')
        return ordered.mapInArrow(partial(self.task.reduce_groups, tasks_per_group), ROWS)

    def reduce_here(self, table: Any) -> Iterator[bytes]:
        """Yield the lines of the reducer of the lines in a table, in this process."""
        rows = sorted(zip(table['key'].to_pylist(), table['value'].to_pylist(), strict=True), key=itemgetter(0))
        with name_task('reducer 0'):
            yield from reduce_lines(self.stage, (b'%b\t%b' % row for row in rows))

    def explain(self, log: str) -> str:
        """Return the cause of a failure, the task, the split and the executor. log : the exception of Spark."""
        raised = RAISED.findall(log)
        lost = LOST.search(log)
        if raised:
            kind, number, task, cause = raised[-1]
            split = None
            if kind == 'mapper':
                split = name_splits(self.task.splits[int(number)])
            return describe_failure(cause, f'{kind} {number}', task, split, None)
        executor = EXECUTOR_LOST.search(log)
        if WORKER_DIED in log:
            cause = 'the process of the task was killed, perhaps because memory ran out'
        elif SERVER_LEFT in log:
            cause = 'the server of Spark Connect does not answer any more: start it, and repeat the command'
        elif executor:
            cause = executor.group()
        else:
            cause = find_cause(log) or find_java_cause(log.rpartition('Caused by: ')[2]) or read_details(log)
        if not lost:
            return cause
        number, host, name = lost.groups()
        return describe_failure(cause, number, f'{host}, executor {name}', None, None)


def separate_files(session: Any, stage: Any, argv: list[str]) -> tuple[tuple[str, ...], dict[str, bytes | None]]:
    """Return the options of the tasks, with names in the place of files, and these files, see `StageTask`."""
    words = []
    files: dict[str, bytes | None] = {}
    for dest, texts in split_words(stage, argv):
        if dest in file_options(stage):
            content = Path(texts[1]).read_bytes()
            if len(content) > CLOSURE_BYTES and dest != 'plan':
                name = send_file(session, texts[1])
                files[name] = None
            else:
                name = f'mr_elm-{len(files)}-{os.path.basename(texts[1])}'
                files[name] = content
            words += [texts[0], name]
        elif dest in own_options(stage):
            words += texts
    return tuple(words), files


def write_part(output: str, lines: Iterable[bytes]) -> None:
    """Write lines as the only part of a new folder."""
    with temporary_folder() as folder:
        path = os.path.join(folder, 'part-00000')
        with open(path, 'wb') as stream:
            stream.writelines(line + b'\n' for line in lines)
        store_of(output).make_folder(output)
        store_of(output).put(path, f'{output}/part-00000')

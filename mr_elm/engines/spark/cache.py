"""Keep parsed rows in the memory of the executors, from one pass to the next."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from mr_elm.engines.spark.task import name_task
from mr_elm.errors import DataFormatError
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.parsed_rows import RowKeeper
from mr_elm.rows.splits import SplitReader


@dataclass(frozen=True)
class ParseTask:
    """Say how tasks read rows. It is sent to all workers, and holds no rows.

    plan, encoding : JSON, see `SplitReader`. stop, block_rows : as there.
    """

    plan: str
    encoding: str
    stop: bool
    block_rows: int

    def parse(self, number: int, splits: Iterable[str]) -> Iterator[bytes]:
        """Yield the records of the rows of planned splits, which are parsed in map task `number`."""
        encoding = json.loads(self.encoding)
        source = SplitReader(json.loads(self.plan), encoding and Encoding.from_json(encoding), self.stop,
                             self.block_rows)
        with name_task('mapper', number):
            for text in splits:
                for split in json.loads(text):
                    yield from keep_split(source, *split)


def keep_split(source: SplitReader, number: int, start: int, length: int) -> Iterator[bytes]:
    """Yield the records of a split. One that cannot be read ends with the reason, for each pass to tell."""
    reader, error = source.make_reader(number, start), None
    keeper = RowKeeper(reader, (number, start, length))
    try:
        for block in reader.blocks(source.read(number, start, length, keeper.count)):
            yield keeper.keep(block).to_pybytes()
    except DataFormatError as found:
        error = str(found)
    yield keeper.close(error).to_pybytes()


class RowCache:
    """Hold the RDDs of parsed rows of a run. context : SparkContext.

    Record batches of Arrow are kept, as the bytes that they are: nothing is decoded or checked again. Serialised by
    Java they would be copied once more. What does not fit into memory goes to the disks of the
    executors; what is lost with an executor is parsed again.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.kept: dict[tuple, Any] = {}

    def find(self, name: str, task: ParseTask, texts: list[str]) -> Any:
        """Return the RDD of the records of planned splits, a partition for each text of `texts`.

        name : of the data set. A plan changes from pass to pass, as when the width of sparse rows is found; its rows
        do not.
        """
        key = name, task.encoding, task.stop, task.block_rows, *texts
        if key not in self.kept:
            rows = self.context.parallelize(texts, len(texts)).mapPartitionsWithIndex(partial(ParseTask.parse, task))
            self.kept[key] = rows.persist(import_module('pyspark').StorageLevel.MEMORY_AND_DISK_DESER)
        return self.kept[key]

    def clear(self) -> None:
        """Free the memory."""
        while self.kept:
            self.kept.popitem()[1].unpersist()

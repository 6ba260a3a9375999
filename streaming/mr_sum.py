"""Add up the sums that map tasks have written: the second job of a tree of sums."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.blocks import Block
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.splits import read_whole_lines
from mr_elm.rows.storage import store_of
from mr_elm.rows.wire import WireProtocol, demand_arrays, split_key
from mr_elm.streaming.stage import MRRows, RowKey
from mr_elm.sums.exact_sum import add_pair
from mr_elm.sums.gram import merge_pairs
from mr_elm.typing import Floats


class MRSum(MRRows):
    """Add up what the map tasks of mr_gram have written, the second job of a tree.

    With many map tasks few reduce tasks, no more than there are tiles, would get
    the sums of all of them. In a tree, mr_gram runs without reduce tasks, and each
    map task of mr_sum adds up the sums of some of its map tasks.

    Input:  <gram I J, [high, low]>     files that map tasks of mr_gram wrote
            <sum LABEL, [high, low]>
            and their records about the rows
    Output: <gram I J, [high, low]>     the same keys, each with the total of its
            <sum LABEL, [high, low]>    sums, and the same records about the rows

    Map:    add the pairs of each key, write them at the end; pass the records on.
    Reduce: as map.

    All sums are exact: no tree changes a bit.
    """

    MERGE = {'gram': merge_pairs, 'sum': merge_pairs}
    ADDS = True

    def look(self) -> InputPlan:
        """Return a plan without files: lines of sums have no format to find."""
        return InputPlan([])

    def map_begin(self) -> None:
        """Begin without sums."""
        self.sums: dict[str, list[Floats]] = {}

    def read_blocks(self) -> Iterator[tuple[Block, RowKey]]:
        """Add up the lines of all files of the task. There are no blocks of rows."""
        for chunk in self.read_chunks():
            for line in chunk.splitlines():
                self.take(*WireProtocol().read(line))
        yield from ()

    def read_chunks(self) -> Iterator[bytes]:
        """Yield chunks of whole lines: of the planned files, or of standard input."""
        if self.planned is None:
            yield from read_whole_lines(self.stdin)
        else:
            yield from chain.from_iterable(
                self.read_file(self.plan.files[number], length) for number, _, length in self.planned
            )

    def read_file(self, file: InputFile, length: int) -> Iterator[bytes]:
        """Yield the chunks of a whole file. Raises DataFormatError when it has another length than planned."""
        n_bytes = 0
        path = file.uri or file.path
        with store_of(path).open(path) as stream:
            for chunk in read_whole_lines(stream):
                self.increment_counter('mr_elm', 'bytes', len(chunk))
                n_bytes += len(chunk)
                yield chunk
        if n_bytes != length:
            raise DataFormatError(
                f'{file.path}: expected {length:,} bytes of sums, found {n_bytes:,}: run the command again'
            )

    def take(self, key: str, value: Any) -> None:
        """Add a pair to the sum of its key; keep other records as they are."""
        if split_key(key)[0] not in self.MERGE:
            self.records.append((key, value))
        elif key in self.sums:
            add_pair(*self.sums[key], *demand_arrays(value, 2))
        else:
            self.sums[key] = merge_pairs([value])

    def map_end(self) -> Iterator[tuple[str, list[Floats]]]:
        """Emit the sums."""
        yield from sorted(self.sums.items())


if __name__ == '__main__':
    MRSum.run()

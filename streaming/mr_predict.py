"""Predict every row of a data set, in an order that the driver can restore."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from mrjob.protocol import RawValueProtocol

from mr_elm.machines.answer_columns import AnswerColumns, Writer, add_answer_arguments
from mr_elm.model.file import add_sums, read_model
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key, split_key
from mr_elm.streaming.stage import MRRows, Pair, RowKey, demand_width

if TYPE_CHECKING:  # of the driver; tasks start sooner without them
    from mr_elm.passes.data_set import JobOutput
    from mr_elm.rows.accounting import Accounts


class FramedProtocol(RawValueProtocol):
    """Write records as `key TAB {"following": n, ...}` followed by n lines of text."""

    def write(self, key: str, value: Any) -> bytes:
        """Write a record: value is a list of lines, or a dictionary about the input."""
        facts, lines = {}, value
        if isinstance(value, dict):
            facts, lines = value, []
        head = key.encode() + b'\t' + json.dumps({**facts, 'following': len(lines)}).encode()
        return b'\n'.join([head, *(line.encode() for line in lines)])


class MRPredict(MRRows):
    """Predict every row. There are no reducers.

    Input:  <split, rows>, text or packed; labels are ignored
    Output: <rows FILE START FIRST, JSON>
                following: the number n of lines of text that follow this line, one
                for each of n rows; the key tells where the first of them stands. A
                line holds the predicted label; with --scores the decision values
                follow it, with --probabilities the probability of each class,
                with --interval two bounds, with --leverage one number, a tab
                before each

    Map:    predict each block.

    A task reads its splits in order, so the records of an output file are in input
    order, and the key of the first one tells where the file belongs.
    """

    REQUIRED = ('model',)
    MAP_ONLY = True
    OUTPUT_PROTOCOL = FramedProtocol

    def configure_args(self) -> None:
        """Add the model and what to write of each row."""
        super().configure_args()
        self.add_file_arg('--model', help='npz: the trained model')
        self.add_file_arg('--model-sums', help='npz: the sums of the model, for --leverage and --interval')
        add_answer_arguments(self.add_passthru_arg)

    def map_begin(self) -> None:
        """Load the model."""
        self.model = read_model(self.options.model)
        if self.options.model_sums:
            self.model = add_sums(self.model, self.options.model, sums_path=self.options.model_sums)
        columns = AnswerColumns.of(self.options)
        columns.demand(self.model)
        self.writer = Writer(self.model, columns)

    def map_block(self, block: Block, row_key: RowKey) -> Iterator[Pair]:
        """Predict a block."""
        demand_width(block.X, self.model.n_features)
        yield make_key('rows', *row_key), self.writer.write(block.X)

    @staticmethod
    def watch(lines: Iterable[bytes], take: Callable[[str, Any], object]) -> Iterator[bytes]:
        """Pass on lines that the job has written; `take` gets key and value of the records about the input."""
        for line in lines:
            key, _, facts = line.partition(b'\t')
            value = json.loads(facts)
            n_lines = value.pop('following')
            take(key.decode(), value)
            yield line
            yield from islice(lines, n_lines)


def join_parts(output: 'JobOutput', accounts: 'Accounts', out: BinaryIO) -> int:
    """Copy the predictions of all parts in input order; returns how many."""
    from mr_elm.rows.storage import store_of

    store, n_written = store_of(output.folder), 0
    first_rows = {}  # path of a part that is not empty -> file and split of its first record
    for path in output.parts():
        with store.open(path) as part:
            key = next(part, b'').partition(b'\t')[0].decode()
        if key:
            first_rows[path] = [int(number) for number in split_key(key)[1][:2]]
    for path in sorted(first_rows, key=lambda path: (first_rows[path], path)):
        with store.open(path) as part:
            for record in part:
                key, _, facts = record.decode().partition('\t')
                value = json.loads(facts)
                lines = islice(part, value.pop('following'))
                if accounts.take(key, value):
                    continue
                for line in lines:
                    if line.endswith(b'\t\n'):  # Hadoop appends a tab to a line without one
                        line = line[:-2] + b'\n'
                    out.write(line)
                    n_written += 1
    return n_written


if __name__ == '__main__':
    MRPredict.run()

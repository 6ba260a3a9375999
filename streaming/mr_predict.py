"""Predict every row of a data set, in an order that the driver can restore."""
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from mrjob.protocol import RawValueProtocol
from mrjob.step import MRStep

from mr_elm.io.blocks import Block
from mr_elm.io.wire import make_key
from mr_elm.models import read_model
from mr_elm.streaming.stage import MRRows, Pair, Place, demand_width


class FramedProtocol(RawValueProtocol):
    """Write records as `key TAB {"following": n, ...}` followed by n lines of text."""

    def write(self, key: str, value: Any) -> bytes:
        """Write a record: value is (dictionary, list of lines)."""
        facts, lines = value
        head = key.encode() + b'\t' + json.dumps({**facts, 'following': len(lines)}).encode()
        return b'\n'.join([head, *(line.encode() for line in lines)])


class MRPredict(MRRows):
    """Predict every row. There is no reduce step.

    Input:  <split, rows>, text or packed; labels are ignored
    Output: <rows FILE START FIRST, JSON>
                following: the number n of lines of text that follow this line, one
                for each of n rows; the key tells where the first of them stands. A
                line holds the predicted label; with --scores the decision values
                follow it, a tab before each

    Map:    predict each block.

    A task reads its splits in order, so the records of an output file are in input
    order, and the key of the first one tells where the file belongs.
    """

    REQUIRED = ('model',)
    OUTPUT_PROTOCOL = FramedProtocol

    def configure_args(self) -> None:
        """Add the model and what to write of each row."""
        super().configure_args()
        self.add_file_arg('--model', help='npz: the trained model')
        self.add_passthru_arg('--scores', action='store_true', default=False,
                              help='write the decision values behind the label')

    def steps(self) -> list[Any]:
        """Map."""
        return [MRStep(mapper=self.mapper)]

    def map_begin(self) -> None:
        """Load the model."""
        self.model = read_model(self.options.model)

    def map_block(self, block: Block, place: Place) -> Iterator[Pair]:
        """Predict a block."""
        demand_width(block.X, self.model.n_features)
        scores = self.model.decision_function(block.X)
        decided = self.model.decide(scores)
        lines = [repr(value) for value in decided.tolist()] if self.model.numeric else [
            self.model.classes[k] for k in decided]
        if self.options.scores and not self.model.numeric:
            lines = ['\t'.join([line, *map(repr, row)]) for line, row in zip(lines, scores.tolist(), strict=True)]
        yield make_key('rows', *place), ({}, lines)

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

    def drain(self) -> Iterable[Pair]:
        """Frame the records about the input like the rows."""
        return [(key, (facts, [])) for key, facts in super().drain()]


if __name__ == '__main__':
    MRPredict.run()

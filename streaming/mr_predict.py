"""Predict every row of a data set, in an order that the driver can restore."""

from collections.abc import Iterator
from typing import Any

from mr_elm.machines.answer_columns import AnswerColumns, Writer
from mr_elm.model.file import add_sums, read_model
from mr_elm.option import add_options
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows, Pair, RowKey, demand_width


class ModelStage(MRRows):
    """Apply a model to rows."""

    REQUIRED: tuple[str, ...] = ('model',)
    INPUT_FILES = {
        '--model': 'npz: the trained model',
        '--model-sums': 'npz: the sums of the model, for what needs the training of other rows',
    }

    def map_begin(self) -> None:
        """Load the model."""
        self.model: Any = read_model(self.options.model)
        if self.options.model_sums:
            self.model = add_sums(self.model, self.options.model, sums_path=self.options.model_sums)


class MRPredict(ModelStage):
    """Predict every row. There are no reducers.

    Input:  <split, rows>, text or packed; labels are ignored
    Output: <rows FILE START FIRST, JSON>
                lines: a list with a text for each of n rows; the key tells where
                the first of them stands. A text holds the predicted label; with
                --scores the decision values follow it, with --probabilities the
                probability of each class, with --interval two bounds, with
                --leverage one number, a tab before each

    Map:    predict each block.

    A task reads its splits in order, so the records of an output file are in input
    order, and the key of the first one tells where the file belongs.
    """

    MAP_ONLY = True

    def configure_args(self) -> None:
        """Add what to write of each row."""
        super().configure_args()
        add_options(lambda group: self.add_passthru_arg, AnswerColumns)

    def map_begin(self) -> None:
        """Load the model."""
        super().map_begin()
        columns = AnswerColumns.of(self.options)
        columns.demand(self.model)
        self.writer = Writer(self.model, columns)

    def map_block(self, block: Block, row_key: RowKey) -> Iterator[Pair]:
        """Predict a block."""
        demand_width(block.X, self.model.n_features)
        yield make_key('rows', *row_key), {'lines': self.writer.write(block.X)}


if __name__ == '__main__':
    MRPredict.run()

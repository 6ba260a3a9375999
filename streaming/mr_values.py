"""Count the values of the columns of a table: which are numbers, which are categories."""

from collections.abc import Iterator

from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows, Pair, RowKey
from mr_elm.sums.values import ColumnValues, merge_values


class MRValues(MRRows):
    """Count the values of each column that is a feature.

    Input:  <split, rows>, csv, parquet or arrow, with --encode auto
    Output: <values, JSON>
                columns: a list with an object for each column: counts, value -> rows, or
                null where more than 10,000 different values were seen ('' is a
                missing value); weight and mean of the rows with a number; missing,
                texts and dates: rows without a value, with one that is no number,
                and with one that is a date or a time; days: order in which all dates
                may be written -> their mean in days, null before one was seen;
                date_weight: weight of their rows; hours: those of their times of day;
                example: the first text in byte order

    Map:    count the values of each block, merge, write when the task ends.
    Reduce: merge what the tasks wrote.

    A split without rows writes nothing.
    """

    TABLE = True
    MERGE = {'values': merge_values}

    def map_begin(self) -> None:
        """Start with nothing seen."""
        self.columns: list[ColumnValues] = []

    def map_block(self, block: Block, row_key: RowKey) -> None:
        """Take in a block."""
        self.columns = self.columns or [ColumnValues() for _ in block.X.columns]
        self.columns = [
            column.add(values, block.weights) for column, values in zip(self.columns, block.X.columns, strict=True)
        ]

    def map_end(self) -> Iterator[Pair]:
        """Emit what was counted, nothing when there was no row."""
        if self.columns:
            yield make_key('values'), {'columns': [column.to_json() for column in self.columns]}


if __name__ == '__main__':
    MRValues.run()

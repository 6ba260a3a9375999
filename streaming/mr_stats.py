"""Summarise a data set in one pass: columns, labels, landmarks."""

from collections.abc import Iterable, Iterator
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.features.landmarks import Landmarks, rows_from_arrays
from mr_elm.rows.blocks import Block, spread
from mr_elm.rows.wire import make_key, split_key
from mr_elm.streaming.stage import MRRows, Pair, RowKey
from mr_elm.sums.statistics import ColumnStatistics, LabelTable
from mr_elm.typing import Floats

PIECE = 1 << 16  # features a record
LANDMARK_BYTES = 4 << 20
MAX_CLASSES = 10_000


def merge_columns(values: Iterable[Any]) -> Any:
    """Merge statistics of the same features over tasks."""
    pieces = [ColumnStatistics.from_arrays(arrays) for arrays in values]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merge(piece)
    return merged.to_arrays()


def merge_labels(values: Iterable[Any]) -> Any:
    """Merge label tables over tasks."""
    merged = LabelTable()
    for value in values:
        merged.merge(LabelTable(value))
    return merged.entries


class MRStats(MRRows):
    """Describe columns and labels of the rows, choose landmarks.

    Input:  <split, rows>, text or packed
    Output: <columns COLUMN, [n, minimum, maximum, mean, squares]>
                the features COLUMN, COLUMN + 1, ..., at most 65,536 of them: n is
                the sum of the row weights, shape (); the others have shape (d,);
                squares is the sum of (x - mean)^2
            <labels, JSON>
                label -> [number of rows, [FILE, START, LINE] of the first one, sum
                of the weights]; empty where rows have no label; not with --task
                regression; with --labels-separator a row counts for each of its
                labels
            <target, [n, minimum, maximum, mean, squares]>
                the same for the labels, shape (1,), or (K,) of K targets; only with
                --task regression
            <weights, [n, minimum, maximum, mean, squares]>
                the same for the row weights, shape (1,); only where rows have some
            <landmarks PIECE, [X] or [data, indices, indptr, shape]>
                with --landmarks L: the L distinct rows with the smallest keyed
                hashes, in the order of the hashes, dense or sparse (CSR)

    Map:    describe each block, merge, write when the task ends.
    Reduce: merge what the tasks wrote under one key.

    The first COLUMN is 0. A split without rows writes nothing.
    Source: Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for
    computing sample variances, 1979.
    """

    ENCODED = True
    MERGE = {'columns': merge_columns, 'labels': merge_labels, 'target': merge_columns, 'weights': merge_columns}

    def configure_args(self) -> None:
        """Add what decides the landmarks."""
        super().configure_args()
        self.add_passthru_arg(
            '--landmarks',
            type=int,
            default=0,
            metavar='L',
            help='how many rows to choose as landmarks (default: %(default)s)',
        )
        self.add_passthru_arg(
            '--seed',
            type=int,
            default=0,
            metavar='N',
            help='key of the hashes that choose landmarks (default: %(default)s)',
        )

    def map_begin(self) -> None:
        """Start with nothing seen."""
        self.columns: ColumnStatistics | None = None
        self.target: ColumnStatistics | None = None
        self.weights: ColumnStatistics | None = None
        self.labels = LabelTable()
        self.landmarks = Landmarks(self.options.landmarks, self.options.seed)

    def map_block(self, block: Block, row_key: RowKey) -> None:
        """Take in a block."""
        self.columns = merged(self.columns, block.X, block.weights)
        if block.weights is not None:
            self.weights = merged(self.weights, block.weights[:, None])
        if block.targets is not None:
            self.target = merged(self.target, block.targets.reshape(len(block), -1), block.weights)
        elif block.codes is not None:
            self.labels.add_block(block, row_key[:2], self.row_lines, self.plan.form.labels_separator)
            check_classes(self.labels)
        if self.options.landmarks:
            self.landmarks.add(spread(block.X))

    def map_end(self) -> Iterator[Pair]:
        """Emit what was seen, nothing when there was no row."""
        if self.columns is None:
            return
        for start in range(0, max(1, self.columns.n_features), PIECE):  # the first piece counts the rows
            yield make_key('columns', start), self.columns.columns(start, start + PIECE).to_arrays()
        for kind in ('target', 'weights'):
            if getattr(self, kind) is not None:
                yield make_key(kind), getattr(self, kind).to_arrays()
        if not self.plan.form.numeric_labels:
            yield make_key('labels'), self.labels.entries
        for arrays in self.landmarks.to_pieces(LANDMARK_BYTES):
            yield make_key('landmarks'), arrays

    def reducer(self, key: str, values: Iterable[Any]) -> Iterator[Pair]:
        """Merge the values of a key; landmarks leave in pieces."""
        if split_key(key)[0] != 'landmarks':
            yield from super().reducer(key, values)
            return
        landmarks = Landmarks(self.options.landmarks, self.options.seed)
        for arrays in values:
            landmarks.add(rows_from_arrays(arrays))
        for number, arrays in enumerate(landmarks.to_pieces(LANDMARK_BYTES)):
            yield make_key('landmarks', number), arrays


def merged(statistics: ColumnStatistics | None, X: Any, weights: Floats | None = None) -> ColumnStatistics:
    """Add rows to ColumnStatistics, or begin them."""
    new = ColumnStatistics.of(X, weights)
    if statistics is None:
        return new
    return statistics.merge(new)


def check_classes(labels: LabelTable, where: str = '') -> None:
    """Raise DataFormatError when a LabelTable, of one task or of all, is too long to be one of classes."""
    if len(labels.entries) > MAX_CLASSES:
        raise DataFormatError(
            f'{where}expected at most {MAX_CLASSES} classes, found more different labels: is this a '
            'regression (--task regression) or another column (--label-column)?'
        )


if __name__ == '__main__':
    MRStats.run()

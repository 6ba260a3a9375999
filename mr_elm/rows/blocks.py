"""Hold rows together: the unit in which everything is read, mapped and summed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import RowError, one_line
from mr_elm.rows.columns import Table, TextColumn, Values, join_values, write_number
from mr_elm.rows.labels import check_label, check_target, find_usable, read_numbers
from mr_elm.rows.options import RowOptions
from mr_elm.typing import Floats, Rows

BLOCK_ROWS = 4096
DENSE_FEATURES = 256  # features, up to which rows are spread to a dense matrix: 4,096 rows take 8 MB
DENSE_SHARE = 0.2  # of the features of a row are not 0: rows fuller than this are dense


@dataclass(frozen=True)
class Block:
    """Hold some rows with their labels, which are classes or sets of labels, or with their targets, which are numbers.

    X : (n, d) float64 array, CSR matrix for sparse rows, EncodedRows of a table, or a Table that is not encoded yet.
    names : the distinct labels as text, in order of first appearance; empty when rows have no label.
    codes : (n,) int array, row i has the label names[codes[i]]; None when rows have no label.
    weights : (n,) positive float64 array, or None when every row counts once.
    targets : (n,) float64 array, (n, K) of K targets; None when rows have none.
    parts : (n,) array of text, which part of a training each row belongs to; None where no columns say so.
    """

    X: Any
    names: tuple[str, ...] = ()
    codes: Any = None
    weights: Floats | None = None
    targets: Any = None
    parts: Any = None
    __repr__ = one_line

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def labelled(self) -> bool:
        """Tell whether rows have a label, or targets."""
        return self.codes is not None or self.targets is not None

    def look_up(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return what belongs to the label of each row, (n,). values : label -> number."""
        return np.array([values[name] for name in self.names])[self.codes]


def encode_labels(labels: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Number the labels in order of first appearance: (names, codes)."""
    table = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return tuple(table), np.fromiter(map(table.__getitem__, labels), np.int32, len(labels))


def leave_out(block: Block, rows: Any) -> Block:
    """Return a block without some rows, and without the labels that no other row has."""
    block = take_rows(block, np.delete(np.arange(len(block)), rows))
    if block.codes is None:
        return block
    names, codes = encode_labels([block.names[code] for code in block.codes])
    return replace(block, names=names, codes=codes)


def number_labels(block: Block) -> Block:
    """Read the labels of a regression as numbers where they stand there as text."""
    if block.codes is None:
        return block
    return replace(block, names=(), codes=None, targets=read_numbers(block.names)[block.codes])


def make_block(columns: Mapping[Any, Values], n_rows: int, form: RowOptions) -> Block:
    """Make a Block of the columns of some rows, by position."""
    labels = form.used_labels
    if form.table:
        block = Block(Table(tuple(columns[j] for j in form.feature_positions), n_rows))
    else:
        block = Block(np.empty((n_rows, form.width)))
        for k, position in enumerate(form.feature_positions):
            block.X[:, k] = columns[position].plain
    if form.weight_column is not None:
        block = replace(block, weights=columns[form.weight_column].plain)
    if form.part_by:
        block = replace(block, parts=join_values([columns[j] for j in form.part_by]))
    if len(labels) == 1 and isinstance(columns[labels[0]], TextColumn):
        names, codes = columns[labels[0]].coded
        return replace(block, names=names, codes=codes)
    if len(labels) == 1:
        return replace(block, targets=columns[labels[0]].plain)
    if labels:
        return replace(block, targets=np.column_stack([columns[j].numbers() for j in labels]))
    return block


def take_rows(block: Block, rows: slice | np.ndarray | Sequence[int]) -> Block:
    """Return some rows of a block."""
    codes, *others = (
        None if values is None else values[rows] for values in (block.codes, block.weights, block.targets, block.parts)
    )
    return Block(block.X[rows], block.names, codes, *others)


def concatenate(parts: Iterable[Block | None]) -> Block | None:
    """Join blocks of the same kind and width, or return None when there are none."""
    blocks = [block for block in parts if block is not None]
    if len(blocks) <= 1:
        return next(iter(blocks), None)
    joint = Block(stack([block.X for block in blocks]))
    if blocks[0].codes is not None:
        names, codes = encode_labels([block.names[code] for block in blocks for code in block.codes])
        joint = replace(joint, names=names, codes=codes)
    others: dict[str, Any] = {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ('weights', 'targets', 'parts')
        if getattr(blocks[0], name) is not None
    }
    return replace(joint, **others)


def find_errors(block: Block, form: RowOptions) -> dict[int, RowError]:
    """Return why rows cannot be used, for their label, target, weight or features: row -> the first reason."""
    errors: dict[int, RowError] = {}
    for code, name in enumerate(block.names):
        try:
            check_label(name, form)
        except RowError as error:
            errors |= dict.fromkeys(np.flatnonzero(block.codes == code).tolist(), error)
    if block.targets is not None:
        T = block.targets.reshape(len(block), -1)
        for row, k in np.argwhere(~find_usable(T, form)).tolist():
            try:
                check_target(write_number(T[row, k]), k, form)
            except RowError as error:
                errors.setdefault(row, error)
    if block.weights is not None:
        for row in np.flatnonzero(~(np.isfinite(block.weights) & (block.weights > 0))).tolist():
            errors.setdefault(row, RowError('weight is not positive', f'the weight is {block.weights[row]}'))
    if isinstance(block.X, np.ndarray) and not np.isfinite(block.X).all():
        for row in np.flatnonzero(~np.isfinite(block.X).all(axis=1)).tolist():
            k = int(np.argmin(np.isfinite(block.X[row])))
            position = (form.feature_positions or range(block.X.shape[1]))[k]  # a pack knows no positions
            errors.setdefault(row, explain_value(block.X[row, k], form.name_column(position)))
    return errors


def explain_value(value: float, name: str) -> RowError:
    """Say why a feature cannot be used. name : of its column."""
    if np.isnan(value):
        return RowError(
            'missing value',
            f'{name} has no value (--encode auto takes the mean instead, --drop leaves the column out)',
        )
    return RowError('nan or infinite', f'{name} holds {value}')


def stack(parts: Sequence[Rows]) -> Rows:
    """Put matrices on top of each other; sparse ones are widened to the widest. One alone is not copied."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], EncodedRows):
        numbers, ones = (np.concatenate([getattr(part, name) for part in parts]) for name in ('numbers', 'ones'))
        return replace(parts[0], numbers=numbers, ones=ones)
    if not sp.issparse(parts[0]):
        return np.concatenate(parts)
    return sp.vstack([widen(part, max(part.shape[1] for part in parts)) for part in parts], format='csr')


@dataclass(frozen=True)
class EncodedRows:
    """Hold n rows of d features, most of which are 0.

    numbers : (n, k) float64, the features `columns`. ones : (n, c) integers, positions of features that are 1, each of
    another column of the table; -1 where a row has none. Features that are in neither are 0.
    known : names of the columns in which some row has a value; of categories, one of the training.
    """

    numbers: Floats
    columns: tuple[int, ...]
    ones: np.ndarray
    width: int
    known: Collection[str] = ()
    __repr__ = one_line

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows, features)."""
        return len(self.numbers), self.width

    def __getitem__(self, rows: Any) -> EncodedRows:
        return EncodedRows(self.numbers[rows], self.columns, self.ones[rows], self.width)

    def spread(self) -> Rows:
        """Return the rows as a matrix, (n, d), dense or CSR."""
        if is_sparse(self.width, len(self.columns) + self.ones.shape[1]):
            return self.to_csr()
        X = np.zeros(self.shape)
        X[:, self.columns] = self.numbers
        rows, groups = np.nonzero(self.ones >= 0)
        X[rows, self.ones[rows, groups]] = 1.0
        return X

    def to_csr(self) -> Any:
        """Return the rows as a CSR matrix."""
        rows, groups = np.nonzero(self.ones >= 0)
        number_rows, numbers = np.nonzero(self.numbers)
        values = np.append(self.numbers[number_rows, numbers], np.ones(len(rows)))
        positions = np.append(np.array(self.columns, int)[numbers], self.ones[rows, groups])
        return sp.csr_matrix((values, (np.append(number_rows, rows), positions)), shape=self.shape)


def is_sparse(width: int, n_slots: int) -> bool:
    """Tell whether rows are CSR: they are wide, and few of their features, at most n_slots of a row, are not 0."""
    return width > DENSE_FEATURES and n_slots < DENSE_SHARE * width


def spread(X: Any) -> Any:
    """Return rows as a matrix where they are `EncodedRows`; all other rows are returned as they are."""
    if isinstance(X, EncodedRows):
        return X.spread()
    return X


def fill_weights(weights: Floats | None, n_rows: int) -> Floats:
    """Return the weights of rows, (n_rows,): 1 each where there are none."""
    if weights is None:
        return np.ones(n_rows)
    return weights


def take_weights(weights: Floats | None, rows: Any) -> Floats | None:
    """Return the weights of some rows, None where there are none. rows : numbers of rows, a mask, or a slice."""
    if weights is None:
        return None
    return weights[rows]


def widen(X: Rows, n_features: int) -> Rows:
    """Give CSR rows a width of at least n_features, without copying their data."""
    if not sp.issparse(X) or X.shape[1] >= n_features:
        return X
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


@dataclass
class RowCounts:
    """Account for every input line of one split.

    lines = headers + comments + blank + used + held + rejected; for packed input lines are rows. `records` is what
    Hadoop counts: the physical lines of the file. held : rows on the other side of a training and its test.
    known : as of `EncodedRows`.
    """

    file: str
    start: int
    records: int = 0
    lines: int = 0
    headers: int = 0
    comments: int = 0
    blank: int = 0
    used: int = 0
    held: int = 0
    rejected: Counter = field(default_factory=Counter)
    known: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RejectedRow:
    """Name a row that could not be used: its place in its split, the reason, and the line itself."""

    ordinal: int
    reason: str
    detail: str
    line: str


class RowReader:
    """Read one split as blocks, with every row accounted for; `read` turns pieces of the split into judged rows.

    form : how the rows are written. file, start : of the split. block_rows : how many rows of text are read together.
    encoding : Encoding of rows that are tables, or None to leave them as they are.
    counts : RowCounts of what was read so far. packing : the records of the stage that has written the rows.
    rejected : list of RejectedRow since the last block; the caller may empty it.
    row_lines : the line of each row of the last block, counted from 0 in the split.
    With stop=True reading ends with the first bad row, which is then the only one in `rejected`.
    """

    def __init__(
        self,
        form: RowOptions,
        file: str = '',
        start: int = 0,
        stop: bool = True,
        block_rows: int = BLOCK_ROWS,
        encoding: Any = None,
    ) -> None:
        self.form = form
        self.stop = stop
        self.block_rows = block_rows
        self.encoding = encoding
        self.counts = RowCounts(file, start)
        self.rejected: list[RejectedRow] = []
        self.packing: list[dict] = []
        self.row_lines: Sequence[int] = ()

    def blocks(self, chunks: Iterable[Any]) -> Iterator[Block]:
        """Yield the rows of the split that can be used, as blocks. chunks : the pieces of the split."""
        for block in self.read(chunks):
            if self.stop and self.rejected:
                return
            if block is not None and len(block):
                self.counts.used += len(block)
                yield block

    def read(self, chunks: Iterable[Any]) -> Iterator[Block | None]:
        """Yield the rows of a piece after another that can be used, perhaps none, and account for the others."""
        raise NotImplementedError

    def count_lines(self, n_lines: int) -> range:
        """Count so many more lines, and return their numbers in the split."""
        first = self.counts.lines
        self.counts.lines += n_lines
        self.counts.records += n_lines
        return range(first, self.counts.lines)

    def judge(
        self, ordinals: Sequence[int], block: Block | None, errors: dict[int, Any], show: Callable[[int], str]
    ) -> Block | None:
        """Return those of some rows that can be used, encoded, and account for the others.

        ordinals : of the rows in the split. block : the rows that could be read, not encoded. errors : position of each
        other row -> RowError. show : returns the text of the row at a position.
        """
        if block is not None:
            rows = np.delete(np.arange(len(ordinals)), sorted(errors))
            unusable = find_errors(block, self.form)
            if unusable:
                errors |= {int(rows[k]): error for k, error in unusable.items()}
                rows = np.delete(rows, [*unusable])
                block = leave_out(block, [*unusable])
            if self.form.numeric_labels:
                block = number_labels(block)
            if self.encoding is not None and isinstance(block.X, Table):
                try:
                    block = replace(block, X=self.encoding.encode(block.X))
                except RowError:
                    unusable = self.encoding.find_errors(block.X)
                    errors |= {int(rows[k]): error for k, error in unusable.items()}
                    block = leave_out(block, [*unusable])
                    block = replace(block, X=self.encoding.encode(block.X))
                self.counts.known = sorted({*self.counts.known, *block.X.known})
        self.row_lines = ordinals
        if errors:
            self.row_lines = [ordinal for k, ordinal in enumerate(ordinals) if k not in errors]
        for k in sorted(errors):
            self.counts.rejected[errors[k].reason] += 1
            if not (self.stop and self.rejected):
                self.rejected.append(RejectedRow(ordinals[k], errors[k].reason, errors[k].detail, show(k)))
        return block

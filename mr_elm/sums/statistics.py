"""Summarise columns and labels in one pass, in pieces that merge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.rows.blocks import BLOCK_ROWS, Block, EncodedRows, fill_weights
from mr_elm.rows.labels import label_keys, split_label
from mr_elm.rows.text import quote, read_exact
from mr_elm.rows.wire import demand_arrays
from mr_elm.typing import Floats, Rows, RowWeights


@dataclass(frozen=True)
class ColumnStatistics:
    """Hold count, range, mean and spread of every feature; implicit zeros of sparse rows count.

    n : rows seen, each as often as its weight says.
    minimum, maximum, mean, squares : (d,) arrays; squares is the sum of (x - mean)^2.

    Source: Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    """

    n: float
    minimum: np.ndarray
    maximum: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    __repr__ = one_line

    @property
    def n_features(self) -> int:
        """Return the width."""
        return len(self.mean)

    @property
    def deviation(self) -> Floats:
        """Return the population standard deviation of each feature."""
        return np.sqrt(self.squares / self.n)

    @property
    def origin(self) -> tuple[float, ...]:
        """Return the mean of each feature; of one that is constant its value, which a mean may round."""
        return tuple(np.where(self.minimum == self.maximum, self.minimum, self.mean).tolist())

    @classmethod
    def of(cls, X: Rows, weights: RowWeights = None) -> 'ColumnStatistics':
        """Summarise rows, dense, CSR or EncodedRows; weights (n,) say how often each counts, once by default."""
        weights = fill_weights(weights, X.shape[0])
        blocks = (slice(start, start + BLOCK_ROWS) for start in range(0, X.shape[0], BLOCK_ROWS))
        if sp.issparse(X):
            summarise = summarise_sparse
        elif isinstance(X, EncodedRows):
            summarise = summarise_encoded
        else:
            summarise = summarise_dense
        with np.errstate(over='ignore', invalid='ignore'):  # `choose_scaling` refuses columns that overflow
            return reduce(cls.merge, (summarise(X[rows], weights[rows]) for rows in blocks))

    def widen(self, n_features: int) -> 'ColumnStatistics':
        """Add columns of zeros, which narrower sparse rows stand for."""
        missing = n_features - self.n_features
        if missing <= 0:
            return self
        columns: dict[str, Any] = {name: np.append(getattr(self, name), np.zeros(missing)) for name in COLUMNS}
        return replace(self, **columns)

    def merge(self, other: 'ColumnStatistics') -> 'ColumnStatistics':
        """Return the statistics of both sets of rows together."""
        width = max(self.n_features, other.n_features)
        a, b = self.widen(width), other.widen(width)
        n = a.n + b.n
        with np.errstate(over='ignore', invalid='ignore'):
            shift = b.mean - a.mean
            mean = a.mean + shift * (b.n / n)
            squares = a.squares + b.squares + shift**2 * (a.n * b.n / n)
        return ColumnStatistics(n, np.minimum(a.minimum, b.minimum), np.maximum(a.maximum, b.maximum), mean, squares)

    def columns(self, start: int, stop: int) -> 'ColumnStatistics':
        """Take some of the features."""
        return replace(self, **{name: getattr(self, name)[start:stop] for name in COLUMNS})

    def to_arrays(self) -> list[Floats]:
        """Return [n, minimum, maximum, mean, squares] for the wire."""
        return [np.array(self.n), *(getattr(self, name) for name in COLUMNS)]

    @classmethod
    def from_arrays(cls, arrays: list[Floats]) -> 'ColumnStatistics':
        """Read what `to_arrays` gave. Raises DataFormatError on another number of arrays."""
        n, *columns = demand_arrays(arrays, 1 + len(COLUMNS))
        return cls(float(n), *columns)


WARNED_ROWS = 100  # among more rows, a class of a single one is probably a mistake
SHOWN_CLASSES = 3  # classes in a message
COLUMNS = ('minimum', 'maximum', 'mean', 'squares')


def summarise_dense(X: Floats, weights: Floats) -> ColumnStatistics:
    """Summarise dense rows."""
    n = float(weights.sum())
    mean = weights @ X / n
    squares = X - mean
    squares *= squares
    return ColumnStatistics(n, X.min(axis=0), X.max(axis=0), mean, weights @ squares)


def summarise_sparse(X: Rows, weights: Floats) -> ColumnStatistics:
    """Summarise CSR rows without making them dense."""
    d, n = X.shape[1], float(weights.sum())
    w = np.repeat(weights, np.diff(X.indptr))
    filled = np.bincount(X.indices, w, minlength=d)
    mean = np.bincount(X.indices, w * X.data, minlength=d) / n
    empty = np.maximum(n - filled, 0)  # sums of weights in another order may differ
    squares = np.bincount(X.indices, w * (X.data - mean[X.indices]) ** 2, minlength=d) + empty * mean**2
    return ColumnStatistics(n, X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel(), mean, squares)


def summarise_encoded(X: EncodedRows, weights: Floats) -> ColumnStatistics:
    """Summarise the rows of an encoded table without making a matrix of them."""
    n, d = float(weights.sum()), X.width
    filled, present = np.zeros(d), np.zeros(d, int)
    for positions in X.ones.T:
        filled += np.bincount(positions + 1, weights, d + 1)[1:]
        present += np.bincount(positions + 1, minlength=d + 1)[1:]
    mean = filled / n
    columns = ColumnStatistics(
        n,
        (present == len(weights)).astype(float),
        (present > 0).astype(float),
        mean,
        filled * (1 - mean) ** 2 + np.maximum(n - filled, 0) * mean**2,
    )
    if X.columns:
        numbers = summarise_dense(np.asfortranarray(X.numbers), weights)  # few columns, quicker one by one
        for name in COLUMNS:
            getattr(columns, name)[list(X.columns)] = getattr(numbers, name)
    return columns


def join_columns(pieces: list[ColumnStatistics]) -> ColumnStatistics:
    """Put pieces of neighbouring features side by side; a piece that misses rows gets them as zeros."""
    n = max(piece.n for piece in pieces)
    pieces = [piece if piece.n == n else piece.merge(make_zeros(n - piece.n, piece.n_features)) for piece in pieces]
    return ColumnStatistics(n, *(np.concatenate([getattr(piece, name) for piece in pieces]) for name in COLUMNS))


def make_zeros(n: float, n_features: int) -> ColumnStatistics:
    """Return the statistics of n rows without a single entry."""
    return ColumnStatistics(n, *(np.zeros(n_features) for _ in COLUMNS))


class LabelTable:
    """Count each label and remember where it first stood.

    entries : name -> [rows, first place, sum of weights], a place is [file number, split start, line of the split];
        the weights are the rows where they are left out.
    """

    def __init__(self, entries: dict[str, list] | None = None) -> None:
        self.entries = {name: [*entry, float(entry[0])][:3] for name, entry in (entries or {}).items()}

    def add_block(self, block: Block, split: list[int], lines: Sequence[int], separator: str | None = None) -> None:
        """Count the labels of a block; names without a row are left out.

        split : [file number, split start]. lines : of the rows, counted from 0 in the split.
        separator : what stands between the labels of a row, None where a row has one label.
        """
        counts = np.bincount(block.codes)
        if block.weights is None:
            weights = counts
        else:
            weights = np.bincount(block.codes, block.weights)
        for code, first in zip(*np.unique(block.codes, return_index=True), strict=True):
            if separator is None:
                names = [block.names[code]]
            else:
                names = split_label(block.names[code], separator)
            for name in names:
                self.add(name, int(counts[code]), [*split, lines[first]], float(weights[code]))

    def add(self, name: str, count: int, place: list[int], weight: float) -> None:
        """Count a label some more times."""
        entry = self.entries.setdefault(name, [0, place, 0.0])
        entry[0] += count
        entry[1] = min(entry[1], place)
        entry[2] += weight

    def count_lines_of_files(self, lines_before: Mapping[tuple[int, int], int]) -> None:
        """Count the lines of places in their files instead of their splits.

        lines_before : (file number, split start) -> lines of the file in front of the split.
        """
        for entry in self.entries.values():
            number, start, line = entry[1]
            entry[1] = [number, 0, lines_before[number, start] + line]

    def merge(self, other: 'LabelTable') -> 'LabelTable':
        """Take in another table."""
        for name, entry in other.entries.items():
            self.add(name, *entry)
        return self


def find_single_rows(counts: Sequence[int]) -> list[int]:
    """Return the numbers of classes that are probably none: they have one row, the others have many.

    counts : rows of each class.
    """
    single = [k for k, count in enumerate(counts) if count == 1]
    n_rows, n_others = sum(counts) - len(single), sum(count > 1 for count in counts)
    if sum(counts) > WARNED_ROWS and n_rows >= 10 * n_others > 0:  # where classes are small, single rows are usual
        return single
    return []


def describe_single_rows(places: Sequence[tuple[str, str]], n_rows: int) -> str:
    """Say for people which classes have one row only. places : (name of a class, where its row stands)."""
    shown = [f'{quote(name)} ({place})' for name, place in places[:SHOWN_CLASSES]]
    if len(places) > SHOWN_CLASSES:
        shown.append(f'{len(places) - SHOWN_CLASSES} more')
    question = 'is it a label?'
    if None not in map(read_exact, dict(places)):
        question = 'these are numbers: to predict numbers, use --task regression, or a regressor in Python'
    return (
        f'expected many rows of each class, found a single one of {", ".join(shown)} among {n_rows:,} rows: {question}'
    )


@dataclass(frozen=True)
class Classes:
    """Know the classes of a data set and which label belongs to which.

    names : one name a class, in class order.
    counts : rows a class; weights : the sum of their weights.
    index : label as text -> class number.
    """

    names: list
    counts: list
    weights: list
    index: dict
    __repr__ = one_line

    @classmethod
    def of(cls, table: LabelTable) -> 'Classes':
        """Order the labels by their `label_keys`: numbers by their exact values, or else texts by their bytes.

        A class of several spellings is named as first met in input order.
        """
        entries = table.entries
        keys = label_keys(entries)
        order = sorted(set(keys.values()))
        number = {key: i for i, key in enumerate(order)}
        names, counts, weights = [''] * len(order), [0] * len(order), [0.0] * len(order)
        for name in sorted(entries, key=lambda name: entries[name][1], reverse=True):
            names[number[keys[name]]] = name
            counts[number[keys[name]]] += entries[name][0]
            weights[number[keys[name]]] += entries[name][2]
        return cls(names, counts, weights, {name: number[key] for name, key in keys.items()})


def list_classes(classes: Classes | None) -> list[str]:
    """Return the names of classes, in their order; none for a regression."""
    if classes is None:
        return []
    return classes.names


def class_weights(kind: str | None, classes: Classes | None) -> dict[str, float] | None:
    """Return label -> weight for 'balanced', W / (K W_k) with W_k the weight of a class and W of all; None for None."""
    if kind is None or classes is None:
        return None
    total = sum(classes.weights)
    return {name: total / (len(classes.names) * classes.weights[k]) for name, k in classes.index.items()}


def row_weights(block: Block, weight_of_label: Mapping[str, float] | None = None) -> Floats | None:
    """Return the weight of each row, (n,), or None when all count once."""
    if weight_of_label is None:
        return block.weights
    weights = block.look_up(weight_of_label)
    if block.weights is None:
        return weights
    return weights * block.weights

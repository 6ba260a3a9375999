"""Read matrices of numpy: .npy files with a row of the matrix for each row, .npz files with the arrays X and y."""
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import BLOCK_ROWS, Block
from mr_elm.io.columns import NumberColumn, Table, write_number
from mr_elm.io.formats import RowFormat, RowOptions
from mr_elm.io.kinds import Kind
from mr_elm.io.labels import write_label
from mr_elm.io.parts import Batch, BatchReader, Source, measure, refuse_damage
from mr_elm.io.selection import SHOWN, Header, check_width, select_columns
from mr_elm.io.store import NPY_HEADERS, read_array

ARRAY, ARCHIVE = b'\x93NUMPY', b'PK\x03\x04'
PART_ROWS = 16 * BLOCK_ROWS
NUMBERS = 'biuf'  # kinds of dtypes
EXACT = 1e15  # from which on `write_number` rounds whole numbers


class ArrayParts:
    """Read the rows of a matrix; see `Parts`. An .npz file is one part, because tasks must decompress all of it."""

    def __init__(self, source: Source, name: str) -> None:
        self.name = name
        with refuse_damage(name):
            self.X, self.y = open_arrays(source, name)
        self.n_rows = len(self.X)
        self.starts = range(0, self.n_rows, PART_ROWS if self.y is None else max(self.n_rows, 1))
        self.sizes: Sequence[int] = [0] * len(self.starts)

    def choose_format(self, options: RowOptions, folders: Sequence[tuple[str, str]]) -> RowFormat:
        """Decide which columns are label, weight and features. Raises DataFormatError when they cannot be."""
        own = {} if self.y is None else {'label_column': None, 'labelled': options.labelled}
        header = Header(self.name, self.X.shape[1])
        chosen = select_columns(header, options if self.y is None else replace(options, labelled=False))
        check_width(self.name, len(chosen.features), options)
        return RowFormat.of('npy', options, **{
            'n_columns': header.n_columns, 'label_column': chosen.label, 'labelled': chosen.label is not None,
            'weight_column': chosen.weight, 'positions': chosen.features, 'dropped': chosen.dropped,
            'table': options.table, 'target_columns': chosen.targets, **own})

    def read(self, numbers: Sequence[int], form: RowFormat, block_rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield the rows of neighbouring parts; see `Parts`."""
        first = self.starts[numbers[0]] if numbers else 0
        last = min(self.starts[numbers[-1]] + self.starts.step, self.n_rows) if numbers else 0
        for start in range(first, last, block_rows):
            rows = slice(start, min(start + block_rows, last))
            with refuse_damage(f'{self.name}, row {start + 1}'):
                batch = self.make(np.asarray(self.X[rows]), None if self.y is None else self.y[rows], form)
            yield (rows.stop - 1) // self.starts.step, batch

    def make(self, rows: np.ndarray, labels: np.ndarray | None, form: RowFormat) -> Batch:
        """Make a Batch of some rows of the matrix."""
        if labels is None and form.label_column is not None:
            labels = rows[:, form.label_column]
        names: tuple[str, ...] = ()
        codes, targets = None, None
        if labels is not None and form.labelled and not form.ignore_label:
            if form.numeric_labels and labels.dtype.kind in NUMBERS:
                targets = (rows[:, form.target_columns] if len(form.target_columns) > 1 else labels).astype(float)
            else:
                names, codes = encode_values(labels)
        X = rows[:, form.feature_positions].astype(float)
        weights = None if form.weight_column is None else rows[:, form.weight_column].astype(float)
        features = Table(tuple(map(NumberColumn, X.T)), len(X)) if form.table else X
        return Batch(Block(features, names, codes, weights, targets), partial(show_row, rows, labels))


def open_arrays(source: Source, name: str) -> tuple[Any, np.ndarray | None]:
    """Return X, an array or what is sliced like one, and y or None, which stands for a label among the columns of X.

    Raises DataFormatError when they are no matrix of numbers and its labels.
    """
    X, y = (open_archive if read_magic(source, len(ARCHIVE)) == ARCHIVE else open_matrix)(source, name)
    demand(len(X.shape) == 2 and X.dtype.kind in NUMBERS, name, 'a matrix of numbers', X)
    return X, y


def open_matrix(source: Source, name: str) -> tuple[Any, None]:
    """Open an .npy file, of which only the rows that are asked for are read."""
    return np.load(source, mmap_mode='r', allow_pickle=False) if isinstance(source, str) else RemoteArray(source), None


def open_archive(source: Source, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the arrays X and y of an .npz file."""
    with zipfile.ZipFile(source) as archive:
        members = {member.filename.removesuffix('.npy'): member for member in archive.infolist()}
        if not {'X', 'y'} <= set(members):
            raise DataFormatError(f'{name}: expected the arrays X and y, found {", ".join([*members][:SHOWN])}')
        X, y = (read_array(archive, members[array]) for array in 'Xy')
    demand(y.ndim == 1 and len(y) == len(X) and y.dtype.kind in NUMBERS + 'U', name, 'as many labels in y as rows in X',
           y)
    return X, y


def demand(is_so: bool, name: str, expected: str, array: Any) -> None:
    """Raise DataFormatError unless an array is as expected."""
    if not is_so:
        raise DataFormatError(f'{name}: expected {expected}, found an array of shape {array.shape} and type '
                              f'{array.dtype}')


def read_magic(source: Source, size: int) -> bytes:
    """Return the first bytes of a file."""
    if isinstance(source, str):
        with open(source, 'rb') as stream:
            return stream.read(size)
    source.seek(0)
    found = source.read(size)
    source.seek(0)
    return found


class RemoteArray:
    """Read rows of an .npy file that is elsewhere. Raises ValueError when it is not in C order, or is cut short."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        version = np.lib.format.read_magic(stream)
        self.shape, fortran, self.dtype = NPY_HEADERS[version](stream)
        self.begin, self.row_bytes = stream.tell(), self.dtype.itemsize * int(np.prod(self.shape[1:]))
        if fortran or self.dtype.hasobject or self.begin + self.row_bytes * self.shape[0] != measure(stream):
            raise ValueError('expected rows one after another, as many as its header says')

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        self.stream.seek(self.begin + rows.start * self.row_bytes)
        data = self.stream.read((rows.stop - rows.start) * self.row_bytes)
        return np.frombuffer(data, self.dtype).reshape(-1, self.shape[1])


def encode_values(values: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Number labels by first appearance: (their text, (n,) int32 codes, -1 for NaN)."""
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    names = [write_value(value) for value in distinct[order].tolist()]
    codes = np.argsort(order)[inverse].astype(np.int32)
    return tuple(names), codes


def write_value(value: Any) -> str:
    """Write a label, '' for NaN."""
    return write_number(value) if isinstance(value, float) and not abs(value) >= EXACT else write_label(value)


def show_row(rows: np.ndarray, labels: np.ndarray | None, row: int) -> str:
    """Write a row as csv."""
    label = [] if labels is None else [str(labels[row])]
    return ','.join([*label, *map(str, rows[row].tolist())])


KIND = Kind(reader=BatchReader, magic=(ARRAY, ARCHIVE), open=ArrayParts)

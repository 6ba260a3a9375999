"""Turn record batches of Arrow into rows: numbers, tables of numbers and categories, labels and weights."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, one_line
from mr_elm.rows.arrow_arrays import from_array, from_flags, refuse_damage
from mr_elm.rows.arrow_schema import CATEGORY, EMPTY_FOLDER, LISTS, NUMBER, ArrowSchema, Field, is_number
from mr_elm.rows.blocks import Block
from mr_elm.rows.columns import CodedColumn, NumberColumn, Table, Values
from mr_elm.rows.labels import write_label
from mr_elm.rows.options import RowOptions
from mr_elm.typing import Floats


@dataclass(frozen=True)
class Batch:
    """Hold some rows as a file has them.

    block : Block of a matrix with NaN for missing values, or of a Table; row i has no label where codes[i] is negative.
    show : returns a row as text, for a message.
    """

    block: Block
    show: Callable[[int], str]
    __repr__ = one_line


class BatchMaker:
    """Turn record batches of one file into batches of rows.

    schema : ArrowSchema of the file. form : RowOptions, which has the names of the features.
    Raises DataFormatError when a column of the file is of another kind than its format says.
    """

    def __init__(self, schema: ArrowSchema, form: RowOptions) -> None:
        self.schema, self.form = schema, form
        self.fields = [schema.fields[name] for name in form.names or ()]
        self.targets = () if form.ignore_label else form.target_names or ()
        self.label = None if form.ignore_label or self.targets else form.label_name
        self.kinds = {column: schema.kind(column) for column in schema.columns}
        self.runs = find_runs(self.fields)

    @property
    def columns(self) -> list[str]:
        """List the columns of the file that are needed."""
        wanted = dict.fromkeys([*(column for _, column, _ in self.runs), self.label, *self.targets,
                                self.form.weight_name])
        return [column for column in self.schema.names if column in wanted]

    def make_all(self, parts: Iterable[tuple[int, Iterable[Any]]], block_rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield (number of a part, Batch of block_rows rows or the last ones) for parts of record batches."""
        waiting, n_rows, number = [], 0, 0
        for number, batches in parts:
            for batch in batches:
                waiting.append(batch)
                n_rows += batch.num_rows
                if n_rows >= block_rows:
                    *whole, last = cut_batch(join_batches(waiting), block_rows)
                    yield from ((number, self.make(piece)) for piece in whole)
                    waiting, n_rows = [last], last.num_rows
        if n_rows:
            yield number, self.make(join_batches(waiting))

    def make(self, batch: Any) -> Batch:
        """Make a Batch of a pyarrow.RecordBatch. Raises DataFormatError when its text is not UTF-8."""
        with refuse_damage(self.schema.name):
            return self.convert(batch)

    def convert(self, batch: Any) -> Batch:
        """Convert the columns of a record batch."""
        arrays = {column: storage_of_array(batch.column(column)) for column in self.columns}
        arrays |= {column: repeat_text(text, batch.num_rows) for column, text in self.schema.folders.items()}
        targets = self.read_targets(arrays)
        names, codes = self.encode_labels(arrays) if targets is None else ((), None)
        weights = to_numbers(arrays[self.form.weight_name]) if self.form.weight_name else None
        make = self.make_table if self.form.table else self.make_matrix
        return Batch(Block(make(arrays, batch.num_rows), names, codes, weights, targets), partial(show_row, batch))

    def read_targets(self, arrays: Mapping[str, Any]) -> Floats | None:
        """Return the targets, (n,) or (n, K), NaN for missing ones; None where rows have none, or their label is text.
        """
        columns = self.targets or ((self.label,) if self.label and self.form.numeric_labels else ())
        if not columns or any(self.kinds[column] != NUMBER for column in columns):
            return None
        T = np.column_stack([to_numbers(arrays[column]) for column in columns])
        return T[:, 0] if len(columns) == 1 else T

    def encode_labels(self, arrays: Mapping[str, Any]) -> tuple[tuple[str, ...], np.ndarray | None]:
        """Number the labels of the rows; ((), None) where there are none."""
        if not self.label:
            return (), None
        names, codes = self.encode_text(arrays, self.label)
        if self.form.labels_separator is None or (codes >= 0).all():
            return names, codes
        return (*names, ''), np.where(codes < 0, len(names), codes).astype(np.int32)  # no value is the empty set

    def encode_text(self, arrays: Mapping[str, Any], column: str) -> tuple[tuple[str, ...], np.ndarray]:
        """Number the values of a column, see `encode_values`."""
        try:
            return encode_values(arrays[column])
        except UnicodeDecodeError as error:
            raise DataFormatError(f'{self.schema.name}: expected text of UTF-8 in column {column!r}, found '
                                  f'{ascii(error.object)[1:60]}: write the file again from text') from None

    def make_matrix(self, arrays: Mapping[str, Any], n_rows: int) -> Floats:
        """Copy the features into one matrix, column by column, NaN for missing values."""
        X = np.empty((n_rows, len(self.fields)))
        for first, column, items in self.runs:
            if self.kinds[column] == LISTS:
                X[:, first:first + len(items)] = to_matrix(arrays[column])[:, items]
            else:
                X[:, first] = to_numbers(arrays[column])
        return X

    def make_table(self, arrays: Mapping[str, Any], n_rows: int) -> Table:
        """Make a table of the features."""
        columns: list[Values] = []
        for _, column, items in self.runs:
            if self.kinds[column] == LISTS:
                columns += map(NumberColumn, np.ascontiguousarray(to_matrix(arrays[column])[:, items].T))
            elif self.kinds[column] == CATEGORY:
                names, codes = self.encode_text(arrays, column)
                columns.append(CodedColumn(codes, names))
            else:
                columns.append(NumberColumn(to_numbers(arrays[column])))
        return Table(tuple(columns), n_rows)


def join_batches(batches: list[Any]) -> Any:
    """Join record batches; empty ones are left out."""
    batches = [batch for batch in batches if batch.num_rows] or batches[:1]
    return batches[0] if len(batches) == 1 else import_module('pyarrow').concat_batches(batches)


def cut_batch(batch: Any, n_rows: int) -> list[Any]:
    """Cut a record batch into pieces of n_rows rows; the last one has fewer, perhaps none."""
    return [batch.slice(start, n_rows) for start in range(0, batch.num_rows - batch.num_rows % n_rows + 1, n_rows)]


def find_runs(fields: list[Field]) -> list[tuple[int, str, list[int]]]:
    """Group neighbours that are items of one column: (position of the first feature, column, items)."""
    groups = [(column, list(group)) for column, group in groupby(enumerate(fields), lambda pair: pair[1].column)]
    return [(group[0][0], column, [field.item for _, field in group]) for column, group in groups]


def storage_of_array(array: Any) -> Any:
    """Return an array without its extension type."""
    return getattr(array, 'storage', array)


def to_numbers(array: Any) -> Floats:
    """Return a column of numbers: (n,) float64, NaN for missing values."""
    types = import_module('pyarrow').types
    if array.null_count == 0 and (types.is_integer(array.type) or types.is_floating(array.type)):
        return from_array(array).astype(float, copy=False)
    return from_array(array.cast('float64', safe=False), math.nan)


def to_matrix(array: Any) -> Floats:
    """Return lists of one size as a matrix, a row of NaN for a list that is missing."""
    X = np.full((len(array), array.type.list_size), np.nan)
    X[from_flags(array.is_valid())] = to_numbers(array.flatten()).reshape(-1, X.shape[1])
    return X


def encode_values(array: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Number the values of a column by first appearance: (their text, (n,) int32 codes, -1 where none is, or NaN)."""
    if hasattr(array, 'dictionary_decode'):
        array = array.dictionary_decode()
    encoded = array.dictionary_encode()
    values, codes = encoded.dictionary.to_pylist(), from_array(encoded.indices, -1)
    names = tuple(map(write_label, values))
    if gaps := [code for code, value in enumerate(values) if value != value]:
        codes = np.where(np.isin(codes, gaps), -1, codes).astype(np.int32)
    return names, codes


def repeat_text(text: str, n_rows: int) -> Any:
    """Make the column of a folder, whose value is the same in all rows."""
    arrow, numeric = import_module('pyarrow'), is_number(text)
    value = None if text == EMPTY_FOLDER else float(text) if numeric else text
    return arrow.array([value] * n_rows, arrow.float64() if numeric else arrow.string())


def show_row(batch: Any, row: int) -> str:
    """Write a row as JSON."""
    return json.dumps({name: batch.column(name)[row].as_py() for name in batch.schema.names}, default=str)

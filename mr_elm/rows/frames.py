"""Read data frames of pandas, polars and other libraries, and whatever offers Arrow data, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm.errors import RowError, write_value
from mr_elm.rows.columns import Table, TextColumn
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, order_features
from mr_elm.rows.text import demand_distinct
from mr_elm.typing import Floats


@dataclass(frozen=True)
class Frame:
    """Hold a table whose columns have names.

    categorical : names of the columns that are categories even if all their values are numbers.
    """

    names: tuple[str, ...]
    table: Table
    categorical: frozenset[str] = frozenset()

    def select(self, names: Sequence[str]) -> Table:
        """Return the columns in the order of their names. Raises ValueError if one is missing, or has another name."""
        header = Header('X', len(self.names), self.names)
        positions = order_features(header, range(header.n_columns), names, cure='')
        return Table(tuple(self.table.columns[j] for j in positions), self.table.n_rows)


def to_matrix(frame: Frame, names: Sequence[str]) -> Floats:
    """Return the columns as numbers in the order of their names, NaN for missing ones. Raises ValueError at text."""
    columns = []
    for name, column in zip(names, frame.select(names).columns, strict=True):
        try:
            if column.typed:
                raise RowError('not a number', 'holds text')
            columns.append(column.numbers())
        except RowError as error:
            raise ValueError(
                f'X: expected numbers in column {write_value(name)}, it {error.detail}: '
                "encode='auto' makes features of dates and text"
            ) from None
    return np.column_stack(columns)


def read_frame(X: Any) -> Frame:
    """Read a data frame, or whatever has `__arrow_c_stream__`, which needs pyarrow.

    Raises ValueError when columns cannot be numbers or categories.
    """
    if hasattr(X, 'iloc'):
        return read_arrow(read_pandas(X))
    return read_arrow(import_module('pyarrow').RecordBatchReader.from_stream(X).read_all())


def read_pandas(X: Any) -> Any:
    """Return a data frame of pandas as a pyarrow.Table: objects of several types become numbers or text."""
    import pyarrow as arrow

    demand_distinct('X', tuple(map(str, X.columns)))
    columns = {}
    for name in X.columns:
        try:
            columns[str(name)] = arrow.array(X[name], from_pandas=True)
        except arrow.ArrowException:
            texts = arrow.array(X[name].map(str, na_action='ignore'), from_pandas=True)
            numbers = TextColumn(texts.fill_null('')).plain
            columns[str(name)] = texts if numbers is None else arrow.array(numbers)
    return arrow.table(columns)


def read_arrow(table: Any) -> Frame:
    """Read a pyarrow.Table. Raises ValueError when a column can be neither numbers nor categories."""
    from pyarrow import types

    from mr_elm.rows.arrow_columns import NUMBER, TABLE_KINDS, ArrowSchema, BatchMaker, kind_of

    categorical = frozenset(field.name for field in table.schema if types.is_dictionary(field.type))
    for number, field in enumerate(table.schema):  # numbers that are categories are compared by value
        if types.is_dictionary(field.type) and kind_of(field.type.value_type) == NUMBER:
            table = table.set_column(number, field.name, table.column(number).cast(field.type.value_type))
    schema = ArrowSchema(table.schema, 'X')
    for name in schema.columns:
        if schema.kind(name) not in TABLE_KINDS:
            raise ValueError(
                f'X: expected numbers or text in column {write_value(name)}, found {schema.schema.field(name).type}: '
                'make numbers of it first'
            )
    names = tuple(schema.fields)
    form = RowOptions('arrow', label_column=None, n_columns=len(names), names=names, encode='auto')
    [batch] = table.combine_chunks().to_batches() or [
        import_module('pyarrow').RecordBatch.from_pylist([], table.schema)
    ]
    return Frame(names, BatchMaker(schema, form).convert(batch).block.X, categorical)

"""Read data frames of pandas, polars and other libraries, and whatever offers Arrow data, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm.errors import RowError, write_value
from mr_elm.rows.columns import NumberColumn, Table, TextColumn, Values
from mr_elm.rows.labels import hold_integers
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, order_features
from mr_elm.rows.text import demand_distinct
from mr_elm.typing import Floats

NUMBERS = (bool, int, float, Decimal, np.number, np.bool_)
CATEGORIES = ('category', 'Categorical', 'Enum')  # how types of categories begin in pandas and polars


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
            columns.append(column.numbers())
        except RowError as error:
            raise ValueError(
                f'X: expected numbers in column {write_value(name)}, it {error.detail}: '
                "encode='auto' makes features of dates and text"
            ) from None
    return np.column_stack(columns)


def read_frame(X: Any) -> Frame:
    """Read a data frame, or whatever has `__arrow_c_stream__`, which needs pyarrow.

    Raises TypeError for anything else, ValueError when columns cannot be numbers or categories.
    """
    if isinstance(X, Frame):
        return X
    if hasattr(X, 'columns') and hasattr(X, '__getitem__') and not hasattr(X, 'column_names'):
        return read_columns(X)
    if hasattr(X, '__arrow_c_stream__'):
        return read_arrow(open_stream(X).read_all())
    raise TypeError(
        f"X: expected a data frame for encode='auto', found {type(X).__name__}, whose columns have no names"
    )


def read_columns(X: Any) -> Frame:
    """Read a data frame column by column, as pandas and polars offer them."""
    names = tuple(map(str, X.columns))
    demand_distinct('X', names)
    series = {str(label): X[label] for label in X.columns}
    columns = tuple(map(read_values, series.values(), series))
    categorical = frozenset(name for name, values in series.items() if str(values.dtype).startswith(CATEGORIES))
    return Frame(names, Table(columns, len(X)), categorical)


def read_values(series: Any, name: str) -> Values:
    """Read the values of a column. Raises ValueError for values that are neither numbers nor text."""
    values = np.asarray(series)
    if values.dtype.kind in 'fiub':
        return NumberColumn(values.astype(float))
    if values.dtype.kind in 'mcV':
        raise ValueError(
            f'X: expected numbers or text in column {write_value(name)}, found {values.dtype}: make numbers of it first'
        )
    if values.dtype.kind == 'M':
        return TextColumn(['' if text == 'NaT' else text for text in np.datetime_as_string(values).tolist()])
    missing = np.asarray(series.isna()) if hasattr(series, 'isna') else [value is None for value in values]
    return read_objects([None if lacks else value for lacks, value in zip(missing, values.tolist(), strict=True)], name)


def read_objects(values: Sequence[Any], name: str) -> Values:
    """Read objects of Python, None for missing values: numbers where all are, else text."""
    if all(value is None or isinstance(value, NUMBERS) for value in values):
        return NumberColumn(np.array([np.nan if value is None else float(value) for value in values], float))
    if others := [value for value in values if isinstance(value, (list, tuple, dict, set, bytes, np.ndarray))]:
        raise ValueError(f'X: expected numbers or text in column {write_value(name)}, found {type(others[0]).__name__}')
    return TextColumn(['' if value is None else str(value) for value in values])


def read_arrow(table: Any) -> Frame:
    """Read a pyarrow.Table. Raises ValueError when a column can be neither numbers nor categories."""
    from pyarrow import types

    from mr_elm.rows.arrow_columns import ArrowSchema, BatchMaker

    schema = ArrowSchema(table.schema, 'X')
    for column in schema.columns:
        schema.demand_feature(column, True)
    form = RowOptions('arrow', labelled=False, names=tuple(schema.fields), encode='auto')
    rows = BatchMaker(schema, form).make(table)
    categorical = frozenset(field.name for field in table.schema if types.is_dictionary(field.type))
    return Frame(form.names or (), rows.block.X, categorical)


def open_stream(X: Any) -> Any:
    """Return the pyarrow.RecordBatchReader of what has `__arrow_c_stream__`; it can be read once.

    Raises TypeError for anything else.
    """
    if not hasattr(X, '__arrow_c_stream__'):
        raise TypeError(f'expected an Arrow stream, such as a table of pyarrow or polars, found {type(X).__name__}')
    return import_module('pyarrow').RecordBatchReader.from_stream(X)


def is_stream(X: Any) -> bool:
    """Tell whether rows come in batches of Arrow, and not at once as those of a data frame."""
    return hasattr(X, '__arrow_c_stream__') and not (hasattr(X, 'columns') and hasattr(X, '__len__'))


def read_stream(X: Any, y: Any, sample_weight: Any = None) -> Iterator[tuple[Frame, np.ndarray, Any]]:
    """Yield (features, labels, weights or None) of each batch of an Arrow stream.

    y, sample_weight : the name of a column of the stream, or one value for each row of it. Raises ValueError.
    """
    reader, start = open_stream(X), 0
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    names = reader.schema.names
    for name in named:
        Header('X', len(names), names).locate(name)
    for batch in reader:
        if batch.num_rows:
            labels, weights = (take_column(batch, given, start) for given in (y, sample_weight))
            start += batch.num_rows
            features = batch.select([name for name in names if name not in named])
            yield read_arrow(import_module('pyarrow').Table.from_batches([features])), labels, weights
    for values in (y, sample_weight):
        if values is not None and not isinstance(values, str) and len(values) != start:
            raise ValueError(f'y: expected {start} values, one for each row of X, found {len(values)}')


def take_column(batch: Any, column: Any, start: int) -> Any:
    """Return the values of a batch in a column that has a name, or those of its rows. start : its first row."""
    if column is None:
        return None
    if not isinstance(column, str):
        return column[start : start + batch.num_rows]
    values = batch.column(column).to_pylist()
    if None in values:
        raise ValueError(f'X: expected a value in each row of column {write_value(column)}, found a missing one')
    if type(values[0]) is int:  # numpy would take large ones for floats
        return hold_integers(values)
    return np.array(values)

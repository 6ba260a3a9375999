"""Find out what the columns of Arrow can be, and turn them into rows: numbers, categories, labels and weights."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, one_line
from mr_elm.rows.arrow_arrays import from_array, from_flags, refuse_damage, to_texts
from mr_elm.rows.blocks import Block, make_block
from mr_elm.rows.columns import NumberColumn, TextColumn, Values
from mr_elm.rows.dates import ISO
from mr_elm.rows.labels import write_label
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, check_width, select_columns
from mr_elm.rows.text import BLANKS, demand_distinct, read_number
from mr_elm.typing import Floats

NUMBER, CATEGORY, DATE, LISTS = 'number', 'category', 'date', 'lists'
INDEX_NAME = re.compile(
    r'Unnamed: 0(\.\d+)?|__index_level_\d+__'
)  # where pandas wrote it once as csv, or lost its record
MAX_ITEMS = 100_000  # of a list; larger sizes are damage, and each item has a name
TYPES = {  # kind of a column -> how pyarrow.types asks for the types of its values
    NUMBER: ('is_integer', 'is_floating', 'is_decimal', 'is_boolean', 'is_null'),
    CATEGORY: ('is_dictionary', 'is_string', 'is_large_string', 'is_string_view'),
    DATE: ('is_date', 'is_timestamp'),
    'list': ('is_list', 'is_large_list'),
}
TABLE_KINDS = [NUMBER, CATEGORY, DATE, LISTS]  # of columns that can be features of a table
EMPTY_FOLDER = '__HIVE_DEFAULT_PARTITION__'
CURES = {
    CATEGORY: '--encode auto makes categories of text',
    DATE: '--encode auto makes days, months, weekdays and hours of dates',
    'list': 'cast the lists to one fixed size, such as pyarrow.list_(pyarrow.float32(), 768)',
}


class ArrowSchema:
    """Say which features the columns of a file hold.

    schema : pyarrow.Schema. name : of the file. folders : see `RowOptions`; a column of the file comes before these.
    Raises DataFormatError when two columns have the same name.
    """

    def __init__(self, schema: Any, name: str, folders: Sequence[tuple[str, str]] = ()) -> None:
        import pyarrow as arrow

        self.name = name
        with refuse_damage(name):
            self.names: list[str] = schema.names
        self.folders = {column: text for column, text in folders if column not in self.names}
        demand_distinct(name, self.names, ': give each another name')
        for column, text in self.folders.items():
            schema = schema.append(arrow.field(column, arrow.float64() if is_number(text) else arrow.string()))
        self.schema = schema
        self.columns: list[str] = schema.names  # those of the file, then those of its folders

    @cached_property
    def index_columns(self) -> list[str]:
        """List the columns that pandas calls the index of its rows: they are no features unless they are named."""
        try:
            record = json.loads((self.schema.metadata or {})[b'pandas'])['index_columns']
        except (KeyError, TypeError, ValueError):
            record = []
        columns = [column for column in self.columns if INDEX_NAME.fullmatch(column)]
        if isinstance(record, list):
            columns += [column for column in record if isinstance(column, str)]
        return columns

    def kind(self, column: str) -> str:
        """Return number, category, date or lists; or time, list, binary, struct or a type, which cannot be features."""
        return kind_of(self.schema.field(column).type)

    def split(self, column: str) -> list[str]:
        """Name the features of a column: lists give a feature for each item."""
        if self.kind(column) != LISTS:
            return [column]
        return [f'{column}[{item}]' for item in range(storage_of(self.schema.field(column).type).list_size)]

    @cached_property
    def fields(self) -> dict[str, str]:
        """Map the name of every feature that the file could give to its column."""
        return {name: column for column in self.columns for name in self.split(column)}

    def demand_kind(self, column: str, role: str, kinds: Sequence[str]) -> None:
        """Raise DataFormatError when a column is of another kind than its role needs."""
        kind = self.kind(column)
        if kind not in kinds:
            cure = CURES.get(kind, 'make numbers of it')
            raise DataFormatError(
                f'{self.name}: expected {" or ".join(kinds)} in the {role} column {column!r}, found '
                f'{self.schema.field(column).type}: {cure}, or leave the column out (--drop {column})'
            )


def kind_of(type: Any) -> str:
    """Return number, category, date, lists (of numbers, of one size), or what cannot be features, see `TYPES`."""
    from pyarrow import types

    if getattr(type, 'extension_name', '').startswith('pandas.'):  # periods and intervals are no numbers
        return str(type)
    type = storage_of(type)
    if types.is_fixed_size_list(type) and type.list_size <= MAX_ITEMS and kind_of(type.value_type) == NUMBER:
        return LISTS
    for kind, predicates in TYPES.items():
        if any(getattr(types, predicate)(type) for predicate in predicates):
            return kind
    return str(type)


def storage_of(type: Any) -> Any:
    """Return the type in which an extension type keeps its values."""
    return getattr(type, 'storage_type', type)


def is_number(text: str) -> bool:
    """Tell whether the value in the name of a folder is a number, or stands for a missing one."""
    return text == EMPTY_FOLDER or read_number(text) is not None


def choose_format(kind: str, schema: ArrowSchema, options: RowOptions) -> RowOptions:
    """Decide which columns are label, weight and features. Raises DataFormatError when they cannot be."""
    names = tuple(schema.fields)
    header = Header(schema.name, len(names), names, [j for j, name in enumerate(names) if name in schema.index_columns])
    options = replace(options, columns=split_lists(schema, options.columns), drop=split_lists(schema, options.drop))
    form = options.decide(kind, folders=tuple(schema.folders.items()), **select_columns(header, options))
    columns = list(schema.fields.values())
    features = [NUMBER, LISTS]
    labels = [NUMBER, CATEGORY]
    if options.table:
        features = TABLE_KINDS
    if form.targets:
        labels = [NUMBER]
    for role, positions, kinds in (
        ('feature', form.feature_positions, features),
        ('label', form.used_labels, labels),
        ('weight', {form.weight_column} - {None}, [NUMBER]),
        ('part', form.part_by, [NUMBER, CATEGORY]),
    ):
        for position in positions:
            schema.demand_kind(columns[position], role, kinds)
    check_width(schema.name, form, options)
    return form


def split_lists(schema: ArrowSchema, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Name the features of some columns: lists, which may be named as a whole, give several."""
    if columns is None:
        return None
    return tuple(
        name for column in columns for name in (schema.split(column) if column in schema.columns else [column])
    )


@dataclass(frozen=True)
class Batch:
    """Hold some rows as a file has them.

    block : Block of a matrix with NaN for missing values, or of a Table. record_batch : the pyarrow.RecordBatch.
    """

    block: Block
    record_batch: Any
    __repr__ = one_line

    def show(self, row: int) -> str:
        """Return a row as JSON, for a message."""
        return json.dumps(self.record_batch.slice(row, 1).to_pylist()[0], default=str)


class BatchMaker:
    """Turn record batches of one file into batches of rows.

    schema : ArrowSchema of the file. form : RowOptions, which has the names of the features.
    Raises DataFormatError when a column of the file is of another kind than its format says.
    """

    def __init__(self, schema: ArrowSchema, form: RowOptions) -> None:
        self.schema = schema
        self.form = form
        columns = list(schema.fields.values())
        used = {columns[position] for position in form.used_columns}
        self.kinds = {column: schema.kind(column) for column in schema.columns if column in used}
        self.columns = [column for column in self.kinds if column not in schema.folders]  # of the file
        if not form.numeric_labels:
            self.kinds |= {columns[position]: CATEGORY for position in form.used_labels}

    def make(self, table: Any) -> Batch:
        """Make a Batch of a pyarrow.Table of some rows. Raises DataFormatError when it is damaged."""
        with refuse_damage(self.schema.name):
            [batch] = table.combine_chunks().to_batches()
            return self.convert(batch)

    def convert(self, batch: Any) -> Batch:
        """Convert the columns."""
        import pyarrow as arrow

        arrays = {column: batch.column(column) for column in self.columns}
        for column, text in self.schema.folders.items():
            value = arrow.scalar(None if text == EMPTY_FOLDER else text, arrow.string())
            arrays[column] = arrow.repeat(value, batch.num_rows).cast(self.schema.schema.field(column).type)
        values: dict[str, Values] = {}
        for column, kind in self.kinds.items():
            array = getattr(arrays[column], 'storage', arrays[column])  # without its extension type
            values |= zip(self.schema.split(column), read_values(array, kind), strict=True)
        names = list(self.schema.fields)
        columns = {position: values[names[position]] for position in self.form.used_columns}
        return Batch(make_block(columns, batch.num_rows, self.form), batch)


def read_values(array: Any, kind: str) -> list[Values]:
    """Return the values of the features of a column."""
    if kind == LISTS:
        return [NumberColumn(values) for values in to_matrix(array).T]
    if kind == NUMBER:
        return [NumberColumn(to_numbers(array))]
    if kind == DATE:
        return [TextColumn(write_dates(array), order=ISO)]
    return [to_text_column(array)]


def to_numbers(array: Any) -> Floats:
    """Return a column of numbers: (n,) float64, NaN for missing values."""
    from pyarrow import types

    if array.null_count == 0 and (types.is_integer(array.type) or types.is_floating(array.type)):
        return from_array(array).astype(float, copy=False)
    return from_array(array.cast('float64', safe=False), math.nan)


def to_matrix(array: Any) -> Floats:
    """Return lists of one size as a matrix, a row of NaN for a list that is missing."""
    X = np.full((len(array), array.type.list_size), np.nan)
    X[from_flags(array.is_valid())] = to_numbers(array.flatten()).reshape(-1, X.shape[1])
    return X


def write_dates(array: Any) -> Any:
    """Return dates and timestamps as text of ISO 8601, in UTC, '' for a missing one."""
    import pyarrow as arrow

    type = array.type
    if getattr(type, 'tz', None):
        array = array.cast(arrow.timestamp(type.unit))
    return array.cast(arrow.string()).fill_null('')


def to_text_column(array: Any) -> TextColumn:
    """Return values of any type as text without blanks around it, '' for a missing one and NaN."""
    if not hasattr(array, 'dictionary'):
        array = array.dictionary_encode()
    names = ['' if value != value else write_label(value).strip(BLANKS) for value in array.dictionary.to_pylist()]
    return TextColumn(to_texts(names).take(array.indices).fill_null(to_texts([''])[0]), typed=True)

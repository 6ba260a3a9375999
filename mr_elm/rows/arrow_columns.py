"""Find out what the columns of Arrow can be, and turn them into rows: numbers, categories, labels and weights."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, one_line
from mr_elm.rows.arrow_arrays import from_array, from_flags, refuse_damage, to_texts
from mr_elm.rows.blocks import Block, make_block
from mr_elm.rows.columns import NumberColumn, Table, TextColumn, Values
from mr_elm.rows.labels import write_label
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, check_width, find_special, select_columns, warn_of_label
from mr_elm.rows.text import demand_distinct, read_number
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
    'time': ('is_temporal',),
    'struct': ('is_struct',),
    'list': ('is_list', 'is_large_list'),
    'binary': ('is_binary', 'is_large_binary', 'is_fixed_size_binary'),
}
EMPTY_FOLDER = '__HIVE_DEFAULT_PARTITION__'
CURES = {
    CATEGORY: '--encode auto makes categories of text',
    DATE: '--encode auto makes days, months and weekdays of dates',
    'time': 'write times as numbers, such as days or hours since a date',
    'list': 'cast the lists to one fixed size, such as pyarrow.list_(pyarrow.float32(), 768)',
    'binary': 'cast the column to text',
    'struct': 'make a column of each field',
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

    def describe(self, column: str) -> str:
        """Name the type of a column for a message."""
        if column in self.folders:
            return 'text'
        return str(self.schema.field(column).type)

    def split(self, column: str) -> list[str]:
        """Name the features of a column: lists give a feature for each item."""
        if self.kind(column) != LISTS:
            return [column]
        size = storage_of(self.schema.field(column).type).list_size
        return [f'{column}[{item}]' for item in range(size)]

    @cached_property
    def fields(self) -> dict[str, str]:
        """Map the name of every feature that the file could give to its column."""
        return {name: column for column in self.columns for name in self.split(column)}

    def demand_feature(self, column: str, table: bool) -> None:
        """Raise DataFormatError when a column cannot be a feature. table : whether it may hold text and dates."""
        kind = self.kind(column)
        if kind not in (NUMBER, LISTS) and not (kind in (CATEGORY, DATE) and table):
            cures = [*([CURES[kind]] if kind in CURES else []), f'--drop {column} leaves the column out']
            raise DataFormatError(
                f'{self.name}: expected numbers in column {column!r}, found {self.describe(column)}: {", ".join(cures)}'
            )

    def demand_kind(self, column: str | None, role: str, *kinds: str) -> None:
        """Raise DataFormatError when the column of labels or weights, where there is one, is of another kind."""
        if column is not None and self.kind(column) not in kinds:
            raise DataFormatError(
                f'{self.name}: expected {" or ".join(kinds)} in the {role} column {column!r}, found '
                f'{self.describe(column)}'
            )


def kind_of(type: Any) -> str:
    """Return number, category, date, lists (of numbers, of one size), or what cannot be features, see `TYPES`."""
    from pyarrow import types

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
    idle = tuple(j for j, name in enumerate(names) if schema.fields[name] in schema.index_columns)
    form = options.decide(
        kind,
        folders=tuple(schema.folders.items()),
        **select_columns(Header(schema.name, len(names), names, idle), name_columns(schema, options)),
    )
    if not form.width:
        raise DataFormatError(
            f'{schema.name}: expected a label and at least one feature, its columns are {", ".join(schema.columns)}'
        )
    for column in dict.fromkeys(schema.fields[name] for name in form.names or ()):
        schema.demand_feature(column, options.table)
    if not options.ignore_label:
        for position in form.label_columns:
            kinds = ('target', NUMBER) if form.targets else ('label', NUMBER, CATEGORY)
            schema.demand_kind(names[position], *kinds)
    schema.demand_kind(form.weight_name, 'weight', NUMBER)
    for column in form.part_names:
        schema.demand_kind(column, 'part', NUMBER, CATEGORY)
    check_width(schema.name, form, options)
    return form


def name_columns(schema: ArrowSchema, options: RowOptions) -> RowOptions:
    """Replace the positions of columns by names, and the names of lists by those of their features."""
    idle = [j for j, column in enumerate(schema.columns) if column in schema.index_columns]
    header = Header(schema.name, len(schema.columns), schema.columns, idle)
    label, weight = options.label_column, options.weight_column
    targets = options.targets
    if targets and options.target_names is None:
        targets = tuple(schema.columns[header.locate(column)] for column in targets)
    elif options.labelled and options.label_name is None and not targets:
        position = find_special(header, label, None, False) or 0
        warn_of_label(header, position, options)
        label = schema.columns[position]
        schema.demand_kind(label, 'label', NUMBER, CATEGORY)
    if weight is not None and options.weight_name is None:
        weight = schema.columns[header.locate(weight)]
        schema.demand_kind(weight, 'weight', NUMBER)
    return replace(
        options,
        label_column=label,
        weight_column=weight,
        targets=targets,
        columns=split_lists(schema, header, options.columns),
        part_by=split_lists(schema, header, options.part_by),  # type: ignore[arg-type]
        drop=split_lists(schema, header, options.drop),
    )


def split_lists(schema: ArrowSchema, header: Header, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Name the features of columns, which are given by name or position; None where nothing was said."""
    if columns is None:
        return None
    names: list[str] = []
    for column in columns:
        if column in schema.fields:
            names += [column]
        else:
            names += schema.split(schema.columns[header.locate(column)])
    return tuple(names)


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
        self.schema, self.form = schema, form
        self.kinds = {column: schema.kind(column) for column in schema.columns}
        self.features = list(dict.fromkeys(schema.fields[name] for name in form.names or ()))
        self.labels: Sequence[str] = ()
        if not form.ignore_label and form.label_name is not None:
            self.labels = form.target_names or (form.label_name,)
        self.columns = [
            column
            for column in schema.names
            if column in {*self.features, *self.labels, form.weight_name, *form.part_names}
        ]  # of the file, that are needed

    def make_all(self, parts: Iterable[tuple[int, Iterable[Any]]], block_rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield (number of a part, Batch of block_rows rows or the last ones) for parts of record batches."""
        import pyarrow as arrow

        waiting, n_rows, number = [], 0, 0
        for number, batches in parts:
            for batch in batches:
                waiting.append(batch)
                n_rows += batch.num_rows
                if n_rows >= block_rows:
                    table, n_rows = arrow.Table.from_batches(waiting), n_rows % block_rows
                    whole = table.num_rows - n_rows
                    for start in range(0, whole, block_rows):
                        yield number, self.make(table.slice(start, block_rows))
                    waiting = table.slice(whole).to_batches()
        if n_rows:
            yield number, self.make(arrow.Table.from_batches(waiting))

    def make(self, table: Any) -> Batch:
        """Make a Batch of a pyarrow.Table. Raises DataFormatError when its text is not UTF-8."""
        with refuse_damage(self.schema.name):
            return self.convert(table.combine_chunks())

    def convert(self, table: Any) -> Batch:
        """Convert the columns of a table, each of one piece."""
        import pyarrow as arrow

        arrays = {}
        [batch] = table.to_batches() or [arrow.RecordBatch.from_pylist([], table.schema)]
        for column in self.columns:
            array = batch.column(column)
            arrays[column] = getattr(array, 'storage', array)  # without its extension type
        for column, text in self.schema.folders.items():
            value = arrow.scalar(None if text == EMPTY_FOLDER else text, arrow.string())
            arrays[column] = arrow.repeat(value, batch.num_rows).cast(self.schema.schema.field(column).type)
        values: dict[str, Values] = {}
        for column in self.features:
            values |= zip(self.schema.split(column), self.read_features(arrays[column], column), strict=True)
        features = Table(tuple(values[name] for name in self.form.names or ()), batch.num_rows)
        labels = [self.read_label(arrays[column], column) for column in self.labels]
        weight = None
        if self.form.weight_name:
            weight = NumberColumn(to_numbers(arrays[self.form.weight_name]))
        return Batch(
            make_block(
                features,
                labels,
                weight,
                [self.read_features(arrays[column], column)[0] for column in self.form.part_names],
                self.form,
            ),
            batch,
        )

    def read_features(self, array: Any, column: str) -> list[Values]:
        """Return the values of the features of a column."""
        if self.kinds[column] == LISTS:
            return [NumberColumn(values) for values in to_matrix(array).T]
        if self.kinds[column] == CATEGORY:
            return [self.read_texts(array, column)]
        if self.kinds[column] == DATE:
            return [TextColumn(write_dates(array))]
        return [NumberColumn(to_numbers(array))]

    def read_label(self, array: Any, column: str) -> Values:
        """Return targets as numbers, NaN for missing ones, and all other labels as text."""
        if self.form.numeric_labels and self.kinds[column] == NUMBER:
            return NumberColumn(to_numbers(array))
        return self.read_texts(array, column)

    def read_texts(self, array: Any, column: str) -> TextColumn:
        """Return values as text; see `to_text_column`."""
        try:
            return to_text_column(array)
        except UnicodeDecodeError as error:
            raise DataFormatError(
                f'{self.schema.name}: expected text of UTF-8 in column {column!r}, found '
                f'{ascii(error.object)[1:60]}: write the file again from text'
            ) from None


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
    """Return values of any type as text, '' for a missing one and NaN."""
    if hasattr(array, 'dictionary_decode'):
        array = array.dictionary_decode()
    coded = array.dictionary_encode()
    names = ['' if value != value else write_label(value) for value in coded.dictionary.to_pylist()]
    return TextColumn(
        type(coded).from_arrays(coded.indices, to_texts(names)).dictionary_decode().fill_null(to_texts([''])[0])
    )

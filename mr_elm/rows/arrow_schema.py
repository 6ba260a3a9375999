"""Find out what the columns of Arrow can be: numbers, categories, lists of numbers, labels, weights."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_arrays import refuse_damage
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, check_width, select_columns
from mr_elm.rows.text import find_repeated, read_number

NUMBER, CATEGORY, LISTS = 'number', 'category', 'lists'
MAX_ITEMS = 100_000  # of a list; larger sizes are damage, and each item has a name
EMPTY_FOLDER = '__HIVE_DEFAULT_PARTITION__'
CURES = {
    CATEGORY: '--encode auto makes categories of text',
    'time': 'write times as numbers, such as days or hours since a date',
    'list': 'cast the lists to one fixed size, such as pyarrow.list_(pyarrow.float32(), 768)',
    'binary': 'cast the column to text',
    'struct': 'make a column of each field',
}


@dataclass(frozen=True)
class Field:
    """Name a number of a row: a column, and the item where the column holds lists of one size."""

    column: str
    item: int = 0


class ArrowSchema:
    """Say which features the columns of a file hold.

    schema : pyarrow.Schema. name : of the file. folders : see `RowOptions`; a column of the file comes before these.
    Raises DataFormatError when two columns have the same name.
    """

    def __init__(self, schema: Any, name: str, folders: Sequence[tuple[str, str]] = ()) -> None:
        self.schema, self.name = schema, name
        with refuse_damage(name):
            self.names: list[str] = schema.names
        self.folders = {column: text for column, text in folders if column not in self.names}
        if repeated := find_repeated(self.names):
            raise DataFormatError(f'{name}: expected columns of different names, {repeated[1]} are named '
                                  f'{repeated[0]!r}: give each another name')

    @property
    def columns(self) -> list[str]:
        """List the columns: those of the file, then those of its folders."""
        return [*self.names, *self.folders]

    @cached_property
    def index_columns(self) -> list[str]:
        """List the columns that pandas calls the index of its rows: they are no features unless they are named."""
        try:
            record = json.loads((self.schema.metadata or {})[b'pandas'])['index_columns']
        except (KeyError, TypeError, ValueError):
            return []
        return [column for column in record if isinstance(column, str)] if isinstance(record, list) else []

    def kind(self, column: str) -> str:
        """Return number, category or lists; or time, list, binary, struct or a type, which cannot be features."""
        if column in self.folders:
            return NUMBER if is_number(self.folders[column]) else CATEGORY
        return kind_of(self.schema.field(column).type)

    def describe(self, column: str) -> str:
        """Name the type of a column for a message."""
        return 'text' if column in self.folders else str(self.schema.field(column).type)

    def split(self, column: str) -> dict[str, Field]:
        """Map the names of the features of a column to their places: lists give a feature an item."""
        if self.kind(column) != LISTS:
            return {column: Field(column)}
        size = storage_of(self.schema.field(column).type).list_size
        return {f'{column}[{item}]': Field(column, item) for item in range(size)}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Map the name of every feature that the file could give to its place."""
        return dict(chain.from_iterable(self.split(column).items() for column in self.columns))

    def demand_feature(self, column: str, table: bool) -> None:
        """Raise DataFormatError when a column cannot be a feature. table : whether it may hold text."""
        kind = self.kind(column)
        if kind not in (NUMBER, LISTS) and not (kind == CATEGORY and table):
            cures = [*([CURES[kind]] if kind in CURES else []), f'--drop {column} leaves the column out']
            raise DataFormatError(f'{self.name}: expected numbers in column {column!r}, found '
                                  f'{self.describe(column)}: {", ".join(cures)}')

    def demand_kind(self, column: str | None, role: str, *kinds: str) -> None:
        """Raise DataFormatError when the column of labels or weights, where there is one, is of another kind."""
        if column is not None and self.kind(column) not in kinds:
            raise DataFormatError(f'{self.name}: expected {" or ".join(kinds)} in the {role} column {column!r}, found '
                                  f'{self.describe(column)}')


def kind_of(type: Any) -> str:
    """Return number, category, lists (of numbers, of one size), time, list, binary, struct, or the type's own name."""
    types, type = import_module('pyarrow').types, storage_of(type)
    if (types.is_integer(type) or types.is_floating(type) or types.is_decimal(type) or types.is_boolean(type)
            or types.is_null(type)):
        return NUMBER
    if types.is_dictionary(type) or types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return CATEGORY
    if types.is_fixed_size_list(type) and type.list_size <= MAX_ITEMS and kind_of(type.value_type) == NUMBER:
        return LISTS
    others = {'time': types.is_temporal(type), 'struct': types.is_struct(type),
              'list': types.is_list(type) or types.is_large_list(type),
              'binary': types.is_binary(type) or types.is_large_binary(type) or types.is_fixed_size_binary(type)}
    return next((name for name, found in others.items() if found), str(type))


def storage_of(type: Any) -> Any:
    """Return the type in which an extension type keeps its values."""
    return getattr(type, 'storage_type', type)


def is_number(text: str) -> bool:
    """Tell whether the value in the name of a folder is a number, or stands for a missing one."""
    return text == EMPTY_FOLDER or read_number(text) is not None


def choose_format(kind: str, schema: ArrowSchema, options: RowOptions) -> RowOptions:
    """Decide which columns are label, weight and features. Raises DataFormatError when they cannot be."""
    names = tuple(schema.fields)
    idle = tuple(j for j, name in enumerate(names) if schema.fields[name].column in schema.index_columns)
    form = options.decide(kind, folders=tuple(schema.folders.items()), **select_columns(
        Header(schema.name, len(names), names, idle), name_columns(schema, options)))
    if not form.width:
        raise DataFormatError(f'{schema.name}: expected a label and at least one feature, its columns are '
                              f'{", ".join(schema.columns)}')
    for column in dict.fromkeys(schema.fields[name].column for name in form.names or ()):
        schema.demand_feature(column, options.table)
    if not options.ignore_label:
        for position in form.label_columns:
            kinds = ('target', NUMBER) if form.targets else ('label', NUMBER, CATEGORY)
            schema.demand_kind(names[position], *kinds)
    schema.demand_kind(form.weight_name, 'weight', NUMBER)
    check_width(schema.name, form.width, options)
    return form


def name_columns(schema: ArrowSchema, options: RowOptions) -> RowOptions:
    """Replace the positions of columns by names, and the names of lists by those of their features."""
    header = Header(schema.name, len(schema.columns), schema.columns)
    label, weight = options.label_column, options.weight_column
    targets = options.targets
    if targets and options.target_names is None:
        targets = tuple(schema.columns[header.locate(column)] for column in targets)
    elif options.labelled and options.label_name is None and not targets:
        label = schema.columns[header.locate(label)]
        schema.demand_kind(label, 'label', NUMBER, CATEGORY)
    if weight is not None and options.weight_name is None:
        weight = schema.columns[header.locate(weight)]
        schema.demand_kind(weight, 'weight', NUMBER)
    return replace(options, label_column=label, weight_column=weight, targets=targets,
                   columns=split_lists(schema, header, options.columns), drop=split_lists(schema, header, options.drop))


def split_lists(schema: ArrowSchema, header: Header, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Name the features of columns, which are given by name or position; None where nothing was said."""
    return None if columns is None else tuple(chain.from_iterable(
        [column] if column in schema.fields else schema.split(schema.columns[header.locate(column)])
        for column in columns))

"""Encode the columns of a table as features: numbers, with missing values filled, indicators of categories, dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, RowError, declared_state, one_line, warn_unsuitable
from mr_elm.rows.blocks import EncodedRows, is_sparse
from mr_elm.rows.columns import (
    MISSING,
    NumberColumn,
    Table,
    TextColumn,
    Values,
    look_up,
    name_column,
    to_number,
    write_number,
)
from mr_elm.rows.dates import ORDERS, find_hours
from mr_elm.rows.options import RowOptions
from mr_elm.store import read_json

NUMBER, CATEGORY, DATE = 'number', 'category', 'date'
MONTHS, WEEKDAYS = sorted(map(str, range(1, 13))), sorted(map(str, range(1, 8)))  # from January, and from Monday
THURSDAY, TELLING_ROWS = 3, 20  # days from Monday to 1970-01-01; rows that tell whether a column is known


@dataclass(frozen=True)
class Column:
    """Say how the values of one column become features.

    kind : number, category or date. mean : what stands for a missing number. missing : whether a feature says that it
    is missing, because the training had such rows.
    categories : the values of the training that have a feature of their own, in byte order, '' for a missing one; all
    others share one more feature. Those of a date are hours of the day; none if the training had only one hour.
    order : how dates are written, a name in ORDERS. A date is a number of days, and categories: month, weekday, hour.
    """

    name: str
    kind: str = NUMBER
    mean: float = 0.0
    missing: bool = False
    categories: tuple[str, ...] = ()
    order: str = ''
    __getstate__ = declared_state

    @cached_property
    def parts(self) -> tuple[Column, ...]:
        """Return the numbers and categories that the column stands for: itself, or those of a date."""
        if self.kind != DATE:
            return (self,)
        calendar = {'month': MONTHS, 'weekday': WEEKDAYS, 'hour': self.categories}
        return (
            replace(self, kind=NUMBER, categories=(), order=''),
            *(
                Column(f'{self.name} {part}', CATEGORY, categories=(*[MISSING] * self.missing, *values))
                for part, values in calendar.items()
                if values
            ),
        )

    def read(self, values: Values) -> list[Values]:
        """Return the values of each part. Raises RowError at a text that is no number or date, and infinite numbers."""
        if self.kind == CATEGORY:
            return [values]
        with name_column(f'column {self.name!r}'):
            if self.kind == NUMBER:
                numbers = values.numbers()
                if np.isinf(numbers).any():
                    raise RowError('nan or infinite', 'holds an infinite number')
                return [NumberColumn(numbers)]
            days = values.dates(self.order)
        months = np.where(np.isnan(days), np.nan, np.floor(days).astype('M8[D]').astype('M8[M]').astype(int) % 12 + 1)
        parts = days, months, (np.floor(days) + THURSDAY) % 7 + 1, find_hours(days)
        return [*map(NumberColumn, parts[: len(self.parts)])]

    @property
    def width(self) -> int:
        """Count its features."""
        return len(self.names)

    @cached_property
    def names(self) -> list[str]:
        """Name its features."""
        if self.kind == NUMBER:
            return [self.name, *([f'{self.name} is missing'] if self.missing else [])]
        if self.kind == DATE:
            return [name for part in self.parts for name in part.names]
        return [
            *(f'{self.name}={category}' if category else f'{self.name} is missing' for category in self.categories),
            f'{self.name}=(other)',
        ]

    @cached_property
    def lookup(self) -> dict[str, int]:
        """Return the position of each category among the features of the column."""
        return {category: i for i, category in enumerate(self.categories)}

    @cached_property
    def by_value(self) -> dict[Any, int]:
        """Return the position of each category that reads as a number, if it is the only one of this number."""
        counts = Counter(numbers := list(map(to_number, self.categories)))
        return {number: i for i, number in enumerate(numbers) if counts[number] == 1 and number is not None}

    @cached_property
    def holds_numbers(self) -> bool:
        """Tell whether all categories are numbers the way people write them, as those of a column of numbers are."""
        return {*map(write_number, self.by_value), MISSING} == {*self.categories, MISSING}

    def find_categories(self, values: Values) -> np.ndarray:
        """Return the position of the category of each value, the last one for all others: (n,).

        Text is compared as it is written, but by value where one side holds only numbers.
        """
        other = len(self.categories)
        numbers = self.by_value
        if isinstance(values, TextColumn) and not self.holds_numbers:
            numbers = {}
        return look_up(values, lambda text: self.lookup.get(text, numbers.get(to_number(text), other)))

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold, the order of dates alone; `from_json` undoes it."""
        return {name: value for name, value in asdict(self).items() if name != 'order' or value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Column:
        """Make a column of what `to_json` returned. Raises TypeError or ValueError when it is none."""
        column = cls(**{**values, 'categories': tuple(values['categories'])})
        texts = (column.name, *column.categories)
        if (
            not all(isinstance(text, str) for text in texts)
            or column.kind not in (NUMBER, CATEGORY, DATE)
            or (column.kind == DATE) != (column.order in ORDERS)
            or (not isinstance(column.missing, bool) or not isfinite(column.mean))
        ):
            raise ValueError(f'expected a column of numbers, categories or dates, found {str(values):.60}')
        return column


@dataclass(frozen=True)
class Encoding:
    """Say how the rows of a table become features, column by column."""

    columns: tuple[Column, ...]
    __repr__, __getstate__ = one_line, declared_state

    @cached_property
    def starts(self) -> list[int]:
        """Return the first feature of each column, and behind them the number of all features."""
        return np.cumsum([0, *(column.width for column in self.columns)]).tolist()

    @cached_property
    def parts(self) -> list[tuple[int, Column, slice]]:
        """Return (number of a column, number or category that it stands for, its features)."""
        parts = [(number, part) for number, column in enumerate(self.columns) for part in column.parts]
        ends = np.cumsum([part.width for _, part in parts]).tolist()
        return [(number, part, slice(end - part.width, end)) for (number, part), end in zip(parts, ends, strict=True)]

    @property
    def width(self) -> int:
        """Count the features."""
        return self.starts[-1]

    @property
    def names(self) -> list[str]:
        """Name the features."""
        return [name for column in self.columns for name in column.names]

    @property
    def indicators(self) -> np.ndarray:
        """Tell which features say yes or no, 1 or 0: (d,) bool. They are not scaled."""
        return np.concatenate([np.arange(part.width) >= (part.kind == NUMBER) for _, part, _ in self.parts])

    @property
    def sparse(self) -> bool:
        """Tell whether the matrix of encoded rows is CSR."""
        return is_sparse(self.width, sum(1 + part.missing for _, part, _ in self.parts))

    @property
    def dates(self) -> str:
        """Name the columns of dates, and how they are written."""
        return ', '.join(
            f'{column.name} as {column.order}{" from 1969 to 2068" * ("yy" in column.order)}'
            for column in self.columns
            if column.kind == DATE
        )

    def encode(self, table: Table) -> EncodedRows:
        """Return the features of the rows.

        Raises RowError if a column of numbers holds text or an infinite number, or one of dates other text.
        """
        numbers = []
        positions = []
        ones = []
        known = set()
        tables = zip(self.columns, table.columns, strict=False)
        split = [values for column, given in tables for values in column.read(given)]
        for (_, part, features), values in zip(self.parts, split, strict=False):
            start = features.start
            if part.kind == CATEGORY:
                codes = part.find_categories(values)
                ones.append(start + codes)
                if ((codes >= (MISSING in part.lookup)) & (codes < len(part.categories))).any():
                    known.add(part.name)
                continue
            parsed = values.numbers()
            missing = np.isnan(parsed)
            n_missing = np.count_nonzero(missing)
            if n_missing < len(missing):
                known.add(part.name)
            numbers.append(np.where(missing, part.mean, parsed) if n_missing else parsed)
            positions.append(start)
            if part.missing:
                ones.append(np.where(missing, start + 1, -1))
        n = table.n_rows
        return EncodedRows(
            stack_columns(numbers, n, np.float64), tuple(positions), stack_columns(ones, n, np.int32), self.width, known
        )

    def find_errors(self, table: Table) -> dict[int, RowError]:
        """Return why rows cannot be encoded: row -> the reason in the first such column."""
        errors: dict[int, RowError] = {}
        for column, values in zip(self.columns, table.columns, strict=False):
            with suppress(RowError):
                column.read(values)
                continue
            _, rows, codes = np.unique(values.coded[1], return_index=True, return_inverse=True)
            for code, row in enumerate(rows.tolist()):  # the first of those that hold the same value
                try:
                    column.read(values.take(slice(row, row + 1)))
                except RowError as error:
                    errors = dict.fromkeys(np.flatnonzero(codes == code).tolist(), error) | errors
        return errors

    def warn_of_unknown(self, known: Container[str], n_rows: int) -> None:
        """Warn of columns of which no row has a value that the training had. known : names of all others."""
        for column in self.columns:
            # all months and weekdays are known, the hours of a date only those of the training
            unknown = [each for each in (column, *column.parts[3:]) if each.name not in known]
            if n_rows < TELLING_ROWS or not unknown or column.missing and not column.mean:
                continue  # by chance, or the training had no value either
            text = (
                f'has no value in any of the {n_rows:,} rows, although it had values in the training: its mean is '
                'taken instead; fill it, or train without this column'
            )
            if unknown[0].kind == CATEGORY:
                examples = ', '.join(map(repr, list(filter(None, unknown[0].categories))[-3:]))
                text = f'holds only missing or unknown values, none of those of the training, such as {examples}'
            warn_unsuitable(f'column {unknown[0].name!r} {text}')

    def find_numbers(self, form: RowOptions) -> tuple[int, ...]:
        """Return the positions of the columns of a file that are numbers."""
        return tuple(
            position
            for position, column in zip(form.feature_positions, self.columns, strict=False)
            if column.kind == NUMBER
        )

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold; `from_json` undoes it."""
        return {'columns': [column.to_json() for column in self.columns]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Encoding:
        """Make an encoding of what `to_json` returned."""
        return cls(tuple(Column.from_json(column) for column in record['columns']))


def stack_columns(columns: list[np.ndarray], n: int, dtype: type) -> np.ndarray:
    """Return the columns of n rows side by side, perhaps none."""
    matrix: np.ndarray = np.empty((n, len(columns)), dtype)
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


def read_encoding(path: str) -> Encoding:
    """Read an encoding from a file of JSON. Raises DataFormatError when it is another."""
    try:
        return Encoding.from_json(read_json(path))
    except (KeyError, TypeError, ValueError) as error:
        raise DataFormatError(f'{path}: expected an encoding of columns ({error!r})') from None

"""Hold the columns of some rows as they stand in a table: numbers, text, missing values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from mr_elm.errors import RowError, one_line, warn_unsuitable
from mr_elm.rows.arrow_arrays import from_array, to_array, to_texts
from mr_elm.rows.dates import read_dates
from mr_elm.rows.text import BLANKS, quote, read_number
from mr_elm.typing import Floats

MISSING_TEXTS = (
    '',
    'NA',
    '<NA>',
    'NaN',
    'nan',
    'NAN',
    '-nan',
    'null',
    'NULL',
)  # what stands for a missing value in text
BOOLEANS = {'True': 1.0, 'true': 1.0, 'False': 0.0, 'false': 0.0}  # numbers where other readers know truth values
PROBED_VALUES = 20  # values that are looked at before all are read: pyarrow is slow to refuse text
MARK = re.compile(
    r'-?9{2,}(\.0*)?|-200|-?1(\.0*)?[eE]\+?[1-3]\d|-?10{14,}(\.0*)?'
)  # what often stands for a missing number
ID_COLUMN = re.compile(
    r"column '((?i:(.*[ _.-])?id|index|idx|key|row([ _.-]?(id|no|nr|number))?)|.*[a-z0-9](Id|ID))'"
)  # how columns of numbers or names of rows are called
TIME = re.compile(  # of a day as 20201231, or since 1970 in seconds or milliseconds
    r'(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])|1\d{9}(\d{3})?(\.0*)?'
)
MISSING = ''  # how a missing value is called among categories


@dataclass(frozen=True)
class TextColumn:
    """Hold values as they were written, but for blanks around them; no number is read before it is asked for.

    texts : pyarrow.StringArray, or a sequence of texts. decimal : the point of numbers.
    """

    texts: Any
    decimal: str = '.'
    __repr__ = one_line

    @cached_property
    def array(self) -> Any:
        """Return the texts as Arrow holds them, without the blanks around them."""
        return import_module('pyarrow.compute').ascii_trim(to_texts(self.texts), characters=BLANKS)

    @cached_property
    def coded(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the values by number: (distinct texts, (n,) numbers of these)."""
        coded = self.array.dictionary_encode()
        return tuple(coded.dictionary.to_pylist()), from_array(coded.indices)

    def take(self, rows: slice | np.ndarray) -> TextColumn:
        """Return the values of some rows."""
        return TextColumn(self.array.take(to_array(np.arange(len(self.array))[rows])), self.decimal)

    @cached_property
    def plain(self) -> Floats | None:
        """Return the values as numbers where all are plain numbers or missing, else None."""
        first = self.array[:PROBED_VALUES].to_pylist()
        if any(is_text(text, self.decimal) for text in first):
            return None
        try:
            return read_texts(self.array, self.decimal)
        except import_module('pyarrow').ArrowInvalid:
            return None

    def numbers(self) -> Floats:
        """Return the values as numbers, NaN for missing ones: (n,) float64. Raises RowError at text."""
        if self.plain is not None:
            return self.plain
        return look_up(self, lambda text: read_value(text, self.decimal))

    def dates(self, order: str) -> Floats:
        """Return the values as days, NaN for missing ones; see `read_dates`. Raises RowError at other text."""
        names, codes = self.coded
        table, present = np.full(len(names), math.nan), [j for j, name in enumerate(names) if name_of(name)]
        table[present] = read_dates([names[j] for j in present], order)
        return table[codes]

    def count(self) -> Counter[str]:
        """Count each value as text, MISSING for a missing one."""
        names, codes = self.coded
        counts = Counter(dict(zip(names, np.bincount(codes).tolist(), strict=True)))
        if missing := sum(counts.pop(text, 0) for text in MISSING_TEXTS):
            counts[MISSING] = missing
        return counts


def read_texts(texts: Any, decimal: str = '.') -> Floats:
    """Read a pyarrow.StringArray as numbers, NaN for missing ones. Raises pyarrow.ArrowInvalid at other text."""
    import pyarrow as arrow
    from pyarrow import compute

    if decimal == '.':
        with suppress(arrow.ArrowInvalid):  # there are missing ones, or text
            return from_array(texts.cast(arrow.float64()))
    elif compute.match_substring(texts, '.').true_count:
        raise arrow.ArrowInvalid('a point')
    missing = compute.is_in(texts, value_set=to_texts(MISSING_TEXTS))
    present = compute.if_else(missing, arrow.nulls(1, arrow.string())[0], texts)
    return from_array(compute.replace_substring(present, decimal, '.').cast(arrow.float64()), math.nan)


@dataclass(frozen=True)
class NumberColumn:
    """Hold numbers: (n,) float64, NaN for missing ones."""

    values: Floats
    decimal: ClassVar[str] = '.'
    __repr__ = one_line

    def take(self, rows: slice | np.ndarray) -> NumberColumn:
        """Return the values of some rows."""
        return NumberColumn(self.values[rows])

    @property
    def plain(self) -> Floats:
        """Return the numbers."""
        return self.values

    def numbers(self) -> Floats:
        """Return the numbers."""
        return self.values

    def dates(self, order: str) -> Floats:
        """Return NaN where all values are missing. Raises RowError at a number."""
        if numbers := self.values[~np.isnan(self.values)].tolist():
            raise RowError('not a date', f'holds {numbers[0]:g}, and its dates are written {order}')
        return self.values

    @property
    def coded(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the values by number: (distinct ones as they are usually written, (n,) numbers of these)."""
        distinct, codes = np.unique(self.values, return_inverse=True)
        return tuple(map(write_number, distinct.tolist())), codes

    def count(self) -> Counter[str]:
        """Count each number as it is usually written, MISSING for a missing one."""
        distinct, counts = np.unique(self.values, return_counts=True)
        return Counter(dict(zip(map(write_number, distinct.tolist()), counts.tolist(), strict=True)))


Values = TextColumn | NumberColumn  # of one column for some rows


@dataclass(frozen=True)
class Table:
    """Hold the columns of n rows, which stand where a Block has its matrix until they are encoded."""

    columns: tuple[Values, ...]
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows, columns)."""
        return self.n_rows, len(self.columns)

    def __getitem__(self, rows: Any) -> Table:
        columns = tuple(column.take(rows) for column in self.columns)
        return Table(columns, len(np.arange(self.n_rows)[rows]))

    def to_matrix(self) -> Floats:
        """Return the columns as numbers, (rows, columns), NaN for missing ones. Raises RowError at text."""
        return np.column_stack([column.numbers() for column in self.columns])


def join_values(columns: Sequence[Any]) -> np.ndarray:
    """Join the values of each row by commas, numbers as they are usually written: (n,) of text.

    Of several columns a value with a comma stands in quotes, as in a CSV file, so that no other values have this name.
    """

    def write(text: str) -> str:
        if len(columns) > 1 and (',' in text or '"' in text):
            return '"' + text.replace('"', '""') + '"'
        return text or 'NA'

    texts = [look_up(column, write) for column in columns]
    return np.array(list(map(','.join, zip(*texts, strict=True))), str)


def look_up(values: Values, find: Callable[[str], Any]) -> np.ndarray:
    """Return what `find` has for each value as text, MISSING for a missing one: (n,)."""
    names, codes = values.coded
    return np.array(list(map(find, map(name_of, names))))[codes]


def name_of(text: str) -> str:
    """Return the name of a value among categories: MISSING for all spellings of a missing one."""
    if text in MISSING_TEXTS:
        return MISSING
    return text


def warn_of_numbers(column: str, counts: Mapping[str, int], decimal: str = '.') -> None:
    """Warn of numbers that seem to be something else: ids, times, or marks of missing values.

    A mark, nines in several rows or a round power of ten, lies far from all other numbers. column : how a message calls
    it. counts : of its values, none where there are too many.
    """
    name = column.removeprefix('column ')
    values = [text for text in counts if text]
    if ID_COLUMN.fullmatch(column) and all(map(str.isdecimal, values)):
        numbers = list(map(int, values)) or [0]
        if sum(counts.values()) != max(numbers) - min(numbers) + 1:  # else all rows tell whether they number the rows
            warn_unsuitable(
                f'{column} is called like an id, and its numbers are features: leave it out with --drop {name}, or '
                f'make categories of its values with --category {name} if rows share them'
            )
    elif values and all(map(TIME.fullmatch, values)):
        warn_unsuitable(
            f'{column} holds numbers such as {min(values)}: write them like 2020-12-31 if they are dates or times'
        )
    marks = list(filter(MARK.fullmatch, values))
    others = [read_number(text, decimal) or 0.0 for text in values if marks and not MARK.fullmatch(text)]
    for mark in marks:
        if counts[mark] > 2 and len(others) > 2 and abs(float(mark) - others[0]) > 4 * (max(others) - min(others)):
            warn_unsuitable(
                f'{column} holds {mark} in {counts[mark]} rows, far from its other numbers: leave these fields '
                'empty if they are missing values'
            )


def is_text(text: str, decimal: str = '.') -> bool:
    """Tell whether a value is neither a number nor missing."""
    return text not in MISSING_TEXTS and read_number(text, decimal) is None


def read_value(text: str, decimal: str = '.') -> float:
    """Read a number or a truth value, NaN for a missing one. Raises RowError for other text."""
    if text in MISSING_TEXTS:
        return math.nan
    number = to_number(text, decimal)
    if number is None:
        raise RowError('not a number', f'holds {quote(text)}')
    return number


def to_number(text: str, decimal: str = '.') -> float | None:
    """Read a number or a truth value, or return None for other text."""
    return BOOLEANS.get(text, read_number(text, decimal))


def write_number(value: float) -> str:
    """Write a number the way people do: whole ones without a point; MISSING for NaN."""
    if math.isnan(value):
        return MISSING
    if abs(value) < 1e15 and value.is_integer():
        return str(int(value))
    return repr(float(value))

"""Hold the columns of some rows as they stand in a table: numbers, text, missing values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from mr_elm.errors import RowError, one_line
from mr_elm.rows.arrow_arrays import from_array, to_array, to_texts
from mr_elm.rows.dates import read_dates
from mr_elm.rows.text import quote, read_number
from mr_elm.typing import Floats

# what pandas.read_csv takes for a missing value, and NAN; a label has fewer such texts, see MISSING_LABELS
MISSING_TEXTS = (
    '',
    'NA',
    '<NA>',
    'N/A',
    'n/a',
    '#N/A',
    '#N/A N/A',
    '#NA',
    'NaN',
    'nan',
    'NAN',
    '-NaN',
    '-nan',
    '1.#IND',
    '-1.#IND',
    '1.#QNAN',
    '-1.#QNAN',
    'null',
    'NULL',
    'None',
)
BOOLEANS = {'True': 1.0, 'true': 1.0, 'False': 0.0, 'false': 0.0}  # numbers where other readers know truth values
PROBED_VALUES = 20  # values that are looked at before all are read: pyarrow is slow to refuse text
MISSING = ''  # how a missing value is called among categories


@dataclass(frozen=True)
class TextColumn:
    """Hold values as they were written, without blanks around them; no number is read before it is asked for.

    texts : pyarrow.StringArray, or a sequence of texts. decimal : the point of numbers.
    typed : whether the type of the column says that its values are text, even if all read as numbers.
    order : of dates, where the type says that all are dates; '' where the text itself must tell.
    """

    texts: Any
    decimal: str = '.'
    typed: bool = False
    order: str = ''
    __repr__ = one_line

    @cached_property
    def array(self) -> Any:
        """Return the texts as Arrow holds them."""
        return to_texts(self.texts)

    @cached_property
    def coded(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the values by number: (distinct texts, (n,) numbers of these)."""
        coded = self.array.dictionary_encode()
        return tuple(coded.dictionary.to_pylist()), from_array(coded.indices)

    def take(self, rows: slice | np.ndarray) -> TextColumn:
        """Return the values of some rows."""
        return replace(self, texts=self.array.take(to_array(np.arange(len(self.array))[rows])))

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
        """Return the values as days, NaN for missing ones; see `read_dates`. Raises RowError at other text.

        order : of the dates where their type has none.
        """
        names, codes = self.coded
        table = np.full(len(names), math.nan)
        present = [j for j, name in enumerate(names) if name_of(name)]
        table[present] = read_dates([names[j] for j in present], self.order or order)
        return table[codes]


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

    plain: Floats
    decimal: ClassVar[str] = '.'
    typed: ClassVar[bool] = False
    order: ClassVar[str] = ''
    __repr__ = one_line

    def take(self, rows: slice | np.ndarray) -> NumberColumn:
        """Return the values of some rows."""
        return NumberColumn(self.plain[rows])

    def numbers(self) -> Floats:
        """Return the numbers."""
        return self.plain

    def dates(self, order: str) -> Floats:
        """Return NaN where all values are missing. Raises RowError at a number."""
        if numbers := self.plain[~np.isnan(self.plain)].tolist():
            raise RowError('not a date', f'holds {numbers[0]:g}, and its dates are written {order}')
        return self.plain

    @cached_property
    def coded(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the values by number: (distinct ones as they are usually written, (n,) numbers of these)."""
        distinct, codes = np.unique(self.plain, return_inverse=True)
        return tuple(map(write_number, distinct.tolist())), codes


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
        return Table(tuple(column.take(rows) for column in self.columns), len(np.arange(self.n_rows)[rows]))


@contextmanager
def name_column(name: str) -> Iterator[None]:
    """Put the name of a column before the text of a RowError."""
    try:
        yield
    except RowError as error:
        raise RowError(error.reason, f'{name} {error.detail}') from None


def count_values(values: Values) -> Counter[str]:
    """Count each value as text, numbers as they are usually written, MISSING for a missing one."""
    names, codes = values.coded
    counts = Counter[str]()
    for name, n_rows in zip(names, np.bincount(codes).tolist(), strict=True):
        counts[name_of(name)] += n_rows
    return counts


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


def is_text(text: str, decimal: str = '.') -> bool:
    """Tell whether a value is neither a number nor missing."""
    return text not in MISSING_TEXTS and read_number(text, decimal) is None


def read_value(text: str, decimal: str) -> float:
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

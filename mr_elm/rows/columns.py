"""Hold the columns of some rows as they stand in a table: numbers, text, missing values."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm.errors import RowError, one_line
from mr_elm.rows.arrow_arrays import from_array, from_flags, to_array, to_texts
from mr_elm.rows.text import quote, read_number
from mr_elm.typing import Floats

MISSING_TEXTS = ('', 'NA', 'NaN', 'nan', 'null', 'NULL')  # what stands for a missing value in text
BOOLEANS = {'True': 1.0, 'true': 1.0, 'False': 0.0, 'false': 0.0}  # numbers where other readers know truth values
MISSING = ''  # how a missing value is called among categories


@dataclass(frozen=True)
class TextColumn:
    """Hold values as they were written; no number is read before it is asked for.

    texts : pyarrow.StringArray, or a sequence of texts. decimal : the decimal point of its numbers.
    """

    texts: Any
    decimal: str = '.'
    __repr__ = one_line

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: slice | np.ndarray) -> TextColumn:
        """Return the values of some rows."""
        return TextColumn(take_texts(to_texts(self.texts), rows), self.decimal)

    def numbers(self) -> Floats:
        """Return the values as numbers, NaN for missing ones: (n,) float64. Raises RowError at text."""
        return read_texts(to_texts(self.texts), self.decimal)

    def read(self, text: str) -> float | None:
        """Return the number that one value stands for, None for text."""
        return read_number(text, self.decimal)

    @cached_property
    def coded(self) -> CodedColumn:
        """Return the values by number."""
        coded = to_texts(self.texts).dictionary_encode()
        return CodedColumn(from_array(coded.indices), tuple(coded.dictionary.to_pylist()))

    def codes(self, lookup: Mapping[str, int], other: int) -> np.ndarray:
        """Return what `lookup` has for each value as text, MISSING for a missing one, or else `other`: (n,) int64."""
        return self.coded.codes(lookup, other)

    def count(self) -> Counter[str]:
        """Count each value as text, MISSING for a missing one."""
        return self.coded.count()


def take_texts(texts: Any, rows: slice | np.ndarray) -> Any:
    """Return some items of a pyarrow.StringArray."""
    return texts[rows] if isinstance(rows, slice) else texts.take(to_array(np.arange(len(texts))[rows]))


def read_texts(texts: Any, decimal: str = '.') -> Floats:
    """Read a pyarrow.StringArray as numbers and truth values, NaN for missing ones. Raises RowError at other text."""
    arrow, compute = import_module('pyarrow'), import_module('pyarrow.compute')
    try:
        if decimal == '.':
            return from_array(texts.cast(arrow.float64()))
    except arrow.ArrowInvalid:
        pass  # there are missing ones, or text
    missing = compute.is_in(texts, value_set=to_texts(MISSING_TEXTS))
    present = compute.if_else(missing, arrow.nulls(1, arrow.string())[0], texts) if missing.true_count else texts
    try:
        if decimal != '.':
            if compute.match_substring(present, '.').true_count:
                raise arrow.ArrowInvalid('a point')
            present = compute.replace_substring(present, decimal, '.')
        numbers = from_array(present.cast(arrow.float64())).copy()
    except arrow.ArrowInvalid:
        coded = TextColumn(texts).coded
        return np.array([read_value(text, decimal) for text in coded.names])[coded.index]
    numbers[from_flags(missing)] = math.nan
    return numbers


@dataclass(frozen=True)
class NumberColumn:
    """Hold numbers: (n,) float64, NaN for missing ones."""

    values: Floats
    __repr__ = one_line

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: slice | np.ndarray) -> NumberColumn:
        """Return the values of some rows."""
        return NumberColumn(self.values[rows])

    def numbers(self) -> Floats:
        """Return the numbers."""
        return self.values

    def read(self, text: str) -> float | None:
        """Return the number that one value, as text, stands for, None for text."""
        return read_number(text)

    def codes(self, lookup: Mapping[str, int], other: int) -> np.ndarray:
        """Return what `lookup` has for each number as it is usually written, or else `other`: (n,) int64."""
        distinct, inverse = np.unique(self.values, return_inverse=True)
        return np.array([lookup.get(write_number(value), other) for value in distinct], np.int64)[inverse]

    def count(self) -> Counter[str]:
        """Count each number as it is usually written, MISSING for a missing one."""
        distinct, counts = np.unique(self.values, return_counts=True)
        return Counter(dict(zip(map(write_number, distinct.tolist()), counts.tolist(), strict=True)))


@dataclass(frozen=True)
class CodedColumn:
    """Hold text by number: row i has the value names[index[i]], or none where index[i] is negative."""

    index: np.ndarray
    names: tuple[str, ...]
    __repr__ = one_line

    def __len__(self) -> int:
        return len(self.index)

    def take(self, rows: slice | np.ndarray) -> CodedColumn:
        """Return the values of some rows."""
        return CodedColumn(self.index[rows], self.names)

    def numbers(self) -> Floats:
        """Return the values as numbers, NaN for missing ones: (n,) float64. Raises RowError at text."""
        used = np.unique(self.index[self.index >= 0])
        table = np.full(len(self.names) + 1, np.nan)  # the last stands for index -1
        table[used] = [read_value(self.names[i]) for i in used]
        return table[np.maximum(self.index, -1)]

    def read(self, text: str) -> float | None:
        """Return the number that one value, as text, stands for, None for text."""
        return read_number(text)

    def codes(self, lookup: Mapping[str, int], other: int) -> np.ndarray:
        """Return what `lookup` has for each value, MISSING for a missing one, or else `other`: (n,) int64."""
        table = [lookup.get(name_of(text), other) for text in [*self.names, MISSING]]
        return np.array(table, np.int64)[np.maximum(self.index, -1)]

    def count(self) -> Counter[str]:
        """Count each value, MISSING for a missing one."""
        counts = np.bincount(self.index + 1, minlength=len(self.names) + 1).tolist()
        return merge_missing(Counter({text: n for text, n in zip([MISSING, *self.names], counts, strict=True) if n}))


Values = TextColumn | NumberColumn | CodedColumn  # of one column for some rows


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
        return Table(columns, len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows))


def name_of(text: str) -> str:
    """Return the name of a value among categories: MISSING for all spellings of a missing one."""
    return MISSING if text in MISSING_TEXTS else text


def merge_missing(counts: Counter[str]) -> Counter[str]:
    """Count all spellings of a missing value as MISSING."""
    missing = sum(counts.pop(text, 0) for text in MISSING_TEXTS)
    if missing:
        counts[MISSING] = missing
    return counts


def read_value(text: str, decimal: str = '.') -> float:
    """Read a number or a truth value, NaN for a missing one. Raises RowError for other text."""
    if text in MISSING_TEXTS:
        return math.nan
    number = BOOLEANS.get(text, read_number(text, decimal))
    if number is None:
        raise RowError('not a number', f'holds {quote(text)}')
    return number


def write_number(value: float) -> str:
    """Write a number the way people do: whole ones without a point; MISSING for NaN."""
    if math.isnan(value):
        return MISSING
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))

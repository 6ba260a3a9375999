"""Find the fields of lines of delimited text, and read their numbers and values by compiled code, once they are asked
for.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm.compiled import inline, jit
from mr_elm.errors import one_line
from mr_elm.io.columns import CodedColumn, TextColumn, merge_missing
from mr_elm.io.decimals import (
    MINUS,
    NEW_LINE,
    PLUS,
    POINT,
    TENS,
    U0,
    U53,
    ZERO,
    convert_decimal,
    scan_decimal,
    tabulate_powers,
)
from mr_elm.typing import Floats

SEED, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of the hash FNV-1a
FOLD = np.uint64(32)


@inline
def is_space(byte: int) -> bool:
    """Tell whether a byte is white space, as `csv_rows.SPACE` lists it."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@inline
def trim(text: np.ndarray, start: int, end: int) -> tuple:
    """Return the bounds of a field without the white space around it."""
    while start < end and is_space(text[start]):
        start += 1
    while start < end and is_space(text[end - 1]):
        end -= 1
    return start, end


@inline
def is_missing(text: np.ndarray, start: int, end: int) -> bool:
    """Tell whether a field stands for a missing value, as `columns.MISSING_TEXTS` lists them."""
    size, first = end - start, text[start]
    if size == 0:
        return True
    if size == 2:
        return first == 78 and text[start + 1] == 65  # NA
    if size == 3:  # NaN, nan
        return first | 32 == 110 and text[start + 1] == 97 and text[start + 2] == first
    if size != 4 or first | 32 != 110:
        return False
    case = first & 32
    return (text[start + 1] == 85 | case) and (text[start + 2] == 76 | case) and text[start + 3] == 76 | case  # NULL


@inline
def read_short(text: np.ndarray, start: int, end: int) -> tuple:
    """Read a number of digits, perhaps with sign and point, of 18 bytes at most: (whether it is one, the number)."""
    at, w, n_decimals, n_digits = start, U0, -1, 0
    if text[at] == MINUS or text[at] == PLUS:
        at += 1
    for k in range(at, end):
        digit = np.uint64(text[k]) - np.uint64(ZERO)
        if digit < np.uint64(10):
            w = w * np.uint64(10) + digit
            n_digits += 1
        elif text[k] == POINT and n_decimals < 0:
            n_decimals = end - k - 1
        else:
            return False, 0.0
    if end - start > 18 or n_digits == 0 or w >> U53 != U0:
        return False, 0.0
    number = np.float64(w)
    if n_decimals > 0:
        number /= TENS[n_decimals]
    return True, -number if text[start] == MINUS else number


@jit()
def read_any(text: np.ndarray, start: int, end: int, powers: np.ndarray, out: np.ndarray, i: int) -> bool:
    """Write the number of a field to out[i], NaN for a missing one; returns whether it is a plain decimal number."""
    start, end = trim(text, start, end)
    if is_missing(text, start, end):
        out[i] = np.nan
        return True
    is_negative = text[start] == MINUS
    at, w, q = scan_decimal(text, start + (is_negative or text[start] == PLUS))
    return at == end and convert_decimal(out, out.view(np.uint64), i, w, q, is_negative, powers)


@jit()
def read_numbers(text: np.ndarray, bounds: np.ndarray, j: int, powers: np.ndarray, out: np.ndarray, k: int) -> bool:
    """Fill out[:, k] with the numbers of column j, NaN for missing ones; returns whether all are plain decimal numbers.

    text, bounds : see `FieldColumn`. powers : see `tabulate_powers`. out : (n, d), row after row.
    """
    flat, d = out.reshape(-1), out.shape[1]
    for i in range(len(bounds)):
        start, end, at = bounds[i, j] + 1, bounds[i, j + 1], i * d + k
        is_short, flat[at] = read_short(text, start, end)
        if not is_short and not read_any(text, start, end, powers, flat, at):
            return False
    return True


@jit()
def number_values(text: np.ndarray, bounds: np.ndarray, j: int, table: np.ndarray, known: np.ndarray,
                  spans: np.ndarray, n_values: int, codes: np.ndarray) -> int:
    """Number the values of column j by first appearance; returns how many different ones there are.

    text, bounds : see `FieldColumn`.
    table : int32, a power of two of at least twice as many numbers as there can be, -1 where no value is.
    known : uint8, the bytes of all values; it must have room for those of the fields. spans : (limit + 1, 2), where
    they are in it. n_values : how many are known. codes : (n,), gets the number of each field.
    Ends as soon as there are more than `limit`.
    """
    mask, used = np.uint64(len(table) - 1), spans[n_values - 1, 1] if n_values else 0
    for i in range(len(bounds)):
        start, end = trim(text, bounds[i, j] + 1, bounds[i, j + 1])
        key = SEED
        for at in range(start, end):
            key = (key ^ np.uint64(text[at])) * PRIME
        slot = (key ^ key >> FOLD) & mask
        while True:
            code = table[slot]
            if code < 0:
                if n_values + 1 == len(spans):
                    return n_values + 1
                table[slot] = code = n_values
                spans[code, 0], spans[code, 1] = used, used + end - start
                known[used:used + end - start] = text[start:end]
                used += end - start
                n_values += 1
                break
            if has_same_bytes(text, start, end, known, spans[code, 0], spans[code, 1]):
                break
            slot = slot + np.uint64(1) & mask
        codes[i] = code
    return n_values


@inline
def has_same_bytes(text: np.ndarray, start: int, end: int, known: np.ndarray, first: int, last: int) -> bool:
    """Tell whether text[start:end] and known[first:last] are the same."""
    same = end - start == last - first
    if same:
        for k in range(end - start):
            same = same and text[start + k] == known[first + k]
    return same


class FieldCounter:
    """Number the different values of a column, and count them, up to `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit, self.n_values = limit, 0
        self.table = np.full(1 << (2 * limit).bit_length(), -1, np.int32)
        self.known, self.spans = np.empty(0, np.uint8), np.zeros((limit + 1, 2), np.int64)
        self.rows, self.weights = np.zeros(limit, np.int64), np.zeros(limit)

    def number(self, column: FieldColumn) -> np.ndarray | None:
        """Return the numbers of the values of a column, None where there are too many."""
        used = self.spans[self.n_values - 1, 1] if self.n_values else 0
        if len(self.known) < used + len(column.data):
            known, self.known = self.known, np.empty(used + 2 * len(column.data), np.uint8)
            self.known[:used] = known[:used]
        codes = np.empty(len(column), np.int32)
        found = number_values(column.data, column.bounds, column.j, self.table, self.known, self.spans,
                              self.n_values, codes)
        self.n_values = min(found, self.limit)
        return codes if found <= self.limit else None

    def add(self, column: FieldColumn, weights: Floats | None = None) -> bool:
        """Count the values of some rows, by their weights (n,) as well; returns whether there was room for all."""
        codes = self.number(column)
        if codes is None:
            return False
        rows = np.bincount(codes, minlength=self.n_values)
        self.rows[:self.n_values] += rows
        self.weights[:self.n_values] += rows if weights is None else np.bincount(codes, weights, self.n_values)
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """Return the values as text, by their numbers."""
        spans = self.spans[:self.n_values]
        text = self.known[:spans.max(initial=0)].tobytes()
        return tuple(text[start:end].decode() for start, end in spans.tolist())

    def counts(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many rows have each value, and the sum of their weights, MISSING for a missing one."""
        rows, weights = (merge_missing(Counter(dict(zip(self.names, counts[:self.n_values].tolist(), strict=True))))
                         for counts in (self.rows, self.weights))
        return +rows, weights


@dataclass(frozen=True)
class FieldColumn:
    """Hold the fields of column j of n lines; only the values that are asked for are read, as `TextColumn` does.

    data : uint8, whole lines of UTF-8. bounds : (n, columns of a line + 1), before and behind each field: in line i it
    is data[bounds[i, j] + 1:bounds[i, j + 1]], without the white space around it.
    """

    data: np.ndarray
    bounds: np.ndarray
    j: int
    __repr__ = one_line

    def __len__(self) -> int:
        return len(self.bounds)

    def take(self, rows: slice | np.ndarray) -> FieldColumn:
        """Return the values of some rows."""
        return FieldColumn(self.data, self.bounds[rows], self.j)

    def read_into(self, X: Floats, k: int) -> bool:
        """Fill column k of X (n, d) with the values, NaN for missing ones; returns whether all are plain numbers."""
        return read_numbers(self.data, self.bounds, self.j, tabulate_powers(), X, k)

    def plain_numbers(self) -> Floats | None:
        """Return the values as numbers, NaN for missing ones; None where one is not a plain decimal number."""
        numbers = np.empty((len(self), 1))
        return numbers[:, 0] if self.read_into(numbers, 0) else None

    def numbers(self) -> Floats:
        """Return the values as numbers, NaN for missing ones: (n,) float64. Raises RowError at text."""
        numbers = self.plain_numbers()
        return TextColumn([self.coded.names[code] for code in self.coded.index]).numbers() if numbers is None else (
            numbers)

    @cached_property
    def coded(self) -> CodedColumn:
        """Return the values by number."""
        counter = FieldCounter(len(self))
        index = counter.number(self)
        assert index is not None  # each row may have another value
        return CodedColumn(index, counter.names)

    def make_counter(self, limit: int) -> FieldCounter:
        """Return a counter of the values of this column and of others."""
        return FieldCounter(limit)

    def codes(self, lookup: Mapping[str, int], other: int) -> np.ndarray:
        """Return what `lookup` has for each value as text, MISSING for a missing one, or else `other`: (n,) int64."""
        return self.coded.codes(lookup, other)

    def count(self) -> Counter[str]:
        """Count each value as text, MISSING for a missing one."""
        return self.coded.count()


def find_fields(text: bytes, delimiter: str, n_columns: int) -> list[FieldColumn] | None:
    """Find the fields of whole lines; None where a line has quotes, bytes of zero or another number of fields."""
    if b'"' in text or b'\0' in text:
        return None
    data = np.frombuffer(text, np.uint8)
    line_ends = data == NEW_LINE
    ends = np.flatnonzero(line_ends | (data == ord(delimiter)))
    last = ends[n_columns - 1::n_columns]
    if len(last) * n_columns != len(ends) or len(last) != np.count_nonzero(line_ends) or not line_ends[last].all():
        return None
    bounds = np.empty((len(last), n_columns + 1), np.int32)
    bounds[:, 1:] = ends.reshape(-1, n_columns)
    bounds[0, 0], bounds[1:, 0] = -1, last[:-1]
    return [FieldColumn(data, bounds, j) for j in range(n_columns)]

"""Decide what a file of delimited text is: its delimiter, its decimal point, and whether it has a header.

A delimiter and a decimal point are right if most rows have the same number of fields, and most fields are numbers. Then
each column votes for or against a header. Source: ours.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from mr_elm.errors import RowError
from mr_elm.rows.columns import MISSING_TEXTS
from mr_elm.rows.csv_rows import split_fields
from mr_elm.rows.number_styles import styled_number
from mr_elm.rows.text import read_number

DELIMITERS = (';', '\t', '|', ',', None)
DELIMITER_NAMES = {';': 'semicolons', '\t': 'tabs', '|': 'bars', ',': 'commas', None: 'blanks'}
MISSING = {*MISSING_TEXTS, 'N/A', 'n/a', 'None', 'none', '?', '-', '.', '<NA>'}  # they say nothing of a column
MOST = 0.9   # share of the rows, or of the fields of a column, that settles a question
CHANCE = 8   # whole numbers that rise evenly are no chance
CLOSE = 0.3  # difference of the votes, as a share of all votes, below which the user is asked to look


def split_rows(lines: Sequence[str], delimiter: str | None) -> list[list[str]]:
    """Split lines into their fields; a line with bad quotes is one field."""
    rows = []
    for line in lines:
        try:
            rows.append(split_fields(line, delimiter))
        except RowError:
            rows.append([line])
    return rows


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of fields that most rows have."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def is_number(text: str, decimal: str) -> bool:
    """Tell whether a field is a number, in any style."""
    return read_number(text, decimal) is not None or styled_number(decimal).fullmatch(text) is not None


def is_missing(field: str) -> bool:
    """Tell whether a field says nothing of its column."""
    return field in MISSING


def choose_delimiter(lines: Sequence[str], delimiter: str | None = 'auto',
                     decimal: str = 'auto') -> tuple[str | None, str]:
    """Return (delimiter, decimal point) of some lines; what is given stays.

    Blanks separate fields only where no character does.
    """
    best: tuple[float, float] | None = None
    answer = (',' if delimiter == 'auto' else delimiter), ('.' if decimal == 'auto' else decimal)
    for candidate in DELIMITERS if delimiter == 'auto' else (delimiter,):
        if candidate is None and best is not None:
            break
        rows = split_rows(lines, candidate)
        for point in '.,' if decimal == 'auto' else decimal:
            if point == candidate:
                continue
            quality = rate(rows, point)
            if quality[0] > 0.5 and (best is None or quality > best):
                best, answer = quality, (candidate, point)
    return answer


def rate(rows: Sequence[Sequence[str]], decimal: str) -> tuple[float, float]:
    """Return the share of rows of the usual width, and the share of their fields that are numbers.

    A number with a sign, or with separators between thousands, counts half.
    """
    width = usual_width(rows)
    if width < 2:
        return 0.0, 0.0
    fields = [field for row in (rows[1:] or rows) for field in row]
    numbers = 0.0
    for field in fields:
        if read_number(field, decimal) is not None:
            numbers += 1.0
        elif styled_number(decimal).fullmatch(field):
            numbers += 0.5
    return round(sum(len(row) == width for row in rows) / len(rows), 1), numbers / max(1, len(fields))


def decide_header(rows: Sequence[Sequence[str]], decimal: str, known: Collection[str] = (),
                  before: bool | None = None) -> tuple[bool, str | None]:
    """Tell whether the first row holds the names of the columns: (answer, why that is in doubt or None).

    known : names that columns have, such as that of the label. before : the answer for the rows of the training.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    names = {name for name in known if not is_number(name, decimal)}
    if names and names <= set(first):
        return True, None
    numbers = [is_number(field, decimal) for field in first]
    if before is not None and before is not any(numbers):
        return before, None
    if not below:
        return not any(numbers), None
    if are_counted(first, below, decimal):
        return True, None
    votes = [vote(field, [row[j] for row in below], decimal) for j, field in enumerate(first)]
    for_names, for_row = (sum(side) for side in zip(*votes, strict=True))
    if for_names == for_row == 0:
        if before is not None:
            return before, None
        return False, 'no column tells whether the first line holds names'
    if abs(for_names - for_row) < CLOSE * (for_names + for_row):
        return for_names > for_row, (f'{for_names:.2g} columns speak for names in the first line, {for_row:.2g} '
                                     'against them')
    return for_names > for_row, None


def vote(first: str, column: Sequence[str], decimal: str) -> tuple[float, float]:
    """Return how much a column speaks for and against a header. first : its first field. column : those below."""
    values = [value for value in column if not is_missing(value)]
    if not values or is_missing(first):
        return 0.0, 0.0
    if sum(is_number(value, decimal) for value in values) > MOST * len(values):
        return (0.0, 1.0) if is_number(first, decimal) else (1.0, 0.0)
    counts = Counter(values)
    if first in counts:
        return 0.0, 1.0
    shapes = Counter(map(shape_of, values))
    with_digits = sum(count for shape, count in shapes.items() if '9' in shape)
    if with_digits > MOST * len(values) and len(shapes) <= max(3, len(values) // 10):  # dates, codes
        return (0.0, 1.0) if shape_of(first) in shapes else (1.0, 0.0)
    if len(counts) > len(values) / 2:  # names, free text
        return 0.0, 0.0
    once = sum(count == 1 for count in counts.values()) / len(values)  # the chance that a row brings a new value
    return max(0.0, 1.0 - once - 1 / len(values)), 0.0


def shape_of(text: str) -> str:
    """Reduce the digits of a text: 2021-01-31 is 9-9-9, v12 is v9."""
    return re.sub(r'\d+', '9', text)


def are_counted(first: Sequence[str], below: Sequence[Sequence[str]], decimal: str) -> bool:
    """Tell whether the first row holds names that are numbers which rise evenly, above other numbers.

    Few such numbers can be a row by chance, but not above fractions, or beside a text above numbers.
    """
    others = [field for field in first if field]
    if len(others) == len(first) - 1 and others == list(map(str, range(len(others)))):
        return True  # pandas names its columns so
    if not rises_evenly(first) or sum(map(rises_evenly, below)) > len(below) / 2:
        return False
    counted = [j for j, field in enumerate(first) if field.isdecimal()]
    values = [row[j] for row in below for j in counted]
    fractions = sum(not value.lstrip('-').isdecimal() for value in values)
    named = any(vote(first[j], [row[j] for row in below], decimal) == (1.0, 0.0)
                for j in range(len(first)) if j not in counted)
    return len(counted) >= CHANCE or named or fractions > len(values) / 2


def rises_evenly(fields: Sequence[str]) -> bool:
    """Tell whether whole numbers, three or more, rise by the same step, as in 0,1,2 or 400,410,420."""
    numbers = [int(field) for field in fields if re.fullmatch(r'\d{1,15}', field)]
    steps = {after - before for before, after in zip(numbers, numbers[1:], strict=False)}
    return len(numbers) >= 3 and len(numbers) >= len(fields) - 2 and len(steps) == 1 and min(steps) > 0

"""Read lines of delimited text as rows, by pyarrow, a block at a time.

pyarrow gives the numbers that `float` gives, in a twentieth of the time. It accepts some texts in silence that must be
refused: quotes that do not end, text behind a closing quote, nan and inf. These are looked for here.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.arrow_arrays import from_array, to_texts
from mr_elm.rows.blocks import Block, explain_value, make_block
from mr_elm.rows.columns import MISSING_TEXTS, NumberColumn, TextColumn, Values, look_up, name_column
from mr_elm.rows.labels import check_target, decode_text
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import BLANKS, LINE_END, quote, read_number, split_lines, split_white
from mr_elm.typing import Floats

CURRENCIES = '$€£¥₹'
PLAIN = r'(?:[0-9]+{point}?[0-9]*|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?'
SEPARATORS = ",. '\u2019\u00a0\u202f\u2009"  # of thousands, but for the decimal point; two quotes, four blanks
PIECE_BYTES = 1 << 19  # that pyarrow parses together: they stay in the cache, 1.25 times as fast as 2 MB (2026-11)
BYTES_A_COLUMN = 1000  # of a piece, at least: each column of each piece costs a microsecond
RETURN = re.compile(rb'\r(?!\n)')  # within a line
BLANK_LINE = re.compile(rb'(?m)^[ \t\v\f\r\x1c-\x1f]*\n')


@cache
def field_pattern(delimiter: str | None) -> re.Pattern[str]:
    """Return the pattern of one field with the blanks around it: quoted in group 1, or else in group 2.

    A quote within a field without quotes is a letter where more text follows, as in 5" pipe. A quote at its end could
    close a field that another line has opened.
    """
    if delimiter:
        ends = re.escape(delimiter)
    else:
        ends = BLANKS
    blank = ' *'
    if delimiter not in (None, '\t'):
        blank = f'[{BLANKS}]*'
    letter = rf'[^"{ends}]'
    end = rf'(?=[{ends}]|$)'
    return re.compile(rf'{blank}(?:"((?:[^"]|"")*)"{blank}|((?:{letter}(?:{letter}|"(?!{blank}{end}))*)?)){end}')


def split_fields(line: str, delimiter: str | None) -> list[str]:
    """Split one line into its fields, without the blanks around them. Raises RowError at bad quotes."""
    if '"' not in line:
        if delimiter:
            return [field.strip(BLANKS) for field in line.split(delimiter)]
        return split_white(line)
    fields = []
    position = 0
    pattern = field_pattern(delimiter)
    if delimiter is None:
        line = line.strip(BLANKS)
    while True:
        match = pattern.match(line, position)
        if match is None:
            raise RowError(
                'bad quotes',
                f'{quote(line)}: a quote must enclose a whole field within one line, and a '
                'quote in such a field is written twice; a field cannot go on in the next line',
            )
        fields.append((match[2] if match[1] is None else match[1].replace('""', '"')).strip(BLANKS))
        position = match.end()
        if position == len(line):
            return fields
        position += 1
        while delimiter is None and line[position] in BLANKS:
            position += 1


def separate_plainly(text: bytes, delimiter: str | None) -> bytes:
    """Return lines that pyarrow reads as they are meant: one delimiter between fields, quotes around whole fields only.

    Raises RowError at bad quotes.
    """
    if b'"' not in text and not delimiter:
        return re.sub(rb'(?m)^ | $', b'', re.sub(rb'[ \t\v\f\r\x1c-\x1f]+', b' ', text))
    if delimiter and quotes_enclose_fields(text, delimiter):
        return text
    lines = io.StringIO()
    table = csv.writer(lines, delimiter=delimiter or ' ', lineterminator='\n')
    table.writerows(split_fields(line, delimiter) for line in split_lines(text))
    return lines.getvalue().encode('latin-1')


def quotes_enclose_fields(text: bytes, delimiter: str) -> bool:
    """Tell whether each quote of whole lines begins or ends a field, or is one of two that stand for one in a field."""
    letters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(letters == ord('"'))
    opening = quotes[::2]
    closing = quotes[1::2]
    around = letters[np.concatenate([opening - 1, closing + 1])]  # before the first letter: the last one, a line end
    return len(quotes) % 2 == 0 and bool(np.isin(around, list(f'{delimiter}\n"'.encode())).all())


def parse(text: bytes, form: RowOptions) -> Block:
    """Turn whole lines, rows only, into a Block.

    Raises ValueError where a line has the wrong width, or holds text where a number belongs; `diagnose` says why.
    """
    if b'\r' in text and RETURN.search(text):
        raise ValueError('a carriage return')  # where pyarrow would end a line
    if (form.n_columns == 1 or (form.delimiter or ',').isspace()) and BLANK_LINE.search(text):
        raise ValueError('blank lines')  # of others pyarrow leaves empty ones out, and misses the fields of the rest
    header = form.header_line.encode('latin-1') + b'\n'
    letter = max(header) in text  # no row of numbers has it, and to find that out takes a tenth of the time
    if letter and form.header_line and (text.startswith(header) or b'\n' + header in text):
        raise ValueError('the header again')
    n_rows = int(
        np.count_nonzero(np.frombuffer(text, np.uint8) == LINE_END)
    )  # in a third of the time that `bytes.count` takes
    if b'"' in text or not form.delimiter:
        text = separate_plainly(text.replace(b'\r\n', b'\n'), form.delimiter)
    arrays = read_arrays(text, form)
    if arrays.num_rows != n_rows:
        raise ValueError('pyarrow took several lines for one, or left a line out')
    columns = zip(form.used_columns, arrays.columns, strict=True)
    return make_block({j: read_values(array, j, form) for j, array in columns}, n_rows, form)


def read_arrays(text: bytes, form: RowOptions) -> Any:
    """Read the columns that rows need as a pyarrow.RecordBatch, each named by its position.

    Columns of plain numbers become float64, those of a table with nulls for missing ones, all else text. Raises
    pyarrow.ArrowInvalid, a ValueError, where that cannot be.
    """
    import pyarrow as arrow
    from pyarrow import csv as reader

    numbers = find_numbers(form)
    piece = max(PIECE_BYTES, BYTES_A_COLUMN * (form.n_columns or 0))
    if b'"' in text or any(text.find(b'\n', start, start + piece) < 0 for start in range(0, len(text), piece)):
        piece = len(text) + 1  # a line must end in each piece
    [columns] = (
        reader.read_csv(
            arrow.BufferReader(text),
            reader.ReadOptions(
                use_threads=False, block_size=piece, column_names=list(map(str, range(form.n_columns or 0)))
            ),
            reader.ParseOptions(delimiter=form.delimiter or ' ', newlines_in_values=False),
            reader.ConvertOptions(
                column_types={str(j): arrow.float64() if j in numbers else arrow.string() for j in form.used_columns},
                include_columns=list(map(str, form.used_columns)),
                decimal_point=form.decimal,
                null_values=MISSING_TEXTS if form.numbers else [],  # to look for them takes a twentieth of the time
                strings_can_be_null=False,
            ),
        )
        .combine_chunks()
        .to_batches()
    )
    return columns


def find_numbers(form: RowOptions) -> set[int | None]:
    """Return the positions of the columns that are read as plain numbers."""
    numbers = {form.weight_column, *(form.numbers if form.table else form.feature_positions)}
    if form.numeric_labels:
        numbers |= {*form.used_labels}
    return numbers - {*form.styles_by_column}


def read_values(array: Any, position: int, form: RowOptions) -> Values:
    """Return the values of a column: numbers, or text without the blanks around it."""
    from pyarrow import compute, types

    if types.is_floating(array.type):
        return NumberColumn(from_array(array, math.nan))
    texts = compute.ascii_trim(array, characters=BLANKS)
    if position not in form.styles_by_column:
        return TextColumn(texts, form.decimal)
    with name_column(form.name_column(position)):
        return NumberColumn(Style(*form.styles_by_column[position]).read(texts, form.decimal))


@dataclass(frozen=True)
class Style:
    """Say how the numbers of a column are written.

    prefix, suffix : a sign of a currency or %, or ''. thousands : what separates groups of three digits, or ''.
    """

    prefix: str = ''
    suffix: str = ''
    thousands: str = ''

    def __str__(self) -> str:
        parts = [f'with {sign!r}' for sign in (self.prefix, self.suffix) if sign]
        if self.thousands:
            parts.append(f'with {self.thousands!r} between thousands')
        return ' and '.join(parts) or 'without a sign'

    @property
    def signs(self) -> str:
        """Return the signs of a currency, or %."""
        return self.prefix + self.suffix

    def read(self, texts: Any, decimal: str = '.') -> Floats:
        """Read texts, a pyarrow.StringArray or a sequence, as numbers, NaN for missing ones.

        Raises RowError at any other text.
        """
        allowed = vars(self)
        if self.signs and not self.thousands:  # the first of them may all be small
            allowed = {**allowed, 'thousands': ',.'.replace(decimal, '')}
        signs = f'[{re.escape("".join(allowed.values()))} ]'

        def parse_one(text: str) -> float | None:
            if not text:
                return math.nan
            match = styled_number(decimal).fullmatch(text)
            if match is None or any(match[part] not in (None, sign) for part, sign in allowed.items()):
                raise RowError('not a number', f'holds {quote(text)}, and its numbers are written {self}')
            return read_number(re.sub(signs, '', text), decimal)

        return look_up(TextColumn(texts), parse_one)


def find_style(values: Sequence[str], decimal: str) -> Style | None:
    """Return how all numbers of a column are written, the plain Style where without signs, None where not alike.

    values : of a column, without missing ones.
    """
    if all(rate_number(value, decimal) == 1.0 for value in values):
        return Style()
    matches = [styled_number(decimal).fullmatch(value) for value in values]
    signs = {(match['prefix'] or '', match['suffix'] or '') for match in matches if match}
    separators = {match['thousands'] for match in matches if match} - {None} or {''}
    if None in matches or len(signs) > 1 or len(separators) > 1:
        return None
    return Style(*signs.pop(), separators.pop())


@lru_cache(1 << 15)  # the question of the delimiter, of the header and of signs ask of each field of the sample
def rate_number(text: str, decimal: str) -> float:
    """Return 1 for a plain number, 0.5 for one with a sign or with separators between thousands, 0 for other text."""
    if read_number(text, decimal) is not None:
        return 1.0
    if styled_number(decimal).fullmatch(text):
        return 0.5
    return 0.0


@cache
def styled_number(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number of any style; without separators its whole part has any number of digits."""
    sign = rf'[{re.escape(CURRENCIES)}]'
    point = re.escape(decimal)
    separator = f'[{SEPARATORS.replace(decimal, "")}]'
    grouped = rf'[1-9][0-9]{{0,2}}(?P<thousands>{separator})[0-9]{{3}}(?:(?P=thousands)[0-9]{{3}})*(?:{point}[0-9]*)?'
    return re.compile(
        rf'(?:[-+]?(?P<prefix>{sign}) ?)?[-+]?(?:{grouped}|{PLAIN.format(point=point)})'
        rf'(?: ?(?P<suffix>%|{sign}))?'
    )


def diagnose(line: str, form: RowOptions) -> RowError | None:
    """Say why one line cannot be read, None where it can."""
    if line == form.header_line:
        return RowError('repeated header', 'the line holds the names of the columns again: leave it out')
    line = line.removesuffix('\r')  # which pyarrow takes for a part of the line end
    if '\r' in line:
        return RowError('carriage return', 'one stands within the line, and other programs would end it there')
    numbers = find_numbers(form)
    try:
        row = split_fields(line, form.delimiter)
        if len(row) != form.n_columns:
            raise RowError('wrong width', f'expected {form.n_columns} fields, found {len(row)}')
        for j in form.used_columns:
            text = row[j]
            if not text.isascii():
                text = decode_text(text, form.name_column(j))
            if j in form.styles_by_column:
                read_values(to_texts([text]), j, form)
            elif j in numbers and read_number(text, form.decimal) is None:
                raise explain_text(text, j, form)
    except RowError as error:
        return error
    return None


def explain_text(text: str, position: int, form: RowOptions) -> RowError:
    """Say why a field cannot be read as a number."""
    name = form.name_column(position)
    if position in form.used_labels:
        check_target(text, form.label_columns.index(position), form)
    if text not in MISSING_TEXTS:
        hint = '--label-column names the label, --encode auto reads text and missing values'
        return RowError('not a number', f'{name} holds {quote(text)} ({hint})')
    if position != form.weight_column:
        return explain_value(math.nan, name)
    return RowError('weight is not positive', 'the weight is nan')

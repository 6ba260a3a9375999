"""Decide how a file of delimited text is read: delimiter, header, width, and the places of label and weight.

A delimiter and a decimal point are right if most rows have the same number of fields, and most fields are numbers. Then
each column votes for or against a header. Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from mr_elm.errors import DataFormatError, RowError, warn_unsuitable
from mr_elm.rows.columns import MISSING_TEXTS
from mr_elm.rows.csv_rows import Style, diagnose, find_style, parse, rate_number, split_fields
from mr_elm.rows.kinds import Kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import Header, check_width, select_columns
from mr_elm.rows.text import read_number

DELIMITERS = (';', '\t', '|', ',', None)
DELIMITER_NAMES = {';': 'semicolons', '\t': 'tabs', '|': 'bars', ',': 'commas', None: 'blanks'}
MISSING = {*MISSING_TEXTS, 'none', '?', '-', '.'}  # they say nothing of a column
MAJORITY = 0.9  # share of the rows, or of the fields of a column, that settles a question
MIN_ROW_NUMBERS = 8  # whole numbers that rise evenly are no chance
CLOSE_VOTE = 0.3  # difference of the votes, as a share of all votes, below which the user is asked to look
GROUPED = re.compile(r'-?[1-9]\d{0,2}([.,]\d{3})+')  # a number of thousands, or of three decimals
FRACTION = re.compile(r'-?(\d*[.,](\d{1,2}|\d{4,})|0[.,]\d+)')  # which cannot be thousands
WHOLE = re.compile(r'-?(0|[1-9]\d{0,2}([.,]\d{3})*)')  # with separators between thousands, perhaps
QUOTED = re.compile(r'[;\t|,]"|"[;\t|,]')  # what no line of fields between blanks has
Fields = list[list[str]]  # of some rows
INDEX_NAME = re.compile(r'(Unnamed: 0(\.\d+)?)?')  # of the column where pandas writes the numbers of rows


def choose_format(lines: list[str], path: str, options: RowOptions) -> RowOptions:
    """Decide delimiter, header, width and the places of label and weight. lines : decoded as Latin-1."""
    first_line, lines = lines[0], [readable(line) for line in lines]
    delimiter, decimal = find_separators(lines, options)
    rows = split_rows(lines, delimiter)
    if usual_width(rows) < 2:
        try:
            [split_fields(line, delimiter) for line in lines]
        except RowError as error:
            raise DataFormatError(f'{path}: expected rows of fields, found {error} among the first lines') from None
    header = find_header(rows, decimal, path, options)
    if len(rows) <= header:
        raise DataFormatError(f'{path}: expected rows, found only a header line')
    n_columns = usual_width(rows[header:])
    below = [row for row in rows[header:] if len(row) == n_columns]
    names = None
    if header:
        names = tuple(rows[0])
        if len(names) == n_columns - 1 and not any(row[-1] for row in below):
            names += ('',)  # a delimiter ends each row, but not the header
        if n_columns > 2 and names[0] and not any(names[1:]):
            names = names[:1]  # a title, as a workbook saves it
    if names and len(names) != n_columns:
        raise DataFormatError(
            f'{path}: expected a header line of {n_columns} names, as many as rows have fields, found {len(names)}: '
            'leave out what stands above the names, give a column of row names a name (in R row.names=FALSE leaves it '
            'out), write numbers such as 1,234 in quotes, or say --header no'
        )
    if header:
        refuse_second_header(path, below, decimal)
    idle = find_idle(names, below)
    form = options.decide(
        'csv',
        delimiter=delimiter,
        decimal=decimal,
        header=header,
        header_line=first_line * header,
        **select_columns(Header(path, n_columns, names, idle), options),
    )
    usual = replace(form, positions=None)
    if usual.feature_positions == form.positions:
        form = usual
    check_width(path, form, options)
    return replace(form, styles=find_styles(below, form, options))


def find_separators(lines: Sequence[str], options: RowOptions) -> tuple[str | None, str]:
    """Return (delimiter, decimal point): those of the training where lines fit them, unless the user names others.

    Blanks separate fields only where no character does.
    """
    delimiters: Sequence[str | None] = (options.delimiter,)
    usual = options.delimiter
    points = options.decimal
    if options.delimiter == 'auto':
        delimiters = DELIMITERS
        usual = ','
    if options.decimal == 'auto':
        points = '.,'
    least = best = 0.5, 1.0  # most rows must have the usual width
    answer = usual, points[0]
    for delimiter in delimiters:
        if delimiter is None and (best != least or all(map(QUOTED.search, lines[1:] or lines))):
            break
        rows = split_rows(lines, delimiter)
        for point in points:
            is_delimiter = point == delimiter
            if is_delimiter and not any('"' in line for line in lines):
                continue
            quality = rate(rows, point, is_delimiter)
            if quality > best:
                best = quality
                answer = (delimiter, point)
    trained = options.trained
    if not trained or trained.kind != 'csv' or trained.delimiter == ',' == answer[1]:  # a point may be none now
        return answer
    known = trained.delimiter, trained.decimal
    fitting = sum(abs(len(row) - (trained.n_columns or 0)) <= 1 for row in split_rows(lines, trained.delimiter))
    if known[0] in delimiters and known[1] in points and fitting > MAJORITY * len(lines):
        return known
    return answer


def find_header(rows: Fields, decimal: str, path: str, options: RowOptions) -> bool:
    """Tell whether the first line names the columns; warn where that is in doubt."""
    if options.header is not None:
        return options.header
    first = rows[0]
    numbers = [rate_number(field, decimal) > 0 for field in first]
    below = [row for row in rows[1:] if len(row) == len(first)]
    if not any(numbers) and below.count(first) < len(below) / 4:  # joined files repeat their header
        below = [row for row in below if row != first]
    label = options.label_column
    before = options.trained.header if options.trained else None
    votes = vote_by_columns(first, below, decimal)
    with suppress(ValueError, TypeError, IndexError):  # the label has no position, or there is none
        if options.labelled and votes[int(label)] == 1:
            return True
    known_names = options.names or ((label,) if isinstance(label, str) else ())
    names = {name for name in known_names if not rate_number(name, decimal)}
    if names and names <= set(first):
        return True
    if before is not None and before is not any(numbers):
        return before
    if not below or len(first) != usual_width(rows):  # a title, which may hold numbers, can stand above the names
        if names or not any(numbers):
            return True
        return len(rows) > 1 and sum(vote_by_columns(rows[1], rows[2:], decimal)) > 0
    if are_counted(first, below, votes):
        return True
    for_names, for_row = sum(each for each in votes if each > 0), -sum(each for each in votes if each < 0)
    if for_names == for_row and before is not None:
        return before
    header = for_names > for_row
    if abs(for_names - for_row) <= CLOSE_VOTE * (for_names + for_row) or for_row > for_names >= MAJORITY:
        meaning, opposite = ('names of the columns', 'no') if header else ('a row', 'yes')
        warn_unsuitable(
            f'{path}: the first line was taken for {meaning}, although {for_names:.2g} columns speak for names in it '
            f'and {for_row:.2g} against them: --header {opposite} says otherwise'
        )
    return header


def refuse_second_header(path: str, rows: Fields, decimal: str) -> None:
    """Raise DataFormatError where the first row below the header holds text above numbers, as units or types do.

    A single text may stand for a missing value.
    """
    votes = [(vote(first, values, decimal), first) for first, *values in zip(*rows, strict=True)]
    texts = [first for each, first in votes if each == 1]
    if len(texts) > max(1, sum(each == -1 for each, _ in votes)):
        raise DataFormatError(
            f'{path}: expected a row below the names of the columns, found texts such as {texts[0]!r} above numbers: '
            'leave out what stands above the names, and a second line of names, units or types below them'
        )


def find_idle(names: Sequence[str] | None, rows: Fields) -> tuple[int, ...]:
    """Find columns that hold nothing: names of rows as pandas and R write them, and what a last delimiter ends."""
    idle = []
    columns = list(zip(*rows, strict=True))
    for j, (name, values) in enumerate(zip(names or (), columns[:-2], strict=False)):
        words = sum(read_number(value) is None for value in values)
        is_whole = all(value.isdecimal() for value in values)
        if not INDEX_NAME.fullmatch(name) or len(set(values)) < len(values) or not (is_whole or words == len(values)):
            break
        idle.append(j)
    last = len(columns) - 1
    if last > 1 and not any(columns[last]) and (names is None or not names[last]):
        idle.append(last)
    return tuple(idle)


def find_styles(rows: Fields, form: RowOptions, options: RowOptions) -> tuple[tuple[int, str, str, str], ...]:
    """Return the styles of the columns of numbers that are written with signs: (position, prefix, suffix, thousands).

    A column has the style that it had in the training, or else the one that all its first values agree on. Features,
    and labels behind them, have the same order in both.
    """
    trained_styles = {}
    if options.trained:
        before = (*options.trained.feature_positions, *options.trained.label_columns)
        trained_styles = {before.index(position): signs for position, *signs in options.trained.styles}
    columns = form.feature_positions
    if form.numeric_labels and not form.ignore_label:
        columns = (*columns, *form.label_columns)
    has_fractions = any(FRACTION.fullmatch(field) for row in rows for field in row)
    styles = []
    for k, position in enumerate(columns):
        values = [row[position] for row in rows if row[position] not in MISSING]
        style = find_style(values, form.decimal)
        trained = Style(*trained_styles.get(k, ()))
        if options.trained and values and style and style.signs != trained.signs:
            warn_unsuitable(
                f'{form.name_column(position)} has numbers {style}, such as {values[0]}, and in the '
                f'training numbers {trained}: write both alike, 12% and $12 are read as 12'
            )
        if k in trained_styles:
            style = trained
        if style not in (None, Style()):
            styles.append((position, *vars(style).values()))
        if style != Style() or options.trained:
            continue
        grouped = list(filter(GROUPED.fullmatch, values))
        in_doubt = len(grouped) < len(values) or not has_fractions
        if len(grouped) > 2 and options.decimal == 'auto' and in_doubt and all(map(WHOLE.fullmatch, values)):
            warn_unsuitable(
                f'{form.name_column(position)} holds numbers such as {grouped[0]}, which were read as fractions: '
                f'--decimal {".,".replace(form.decimal, "")} reads thousands, --decimal {form.decimal} fractions'
            )
    return tuple(styles)


def describe(form: RowOptions) -> str:
    """Describe in words how a file is read."""
    parts = [
        DELIMITER_NAMES.get(form.delimiter, repr(form.delimiter)),
        'a header' if form.header else 'no header',
        f'{form.n_columns:,} columns',
    ]
    if form.decimal != '.':
        parts.insert(1, 'decimal commas')
    if form.charset:
        parts.append('carriage returns' if form.charset == 'utf-8' else form.charset)
    if form.label_columns:
        parts.append(f'label in {" and ".join(map(form.name_column, form.label_columns))}')
    for position, *signs in form.styles:
        parts.append(f'{form.name_column(position)} may hold numbers {Style(*signs)}')
    parts += [f'without column {position} (counted from 0), which names the rows or is empty' for position in form.idle]
    return ', '.join(parts)


def readable(text: str) -> str:
    """Read bytes that were decoded as Latin-1 as UTF-8 where they are."""
    try:
        return text.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        return text


def split_rows(lines: Sequence[str], delimiter: str | None) -> Fields:
    """Split lines into their fields; a line with bad quotes is one field."""
    rows = []
    for line in lines:
        try:
            rows.append(split_fields(line, delimiter))
        except RowError:
            rows.append([line])
    return rows


def usual_width(rows: Fields) -> int:
    """Return the number of fields that most rows have."""
    if rows:
        return Counter(map(len, rows)).most_common(1)[0][0]
    return 0


def rate(rows: Fields, decimal: str, is_delimiter: bool = False) -> tuple[float, float]:
    """Return the share of rows of the usual width, and the share of their fields that are numbers.

    A number with a sign, or with separators between thousands, counts half. is_delimiter : whether the decimal point
    separates fields too. Then numbers stand in quotes, and one such as 1,234 may have a separator.
    """
    width = usual_width(rows)
    if width < 2:
        return 0.0, 0.0
    fields = [field for row in (rows[1:] or rows) for field in row]
    numbers = 0.0
    for field in fields:
        number = rate_number(field, decimal)
        if number and is_delimiter and GROUPED.fullmatch(field):
            number = 0.5
        numbers += number
    return round(sum(len(row) == width for row in rows) / len(rows), 1), numbers / max(1, len(fields))


def vote_by_columns(first: Sequence[str], below: Fields, decimal: str) -> list[float]:
    """Return how much each column speaks for a header, below 0 against it. first : the fields of its line."""
    below = [row for row in below if len(row) == len(first)]
    return [vote(field, [row[j] for row in below], decimal) for j, field in enumerate(first)]


def vote(first: str, column: Sequence[str], decimal: str) -> float:
    """Return how much a column speaks for a header, below 0 against it. first : its first field."""
    values = [value for value in column if value not in MISSING]
    if not values or first in MISSING:
        return 0.0
    first_is_number = rate_number(first, decimal) > 0
    if sum(rate_number(value, decimal) > 0 for value in values) > MAJORITY * len(values):
        if not first_is_number:
            return 1.0
        is_year = first.isdecimal() and not any(map(str.isdecimal, values))  # above fractions
        return float(is_year) - 1.0
    counts = Counter(values)
    if first in counts:
        return -1.0
    shapes = Counter(map(shape_of, values))
    with_digits = sum(count for shape, count in shapes.items() if '9' in shape)
    if with_digits > MAJORITY * len(values) and len(shapes) <= max(3, len(values) // 10):  # dates, codes
        if shape_of(first) in shapes:
            return -1.0
        return float(not first_is_number)
    if len(counts) > len(values) / 2:  # names, free text
        return 0.0
    once = sum(count == 1 for count in counts.values()) / len(values)  # the chance that a row brings a new value
    return max(0.0, 1.0 - once - 1 / len(values))


def shape_of(text: str) -> str:
    """Reduce the digits of a text: 2021-01-31 is 9-9-9, v12 is v9."""
    return re.sub(r'\d+', '9', text)


def are_counted(first: Sequence[str], below: Fields, votes: Sequence[float]) -> bool:
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
    named = any(each == 1 for j, each in enumerate(votes) if j not in counted)
    return len(counted) >= MIN_ROW_NUMBERS or named or fractions > len(values) / 2


def rises_evenly(fields: Sequence[str]) -> bool:
    """Tell whether whole numbers, three or more, rise by the same step, as in 0,1,2 or 400,410,420."""
    numbers = [int(field) for field in fields if re.fullmatch(r'\d{1,15}', field)]
    steps = {after - before for before, after in zip(numbers, numbers[1:], strict=False)}
    return len(numbers) >= 3 and len(numbers) >= len(fields) - 2 and len(steps) == 1 and min(steps) > 0


KIND = Kind(choose_format, lambda lines: True, ('.csv', '.tsv'), parse, diagnose, describe=describe)

"""Parse lines of delimited text, thousands at a time."""
import csv
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mr_elm.io.blocks import Block, encode_labels
from mr_elm.io.columns import Table, TextColumn
from mr_elm.io.formats import RowError, RowFormat
from mr_elm.io.labels import check_target, explain_missing, find_usable, is_missing, read_targets, split_label
from mr_elm.io.text import quote, read_number
from mr_elm.typing import Floats

SPACE = '\t\n\v\f\r\x1c\x1d\x1e\x1f '  # of ASCII only: UTF-8 letters hold bytes that Latin-1 takes for space
SPACES = re.compile(f'[{SPACE}]+')
NUMBER = '0123456789.+-eE'
# bytes of text, from which compiled code pays for its 100 MB of memory; tables take Python far longer than numbers
MUCH = {False: 500_000_000, True: 1_000_000}
COUNTED = {'text': 0}  # bytes of text that this process has parsed


def split_fields(line: str, delimiter: str | None) -> list[str]:
    """Split one line into its fields; a quoted field may hold the delimiter, but not a line end."""
    if '"' not in line:
        return [text.strip(SPACE) for text in line.split(delimiter)] if delimiter else split_white(line)
    try:
        rows = list(csv.reader([line.strip(' ')], delimiter=delimiter or ' ', skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise RowError('bad quotes', f'{quote(line)} ({error})') from None
    return [text.strip(SPACE) for text in rows[0]]


def split_white(line: str, limit: int = -1) -> list[str]:
    """Split at runs of white space, `limit` times at most."""
    if line.isascii():
        return line.split(None, limit)
    return SPACES.split(line.strip(SPACE), max(limit, 0))


def parse(lines: list[str], form: RowFormat) -> Block:
    """Turn lines into a Block.

    lines : list of str, decoded as Latin-1, without line ends or blank lines.
    Raises ValueError when any line cannot be used; `diagnose` says which and why.
    """
    if form.table:
        return parse_table(lines, form)
    labels, weights, X = parse_any(lines, form)
    if X.shape != (len(lines), form.width) or not np.isfinite(X).all():
        raise ValueError('rows of another shape')
    return label_rows(X, labels, weights, form)


def label_rows(X: Any, labels: Sequence[Sequence[str]], weights: Sequence[str] | None, form: RowFormat) -> Block:
    """Make the Block of rows from the texts of their labels or targets, a column each, and of their weights."""
    row_weights = None if weights is None else read_weights(weights)
    if not labels or form.ignore_label:
        return Block(X, weights=row_weights)
    if form.numeric_labels:
        return Block(X, weights=row_weights, targets=read_targets(labels, form))
    names, codes = encode_labels(labels[0])
    return Block(X, tuple(decode_label(name, form) for name in names), codes, row_weights)


def parse_table(lines: list[str], form: RowFormat) -> Block:
    """Turn lines into a Block of a Table. Raises RowError when any line cannot be used."""
    rows = [split_fields(line, form.delimiter) for line in lines]
    for row in rows:
        if len(row) != form.n_columns:
            raise RowError('wrong width', f'expected {form.n_columns} fields, found {len(row)}')
    fields = list(zip(*rows, strict=True))
    plain = all(map(str.isascii, lines))
    columns = (fields[j] if plain else [decode_field(text, k, form) for text in fields[j]]
               for k, j in enumerate(form.feature_positions))
    labels = [fields[j] for j in form.label_columns]
    weights = None if form.weight_column is None else fields[form.weight_column]
    return label_rows(Table(tuple(map(TextColumn, columns)), len(rows)), labels, weights, form)


def decode_field(text: str, feature: int, form: RowFormat) -> str:
    """Decode a field of text that was read byte for byte. feature : its number, for the message."""
    try:
        return text.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        name = repr(form.names[feature]) if form.names else str(form.feature_positions[feature] + 1)
        raise RowError('not UTF-8', f'column {name} holds {ascii(text)}: save the file as UTF-8') from None


def parse_text(text: bytes, form: RowFormat) -> Block | None:
    """Turn whole lines into a Block by compiled code, once this process has parsed MUCH text.

    Returns None where a line has quotes, another width or anything else that only `parse` or `diagnose` understands.
    Raises RowError when a label cannot be one.
    """
    COUNTED['text'] += len(text)
    delimiter = form.delimiter or ''
    if (COUNTED['text'] <= MUCH[form.table] or delimiter in f'{NUMBER} "' or form.n_columns in (None, 1)
            or not delimiter.isascii() or form.target_columns or not is_utf8(text)):
        return None
    from mr_elm.io.fields import find_fields
    fields = find_fields(text, delimiter, form.n_columns)
    if not fields or delimiter == '\t' and '' in fields[0].coded.names:  # a line of tabs is blank
        return None
    columns = [fields[j] for j in form.feature_positions]
    X = Table(tuple(columns), len(fields[0])) if form.table else read_matrix(columns)
    weights = None if form.weight_column is None else fields[form.weight_column].plain_numbers()
    if X is None or form.weight_column is not None and not is_weight(weights):
        return None
    if form.label_column is None or form.ignore_label:
        return Block(X, weights=weights)
    if form.numeric_labels:
        targets = fields[form.label_column].plain_numbers()
        return Block(X, weights=weights, targets=targets) if targets is not None and (
            find_usable(targets, form).all()) else None
    labels = fields[form.label_column].coded
    return Block(X, tuple(check_label(name, form) for name in labels.names), labels.index, weights)


def is_utf8(text: bytes) -> bool:
    """Tell whether bytes are text of UTF-8."""
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def read_matrix(columns: list[Any]) -> Floats | None:
    """Read columns of fields as a matrix; None where one is no plain number."""
    X = np.empty((len(columns[0]), len(columns)))
    plain = all(column.read_into(X, k) for k, column in enumerate(columns))
    return X if plain and np.isfinite(X).all() else None


def is_weight(numbers: Floats | None) -> bool:
    """Tell whether numbers are weights: all positive and finite."""
    return numbers is not None and bool(np.isfinite(numbers).all() and (numbers > 0).all())


def parse_any(lines: list[str], form: RowFormat) -> tuple[list[list[str]], list[str] | None, Floats]:
    """Parse lines by numpy: (labels, weights, X), see `separate`."""
    labels, weights, features = separate(lines, form)
    if not any(features):
        raise ValueError('rows without features')
    return labels, weights, np.loadtxt(features, delimiter=form.delimiter, comments=None, ndmin=2)


def separate(lines: list[str], form: RowFormat) -> tuple[list[list[str]], list[str] | None, list[str]]:
    """Separate labels, weight and features of each line: (columns of labels, weights or None, features) as text."""
    plain = form.weight_column is None and form.positions is None and not form.target_columns
    simple = plain and '"' not in ''.join(lines)
    if simple and form.label_column is None:
        return [], None, lines
    if simple and form.label_column == 0 and form.delimiter:
        parts = [line.partition(form.delimiter) for line in lines]
        return [[part[0].strip(SPACE) for part in parts]], None, [part[2] for part in parts]
    rows = [split_fields(line, form.delimiter) for line in lines]
    if any(len(row) != form.n_columns for row in rows):
        raise ValueError('rows of another width')
    kept = form.feature_positions
    joint = form.delimiter or ' '
    return ([[row[j] for row in rows] for j in form.label_columns], take_field(rows, form.weight_column),
            [joint.join([row[j] for j in kept]) for row in rows])


def take_field(rows: list[list[str]], position: int | None) -> list[str] | None:
    """Take one field of each row, or None."""
    return None if position is None else [row[position] for row in rows]


def read_weights(texts: Sequence[str]) -> Floats:
    """Read weights: (n,) float64, all positive and finite, or RowError."""
    weights = np.array([read_number(text) for text in texts], dtype=float)
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        raise RowError('weight is not positive', f'the weight is {quote(texts[int(np.argmax(wrong))])}')
    return weights


def decode_label(text: str, form: RowFormat) -> str:
    """Decode a label and check that it can be one."""
    try:
        name = text.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        raise RowError('bad label', f'{ascii(text)} is not UTF-8 text') from None
    return check_label(name, form)


def check_label(name: str, form: RowFormat) -> str:
    """Return a label. Raises RowError when it cannot be one."""
    if form.numeric_labels:
        check_target(name, 0, form)
        return name
    parts = [name] if form.labels_separator is None else split_label(name, form.labels_separator)
    for part in parts:
        if is_missing(part, form):
            raise RowError('missing label', f'the label {explain_missing(part)}')
    return name


def diagnose(line: str, form: RowFormat) -> RowError:
    """Say why one line was refused, as a RowError."""
    try:
        if '\0' in line:
            return RowError('binary data', 'the line holds bytes of zero')
        row = split_fields(line, form.delimiter)
        if len(row) != form.n_columns:
            return RowError('wrong width', f'expected {form.n_columns} fields, found {len(row)}')
        special = [j for j in (*form.label_columns, form.weight_column) if j is not None]
        for j in sorted({*form.feature_positions, *special}):
            check_field(row[j], j, form)
    except RowError as error:
        return error
    return RowError('not readable', quote(line))


def check_field(text: str, j: int, form: RowFormat) -> None:
    """Raise RowError when field j cannot be what its column holds."""
    if j in form.label_columns:
        if not form.ignore_label:
            check_target(text, form.label_columns.index(j), form) if form.target_columns else decode_label(text, form)
        return
    number = read_number(text)
    if number is None:
        hint = f' (if it is the label: --label-column {j})' if form.label_column == 0 else (
            ' (--encode auto reads text and missing values)')
        raise RowError('not a number', f'column {j + 1} holds {quote(text)}{hint}')
    if not math.isfinite(number):
        raise RowError('nan or infinite', f'column {j + 1} holds {quote(text)}')
    if j == form.weight_column and number <= 0:
        raise RowError('weight is not positive', f'column {j + 1} holds {quote(text)}')

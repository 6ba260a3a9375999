"""Decide how a file of delimited text is read: delimiter, header, width, and the places of label and weight."""
from collections import Counter
from dataclasses import replace

from mr_elm.errors import DataFormatError
from mr_elm.io.csv_rows import diagnose, parse, parse_text, split_fields
from mr_elm.io.formats import RowError, RowFormat, RowOptions
from mr_elm.io.kinds import Kind, name_pattern
from mr_elm.io.selection import Header, check_width, expected_width, select_columns
from mr_elm.io.text import read_number

DELIMITERS = (',', '\t', ';', '|')


def choose_format(lines: list[str], path: str, options: RowOptions) -> RowFormat:
    """Decide delimiter, header, width and the places of label and weight."""
    try:
        delimiter = options.delimiter if options.delimiter != 'auto' else guess_delimiter(lines)
        rows = [split_fields(line, delimiter) for line in lines]
    except RowError as error:
        raise DataFormatError(f'{path}: expected rows of fields, found {error} among the first lines') from None
    header = decide_header(rows, options)
    if len(rows) <= header:
        raise DataFormatError(f'{path}: expected rows, found only a header line')
    n_columns = Counter(map(len, rows[header:])).most_common(1)[0][0]
    header_names = tuple(readable(text) for text in rows[0]) if header else None
    if header_names and len(header_names) != n_columns:
        raise DataFormatError(f'{path}: expected a header line of {n_columns} names, as many as rows have fields, '
                              f'found {len(header_names)}')
    chosen = select_columns(Header(path, n_columns, header_names), options)
    form = RowFormat.of(
        'csv', options, delimiter=delimiter, header=header, n_columns=n_columns, label_column=chosen.label,
        weight_column=chosen.weight, labelled=chosen.label is not None, names=chosen.names, table=options.table,
        label_name=header_names[chosen.label] if header_names and chosen.label is not None else None,
        weight_name=header_names[chosen.weight] if header_names and chosen.weight is not None else None,
        dropped=chosen.dropped, target_columns=chosen.targets,
        target_names=tuple(header_names[j] for j in chosen.targets) if header_names and chosen.targets else None)
    if chosen.features != form.feature_positions:
        form = replace(form, positions=chosen.features)
    if form.width < 1:
        raise DataFormatError(f'{path}: expected a label and at least one feature, rows have {n_columns} field(s)')
    check_width(path, form.width, options, width_hint(form, expected_width(options)))
    return form


def readable(text: str) -> str:
    """Read the bytes of a column's name as UTF-8 where they are."""
    try:
        return text.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        return text


def width_hint(form: RowFormat, wanted: int | None) -> str:
    """Guess why a file has one field too many or too few."""
    if form.labelled and form.width + 1 == wanted:
        return ' (--no-label reads rows without a label)'
    if not form.labelled and form.width - 1 == wanted:
        return ' (is there a label? then leave --no-label out)'
    return ''


def guess_delimiter(lines: list[str]) -> str | None:
    """Take the character that most lines hold equally often; None stands for white space."""
    for delimiter in DELIMITERS:
        counts = Counter(count_fields(line, delimiter) for line in lines)
        if counts and counts.most_common(1)[0][0] > 1:
            return delimiter
    return None


def count_fields(line: str, delimiter: str) -> int:
    """Count the fields that a delimiter makes, none where quotes speak against it."""
    try:
        return len(split_fields(line, delimiter))
    except RowError:
        return 0


def decide_header(rows: list[list[str]], options: RowOptions) -> bool:
    """Tell whether the first line names columns.

    It does when it holds the names that are known of the columns; when none of its fields is a number, though a later
    line has some; or when the label alone is none, though all later labels are ("label,0,1,2"): it must have a name, or
    else the other columns must be numbered, as pandas writes them.
    """
    if options.header != 'auto':
        return options.header == 'yes'
    if holds_names(list(map(readable, rows[0])), options):
        return True
    if not any(is_number(text) for text in rows[0]):
        return len(rows) == 1 or any(is_number(text) for row in rows[1:] for text in row)
    try:
        column = int(options.label_column)
    except ValueError:
        return options.label_column in list(map(readable, rows[0]))
    labels = [row[column] for row in rows if options.labelled and -len(row) <= column < len(row)]
    if len(labels) < 2 or is_number(labels[0]) or not all(map(is_number, labels[1:])):
        return False
    others = rows[0][:column] + rows[0][column:][1:]
    return bool(labels[0]) and labels[0] not in options.missing_texts or others == list(map(str, range(len(others))))


def holds_names(fields: list[str], options: RowOptions) -> bool:
    """Tell whether the names of all features, or that of the label, are among some fields; a number is no name."""
    names = options.names or (str(options.label_column),)
    return set(names) <= set(fields) and not any(map(is_number, names))


def is_number(text: str) -> bool:
    """Tell whether a field is a number."""
    return read_number(text) is not None


KIND = Kind(choose_format, lambda lines: True, name_pattern('csv', 'tsv'), parse, diagnose,
            parse_text=parse_text)

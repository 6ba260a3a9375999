"""Read one line of text at a time, character by character, without numpy."""

import math
import re

SPACE = '\t\n\v\f\r\x1c\x1d\x1e\x1f '
NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')


def number(text):
    """Read a finite decimal number; ValueError for anything else."""
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def label(text):
    """Check that a label, UTF-8 decoded as Latin-1, is there; returns it decoded."""
    text = text.encode('latin-1').decode('utf-8')
    if text.strip() in ('', 'NA', '<NA>', 'NaN', 'nan', 'NAN', '-nan', 'null', 'NULL', 'None'):
        raise ValueError(text)
    return text


def csv_fields(line, delimiter):
    """Split at the delimiter, but not between quotes; a doubled quote is one."""
    fields, i = [], 0
    while True:
        while line[i : i + 1] and line[i] in {' ', '\t'} - {delimiter}:
            i += 1
        text, i = quoted_field(line, i + 1, delimiter) if line[i : i + 1] == '"' else plain_field(line, i, delimiter)
        fields.append(text.strip(' \t'))
        if i == len(line):
            return fields
        if line[i] != delimiter:
            raise ValueError('text behind a quote')
        i += 1


def plain_field(line, i, delimiter):
    """Return the text up to the next delimiter and its place."""
    end = line.find(delimiter, i)
    end = len(line) if end < 0 else end
    if line[i:end].rstrip(' \t').endswith('"'):
        raise ValueError('a quote that closes nothing')
    return line[i:end], end


def quoted_field(line, i, delimiter):
    """Return the text up to the closing quote and the place behind it."""
    text = ''
    while True:
        if i >= len(line):
            raise ValueError('open quote')
        if line[i] == '"' and line[i + 1 : i + 2] != '"':
            while line[i + 1 : i + 2] in {' ', '\t'} - {delimiter}:
                i += 1
            return text, i + 1
        i += 1 if line[i] != '"' else 2
        text += line[i - 1]


def csv_row(line, delimiter, n_columns):
    """Return (label, list of numbers) of a line with its label first; ValueError when it cannot be used."""
    line = line.removesuffix('\r')  # what a program that writes two of them before the line feed leaves
    fields = csv_fields(line, delimiter)
    if len(fields) != n_columns or '\0' in line or '\r' in line:
        raise ValueError(line)
    return label(fields[0]), [number(text) for text in fields[1:]]


def libsvm_row(line, limit):
    """Return (label, {index: value}) of a line; ValueError when it cannot be used."""
    tokens = re.split(f'[{SPACE}]+', line.partition('#')[0].strip(SPACE))
    first, *pairs = [token for token in tokens if not token.startswith('qid:')]
    if ':' in first or ',' in first or '\0' in line:  # a comma stands between several labels
        raise ValueError(line)
    row, previous = {}, 0
    for pair in pairs:
        left, right = pair.split(':')
        if number(left) != int(number(left)) or not previous < number(left) <= limit:
            raise ValueError(pair)
        previous = int(number(left))
        row[previous] = number(right)
    return label(first), row


def salvage(read, lines):
    """Return (rows that can be used, positions of those that cannot)."""
    rows, bad = [], []
    for i, line in enumerate(lines):
        try:
            rows.append(read(line))
        except ValueError:
            bad.append(i)
    return rows, bad

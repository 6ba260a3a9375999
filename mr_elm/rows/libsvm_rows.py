"""Parse lines of LIBSVM text, thousands at a time, into sparse rows."""

import re

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError, RowError
from mr_elm.rows.arrow_arrays import from_array
from mr_elm.rows.blocks import Block, encode_labels
from mr_elm.rows.kinds import Kind
from mr_elm.rows.labels import check_label, decode_text, read_numbers
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import quote, read_number, split_lines, split_white
from mr_elm.typing import Floats

PAIRS = re.compile(r'(\S+\s+)?[+-]?\d+:[-+.\w]+(\s+\S+:[-+.\w]+)*\s*')  # behind a label, or without one
QID = re.compile(r'(?<!\S)qid:\S+', re.ASCII)
LARGEST_INDEX = 10_000_000  # that is believed where nobody said how many features there are
LABEL = 'the label'  # what messages call it


def parse(text: bytes, form: RowOptions) -> Block:
    """Turn whole lines `label index:value ...` into a Block with a CSR matrix.

    Raises ValueError when a line is blank, a comment, or no such row; `diagnose` says why.
    """
    labels, rows = separate(split_lines(text), form)
    index, value = read_pairs([pair for row in rows for pair in row])
    indptr = np.cumsum([0, *map(len, rows)])
    check_indices(index, indptr, form)
    width = max(int(index.max(initial=0)), form.n_features or 0)
    X = sp.csr_matrix((value, (index - 1).astype(np.int32), indptr.astype(np.int32)), shape=(len(rows), width))
    if form.ignore_extra and form.n_features:
        X = X[:, : form.n_features]
    if not form.labelled or form.ignore_label:
        return Block(X)
    if form.numeric_labels:
        targets = read_numbers(labels)
        if np.isnan(targets).any():
            raise ValueError('labels that are no numbers')
        return Block(X, targets=targets)
    names, codes = encode_labels(labels)
    if form.labels_separator is None and any(',' in name for name in names):
        raise ValueError('several labels of a row')
    return Block(X, tuple(decode_text(name, LABEL) for name in names), codes)


def separate(lines: list[str], form: RowOptions) -> tuple[list[str], list[list[str]]]:
    """Separate the labels of rows, if any, from their pairs, leaving comments and query ids out."""
    if any(not line or line.isspace() or line.lstrip().startswith('#') for line in lines):
        raise ValueError('lines that are no rows')
    if any('#' in line or 'qid' in line for line in lines):
        lines = list(map(clean, lines))
    rows = [split_white(line) for line in lines]
    if not form.labelled:
        return [], rows
    if any(not row or ':' in row[0] for row in rows):
        raise ValueError('a row without a label')
    return [row[0] for row in rows], [row[1:] for row in rows]


def clean(line: str) -> str:
    """Drop what follows # and the query id."""
    return QID.sub('', line.partition('#')[0])


def read_pairs(pairs: list[str]) -> list[Floats]:
    """Read `index:value` pairs: index and value, each (n,) float64."""
    import pyarrow as arrow
    from pyarrow import csv

    if not pairs:
        return [np.empty(0), np.empty(0)]
    text = '\n'.join(pairs).encode('latin-1')
    [batch] = (
        csv.read_csv(
            arrow.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=['index', 'value']),
            csv.ParseOptions(delimiter=':', quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(['index', 'value'], arrow.float64()), null_values=[]),
        )
        .combine_chunks()
        .to_batches()
    )
    numbers = list(map(from_array, batch.columns))
    if not np.isfinite(numbers).all():
        raise ValueError('not finite numbers')
    return numbers


def check_indices(index: Floats, indptr: np.ndarray, form: RowOptions) -> None:
    """Demand whole indices from 1, rising within each row, and none beyond what is allowed."""
    rising = np.diff(index, prepend=0.0) > 0
    rising[indptr[:-1][np.diff(indptr) > 0]] = True
    if form.ignore_extra or not form.n_features:
        limit = find_largest(form)
    else:
        limit = form.n_features
    if not (rising.all() and (index >= 1).all() and (index == np.floor(index)).all() and (index <= limit).all()):
        raise ValueError('indices')


def find_largest(form: RowOptions) -> int:
    """Return the largest index that is believed: a wrong one would cost memory for so many features."""
    return max(LARGEST_INDEX, form.n_features or 0)


def diagnose(line: str, form: RowOptions) -> RowError | None:
    """Say why one line cannot be read, None where it can."""
    tokens = split_white(clean(line))
    try:
        if form.labelled:
            if not tokens or ':' in tokens[0]:
                return RowError('missing label', f'the line begins with {quote(line[:20])}')
            label = tokens.pop(0)
            if not form.ignore_label:
                check_label(decode_text(label, LABEL), form)
                if ',' in label and form.labels_separator is None and not form.numeric_labels:
                    hint = '--labels-separator , reads several labels of a row'
                    return RowError('bad label', f'expected one label, found {quote(label)} ({hint})')
        previous = 0
        for token in tokens:
            previous = check_pair(token, previous, form)
        # last of all, since the first of two passes does not know the width yet
        if form.n_features and previous > form.n_features and not form.ignore_extra:
            return RowError(
                'index too large',
                f'{previous}, and rows have {form.n_features} features (--ignore-extra-features drops those beyond)',
            )
    except RowError as error:
        return error
    return None


def check_pair(token: str, previous: int, form: RowOptions) -> int:
    """Return the index of one `index:value` token, or raise RowError."""
    left, colon, right = token.partition(':')
    number, value = read_number(left), read_number(right)
    if number is None or not colon or number % 1:  # not 0 of infinity
        raise RowError('not index:value', quote(token))
    index = int(number)
    if index < 1:
        raise RowError('index below 1', f'{quote(token)}; indices begin at 1')
    if index <= previous:
        raise RowError('indices not rising', f'{index} comes after {previous}')
    if index > find_largest(form):
        raise RowError('index too large', f'{index}: --n-features says how many features rows have, if it is right')
    if value is None:
        raise RowError('not a number', quote(token))
    if not np.isfinite(value):
        raise RowError('nan or infinite', quote(token))
    return index


def recognise(lines: list[str]) -> bool:
    """Tell whether some line holds pairs alone behind its label."""
    return any(PAIRS.fullmatch(clean(line)) for line in lines)


def choose_format(lines: list[str], path: str, options: RowOptions) -> RowOptions:
    """Return the RowOptions, which the lines have no say in. Raises DataFormatError at several targets."""
    if len(options.targets) > 1 and options.labelled and not options.ignore_label:
        raise DataFormatError(
            f'{path}: expected csv, parquet or arrow rows for several targets, found libsvm rows, which have one label'
        )
    return options.decide('libsvm', n_features=options.n_features, ignore_extra=options.ignore_extra)


KIND = Kind(
    choose_format,
    recognise,
    ('.libsvm', '.svm', '.svmlight', '.svml'),
    parse,
    diagnose,
    comment='#',
    sparse=True,
)

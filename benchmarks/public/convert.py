"""Turn a public data file, as its origin keeps it, into LIBSVM text.

Values stay as the origin wrote them, but for needless signs, zeros and exponents; zeros are left out.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.public.r_data import is_r_data, read_rows
from mr_elm.errors import DataFormatError

Lines = Iterator[tuple[int, str]]  # with their numbers
Fields = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class Recipe:
    """Say how one origin file is read.

    layout: a key of LAYOUTS.
    classes: label in the origin -> label written.
    delimiter: between fields of a delimited file; None for white space.
    header_lines: lines before the first row of a delimited file.
    label_column: position of the label, -1 for the last.
    first_column: position of the first field that counts; those before it number the rows.
    missing: a mark whose rows are dropped; None when there is none.
    corrections: text of the origin that is wrong -> the right one, each for one place.
    objects: names of the objects of R data that hold the rows, in order; () for all.
    """

    layout: str
    classes: dict[str, str]
    delimiter: str | None = ','
    header_lines: int = 0
    label_column: int = -1
    first_column: int = 0
    missing: str | None = None
    corrections: Mapping[str, str] = field(default_factory=dict)
    objects: Sequence[str] = ()


def to_libsvm(content: bytes, recipe: Recipe) -> bytes:
    """Return the LIBSVM text, as bytes, of an origin file given as bytes; R data are read whatever the layout.

    Raises DataFormatError, naming the line of the origin, for a row the recipe does not fit.
    """
    rows = []
    for wrong, right in recipe.corrections.items():
        content = content.replace(wrong.encode(), right.encode(), 1)
    if is_r_data(content):
        found: Fields = enumerate(read_rows(content, tuple(recipe.objects)), start=1)
    else:
        found = LAYOUTS[recipe.layout](_text_lines(content), recipe)
    for number, fields in found:
        try:
            rows.append(_libsvm_row(fields, recipe))
        except ValueError as error:
            raise DataFormatError(f'expected a row of a {recipe.layout} file, but line {number} has {error}') from error
    return ''.join(row for row in rows if row).encode('ascii')


def plain_number(text: str) -> str:
    """Return a number's text without needless signs, zeros and exponents: '.50' gives '0.5', '1e+05' gives '100000'.

    Raises ValueError when text is not a finite number.
    """
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f'the value {text!r}, which is no number') from None
    if not math.isfinite(value):
        raise ValueError(f'the value {text!r}, which is not finite')
    if 'e' in text.lower():
        return repr(value + 0.0).removesuffix('.0')
    return np.format_float_positional(value + 0.0, trim='-')  # + 0.0: without the sign of -0


def _text_lines(content: bytes) -> Lines:
    # Rows are ASCII; comments before them may be in any encoding, and Latin-1 reads every byte.
    return ((number, line.decode('latin-1')) for number, line in enumerate(content.splitlines(), start=1))


def _delimited(lines: Lines, recipe: Recipe) -> Fields:
    for number, line in lines:
        if number > recipe.header_lines and line.strip():
            yield number, line.split(recipe.delimiter)


def _arff(lines: Lines, recipe: Recipe) -> Fields:
    for _, line in lines:
        if line.strip().lower() == '@data':
            break
    for number, line in lines:
        if line.strip() and not line.startswith('%'):
            yield number, line.split(',')


def _libsvm(lines: Lines, recipe: Recipe) -> Fields:
    for number, line in lines:
        if line.strip():
            yield number, line.split()


LAYOUTS = {'delimited': _delimited, 'arff': _arff, 'libsvm': _libsvm}


def _libsvm_row(fields: list[str], recipe: Recipe) -> str:
    """Return one line of LIBSVM text; an empty one for a row that misses a value."""
    fields = [field.strip().strip('\'"') for field in fields[recipe.first_column :]]
    if recipe.missing in fields:
        return ''
    label = fields.pop(recipe.label_column)
    if label not in recipe.classes:
        raise ValueError(f'the unknown label {label!r}')
    pairs = _pairs(fields) if recipe.layout == 'libsvm' else enumerate(fields, start=1)
    values = [(index, plain_number(value)) for index, value in pairs]
    return ' '.join([recipe.classes[label], *(f'{index}:{value}' for index, value in values if value != '0')]) + '\n'


def _pairs(fields: list[str]) -> Iterator[tuple[str, str]]:
    for pair in fields:
        index, colon, value = pair.partition(':')
        if not colon:
            raise ValueError(f'no colon in {pair!r}')
        yield index, value

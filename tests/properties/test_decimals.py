"""Compiled code reads every decimal number as Python's float does, to the last bit, or leaves the text to numpy."""
import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mr_elm.io import csv_rows
from mr_elm.io.columns import MISSING_TEXTS
from mr_elm.io.fields import find_fields
from mr_elm.io.formats import RowFormat

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.from_regex(r'[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?', fullmatch=True)
HALFWAY = st.builds(lambda odd, shift: str((2 * odd + 1) << shift), st.integers(2**52, 2**53 - 1), st.integers(0, 9))


def parse_table(lines, delimiter, width):
    text = ''.join(f'{line}\n' for line in lines)
    columns = [column.plain_numbers() for column in find_fields(text.encode(), delimiter, width) or ()]
    return None if not columns or any(column is None for column in columns) else np.column_stack(columns)


def bits(number):
    return struct.pack('d', number)


@given(st.lists(st.one_of(FLOATS.map(repr), DECIMALS, HALFWAY), min_size=1, max_size=5))
@example(['9007199254740993', '-0.0', '1e22', '1e23', '8.988465674311582e307', '2.2250738585072014e-308'])
def test_a_number_is_the_nearest_float(texts):
    table = parse_table([','.join(texts)], ',', len(texts))
    if table is not None:
        assert list(map(bits, table[0])) == [bits(float(text)) for text in texts]


@given(st.lists(st.floats(-1e300, 1e300).filter(lambda x: x == 0 or abs(x) > 1e-300), min_size=1, max_size=9))
def test_what_python_writes_of_usual_numbers_is_always_read(numbers):
    table = parse_table([repr(number) for number in numbers], ',', 1)
    assert table is not None and list(map(bits, table[:, 0])) == list(map(bits, numbers))


@pytest.mark.parametrize('text', ['.', '-', '1e', '1e+', '--1', '1.2.3', 'inf', '1_0', '0x1',
                                  '1,2', '1e5.0', '1e400', '1e-400', '12345678901234567890', '1\0'])
def test_anything_but_a_plain_number_is_left_to_numpy(text):
    assert parse_table([text], ',', 1) is None


def test_rows_of_another_width_are_left_to_numpy():
    assert parse_table(['1,2', '3'], ',', 2) is None
    assert parse_table(['1,2', '3,4,5'], ',', 2) is None


@pytest.mark.parametrize('text', MISSING_TEXTS)
def test_a_missing_value_is_no_number(text):
    table = parse_table([f'1, {text}'], ',', 2)
    assert table[0, 0] == 1 and math.isnan(table[0, 1])


@pytest.mark.parametrize('number', ['{!r}', ' {!r}'], ids=['plain', 'with spaces'])
@pytest.mark.parametrize('label', [0, None])
def test_much_text_becomes_the_same_rows_as_little(number, label, monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 3)) * 10.0**np.arange(-150, 151, 150)
    lines = [','.join(['citt\xc3\xa0 '] * (label == 0) + [number.format(x) for x in row]) for row in X.tolist()]
    form = RowFormat('csv', n_columns=3 + (label == 0), label_column=label)
    little = csv_rows.parse(lines, form)
    monkeypatch.setitem(csv_rows.MUCH, False, -1)
    much = csv_rows.parse_text('\n'.join([*lines, '']).encode('latin-1'), form)
    assert np.array_equal(much.X, X) and np.array_equal(little.X, X)
    assert (much.names, None if label is None else much.codes.tolist()) == (
        little.names, None if label is None else little.codes.tolist())

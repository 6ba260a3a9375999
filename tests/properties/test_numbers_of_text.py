"""Numbers of text are read as Python's float reads them, to the last bit, whatever their style."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mr_elm.errors import RowError
from mr_elm.rows.columns import MISSING_TEXTS, TextColumn
from mr_elm.rows.csv_rows import Style, find_style
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.from_regex(r'[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?', fullmatch=True)
HALFWAY = st.builds(lambda odd, shift: str((2 * odd + 1) << shift), st.integers(2**52, 2**53 - 1), st.integers(0, 9))
TEXTS = st.one_of(FLOATS.map(repr), DECIMALS, HALFWAY).filter(lambda text: math.isfinite(float(text)))


def bits(number):
    return struct.pack('d', number)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from('.,'))
@example(['9007199254740993', '-0.0', '1e22', '1e23', '8.988465674311582e307', '2.2250738585072014e-308'], '.')
def test_a_number_is_the_nearest_float(texts, decimal):
    line = ';'.join(['a', *(text.replace('.', decimal) for text in texts)])
    form = RowOptions('csv', ';', decimal, n_columns=len(texts) + 1)
    [block] = LineReader(form).blocks([line.encode()])
    assert list(map(bits, block.X[0].tolist())) == [bits(float(text)) for text in texts]
    column = TextColumn([text.replace('.', decimal) for text in texts], decimal)
    assert list(map(bits, column.numbers().tolist())) == [bits(float(text)) for text in texts]


@pytest.mark.parametrize(
    'text',
    [
        '.',
        '-',
        '1e',
        '1e+',
        '--1',
        '1.2.3',
        'inf',
        'nan',
        '1_0',
        '0x1',
        '1e5.0',
        '1e400',
        '12a',
        '1 2',
        '１',
        '',
        'nan(1)',
        '\xa01',
    ],
)
def test_anything_but_a_finite_number_is_refused(text):
    form = RowOptions('csv', ';', '.', n_columns=2)
    reader = LineReader(form, stop=False)
    assert list(reader.blocks([f'a;{text}'.encode()])) == []
    assert reader.rejected[0].reason in ('not a number', 'nan or infinite', 'missing value')


@pytest.mark.parametrize('text', MISSING_TEXTS)
def test_a_missing_value_of_a_table_is_no_number(text):
    assert np.isnan(TextColumn(['1', text, 'True']).numbers()).tolist() == [False, True, False]


@pytest.mark.parametrize(
    'texts, decimal, style, numbers',
    [
        (['$1,234.50', '-$2', '$ 3.5'], '.', ('$', '', ','), [1234.5, -2, 3.5]),
        (['12.5%', '3 %', '-4%'], '.', ('', '%', ''), [12.5, 3, -4]),
        (['1.234,5 €', '7 €', '1.000.000 €'], ',', ('', '€', '.'), [1234.5, 7, 1e6]),
        (["1'234.5", '999'], '.', ('', '', "'"), [1234.5, 999]),
        (['1\xa0234,5', '-12'], ',', ('', '', '\xa0'), [1234.5, -12]),
        (['1 234', '12'], '.', ('', '', ' '), [1234, 12]),
        (['£1', '£2.25'], '.', ('£', '', ''), [1, 2.25]),
    ],
)
def test_signs_and_separators_are_read_where_all_values_agree(texts, decimal, style, numbers):
    assert find_style(texts, decimal) == Style(*style)
    assert Style(*style).read([*texts, '', '5'], decimal).tolist()[:-2] == numbers


@pytest.mark.parametrize(
    'texts, decimal',
    [
        (['$1', '€2'], '.'),
        (['1,234', "1'234"], '.'),
        (['12%', '3 $'], '.'),
        (['1,23', '4'], '.'),
        (['12,34,567'], '.'),
        (['1.5', '2'], ','),
        (['x', '1'], '.'),
        (['2021-01-31'], '.'),
    ],
)
def test_values_that_do_not_agree_have_no_style(texts, decimal):
    assert find_style(texts, decimal) is None


@pytest.mark.parametrize(
    'style, text, decimal',
    [(('$', ''), '$1,234.50', '.'), (('', '%'), '1,234.50%', '.'), (('', '€'), '1.234,50 €', ',')],
)
def test_the_first_number_of_thousands_may_come_late_where_there_is_a_sign(style, text, decimal):
    assert Style(*style).read([text], decimal).tolist() == [1234.5]
    with pytest.raises(RowError, match='not a number'):
        Style(*style).read([text.translate(str.maketrans(',.', '.,'))], decimal)


@pytest.mark.parametrize('text', ['1,23', '12,34,567', '€5', 'x', '1,234,', '1.2.3'])
def test_a_number_in_another_style_is_refused(text):
    with pytest.raises(RowError, match='not a number'):
        Style('$', '', ',').read(['$1', text])

"""Dates as features: which texts are dates, in which order, and what becomes of them."""

import datetime
import json
import random

import numpy as np
import pandas as pd
import pytest

from mr_elm.errors import DataFormatError, RowError
from mr_elm.rows.columns import NumberColumn, Table, TextColumn
from mr_elm.rows.dates import ORDERS, find_hours, read_dates
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.sums.values import ColumnValues, choose_column, choose_encoding

FORMATS = {
    'year-month-day': ('%Y-%m-%d', '%Y/%m/%d', '%Y.%m.%d %H:%M:%S.%f', '%Y-%m-%dT%H:%M:%SZ', '%Y-%m-%d %H:%M:%S+00:00'),
    'day-month-year': ('%d/%m/%Y', '%d.%m.%Y %H:%M', '%d-%m-%Y %I:%M %p'),
    'month-day-year': ('%m/%d/%Y', '%m/%d/%Y, %I:%M:%S %p'),
    'day-month-yy': ('%d.%m.%y',),
    'month-day-yy': ('%m/%d/%y',),
    'yy-month-day': ('%y-%m-%d',),
    'day-Jan-year': ('%d %b %Y', '%d %B, %Y', '%d-%b-%Y %H:%M', '%d%b%Y', '%d%b%Y:%H:%M:%S'),
    'day-Jan-yy': ('%d-%b-%y', '%d%b%y'),
    'Jan-day-year': ('%b %d, %Y', '%B %d %Y %I:%M %p'),
    'year-month': ('%Y-%m', '%Y/%m', '%Y-%b', '%Y %B'),
    'month-year': ('%m/%Y', '%b %Y', '%B, %Y'),
    'month-yy': ('%b-%y',),
}
WRITTEN = [(order, text) for order, texts in FORMATS.items() for text in texts]
EPOCH = pd.Timestamp('1970-01-01')


def draw_dates(n=200, first='1970-01-01', last='2068-12-31'):
    generator = random.Random(0)
    begin, end = (datetime.datetime.fromisoformat(day) for day in (first, last))
    days = (end - begin).days
    return [begin + datetime.timedelta(generator.randrange(days), 1800 * generator.randrange(48)) for _ in range(n)]


def days_of(date):
    return (pd.Timestamp(date) - EPOCH) / pd.Timedelta(days=1)


@pytest.mark.parametrize(('order', 'text'), WRITTEN)
def test_dates_are_days_since_1970_however_they_are_written(order, text):
    dates = draw_dates()
    texts = [date.strftime(text) for date in dates]
    read = [datetime.datetime.strptime(written, text) for written in texts]  # with a time if it is there
    expected = list(map(days_of, read))
    np.testing.assert_allclose(read_dates(texts, order), expected, rtol=0, atol=1e-9)
    values = ColumnValues.of(TextColumn([*texts, '']))
    assert list(values.days) == [order]
    hours = ()
    if '%M' in text:
        hours = tuple(sorted({str(date.hour) for date in read}))
    assert choose_column('x', values) == Column('x', 'date', pytest.approx(np.mean(expected)), True, hours, order)


@pytest.mark.parametrize('text', ['{}Q{}', '{}-Q{}', '{} q{}', 'Q{1} {0}', 'Q{1}/{0}'])
def test_a_quarter_is_its_first_day(text):
    quarters = pd.period_range('1998Q3', '2021Q1', freq='Q')
    values = ColumnValues.of(TextColumn([text.format(quarter.year, quarter.quarter) for quarter in quarters]))
    expected = np.mean([days_of(quarter.start_time) for quarter in quarters])
    assert choose_column('x', values).mean == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    'texts', [['1234-56', '1234-12'], ['2012-13', '2013-14'], ['Marker-01', 'Marker-02'], ['2020-W01']]
)
def test_codes_that_resemble_months_are_categories(texts):
    assert choose_column('x', ColumnValues.of(TextColumn(texts))).kind == 'category'


def test_a_zone_is_taken_into_account():
    texts = [
        '2020-01-01T00:30:00+02:00',
        '2020-01-01 00:30:00.123456789-0500',
        '2020-01-01 00:30:00+02',
        '2020-01-01 00:30:00 -05:00',
        '2019-12-31 22:30 UTC',
        '2019-12-31T22:30Z',
    ]
    expected = [days_of(pd.Timestamp(text).tz_convert(None)) for text in texts]
    texts.append('2019-12-31 22:30')
    np.testing.assert_allclose(read_dates(texts, 'year-month-day'), [*expected, expected[-1]], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    'text', ['Mon Jan  6 10:00:00 UTC 2020', 'Wed, 01 Jan 2020 10:00:00 GMT', '3 août 2020', '10h30', '00:30:00+02']
)
def test_dates_of_another_form_are_no_categories(text):
    with pytest.raises(
        DataFormatError, match=r'dates or times such as .*, expected dates .* like 2020-12-31, or leave'
    ):
        choose_column('x', ColumnValues.of(TextColumn([text, text])))


@pytest.mark.parametrize(
    ('form', 'order'), [('%Y-%m-%d', 'year-month-day'), ('%m/%d/%Y', 'month-day-year'), ('%d %b %y', 'day-Jan-yy')]
)
@pytest.mark.parametrize('odd', ['2020-13-45', '31.12.20', '5-2021'])
def test_the_one_that_is_written_otherwise_is_named(form, order, odd):
    texts = [day.strftime(form) for day in pd.date_range('2019-05-05', periods=400)]
    texts[300] = odd
    said = f"column 'x' holds '{odd}', and its dates are written {order}, .*correct"
    one, other = (ColumnValues.of(TextColumn(part)) for part in (texts[:150], texts[150:]))
    for values in (one.merge(other), other.merge(one)):
        with pytest.raises(DataFormatError, match=said):
            choose_column('x', values)


@pytest.mark.parametrize(
    ('text', 'order'),
    [
        ('2021-02-29', 'year-month-day'),
        ('2020-12-31 24:01', 'year-month-day'),
        ('31/04/2020', 'day-month-year'),
        ('2020-12-31', 'day-month-year'),
        ('31/12/2020', 'day-month-yy'),
        ('1 Brumaire 2020', 'day-Jan-year'),
        ('2020-01-01x', 'year-month-day'),
    ],
)
def test_what_is_in_no_calendar_is_no_date(text, order):
    sound = {'day-month-year': '01/02/2020', 'day-month-yy': '01/02/20', 'day-Jan-year': '1 May 2020'}
    with pytest.raises(RowError) as caught:
        read_dates([sound.get(order, '2020-01-02'), text], order)
    assert f"holds '{text}'" in caught.value.detail and order in caught.value.detail
    with pytest.raises(RowError, match='not a date'):
        NumberColumn(np.array([1.0])).dates(order)


@pytest.mark.parametrize(
    ('texts', 'orders'),
    [
        (['01/02/2020', '03/04/2020'], 'day-month-year or month-day-year'),
        (['11/12/13'], 'day-month-yy or month-day-yy'),
        (
            ['20-12-30', '20-12-31'],
            'day-month-yy or yy-month-day, expected a day later than the 12th, or years of four digits',
        ),
        (['31/12/20', '12/31/20'], 'alike'),
        (['13/01/2020', '01/13/2020'], 'alike'),
        (['2020-01-01', '01/02/2020'], 'alike'),
        (['0000-00-00', '2020-01-01'], 'alike'),
        (['10:30', '11:30'], 'alike'),
    ],
)
def test_dates_in_doubt_are_refused_and_can_be_categories(texts, orders):
    values = ColumnValues.of(TextColumn(texts))
    with pytest.raises(DataFormatError, match=f"column 'x'.*{orders}.*--drop 'x'.*--category 'x'"):
        choose_column('x', values)
    assert choose_column('x', values, is_category=True).categories == tuple(sorted(texts))


@pytest.mark.parametrize(
    ('texts', 'order'),
    [
        (['31/12/20'], 'day-month-yy'),
        (['12/31/20 6:30 PM', '01/02/21 1:00 AM'], 'month-day-yy'),
        (['31-12-68', '01-02-69', ''], 'day-month-yy'),
        ([f'{day:02}.01.{20 + day % 3}' for day in range(1, 32)], 'day-month-yy'),
        ([f'{20 + day % 3}-01-{day:02}' for day in range(1, 32)], 'yy-month-day'),
    ],
)
def test_the_values_tell_where_a_year_of_two_digits_stands(texts, order):
    column = choose_column('x', ColumnValues.of(TextColumn(texts)))
    assert column.order == order
    assert Encoding((column,)).dates == f'x as {order} from 1969 to 2068'
    expected = days_of(pd.to_datetime(texts[0], dayfirst=order[0] == 'd', yearfirst=order[0] == 'y'))
    assert read_dates(texts[:1], order) == pytest.approx([expected])


@pytest.mark.parametrize(
    ('order', 'texts'),
    [
        ('day-month-yy', ['31.12.68', '01.01.69', '01.01.00']),
        ('day-Jan-yy', ['31-Dec-68', '01-Jan-69', '01-Jan-00']),
        ('yy-month-day', ['68-12-31', '69-01-01', '00-01-01']),
    ],
)
def test_years_of_two_digits_lie_from_1969_to_2068(order, texts):
    assert read_dates(texts, order).tolist() == [days_of(day) for day in ('2068-12-31', '1969-01-01', '2000-01-01')]


def test_other_columns_tell_the_order_of_days_and_months():
    doubtful, tells, contradicts = ['01/02/2020', '03/04/2021'], ['31/12/80', '01/02/85'], ['12/31/80', '01/02/85']
    values = [ColumnValues.of(TextColumn(texts)) for texts in (doubtful, tells, contradicts)]
    assert [column.order for column in choose_encoding(['x', 'y'], values[:2]).columns] == [
        'day-month-year',
        'day-month-yy',
    ]
    assert choose_encoding(['x', 'z'], [values[0], values[2]]).columns[0].order == 'month-day-year'
    with pytest.raises(DataFormatError, match="column 'x'.*day-month-year or month-day-year"):
        choose_encoding(['x', 'y', 'z'], values)


def test_dates_can_be_refused():
    values = ColumnValues.of(TextColumn(['2020-01-01', '2020-01-02']))
    with pytest.raises(
        DataFormatError, match=r"dates or times such as '2020-01-01', expected numbers .*days since one of them, or"
    ):
        choose_encoding(['x'], [values], dates='refuse')
    assert choose_column('x', values).kind == 'date'


@pytest.mark.parametrize('other', ['soon', '7'])
def test_dates_with_other_values_are_a_category(other):
    whole = ColumnValues.of(TextColumn(['2020-01-01', other]))
    parts = ColumnValues.of(TextColumn(['2020-01-01'])).add(TextColumn([other]))
    assert choose_column('x', whole) == choose_column('x', parts)
    assert choose_column('x', whole).kind == 'category'


def test_all_rows_decide_in_any_split():
    dates = [date.strftime('%d/%m/%Y') for date in draw_dates(60)]
    dates[7::9] = [''] * len(dates[7::9])
    weights = np.arange(1.0, 61)
    whole = ColumnValues.of(TextColumn(dates), weights)
    for size in (1, 7, 59):
        parts = [
            ColumnValues.of(TextColumn(dates[i : i + size]), weights[i : i + size]) for i in range(0, len(dates), size)
        ]
        for order in (parts, parts[::-1]):
            merged = ColumnValues()
            for part in order:
                merged = merged.merge(ColumnValues.from_json(json.loads(json.dumps(part.to_json()))))
            assert list(merged.days) == ['day-month-year']
            assert merged.days == pytest.approx(whole.days) and merged.date_weight == whole.date_weight
            assert choose_column('x', merged).mean == pytest.approx(choose_column('x', whole).mean)


def test_a_column_of_more_dates_than_categories_can_be_is_a_date():
    minutes = (np.datetime64('2020-01-01T00:00') + np.arange(10_500)).astype(str).tolist()
    values = ColumnValues().add(TextColumn(minutes[:9000])).add(TextColumn(minutes[9000:]))
    assert values.counts is None and choose_column('x', values).order == 'year-month-day'


def test_an_hour_lasts_from_its_first_to_its_last_microsecond():
    for first in ('1970-01-01', '1999-12-31', '2040-02-28', '1931-07-01'):
        begins = np.datetime64(first, 'us') + np.arange(48) * np.timedelta64(1, 'h')
        for moments in (begins, begins + np.timedelta64(3_599_999_999, 'us')):
            found = find_hours(read_dates(np.datetime_as_string(moments).tolist(), 'year-month-day'))
            assert found.tolist() == 2 * list(range(24))


def test_hours_of_the_training_are_categories_in_any_split():
    texts = ['2020-01-01 07:59', '', '2020-01-02 18:00', '2020-01-03 07:00', '2020-01-04T00:30:00+02:00']
    whole = ColumnValues.of(TextColumn(texts))
    for size in (1, 2, 4):
        merged = ColumnValues()
        for start in range(0, len(texts), size):
            part = ColumnValues.of(TextColumn(texts[start : start + size]))
            merged = merged.merge(ColumnValues.from_json(json.loads(json.dumps(part.to_json()))))
        assert choose_column('x', merged).categories == choose_column('x', whole).categories == ('18', '22', '7')
    encoding = Encoding((choose_column('x', whole),))
    hours = [name for name in encoding.names if 'hour' in name]
    assert hours == ['x hour is missing', 'x hour=18', 'x hour=22', 'x hour=7', 'x hour=(other)']
    later = Table((TextColumn(['2021-05-05 18:20', '2021-05-05', 'NA']),), 3)
    assert encoding.encode(later).spread()[:, -5:].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]


@pytest.mark.parametrize('texts', [['2020-01-01', '2020-01-02'], ['2020-01-01 09:00', '2020-01-02 09:45']])
def test_dates_of_one_hour_are_days_a_month_and_a_weekday(texts):
    column = choose_column('x', ColumnValues.of(TextColumn(texts)))
    facts = {'name': 'x', 'kind': 'date', 'missing': False, 'categories': [], 'order': 'year-month-day'}
    assert {**column.to_json(), 'categories': [*column.categories]} == {**facts, 'mean': column.mean}
    assert column.names[-2:] == ['x weekday=7', 'x weekday=(other)'] and column.width == 1 + 13 + 8


def test_a_date_is_days_and_a_month_and_a_weekday_and_an_hour():
    dates = [date.strftime('%Y-%m-%d %H:%M') for date in draw_dates(100, '1950-01-01')]
    dates[::10] = ['NA'] * 10
    names, table = ('sold', 'size'), Table((TextColumn(dates), NumberColumn(np.arange(100.0))), 100)
    encoding = choose_encoding(names, [ColumnValues.of(column) for column in table.columns])
    X, stamps = (
        encoding.encode(table).spread(),
        pd.to_datetime(pd.Series(dates), format='%Y-%m-%d %H:%M', errors='coerce'),
    )
    found = dict(zip(encoding.names, X.T, strict=True))
    days = (stamps - EPOCH) / pd.Timedelta(days=1)
    np.testing.assert_allclose(found['sold'], days.fillna(days.mean()))
    np.testing.assert_array_equal(found['sold is missing'], stamps.isna())
    numbers = {'month': range(1, 13), 'weekday': range(1, 8), 'hour': stamps.dt.hour.dropna().astype(int).unique()}
    parts = stamps.dt.month, stamps.dt.day_of_week + 1, stamps.dt.hour
    for part, values in zip(numbers, parts, strict=True):
        for value in numbers[part]:
            np.testing.assert_array_equal(found[f'sold {part}={value}'], values == value)
        np.testing.assert_array_equal(found[f'sold {part} is missing'], stamps.isna())
        assert not found[f'sold {part}=(other)'].any()
    np.testing.assert_array_equal(found['size'], np.arange(100))
    assert encoding.indicators.tolist() == [name not in ('sold', 'size') for name in encoding.names]
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding
    with pytest.raises(RowError, match="column 'sold' holds 'soon', and its dates are written year-month-day"):
        encoding.encode(Table((TextColumn(['2020-01-01', 'soon']), NumberColumn(np.zeros(2))), 2))


@pytest.mark.parametrize('record', [{'kind': 'date'}, {'kind': 'date', 'order': 'week'}, {'order': 'year-month-day'}])
def test_a_damaged_order_is_refused(record):
    whole = {'name': 'x', 'kind': 'number', 'mean': 0.0, 'missing': False, 'categories': []}
    with pytest.raises(ValueError, match='expected a column'):
        Column.from_json({**whole, **record})
    assert set(ORDERS) == set(FORMATS)

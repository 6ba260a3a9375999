"""Read dates and times of day as days since 1970-01-01, by the casts of pyarrow, which know the calendar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.arrow_arrays import from_array, from_flags, to_texts
from mr_elm.rows.text import quote
from mr_elm.typing import Floats

MICROSECONDS = 86_400_000_000  # of a day
HALVES = (r'(?i) ?a\.?m\.?$', -0.5), (r'(?i) ?p\.?m\.?$', 0.5)  # of the day: 12 AM is 0 h, 1 PM is 13 h
ZONE = r'(Z|:\d\d[.\d]*[-+]\d\d:?\d\d)$'
MONTHS = ('jan|q1', 'feb', 'mar', 'apr|q2', 'may', 'jun', 'jul|q3', 'aug', 'sep', 'oct|q4', 'nov', 'dec')
ISO = 'year-month-day'  # ISO 8601, as types of dates are written
ORDERS = {  # of a date -> its pattern, and what makes year-month-day of it; a name of a month is m and two digits
    ISO: (r'^(\d{4})[-/. ](\d{1,2})[-/. ](\d{1,2})', r'\1-\2-\3'),
    'day-month-year': (r'^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4})', r'\3-\2-\1'),
    'month-day-year': (r'^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4})', r'\3-\1-\2'),
    'day-month-yy': (r'^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d\d)\b', r'y\3-\2-\1'),
    'month-day-yy': (r'^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d\d)\b', r'y\3-\1-\2'),
    'yy-month-day': (r'^(\d\d)[-/. ](\d{1,2})[-/. ](\d{1,2})\b', r'y\1-\2-\3'),
    'day-Jan-year': (r'^(\d{1,2})[-/. ]?m(\d\d)[-/. ,]*(\d{4})', r'\3-\2-\1'),
    'day-Jan-yy': (r'^(\d{1,2})[-/. ]?m(\d\d)[-/. ,]*(\d\d)\b', r'y\3-\2-\1'),
    'Jan-day-year': (r'^m(\d\d) (\d{1,2}),? (\d{4})', r'\3-\1-\2'),
    'year-month': (r'^(\d{4})([-/. ]|[-/. ]?m)(\d{1,2})$', r'\1-\3-01'),  # or a quarter; the first day stands for it
    'month-year': (r'^m?(\d{1,2})[-/. ,]*(\d{4})$', r'\2-\1-01'),
    'month-yy': (r"^m(\d\d)[-'](\d\d)$", r'y\2-\1-01'),
}
STEPS = (  # what turns dates that begin with their year into dates of ISO 8601
    (r'^y(69|[7-9]\d)-', r'19\1-'),
    (r'^y', '20'),
    (r'^(\d+-\d+-\d+)(:|, ?)', r'\1 '),
    (r' ?(UTC|GMT)$', 'Z'),
    (r' ?([-+]\d\d:?\d\d)$', r'\1'),
    (r'(:\d\d[.\d]*[-+]\d\d)$', r'\1:00'),
    (r'([-T :])(\d)\b', r'\10\2'),
    (r'(\.\d{6})\d+', r'\1'),  # microseconds are the smallest unit
    (r'^([0-9-]+)$', r'\1 00:00'),
)


def place_years(orders: list[str], texts: Iterable[str]) -> list[str]:
    """Return the orders that are left once the texts of all dates tell where a year of two digits stands.

    Source: ours. It stands last, as pandas reads it, unless first numbers are few and last ones more than months.
    """
    numbers = [re.findall(r'\d+', text) for text in texts if text]
    n_first, n_last = (len({each[place] for each in numbers}) for place in (0, 2))
    if n_first <= 12 < n_last:
        return ['yy-month-day']
    if n_first >= n_last:
        return [order for order in orders if order != 'yy-month-day']
    return orders


def read_dates(texts: Any, order: str) -> Floats:
    """Return the dates of some texts, a pyarrow.StringArray or a sequence: (n,) days since 1970-01-01, in UTC.

    order : a name in ORDERS. A time of day is a fraction of a day; one without a zone is taken for UTC. Years of two
    digits lie from 1969 to 2068. Raises RowError at a text that is no date of this order.
    """
    texts = to_texts(texts)
    try:
        return convert(texts, order)
    except ValueError as error:
        middle = len(texts) // 2
        for half in (texts[:middle], texts[middle:]) if middle else ():  # pyarrow does not say which one
            read_dates(half, order)
        held = f'holds {quote(texts[0].as_py())}, and its dates are written {order}'
        raise RowError('not a date', held) from error


def find_hours(days: Floats) -> Floats:
    """Return the hours of the day, from 0 to 23. Days may have been rounded down, to a moment before a full hour."""
    return np.floor(np.nextafter(days, np.inf) * 24) % 24


def convert(texts: Any, order: str) -> Floats:
    """Do as `read_dates`. Raises ValueError, without saying where."""
    import pyarrow as arrow
    from pyarrow import compute

    shift = np.zeros(len(texts))
    for pattern, days in HALVES:
        shift[from_flags(compute.match_substring_regex(texts, pattern))] = days
        texts = compute.replace_substring_regex(texts, pattern, '')
    pattern, parts = ORDERS[order]
    if 'm' in pattern:
        for number, month in enumerate(MONTHS, 1):
            texts = compute.replace_substring_regex(texts, rf'(?i)(^|[^a-z])({month})[a-z]*\.?', rf'\1m{number:02}')
    if compute.match_substring_regex(texts, pattern).false_count:
        raise ValueError('another order')
    for step in ((pattern, parts), *STEPS):
        texts = compute.replace_substring_regex(texts, *step)
    has_zone = compute.match_substring_regex(texts, ZONE)
    zoned = compute.if_else(has_zone, texts, compute.binary_join_element_wise(texts, 'Z', ''))
    dates = from_array(zoned.cast(arrow.timestamp('us', 'UTC')).cast(arrow.int64())) / MICROSECONDS
    return dates + shift * ((dates % 1 < 0.5) == (shift > 0))

"""Count the values of the columns of a table in one pass, in pieces that merge, and choose their encoding."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, RowError, warn_unsuitable
from mr_elm.rows.blocks import fill_weights
from mr_elm.rows.columns import MISSING, PROBED_VALUES, NumberColumn, Values, count_values, is_text, look_up
from mr_elm.rows.dates import ORDERS, find_hours, place_years, read_dates
from mr_elm.rows.encoding import CATEGORY, DATE, Column, Encoding
from mr_elm.rows.options import AUTO, MAX_CATEGORIES, REFUSE
from mr_elm.rows.text import quote, read_number
from mr_elm.typing import Floats, RowWeights

MAX_VALUES = 10_000  # distinct values of a category
CLOCK = r'\d{1,2}[:.h]\d\d(:\d\d([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?'
TIME = rf'{CLOCK}( ?(Z|[A-Z]{{3,4}}|[+-]\d\d(:?\d\d)?))?'
WEEKDAY = r'(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,? '
MONTH = r'(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?'
NAMED = (  # month, or quarter
    r'(Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?|Sept?(ember)?|Oct(ober)?|Nov(ember)?'
    r'|Dec(ember)?|Q[1-4])\.?'
)
DAY = (
    rf'((19|20)\d\d([-/. ](0?[1-9]|1[0-2])|[-/. ]?{NAMED})|((0?[1-9]|1[0-2])[-/. ]|{NAMED}[-/. ,]*)(19|20)\d\d'
    rf"|{NAMED}[-']\d\d"
    rf'|\d{{4}}(?P<a>[-/. ])\d{{1,2}}(?P=a)\d{{1,2}}|\d{{1,2}}(?P<b>[-/. ])\d{{1,2}}(?P=b)\d{{2}}(\d\d)?'
    rf'|\d{{1,2}}[-/. ]?{MONTH}[-/. ,]*\d{{2}}(\d\d)?|{MONTH} \d{{1,2}},? \d{{4}}'
    rf'|\d{{1,2}}\.? [^\W\d_]{{3,}}\.? \d{{4}}|{MONTH} +\d{{1,2}} {TIME} \d{{4}})'  # of other languages, of C
)
DATE_OR_TIME = re.compile(
    rf'({WEEKDAY})?{DAY}(([T :]|, ?) ?{TIME})?|{CLOCK}( ?(Z|[A-Z]{{3,4}}|\+\d\d(:?\d\d)?))?', re.IGNORECASE
)
MIN_NAME_ROWS = 20  # rows that tell so
DIGIT_FIRST = re.compile(r'([A-Z]{2,3} )?\W*\d')  # a number with signs before or behind it, perhaps
DIGITS = re.compile(r'[-+.,\d]+')
CODE = re.compile(r'0\d{3,}')  # such as a postal code


@dataclass
class ColumnValues:
    """Count the values of one column.

    counts : value as text -> rows, '' for a missing one; None once more than MAX_VALUES distinct ones were seen.
    weight, mean : sum of the weights of the rows with a number, and the mean of these numbers.
    missing, texts, dates : rows without a value, with one that is no number, and with one that is a date or a time.
    days : how all dates may be written, names in ORDERS -> their mean in days; None before one was seen. Empty where
    they are not written alike, and beside text. date_weight : sum of the weights of their rows.
    example : the first text in byte order that is no date, or else of the dates, '' without one.
    typed : whether the type of the column says that its values are text.
    hours : of the day, of the dates, in byte order.
    """

    counts: Counter[str] | None = field(default_factory=Counter)
    weight: float = 0.0
    mean: float = 0.0
    missing: int = 0
    texts: int = 0
    dates: int = 0
    days: dict[str, float] | None = None
    date_weight: float = 0.0
    example: str = ''
    typed: bool = False
    hours: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, values: Values, weights: RowWeights = None) -> ColumnValues:
        """Count the values of some rows; weights (n,) say how often each counts, once by default."""
        counts, numbers, texts = count_values(values), values.plain, {}
        if numbers is None or np.isfinite(numbers).sum() + counts[MISSING] < len(numbers):
            texts = {text: n for text, n in counts.items() if is_text(text, values.decimal)}
            numbers = look_up(values, lambda text: read_number(text, values.decimal)).astype(float)
        dates = set(filter(DATE_OR_TIME.fullmatch, texts))
        found = cls(
            keep_few(counts),
            *weigh(numbers, weights),
            counts[MISSING],
            sum(texts.values()),
            sum(texts[date] for date in dates),
            example=min(texts.keys() - dates or dates, default=''),
            typed=values.typed,
        )
        if texts:
            found.days = {}
            if found.texts == found.dates and not found.weight:
                for order in [values.order] if values.order else ORDERS:
                    with suppress(RowError):
                        days = values.dates(order)
                        found.date_weight, found.days[order] = weigh(days, weights)
                        found.hours = sorted(filter(None, count_values(NumberColumn(find_hours(days)))))
        return found

    def add(self, values: Values, weights: RowWeights = None) -> ColumnValues:
        """Return the counts with those of some more rows."""
        if self.counts is None:  # there are too many different values to know each
            try:
                numbers = values.numbers()
                return self.merge(ColumnValues(None, *weigh(numbers, weights), int(np.isnan(numbers).sum())))
            except RowError:
                pass  # there is text among them
        return self.merge(self.of(values, weights))

    def merge(self, other: ColumnValues) -> ColumnValues:
        """Return the counts of both sets of rows together."""
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = Counter(self.counts)
            counts.update(other.counts)  # in a third of the time of a sum
        weight = self.weight + other.weight
        mean = self.mean + (other.mean - self.mean) * (other.weight / weight) if weight else 0.0
        if not math.isfinite(mean):  # the difference overflowed
            mean = self.mean * (self.weight / weight) + other.mean * (other.weight / weight)
        days, date_weight = self.days, self.date_weight + other.date_weight
        if days is None:
            days = other.days
        elif other.days is not None:
            share = other.date_weight / date_weight if date_weight else 0.0
            days = {
                order: mean + (other.days[order] - mean) * share for order, mean in days.items() if order in other.days
            }
        return ColumnValues(
            keep_few(counts),
            weight,
            mean,
            self.missing + other.missing,
            self.texts + other.texts,
            self.dates + other.dates,
            days,
            date_weight,
            min(
                filter(None, [self.example, other.example]),
                key=lambda text: (bool(DATE_OR_TIME.fullmatch(text)), text),
                default='',
            ),
            self.typed or other.typed,
            sorted({*self.hours, *other.hours}),
        )

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold; `ColumnValues(**...)` undoes it."""
        return vars(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ColumnValues:
        """Make the counts of what `to_json` returned."""
        values = cls(**record)
        if values.counts is not None:
            values.counts = Counter(values.counts)
        return values


def keep_few(counts: Counter[str] | None) -> Counter[str] | None:
    """Return the counts of values, None where there are too many different ones to know each."""
    if counts is not None and len(counts) > MAX_VALUES:
        return None
    return counts


def weigh(numbers: Floats, weights: RowWeights = None) -> tuple[float, float]:
    """Return the sum of the weights of finite numbers, and their mean; weights are 1 by default.

    The sum is of long doubles. So with whole weights it has the same bits, in one block of rows, whether equal numbers
    were counted before or not.
    """
    present = np.isfinite(numbers)
    values = numbers[present].astype(np.longdouble)
    weights = fill_weights(weights, len(numbers))[present]
    total = float(weights.sum())
    if not total:
        return 0.0, 0.0
    return total, float((weights * values).sum() / total)


def merge_values(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the counts of all columns over tasks; each part is an object with the list `columns`."""
    merged: list[ColumnValues] = []
    for part in parts:
        columns = [ColumnValues.from_json(column) for column in part['columns']]
        if merged:
            columns = [a.merge(b) for a, b in zip(merged, columns, strict=True)]
        merged = columns
    return {'columns': [column.to_json() for column in merged]}


def choose_encoding(
    names: Sequence[str],
    values: Sequence[ColumnValues],
    max_categories: int = MAX_CATEGORIES,
    categorical: Container[str] = (),
    dates: str = AUTO,
) -> Encoding:
    """Choose how columns become features: with dates, a date; with other text, a category; all else are numbers.

    max_categories : how many values of a category have a feature of their own, the most frequent ones, ties by byte
    order. categorical : names of columns that are categories even if all their values are numbers, or dates.
    dates : auto, or refuse. Raises DataFormatError for a column of dates that are refused, or whose order is in doubt,
    and for one of too many different texts.
    """
    decided = {orders[0] for column in values if len(orders := list_orders(column)) == 1}
    return Encoding(
        tuple(
            choose_column(name, column, max_categories, name in categorical, dates, decided)
            for name, column in zip(names, values, strict=True)
        )
    )


def list_orders(values: ColumnValues, decided: Iterable[str] = ()) -> list[str]:
    """List how the dates of a column may be written. decided : the orders of other columns of the table.

    If days and months do not tell, other columns that do must agree.
    """
    orders = list(values.days or ())
    if len(orders) > 1 and 'yy-month-day' in orders and values.counts:
        orders = place_years(orders, values.counts)
    begins = {order.rpartition('-')[0] for order in decided} & {'day-month', 'month-day'}
    if len(begins) == 1:
        orders = [order for order in orders if order.rpartition('-')[0] in begins] or orders
    return orders


def warn_of_doubt(name: str, values: ColumnValues, is_category: bool = False) -> None:
    """Warn where the values of a column may mean something else."""
    counts = values.counts or Counter()
    doubt = ''
    if is_category:
        n_rows, n_values = counts.total() - values.missing, len(counts) - bool(values.missing)
        n_texts, example = values.texts - values.dates or values.texts or n_rows, values.example or max(counts)
        others = ''
        if n_values >= MIN_NAME_ROWS and (odd := find_odd_forms(counts)):  # numbers have many values
            n_texts, example = odd.total(), min(odd)
            others = f', others such as {quote(min(counts.keys() - odd.keys() - {MISSING}))}'
        kind = (
            f'is a category of {n_values:,} different values in {n_rows:,} rows, {n_texts:,} of them with text such as '
            f'{quote(example)}{others}'
        )
        has_sign = DIGIT_FIRST.match(example)
        if n_values >= MIN_NAME_ROWS and (has_sign or min(n_values, n_texts) > 0.9 * n_rows):
            doubt = (
                f'leave it out with --drop {name!r} if they are names of the rows, write them all alike, or without '
                'signs, if they are numbers, make features of their words if they are sentences (docs/text.md)'
            )
        elif n_texts < n_rows / 2:  # which are numbers, or dates
            doubt = (
                'if its values should be numbers or dates, correct these fields, or leave them empty where values are '
                f'missing, or leave the column out with --drop {name!r}'
            )
    elif counts.total() == values.missing > 0:  # infinite numbers, and no row at all, are errors
        kind, doubt = 'holds no value', f'leave it out with --drop {name!r}'
    elif codes := list(filter(CODE.fullmatch, counts)):
        kind, doubt = (
            f'holds numbers such as {codes[0]}',
            f'make categories of its values with --category {name!r} if they are names',
        )
    if doubt:
        warn_unsuitable(f'column {name!r} {kind}: {doubt}')


def find_odd_forms(counts: Counter[str]) -> Counter[str]:
    """Return the values without the signs that most numbers of a column have, or none where most are no numbers."""
    forms = {text: DIGITS.sub('', text) for text in counts if text}
    plain = {text for text in forms if read_number(text) is not None}
    if sum(counts[text] for text in plain) > counts.total() / 2:
        forms = {text: 'number' if text in plain else text for text in forms}
    rows = Counter[str]()
    for text, form in forms.items():
        rows[form] += counts[text] * bool(DIGIT_FIRST.match(text))
    [(usual, n_rows)] = rows.most_common(1)
    odd = Counter({text: counts[text] for text, form in forms.items() if form != usual})
    return odd if odd.total() < n_rows else Counter()


def choose_column(
    name: str,
    values: ColumnValues,
    max_categories: int = MAX_CATEGORIES,
    is_category: bool = False,
    dates: str = AUTO,
    decided: Iterable[str] = (),
) -> Column:
    """Choose how one column becomes features. decided : see `list_orders`."""
    if not values.texts and not ((is_category or values.typed) and values.weight):
        warn_of_doubt(name, values)
        return Column(name, mean=values.mean, missing=bool(values.missing))
    if values.dates == values.texts and not values.weight and not is_category:
        return choose_date(name, values, dates, decided)
    if values.counts is None:
        raise DataFormatError(
            f'column {name!r} holds {quote(values.example or "numbers")}, expected at most {MAX_VALUES:,} different '
            f'values of a category, found more: leave it out with --drop {name!r}'
        )
    if not is_category:  # else the user says that it is one
        warn_of_doubt(name, values, is_category=True)
    return make_category(name, values.counts, max_categories)


def make_category(name: str, counts: Mapping[str, float], most: int) -> Column:
    """Return the column of the most frequent values."""
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:most]
    return Column(name, CATEGORY, categories=tuple(sorted(frequent)))


def choose_date(name: str, values: ColumnValues, dates: str, decided: Iterable[str]) -> Column:
    """Choose how one column of dates becomes features. Raises DataFormatError where dates are refused, or in doubt."""
    orders = list_orders(values, decided)
    held = f'holds dates or times such as {quote(values.example)}'
    if dates == AUTO and len(orders) == 1:
        mean, hours = (values.days or {})[orders[0]], tuple(values.hours)
        if len(hours) == 1:  # midnight, in a column without times of day
            hours = ()
        return Column(name, DATE, mean, bool(values.missing), hours, orders[0])
    if dates == REFUSE:
        reason = 'expected numbers or categories: replace them by days since one of them'
    elif orders:
        may_be = f'which may be {" or ".join(orders)}'
        reason = f'{may_be}, expected a day later than the 12th, or years of four digits: write them like 2020-12-31'
    else:
        reason = 'expected dates that are all written alike: write them like 2020-12-31'
        if odd := find_odd_date(sorted(filter(None, values.counts or ()))):
            held, reason = odd, 'expected dates that are all written alike: correct such fields, or leave them empty'
    raise DataFormatError(
        f'column {name!r} {held}, {reason}, '
        f'or leave it out with --drop {name!r}, or make categories of its values with --category {name!r}'
    )


def find_odd_date(texts: Sequence[str]) -> str:
    """Say which text is not written as most of the dates are, as far as some of them tell; '' where none is a date."""

    def count_dates(order: str) -> int:
        n_dates = 0
        for text in texts[:: 1 + len(texts) // PROBED_VALUES]:
            with suppress(RowError):
                n_dates += len(read_dates([text], order))
        return n_dates

    most = max(ORDERS, key=count_dates)
    if count_dates(most):
        try:
            read_dates(texts, most)
        except RowError as error:
            return error.detail
    return ''

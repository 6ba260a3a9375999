"""Synthetic landmarks: rows such as the statistics describe, of no single row, each once, the same for any number."""

from dataclasses import replace

import numpy as np
import pytest

from mr_elm.features.synthetic import draw_landmarks
from mr_elm.rows.encoding import CATEGORY, Column, Encoding
from mr_elm.sums.statistics import ColumnStatistics

MANY = 20_000
ENCODING = Encoding(
    (
        Column('age', mean=3.0, missing=True),
        Column('city', CATEGORY, categories=('Bern', 'Oslo', 'Rome')),
        Column('height'),
        Column('size', CATEGORY, categories=('', 'large')),
    )
)


def statistics_of(mean, deviation, n=1000.0):
    mean, deviation = np.asarray(mean, float), np.asarray(deviation, float)
    return ColumnStatistics(n, np.full(len(mean), np.nan), np.full(len(mean), np.nan), mean, n * deviation**2)


@pytest.fixture
def table():
    """Describe rows of ENCODING: age is 3 +- 2 where a quarter is missing, Oslo stands in 60 % of the rows."""
    share = np.array([0.25, 0.3, 0.6, 0.1, 0.0, 0.2, 0.5, 0.3])
    mean = np.insert(np.insert(share, 0, 3.0), 6, -7.0)
    deviation = np.sqrt(mean * (1 - mean), where=(mean >= 0) & (mean <= 1), out=np.zeros(10))
    deviation[0], deviation[6] = 2 * np.sqrt(0.75), 0.5
    return statistics_of(mean, deviation)


def test_numbers_have_the_mean_and_deviation_of_their_columns():
    rows = draw_landmarks(statistics_of([5, -1, 0], [2, 0, 1e-3]), None, MANY, 3)
    assert np.allclose(rows.mean(axis=0), [5, -1, 0], atol=0.05)
    assert np.allclose(rows.std(axis=0), [2, 0, 1e-3], rtol=0.03)
    assert abs(np.corrcoef(rows[:, 0], rows[:, 2])[0, 1]) < 0.03
    assert (rows[:, 1] == -1).all()


def test_categories_and_missing_numbers_are_as_frequent_as_in_the_rows(table):
    rows = draw_landmarks(table, ENCODING, MANY, 0)
    for block in (slice(2, 6), slice(7, 10)):
        assert ((rows[:, block] == 1).sum(axis=1) == 1).all() and ((rows[:, block] != 0).sum(axis=1) == 1).all()
    assert np.allclose(rows.mean(axis=0), table.mean, atol=0.03)
    missing = rows[:, 1] == 1
    assert (rows[missing, 0] == 3.0).all() and (rows[~missing, 1] == 0).all()
    assert np.isclose(rows[~missing, 0].std(), 2, rtol=0.03)
    assert np.isclose(rows[:, 0].std(), table.deviation[0], rtol=0.03)
    assert not rows[:, 5].any()  # a category that no row has


@pytest.mark.parametrize('encoding', [None, ENCODING])
def test_the_first_ones_do_not_depend_on_their_number(table, encoding):
    many = draw_landmarks(table, encoding, 200, 5)
    for n in (1, 7, 199):
        assert np.array_equal(draw_landmarks(table, encoding, n, 5), many[:n])
    assert not np.array_equal(draw_landmarks(table, encoding, 200, 6), many)


def test_none_is_taken_twice_though_categories_have_few_combinations():
    encoding = Encoding(tuple(Column(name, CATEGORY, categories=('a', 'b')) for name in 'xyz'))
    described = statistics_of([0.5, 0.5, 0] * 3, [0.5, 0.5, 0] * 3)
    rows = draw_landmarks(described, encoding, 100, 0)
    assert len(rows) == len(np.unique(rows, axis=0)) == 8
    assert np.array_equal(draw_landmarks(described, encoding, 5, 0), rows[:5])
    assert len(np.unique(draw_landmarks(statistics_of([0], [1]), None, MANY, 0))) == MANY


def test_smallest_and_largest_values_do_not_count(table):
    other = replace(table, minimum=table.mean - 100, maximum=table.mean + 1)
    assert np.array_equal(draw_landmarks(other, ENCODING, 50, 0), draw_landmarks(table, ENCODING, 50, 0))


def test_a_column_without_a_number_is_its_mean():
    encoding = Encoding((Column('empty', mean=0.0, missing=True), Column('x')))
    rows = draw_landmarks(statistics_of([0, 1, 4], [0, 0, 1]), encoding, 50, 0)
    assert (rows[:, :2] == [0, 1]).all() and rows[:, 2].std() > 0.5


def test_too_many_numbers_are_refused_but_not_categories():
    with pytest.raises(ValueError, match='at most 1,000 columns of numbers, found 1,001'):
        draw_landmarks(statistics_of(np.zeros(1001), np.ones(1001)), None, 5, 0)
    encoding = Encoding((Column('word', CATEGORY, categories=tuple(map(str, range(2000)))),))
    share = np.append(np.full(2000, 1 / 2000), 0)
    assert draw_landmarks(statistics_of(share, np.sqrt(share)), encoding, 5, 0).shape == (5, 2001)

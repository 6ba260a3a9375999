"""Columns of text and missing values as features: how they are counted and encoded."""

import io
import json
from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mr_elm.errors import DataFormatError, RowError, UnsuitableWarning
from mr_elm.rows.arrow_columns import to_text_column
from mr_elm.rows.columns import MISSING_TEXTS, NumberColumn, Table, TextColumn, count_values, look_up
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.sums.values import MAX_VALUES, ColumnValues, choose_column, choose_encoding, merge_values, weigh

CITIES = ['Oslo', '', 'Rome', 'Oslo', 'Bern', 'NA', 'Rome', 'Oslo']
AGES = ['31', '', '4.5', 'nan', '1e1', '-2', 'null', '31']


def code(texts):
    """Hold text by number, as dictionaries of Parquet do."""
    array = pa.array([None if text in MISSING_TEXTS else text for text in texts]).dictionary_encode()
    return to_text_column(array)


def as_number(text):
    return np.nan if text in MISSING_TEXTS else float(text)


def encode_naively(columns, encoding):
    """Encode row by row, with loops."""
    rows = []
    for row in zip(*columns, strict=True):
        features = []
        for text, column in zip(row, encoding.columns, strict=True):
            if column.kind == 'number':
                features.append(column.mean if text in MISSING_TEXTS else float(text))
                features += [float(text in MISSING_TEXTS)] * column.missing
            else:
                value = '' if text in MISSING_TEXTS else text
                features += [float(value == category) for category in column.categories]
                features.append(float(value not in column.categories))
        rows.append(features)
    return np.array(rows)


@pytest.mark.parametrize('make', [TextColumn, code], ids=['text', 'coded'])
def test_a_column_knows_its_values_and_its_gaps(make):
    assert count_values(make(CITIES)) == {'Oslo': 3, 'Rome': 2, 'Bern': 1, '': 2}
    np.testing.assert_array_equal(make(AGES).numbers(), [as_number(text) for text in AGES])
    assert look_up(make(CITIES), {'Rome': 0, 'Oslo': 1, '': 2, 'Bern': 3}.get).tolist() == [1, 2, 0, 1, 3, 2, 0, 1]
    with pytest.raises(RowError, match="holds '(Oslo|Bern)'"):
        make(CITIES).numbers()


def test_numbers_are_categories_by_the_way_people_write_them():
    column = NumberColumn(np.array([3.0, np.nan, 2.5, 3.0, -0.0]))
    assert count_values(column) == {'3': 2, '': 1, '2.5': 1, '0': 1}
    assert look_up(column, {'3': 0, '': 1, '2.5': 2, '0': 2}.get).tolist() == [0, 1, 2, 0, 2]


@pytest.mark.parametrize(
    'make',
    [TextColumn, code, lambda texts: NumberColumn(np.array([*map(as_number, texts)]))],
    ids=['text', 'coded', 'numbers'],
)
def test_tables_can_be_cut(make):
    table = Table((make(AGES),), len(AGES))
    parts = [table[:3], table[np.arange(3, 5)], table[[5, 6, 7]]]
    assert [part.n_rows for part in parts] == [3, 2, 3]
    assert sum((count_values(part.columns[0]) for part in parts), Counter()) == count_values(table.columns[0])
    np.testing.assert_array_equal(
        np.concatenate([part.columns[0].numbers() for part in parts]), table.columns[0].numbers()
    )


@pytest.mark.parametrize('text', sorted({*MISSING_TEXTS} - {'NAN'}))
def test_what_pandas_reads_as_missing_is_missing_in_every_column(text):
    """Beside numbers and beside words, as `pandas.read_csv` has it; NAN is our own."""
    for others in ('1', '2.5'), ('yes', 'no'):
        rows = ''.join(f'{number},{value}\n' for number, value in enumerate([*others, text] * 4))
        read = pd.read_csv(io.StringIO(rows), header=None)[1]
        found = ColumnValues.of(TextColumn([*others, text] * 4))
        assert found.missing == read.isna().sum() == 4 and found.texts == 8 * (others[0] == 'yes')
        column = choose_column('x', found)
        assert column.names[-2:] == (['x=yes', 'x=(other)'] if found.texts else ['x', 'x is missing'])
        assert (column.kind == 'category') == (read.dtype.kind != 'f')


def test_words_that_pandas_reads_as_words_are_categories():
    words = ['none', 'na', 'n.a.', '-', '?', 'missing']
    assert pd.read_csv(io.StringIO('\n'.join(words)), header=None)[0].tolist() == words
    assert ColumnValues.of(TextColumn(words)).texts == len(words)


@pytest.mark.parametrize('cuts', [[], [1], [3, 4], [2, 5, 7]])
def test_counts_do_not_depend_on_how_rows_are_cut(cuts):
    weights = np.arange(1.0, 9.0)
    for texts in (CITIES, AGES):
        parts = [
            ColumnValues.of(TextColumn(texts[a:b]), weights[a:b]) for a, b in zip([0, *cuts], [*cuts, 8], strict=True)
        ]
        total = ColumnValues()
        for part in parts:
            total = total.merge(ColumnValues.from_json(json.loads(json.dumps(part.to_json()))))
        whole, added = ColumnValues.of(TextColumn(texts), weights), ColumnValues()
        for a, b in zip([0, *cuts], [*cuts, 8], strict=True):
            added = added.add(TextColumn(texts[a:b]), weights[a:b])
        for found in total, added:
            assert found.mean == pytest.approx(whole.mean)
            assert {**vars(found), 'mean': 0} == {**vars(whole), 'mean': 0}


@pytest.mark.parametrize('texts', list(permutations(['2020-05-01', 'zebra', '10:30'])))
def test_the_example_of_a_column_is_a_text_rather_than_a_date_in_any_order(texts):
    found = ColumnValues()
    for text in texts:
        found = found.add(TextColumn([text]))
    assert found.example == ColumnValues.of(TextColumn(texts)).example == 'zebra'


def test_of_too_many_different_numbers_weight_and_mean_are_still_known(rng):
    numbers, weights = np.append(rng.normal(size=MAX_VALUES + 3), np.nan), rng.uniform(0.5, 2, MAX_VALUES + 4)
    parts = [NumberColumn(numbers[:-2]), NumberColumn(numbers[-2:])]
    found = ColumnValues().add(parts[0], weights[:-2])
    found = ColumnValues.from_json(json.loads(json.dumps(found.to_json()))).add(parts[1], weights[-2:])
    assert (found.counts, found.missing, found.weight) == (None, 1, pytest.approx(weights[:-1].sum()))
    assert found.mean == pytest.approx(np.average(numbers[:-1], weights=weights[:-1]))


def test_numbers_whose_difference_overflows_have_a_mean():
    one, other = ColumnValues(weight=1.0, mean=1.6e308), ColumnValues(weight=3.0, mean=-1.6e308)
    assert one.merge(other).mean == other.merge(one).mean == pytest.approx(-0.8e308)


def test_a_column_whose_type_is_text_stays_one_beside_rows_that_do_not_say_so():
    typed, plain = ColumnValues(typed=True), ColumnValues()
    assert typed.merge(plain).typed and plain.merge(typed).typed and not plain.merge(plain).typed


def test_the_columns_of_tasks_merge_each_with_its_own():
    halves = [
        {'columns': [ColumnValues.of(TextColumn(texts[cut])).to_json() for texts in (CITIES, AGES)]}
        for cut in (slice(3), slice(3, None))
    ]
    merged = json.loads(json.dumps(merge_values(json.loads(json.dumps(halves)))))
    assert merge_values([]) == {'columns': []}
    for record, texts in zip(merged['columns'], (CITIES, AGES), strict=True):
        found, whole = ColumnValues.from_json(record), ColumnValues.of(TextColumn(texts))
        assert found.mean == pytest.approx(whole.mean)
        assert {**vars(found), 'mean': 0} == {**vars(whole), 'mean': 0}


@pytest.mark.parametrize('seed', range(5))
def test_equal_numbers_that_are_counted_first_have_the_same_mean_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    numbers, times = rng.normal(size=40) * 10.0 ** rng.integers(-3, 4, 40), rng.integers(1, 90, 40)
    assert weigh(numbers, times.astype(float)) == weigh(np.repeat(numbers, times))


def test_the_mean_is_of_the_numbers_by_their_weights():
    numbers = np.array([as_number(text) for text in AGES])
    weights = np.arange(1.0, 9.0)
    present = ~np.isnan(numbers)
    found = ColumnValues.of(TextColumn(AGES), weights)
    assert found.mean == pytest.approx(np.average(numbers[present], weights=weights[present]))
    assert (found.missing, found.texts, found.weight) == (3, 0, weights[present].sum())


def test_a_column_with_any_text_is_a_category_and_all_others_are_numbers():
    columns = [TextColumn(AGES), TextColumn(CITIES), TextColumn(['1', '2', '3', '4', '5', 'six', '7', ''])]
    encoding = choose_encoding(['age', 'city', 'mixed'], [ColumnValues.of(column) for column in columns])
    assert [column.kind for column in encoding.columns] == ['number', 'category', 'category']
    assert encoding.names == [
        'age',
        'age is missing',
        'city is missing',
        'city=Bern',
        'city=Oslo',
        'city=Rome',
        'city=(other)',
        'mixed is missing',
        *(f'mixed={text}' for text in '12345'),
        'mixed=7',
        'mixed=six',
        'mixed=(other)',
    ]
    assert encoding.indicators.tolist() == [False] + [True] * (encoding.width - 1)
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding


def test_columns_of_numbers_are_categories_where_the_user_says_so():
    columns = [ColumnValues.of(TextColumn(['7', '8', '7']))] * 2
    encoding = choose_encoding(['size', 'code'], columns, categorical=['code'])
    assert [column.kind for column in encoding.columns] == ['number', 'category']


def test_the_most_frequent_categories_are_kept_and_ties_go_by_bytes():
    values = ColumnValues.of(TextColumn(['b', 'é', 'a', 'é', 'z', 'z', 'c']))
    assert choose_column('x', values, 4).categories == ('a', 'b', 'z', 'é')


@pytest.mark.parametrize(
    'texts, words',
    [
        ([f'v{i}' for i in range(MAX_VALUES + 1)], ["'x'", 'at most 10,000', "--drop 'x'"]),
        *(
            ([text.format(i) for i in range(1, 24)], ["'x'", 'dates', "--drop 'x'"])
            for text in (
                '{:02}:30:00',
                '2021-02-{:02}T27:00:00',
            )
        ),
    ],
)
def test_columns_that_are_no_features_are_refused(texts, words):
    with pytest.raises(DataFormatError) as caught:
        choose_column('x', ColumnValues.of(TextColumn(texts)))
    assert all(word in str(caught.value) for word in words)


def test_a_column_of_many_numbers_becomes_text_by_one_late_word():
    numbers = ColumnValues().add(TextColumn([f'{i}' for i in range(MAX_VALUES + 1)])).add(TextColumn(['1', '', '2']))
    assert (numbers.counts, numbers.missing, numbers.texts) == (None, 1, 0)
    late = numbers.add(TextColumn(['unknown', '3']))
    with pytest.raises(DataFormatError, match='unknown'):
        choose_column('x', late)


@pytest.mark.parametrize('n_categories', [3, 400], ids=['dense', 'sparse'])
def test_rows_are_encoded_as_a_naive_loop_does(n_categories):
    generator = np.random.default_rng(0)
    known = [f'c{i:03}' for i in range(n_categories)]
    columns = [
        generator.choice([*AGES, '0'], 50).tolist(),
        generator.choice([*known, '', 'new'], 50).tolist(),
        generator.normal(size=50).round(3).astype(str).tolist(),
    ]
    encoding = Encoding(
        (Column('a', mean=2.5, missing=True), Column('b', 'category', categories=('', *known)), Column('c'))
    )
    X = encoding.encode(Table(tuple(map(TextColumn, columns)), 50)).spread()
    assert sp.issparse(X) == encoding.sparse == (n_categories == 400)
    dense = X.toarray() if sp.issparse(X) else X
    np.testing.assert_array_equal(dense, encode_naively(columns, encoding))
    coded = encoding.encode(Table(tuple(map(code, columns)), 50)).spread()
    assert abs(coded - X).max() == 0


def test_text_and_infinite_numbers_are_no_numbers():
    encoding = Encoding((Column('age'),))
    for text, word in (('old', "'old'"), ('inf', 'infinite'), ('1_0', "'1_0'")):
        with pytest.raises(RowError, match=f"'age'.*{word}"):
            encoding.encode(Table((TextColumn(['1', text]),), 2))


@pytest.mark.parametrize(
    'texts, words',
    [
        ([f'{i},{i:03}.5' for i in range(1, 60)] + ['12 $'], ['60 different values in 60 rows', 'if they are numbers']),
        (
            [*(f'customer {i}' for i in range(60)), '', ''],
            ["a category of 60 different values in 60 rows, 60 of them with text such as 'customer 0': ", "--drop 'x'"],
        ),
        (
            ['31/05/2020', '1'] * 10 + ['x'] * 2,
            ["in 22 rows, 2 of them with text such as 'x': ", 'correct these fields'],
        ),
    ],
)
def test_categories_that_may_be_meant_otherwise_are_named(texts, words):
    with pytest.warns(UnsuitableWarning) as caught:
        choose_column('x', ColumnValues.of(TextColumn(texts)))
    assert len(caught) == 1 and all(word in str(caught[0].message) for word in ["'x'", *words])


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('texts', [['a', 'b'] * 30, ['a', 'b', 'c'], ['1', '2', 'x', 'y'] * 9, ['S1', 'S2'] * 20])
def test_plain_categories_are_taken_without_a_word(texts):
    assert choose_column('x', ColumnValues.of(TextColumn(texts))).kind == 'category'


@pytest.mark.parametrize(
    'texts, words',
    [
        (['', 'NA'] * 3, "column 'x' holds no value: "),
        ([''], 'no value'),
        (['02139', '94110', '60601'], '--category'),
    ],
)
def test_numbers_that_may_be_meant_otherwise_are_named(texts, words):
    with pytest.warns(UnsuitableWarning, match=words) as caught:
        assert choose_column('x', ColumnValues.of(TextColumn(texts))).kind == 'number'
    assert len(caught) == 1


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('texts', [['0', '07', '0.5'], ['999', '1000', '998'], []])
def test_plain_numbers_are_taken_without_a_word(texts):
    assert choose_column('x', ColumnValues.of(TextColumn(texts))).kind == 'number'


@pytest.mark.parametrize('text', ['NAN', '-nan', '<NA>'])
def test_each_spelling_of_a_missing_number_counts_as_missing(text):
    column = choose_column('x', ColumnValues.of(TextColumn(['1', text, '3'])))
    assert (column.mean, column.missing) == (2.0, True)

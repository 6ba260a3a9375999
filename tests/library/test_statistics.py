"""Statistics: one pass, many merged, or numpy on the whole, all the same; and what a class is."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from mr_elm.rows.blocks import BLOCK_ROWS, Block, EncodedRows, encode_labels
from mr_elm.sums.statistics import (
    Classes,
    ColumnStatistics,
    LabelTable,
    class_weights,
    describe_single_rows,
    find_single_rows,
    join_columns,
    list_classes,
    make_zeros,
    row_weights,
)

N, D = 300, 5


def make_rows(case, rng):
    X = rng.standard_normal((N, D))
    return {
        'plain': X,
        'offset': X + 1e9,
        'constant': X * [1, 0, 1, 0, 1] + 0.1,
        'scales': X * 10.0 ** np.arange(-9, 11, 4),
        'sparse': np.where(rng.random((N, D)) < 0.1, X, 0),
        'positive': np.where(rng.random((N, D)) < 0.5, X**2, 0),
        'full positive': X**2 + 1,
    }[case]


CASES = ['plain', 'offset', 'constant', 'scales', 'sparse', 'positive', 'full positive']


def check(found, X):
    deviation = X.std(axis=0)
    assert found.n == len(X) and found.n_features == X.shape[1]
    assert np.array_equal(found.minimum, X.min(axis=0)) and np.array_equal(found.maximum, X.max(axis=0))
    exact = [math.fsum(column) / len(X) for column in X.T]
    assert np.allclose(found.mean, exact, rtol=1e-14, atol=1e-14 * np.abs(X).max())
    assert np.allclose(found.deviation, deviation, rtol=1e-6 if X.min() > 1e8 else 1e-12, atol=1e-14)


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('seed', range(3))
def test_merged_in_any_grouping_is_numpy_on_the_whole(case, wrap, seed):
    rng = np.random.default_rng(seed)
    X = make_rows(case, rng)
    check(ColumnStatistics.of(wrap(X)), X)
    cuts = np.unique(rng.integers(1, N, 6))
    pieces = [ColumnStatistics.of(wrap(part)) for part in np.split(X, cuts)]
    while len(pieces) > 1:
        other = pieces.pop(rng.integers(len(pieces)))
        i = rng.integers(len(pieces))
        pieces[i] = pieces[i].merge(other)
    check(pieces[0], X)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_single_rows_merge_to_the_whole(wrap):
    X = make_rows('offset', np.random.default_rng(0))
    found = ColumnStatistics.of(wrap(X[:1]))
    for row in X[1:]:
        found = found.merge(ColumnStatistics.of(wrap(row[None])))
    check(found, X)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_more_rows_than_a_block_are_all_summarised(wrap, rng):
    X = rng.normal(size=(2 * BLOCK_ROWS + 3, 2))
    X[-1] = 9
    check(ColumnStatistics.of(wrap(X)), X)


def test_explicit_zeros_are_zeros():
    X = sp.csr_matrix(([0.0, 3.0, 0.0, -1.0], [0, 1, 1, 2], [0, 2, 4]), shape=(2, 4))
    check(ColumnStatistics.of(X), X.toarray())


def test_narrower_sparse_rows_end_in_zeros():
    X = make_rows('positive', np.random.default_rng(1)) + [0, 0, 0, 1, 1]
    narrow = X.copy()
    narrow[:100, 3:] = 0
    few, all_columns = (ColumnStatistics.of(sp.csr_matrix(part)) for part in (narrow[:100, :3], narrow[100:]))
    one_less = ColumnStatistics.of(sp.csr_matrix(X[:100, 1:4]))
    check(
        one_less.merge(ColumnStatistics.of(sp.csr_matrix(X[:, 1:]))), np.vstack([X[:100, 1:] * [1, 1, 1, 0], X[:, 1:]])
    )
    check(few.merge(all_columns), narrow)
    check(all_columns.merge(few), narrow)
    check(
        ColumnStatistics.of(sp.csr_matrix((4, 0))).merge(ColumnStatistics.of(sp.csr_matrix(X))),
        np.vstack([np.zeros((4, D)), X]),
    )


@pytest.mark.filterwarnings('error')
def test_numbers_whose_mean_overflows_merge_without_a_warning():
    largest = np.finfo(float).max
    one, other, more = (
        ColumnStatistics.of(np.full((len(signs), 1), signs[0] * largest)) for signs in ([1], [-1], [1] * 3)
    )
    assert np.isinf(more.mean) and not np.isfinite(more.merge(more).squares)
    for merged in one.merge(other), other.merge(one):
        assert (merged.minimum, merged.maximum) == (-largest, largest)


@pytest.mark.parametrize('columns', [(0, 5), ()])
def test_rows_of_an_encoded_table_have_the_statistics_of_their_matrix(columns):
    rng = np.random.default_rng(0)
    ones = np.column_stack([rng.integers(1, 4, 500), np.where(rng.random(500) < 0.5, 6, -1), np.full(500, 7)])
    ones = np.column_stack([ones, np.where(np.arange(500) == 3, 8, -1)])
    X, weights = EncodedRows(rng.standard_normal((500, len(columns))), columns, ones, 9), rng.uniform(0.5, 2, 500)
    for times in (None, weights):
        found, expected = (ColumnStatistics.of(rows, times).to_arrays() for rows in (X, X.spread()))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_columns_come_apart_and_together_again():
    X = make_rows('plain', np.random.default_rng(2))
    X[:120, 3:] = 0
    whole = ColumnStatistics.of(X)
    check(join_columns([whole.columns(0, 2), whole.columns(2, 5)]), X)
    check(join_columns([whole.columns(0, 3), ColumnStatistics.of(X[120:, 3:])]), X)
    positive = make_rows('full positive', np.random.default_rng(2))
    parts = ColumnStatistics.of(positive)
    check(join_columns([parts.columns(0, 2), parts.columns(2, 5)]), positive)
    check(make_zeros(7, 2), np.zeros((7, 2)))


def test_statistics_survive_the_wire():
    whole = ColumnStatistics.of(make_rows('scales', np.random.default_rng(3)))
    again = ColumnStatistics.from_arrays(whole.to_arrays())
    assert again.n == whole.n and all(
        np.array_equal(a, b) for a, b in zip(again.to_arrays(), whole.to_arrays(), strict=True)
    )


# Labels


def table_of(labels, start=0, block=4):
    table = LabelTable()
    for i in range(0, len(labels), block):
        names, codes = encode_labels(labels[i : i + block])
        lines = range(start + i, start + i + len(codes))
        table.add_block(Block(np.zeros((len(codes), 1)), names, codes), [0, 0], lines)
    return table


def test_labels_are_counted_and_their_first_place_kept():
    table = table_of(['b', 'a', 'b', 'c', 'a', 'b', 'd'])
    assert table.entries == {
        'b': [3, [0, 0, 0], 3.0],
        'a': [2, [0, 0, 1], 2.0],
        'c': [1, [0, 0, 3], 1.0],
        'd': [1, [0, 0, 6], 1.0],
    }


def test_a_name_without_a_row_in_its_block_is_not_counted():
    table = LabelTable()
    table.add_block(Block(np.zeros((3, 1)), ('a', 'b', 'c'), np.array([2, 0, 2])), [0, 7], range(10, 13))
    assert table.entries == {'a': [1, [0, 7, 11], 1.0], 'c': [2, [0, 7, 10], 2.0]}


@pytest.mark.parametrize('seed', range(5))
def test_tables_merge_in_any_order_to_the_table_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(['1', '+1', '1.0', '-1', '2'], 60).tolist()
    parts = [table_of(labels[i : i + 9], i) for i in range(0, 60, 9)]
    merged = LabelTable()
    for i in rng.permutation(len(parts)):
        merged.merge(LabelTable(parts[i].entries))
    assert merged.entries == table_of(labels).entries


def test_labels_keep_the_sum_of_the_weights_of_their_rows():
    first, second = LabelTable(), LabelTable()
    first.add_block(Block(np.zeros((3, 1)), ('b', 'a'), np.array([0, 1, 0]), np.array([0.5, 2, 4])), [0, 0], range(3))
    second.add_block(Block(np.zeros((2, 1)), ('a', 'c'), np.array([0, 1]), np.array([8.0, 16])), [0, 9], range(2))
    merged = first.merge(LabelTable(second.entries))
    assert merged.entries == {'b': [2, [0, 0, 0], 4.5], 'a': [2, [0, 0, 1], 10.0], 'c': [1, [0, 9, 1], 16.0]}
    assert Classes.of(merged).weights == [10.0, 4.5, 16.0] and Classes.of(merged).counts == [2, 2, 1]


@pytest.mark.parametrize(
    'labels, names, counts',
    [
        (['2', '10', '-1', '2'], ['-1', '2', '10'], [1, 2, 1]),
        (['+1', '-1', '1', '1.0', '-1.0'], ['-1', '+1'], [2, 3]),
        (['1.0', '+1', '1'], ['1.0'], [3]),
        (['1e1', '9', '10'], ['9', '1e1'], [1, 2]),
        (['-0', '0', '1'], ['-0', '1'], [2, 1]),
        (['b', 'a', 'B', 'é', 'z'], ['B', 'a', 'b', 'z', 'é'], [1, 1, 1, 1, 1]),
        (['10', '9', 'x'], ['10', '9', 'x'], [1, 1, 1]),
        (['1', '1.0', 'x'], ['1', '1.0', 'x'], [1, 1, 1]),
        (['1_0', '9', '10'], ['10', '1_0', '9'], [1, 1, 1]),
        (['1000', '1e3', '01000.0', '0999'], ['0999', '1000'], [1, 3]),
        (
            ['9007199254740993', '9007199254740992', '+9007199254740993.0'],
            ['9007199254740992', '9007199254740993'],
            [1, 2],
        ),
        (['1e400', '-1e400', '1e399', '10e399', '0'], ['-1e400', '0', '1e399', '1e400'], [1, 1, 1, 2]),
        (
            ['0.1', '0.10', '0.1000000000000000055511151231257827'],
            ['0.1', '0.1000000000000000055511151231257827'],
            [2, 1],
        ),
        (['2', '10', 'inf'], ['10', '2', 'inf'], [1, 1, 1]),
        (['2', '10', 'sNaN'], ['10', '2', 'sNaN'], [1, 1, 1]),
    ],
)
def test_classes_are_ordered_by_value_or_else_by_bytes_and_named_as_first_met(labels, names, counts):
    classes = Classes.of(table_of(labels))
    assert (classes.names, classes.counts) == (names, counts)
    assert set(classes.index) == set(labels)
    for label in labels:
        name = names[classes.index[label]]
        assert name == label or Fraction(name) == Fraction(label)


def test_the_first_spelling_is_that_of_the_earliest_file_and_split():
    table = LabelTable({'1.0': [5, [1, 0, 0]], '+1': [1, [0, 500, 7]], '1': [9, [0, 500, 30]]})
    assert Classes.of(table).names == ['+1'] and Classes.of(table).counts == [15]


@given(
    st.lists(st.integers(-(2**70), 2**70) | st.integers(2**53 - 3, 2**53 + 3), min_size=1, max_size=8),
    st.lists(st.sampled_from(['{}', '{}.0', '{}e0', '{}00e-2', ' {} ']), min_size=8, max_size=8),
)
def test_the_classes_of_integers_are_exact_however_they_are_written(numbers, spellings):
    labels = [spelling.format(number) for spelling, number in zip(spellings, numbers, strict=False)]
    classes = Classes.of(table_of(labels))
    assert [Fraction(name.strip()) for name in classes.names] == sorted(set(numbers))
    assert [classes.index[label] for label in labels] == [sorted(set(numbers)).index(number) for number in numbers]


@pytest.mark.parametrize(
    'counts, single',
    [
        ([1200, 1], [1]),
        ([1, 600, 600], [0]),
        ([99, 1], []),
        ([100, 1], [1]),
        ([600, 1, 600, 1, 1], [1, 3, 4]),
        ([2] * 600 + [1] * 600, []),
        ([1] * 1500, []),
        ([40] * 30 + [1], [30]),
        ([5, 1], []),
        ([1200, 2], []),
        ([10] * 10 + [1], [10]),
        ([9] * 10 + [1] * 20, []),
        ([2] * 30 + [100, 1], []),
    ],
)
def test_a_class_of_one_row_is_found_where_others_have_many(counts, single):
    assert find_single_rows(counts) == single


def test_the_labels_of_a_set_are_counted_each():
    table, names, codes = LabelTable(), ('b; a', 'a', '', 'a;a'), np.array([1, 0, 2, 3, 0])
    table.add_block(Block(np.zeros((5, 1)), names, codes, np.array([1.0, 2, 4, 8, 16])), [2, 9], range(3, 8), ';')
    assert table.entries == {'a': [4, [2, 9, 3], 27.0], 'b': [2, [2, 9, 4], 18.0]}


def test_lines_of_splits_become_lines_of_their_files():
    table = LabelTable({'a': [3, [0, 500, 7]], 'b': [2, [1, 0, 4]], 'c': [1, [1, 500, 0]]})
    table.count_lines_of_files({(0, 0): 0, (0, 500): 31, (1, 0): 0, (1, 500): 12})
    assert [place for _, place, _ in table.entries.values()] == [[0, 0, 38], [1, 0, 4], [1, 0, 12]]


def test_a_warning_names_the_first_classes_of_one_row_and_their_lines():
    places = [(name, f'r.csv:{line}') for line, name in enumerate(['x', 'label', '7', 'q', 'r'], 1)]
    text = describe_single_rows(places[:2], 12345)
    assert "of 'x' (r.csv:1), 'label' (r.csv:2) among 12,345 rows: is it a label?" in text
    assert "of 'x' (r.csv:1), 'label' (r.csv:2), '7' (r.csv:3) among" in describe_single_rows(places[:3], 12345)
    assert "'7' (r.csv:3), 2 more among" in describe_single_rows(places, 12345)
    numbers = describe_single_rows([('7', 'r.csv:3'), ('8.5', 'r.csv:9')], 200)
    assert numbers.endswith('these are numbers: to predict numbers, use --task regression, or a regressor in Python')


@pytest.mark.parametrize('labels', [['b', 'a', 'b', 'c', 'b', 'a'], ['1', '2', '+1', '1.0', '3']])
def test_balanced_weights_are_those_of_scikit_learn(labels):
    classes, (names, codes) = Classes.of(table_of(labels)), encode_labels(labels)
    assert list_classes(classes) == classes.names and list_classes(None) == []
    of_label = class_weights('balanced', classes)
    expected = compute_sample_weight('balanced', [classes.index[label] for label in labels])
    block = Block(np.zeros((len(labels), 1)), names, codes)
    assert row_weights(block, of_label) == pytest.approx(expected)
    weights = np.arange(1.0, len(labels) + 1)
    weighted = Block(block.X, names, codes, weights)
    assert row_weights(weighted, of_label) == pytest.approx(expected * weights)
    assert row_weights(weighted) is weights and row_weights(block) is None
    assert class_weights(None, classes) is None and class_weights('balanced', None) is None


@pytest.mark.parametrize('sparse', [False, True])
def test_weights_are_repeated_rows(sparse):
    rng = np.random.default_rng(8)
    X, times = np.where(rng.random((50, 4)) < 0.5, rng.standard_normal((50, 4)), 0), rng.integers(1, 5, 50)
    kind = sp.csr_matrix if sparse else np.asarray
    weighted = ColumnStatistics.of(kind(X), times * 1.0)
    repeated = ColumnStatistics.of(kind(np.repeat(X, times, axis=0)))
    assert weighted.n == repeated.n == times.sum()
    for name in ('minimum', 'maximum', 'mean', 'deviation'):
        assert np.allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-13)


def test_a_full_column_of_sparse_rows_never_has_a_negative_spread(rng):
    """Sums of weights in another order may differ by a rounding error, which is no weight of rows without a value."""
    for n in range(2, 60):
        columns = ColumnStatistics.of(sp.csr_matrix(np.full((n, 2), -0.0003)), rng.uniform(0.1, 5, n))
        assert (columns.squares >= 0).all() and np.isfinite(columns.deviation).all()

"""A summary: columns are called as their file has them, numbers of rows are counted, and all comes back from a pack."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.errors import DataFormatError
from mr_elm.features.landmarks import rows_to_arrays
from mr_elm.rows.columns import Table, TextColumn
from mr_elm.rows.csv_rows import parse
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire import make_key
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.sums.summary import Summary

ENCODING = Encoding((Column('age', missing=True), Column('city', 'category', categories=('Bern', 'Oslo')), Column('x')))


@pytest.mark.parametrize(
    'columns',
    [
        {},
        {'label_column': 3},
        {'label_column': 2, 'weight_column': 4},
        {'label_column': None, 'labelled': False},
        {'label_column': None, 'targets': (1, 4), 'numeric_labels': True},
        {'label_column': 1, 'positions': (5, 0, 3)},
    ],
    ids=repr,
)
def test_a_feature_without_a_name_is_called_by_the_place_of_its_column_in_the_file(columns):
    form = RowOptions('csv', ',', '.', n_columns=6, **columns)
    row = parse(b'0,1,2,3,4,5\n', form).X[0]
    summary = Summary(input=form.to_json())
    assert [summary.name_column(j) for j in range(len(row))] == [f'{place:.0f} (counted from 0)' for place in row]


def test_a_feature_is_called_as_its_file_or_its_user_counts_it():
    assert Summary(input={'kind': 'csv', 'names': ['age', 'size']}).name_column(1) == "'size'"
    assert Summary(input={'kind': 'libsvm'}).name_column(6) == '7'  # of 7:0.5
    assert Summary(input={'kind': 'parquet'}).name_column(6) == '6 (counted from 0)'
    assert Summary().name_column(6) == '6 (counted from 0)'
    assert Summary(input={'names': ['age', 'size']}).name_column(0) == "'age'"
    encoded = Summary(input={'kind': 'csv', 'names': ['age', 'city', 'x']}, encoding=ENCODING)
    names = [encoded.name_column(j) for j in range(ENCODING.width)]
    assert names == ["'age'", "'age'", "'city'", "'city'", "'city'", "'x'"]


def test_rows_are_sparse_as_text_as_their_encoding_or_as_the_user_gives_them():
    many = Encoding((Column('city', 'category', categories=tuple(map(str, range(999)))),))
    assert Summary(sparse_rows=True).sparse and not Summary().sparse
    assert Summary(input={'kind': 'libsvm'}).sparse and not Summary(input={'kind': 'csv'}).sparse
    assert Summary(input={'kind': 'csv'}, encoding=many).sparse
    assert not Summary(input={'kind': 'csv'}, encoding=ENCODING, sparse_rows=True).sparse


@pytest.mark.parametrize(
    'offset, scale, expected',
    [
        (np.zeros(()), np.ones(()), 5),  # 2.5 entries a row are 3.75 numbers with their indices, and a rest
        (np.zeros(20), np.ones(20), 5),
        (np.ones(20), np.ones(20), 20),  # a shift fills all columns: dense rows need no indices
        (np.ones(20), np.arange(20) % 5 // 4 * 1.0, 7),  # but those that are constant: 4 are left
    ],
)
def test_the_numbers_of_a_scaled_row_are_its_entries_and_half_of_a_number_for_each_index(offset, scale, expected):
    landmarks = np.zeros((4, 20))
    landmarks[[0, 0, 1, 1, 2, 2, 3, 3, 3, 3], [0, 5, 1, 7, 19, 2, 3, 4, 5, 6]] = 1
    columns = ColumnStatistics.of(landmarks)
    assert Summary(columns=columns, landmarks=sp.csr_matrix(landmarks)).count_numbers(offset, scale) == expected
    assert Summary(columns=columns, landmarks=landmarks).count_numbers(offset, scale) == 20
    assert Summary(columns=columns).count_numbers(offset, scale) == 20


@pytest.mark.parametrize('kind', ['standard', 'minmax', 'none'])
@pytest.mark.parametrize('encoding', [None, ENCODING], ids=['numbers', 'encoded'])
def test_scaled_moments_are_those_of_the_scaled_rows(kind, encoding, rng):
    texts = rng.choice(['', '31', '4.5'], 50), rng.choice(['Bern', 'Oslo', 'Rome'], 50), rng.normal(size=50).astype(str)
    X = ENCODING.encode(Table(tuple(TextColumn(part.tolist()) for part in texts), 50)).spread()
    summary = Summary(columns=ColumnStatistics.of(X), encoding=encoding)
    offset, scale = summary.choose_scaling(kind)
    assert encoding is None or (scale[ENCODING.indicators] == 1).all()
    moments, scaled = summary.measure_scaled(kind), (X - offset) * scale
    np.testing.assert_allclose(moments.means, scaled.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moments.variances, scaled.var(axis=0), rtol=1e-12)


def test_a_column_whose_powers_cannot_be_added_up_is_named():
    summary = Summary(columns=ColumnStatistics.of(np.array([[0.0, 0], [1, 1e100]])), input={'names': ['age', 'size']})
    summary.choose_scaling('none')
    with pytest.raises(DataFormatError, match="column 'size': expected numbers whose kernel values can be added up"):
        summary.choose_scaling('none', 4)


@pytest.mark.parametrize('sparse', [False, True])
def test_pairs_in_any_order_are_the_summary_of_all_rows_and_a_manifest_keeps_it(rng, sparse):
    X, targets, weights = rng.normal(size=(9, 5)), rng.normal(size=(9, 2)), rng.uniform(1, 2, (9, 1))
    whole = ColumnStatistics.of(X)
    parts = X[:3], X[3:5]
    if sparse:
        parts = sp.csr_matrix(X[:3, :4]), sp.csr_matrix(X[3:5])
        X[:3, 4] = 0
    pairs = [
        (make_key('columns', 0), whole.columns(0, 2).to_arrays()),
        (make_key('columns', 2), whole.columns(2, 5).to_arrays()),
        *((make_key('landmarks', i), rows_to_arrays(part)) for i, part in enumerate(parts)),
        (make_key('labels'), {'a': [3, [0, 0, 0], 4.5], 'b': [6, [0, 0, 1], 9.0]}),
        (make_key('target'), ColumnStatistics.of(targets).to_arrays()),
        (make_key('weights'), ColumnStatistics.of(weights).to_arrays()),
    ]
    found = Summary.of_pairs([pairs[i] for i in rng.permutation(len(pairs))], {'kind': 'csv'})
    landmarks = found.landmarks.toarray() if sparse else found.landmarks
    assert np.array_equal(landmarks, X[:5])
    found.n_rows, found.encoding = 9, ENCODING
    facts = {'rejected': {'no number': 2}, 'input': {'kind': 'csv', 'labels_separator': ';'}, 'mark': 7}
    manifest = json.loads(json.dumps(found.to_manifest(facts)))
    assert manifest['mark'] == 7 and manifest['n_features'] == 5
    again = Summary.of_manifest(manifest)
    for summary in found, again:
        for name, statistics in (('columns', whole), ('target', ColumnStatistics.of(targets))):
            for one, other in zip(getattr(summary, name).to_arrays(), statistics.to_arrays(), strict=True):
                assert np.array_equal(one, other)
        assert np.array_equal(summary.weights.mean, ColumnStatistics.of(weights).mean)
        assert summary.labels.entries == {'a': [3, [0, 0, 0], 4.5], 'b': [6, [0, 0, 1], 9.0]}
        assert (summary.n_rows, summary.n_targets, summary.encoding) == (9, 2, ENCODING)
    assert (again.rejected, again.separator, again.landmarks) == ({'no number': 2}, ';', None)
    assert (found.input, found.separator) == ({'kind': 'csv'}, None)


def test_a_manifest_of_classes_without_weights_and_encoding_has_none_of_them():
    summary = Summary(columns=ColumnStatistics.of(np.eye(2)), n_rows=2)
    again = Summary.of_manifest(summary.to_manifest({'rejected': {}, 'input': {}}))
    assert (again.target, again.weights, again.encoding, again.n_targets) == (None, None, None, 0)

"""One pass finds what numpy finds in the whole table, whatever the splits."""

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.drivers.summary import summarise
from mr_elm.engines import make_engine
from mr_elm.errors import DataFormatError
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.streaming import mr_stats
from mr_elm.sums.statistics import Classes


def summary_of(path, n_maps=1, options=None, bad_rows='stop', **named):
    plan = plan_inputs([str(path)], RowOptions(**options or {}))
    return summarise(DataSet(plan, make_engine('inline', ('-D', f'mapreduce.job.maps={n_maps}')), bad_rows), **named)


def check_columns(columns, X, rtol=1e-12, weights=None):
    mean = np.average(X, axis=0, weights=weights)
    assert np.isclose(columns.n, len(X) if weights is None else weights.sum(), rtol=1e-14)
    assert np.array_equal(columns.minimum, X.min(axis=0)) and np.array_equal(columns.maximum, X.max(axis=0))
    assert np.allclose(columns.mean, mean, rtol=rtol, atol=1e-14)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    assert np.allclose(columns.deviation, deviation, rtol=1e-10, atol=1e-14)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(700, 4)) * [1, 1e3, 1e-4, 0] + [0, 1e6, 5, 2.5]
    return X, rng.choice(['a', 'b', 'c d'], 700)


@pytest.mark.parametrize('n_maps', [1, 2, 7])
def test_columns_and_labels_are_those_of_the_table(write, csv_of, table, n_maps):
    X, labels = table
    summary = summary_of(write('a.csv', csv_of(labels, X)), n_maps)
    check_columns(summary.columns, X)
    assert {name: entry[0] for name, entry in summary.labels.entries.items()} == {
        name: int((labels == name).sum()) for name in ('a', 'b', 'c d')
    }
    assert summary.n_rows == 700 and summary.target is None and summary.landmarks is None


@pytest.mark.parametrize('n_maps', [1, 3, 7])
def test_missing_entries_of_sparse_rows_count_as_zeros(write, libsvm_of, rng, n_maps):
    X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.3)
    X[:200, 5] = 0  # the widest feature appears late, in one split only
    X[200:, 5] = -3
    check_columns(summary_of(write('a.libsvm', libsvm_of(np.arange(300) % 2, X)), n_maps).columns, X)


def test_wide_rows_travel_in_pieces(write, libsvm_of, rng, monkeypatch):
    monkeypatch.setattr(mr_stats, 'PIECE', 5)
    X = rng.normal(size=(60, 17)) * (rng.random((60, 17)) < 0.3)
    X[0], X[59, 16] = 0, 1
    check_columns(summary_of(write('a.libsvm', libsvm_of(np.arange(60) % 2, X)), 4).columns, X)


@pytest.mark.parametrize('n_maps', [1, 5])
def test_targets_and_weights_have_statistics_of_their_own(write, csv_of, rng, n_maps):
    y, w, X = rng.normal(size=200), rng.uniform(0.5, 9, 200), rng.normal(size=(200, 2))
    summary = summary_of(
        write('a.csv', csv_of(y.tolist(), np.c_[w, X])), n_maps, {'numeric_labels': True, 'weight_column': 1}
    )
    check_columns(summary.columns, X, weights=w)
    check_columns(summary.target, y[:, None], weights=w)
    check_columns(summary.weights, w[:, None])
    assert not summary.labels.entries


@pytest.mark.parametrize('n_maps', [1, 2, 7])
def test_a_class_of_several_spellings_has_the_name_met_first(write, n_maps):
    labels = ['2', '1.0'] * 40 + ['+1', '1', '2.0', '2'] * 40
    path = write('a.csv', ''.join(f'{label},{i}\n' for i, label in enumerate(labels)))
    classes = Classes.of(summary_of(path, n_maps).labels)
    assert (classes.names, classes.counts) == (['1.0', '2'], [120, 120])


# Landmarks


def rows_of(X):
    X = X.toarray() if sp.issparse(X) else X
    return {tuple(row) for row in X.tolist()}


@pytest.mark.parametrize('n_maps', [2, 7])
def test_landmarks_do_not_depend_on_splits(write, csv_of, table, n_maps):
    X, labels = table
    path = write('a.csv', csv_of(labels, X))
    one, many = (summary_of(path, n, landmarks=40, seed=3).landmarks for n in (1, n_maps))
    assert np.array_equal(one, many) and len(rows_of(one)) == 40
    assert rows_of(one) < rows_of(X)


def test_landmarks_do_not_depend_on_order_or_repetition(write, csv_of, table, rng):
    X, labels = table
    again = np.r_[rng.permutation(700), rng.integers(0, 700, 500)]
    one = summary_of(write('a.csv', csv_of(labels, X)), landmarks=30).landmarks
    two = summary_of(write('b.csv', csv_of(labels[again], X[again])), 3, landmarks=30).landmarks
    assert rows_of(one) == rows_of(two)


def test_landmarks_are_the_same_for_dense_and_sparse_rows(write, csv_of, libsvm_of, rng):
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.5)
    dense = summary_of(write('a.csv', csv_of(np.arange(200) % 2, X)), landmarks=20).landmarks
    sparse = summary_of(write('a.libsvm', libsvm_of(np.arange(200) % 2, X)), 3, landmarks=20).landmarks
    assert rows_of(dense) == rows_of(sparse)


def test_another_seed_chooses_other_landmarks(write, csv_of, table):
    X, labels = table
    path = write('a.csv', csv_of(labels, X))
    one, two = (rows_of(summary_of(path, landmarks=50, seed=seed).landmarks) for seed in (0, 1))
    assert len(one & two) < 25


def test_landmarks_larger_than_a_record_travel_in_pieces(write, csv_of, table, monkeypatch):
    X, labels = table
    path = write('a.csv', csv_of(labels, X))
    whole = summary_of(path, landmarks=40).landmarks
    monkeypatch.setattr(mr_stats, 'LANDMARK_BYTES', 100)
    assert np.array_equal(summary_of(path, 3, landmarks=40).landmarks, whole)


def test_fewer_distinct_rows_than_landmarks_give_them_all(write):
    path = write('a.csv', '0,1,2\n1,3,4\n' * 20)
    assert rows_of(summary_of(path, 3, landmarks=10).landmarks) == {(1, 2), (3, 4)}


# What cannot be summarised


@pytest.mark.parametrize('n_labels', [120, 260])
@pytest.mark.parametrize('n_maps', [1, 2, 5])
def test_too_many_labels_in_any_one_task_are_one_error(write, n_labels, n_maps, monkeypatch):
    monkeypatch.setattr(mr_stats, 'MAX_CLASSES', 50)
    path = write('a.csv', ''.join(f'{i / 7:.4f},{i % 5}\n' for i in range(n_labels)))
    with pytest.raises(DataFormatError, match=rf'^{path}: expected at most 50 classes.*--task regression'):
        summary_of(path, n_maps)


@pytest.mark.parametrize('n_maps', [1, 3])
def test_a_data_set_whose_rows_are_all_bad_is_refused(write, n_maps):
    path = write('a.csv', '0,x\n1,y\n0,nan\n' * 9 + '1,inf\n')
    with pytest.raises(DataFormatError, match='expected rows, found none that can be used'):
        summary_of(path, n_maps, {'header': False}, bad_rows='skip')


def test_sparse_rows_without_any_feature_are_refused(write):
    with pytest.raises(DataFormatError, match='expected rows with features'):
        summary_of(write('a.libsvm', '1\n-1\n1\n'))

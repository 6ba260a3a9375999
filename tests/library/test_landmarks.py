"""Landmarks: the same rows for any split and any order of merging."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import LandmarkFinder, Landmarks, hash_rows, rows_from_arrays, rows_to_arrays

N, D, L = 400, 6, 25


def make_rows(seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((N, D)) < density, rng.standard_normal((N, D)).round(2), 0)


def chosen(X, seed=0, n=L):
    landmarks = Landmarks(n, seed)
    landmarks.add(X)
    return landmarks


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def as_set(rows):
    return {tuple(row) for row in dense(rows).tolist()}


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('seed', range(8))
def test_any_split_and_any_order_choose_the_same_rows(wrap, seed):
    rng = np.random.default_rng(seed)
    X = make_rows()
    whole = chosen(X)
    tasks = []
    for rows in np.array_split(rng.permutation(N), np.sort(rng.integers(0, N, 5))):
        task = Landmarks(L, 0)
        for block in np.array_split(X[rows], max(1, len(rows) // 30)):
            task.add(wrap(block))
        tasks.append(task)
    merged = Landmarks(L, 0)
    for i in rng.permutation(len(tasks)):
        for piece in tasks[i].to_pieces(300):
            merged.add(rows_from_arrays(piece))
    assert np.array_equal(merged.hashes, whole.hashes)
    assert np.array_equal(dense(merged.rows), whole.rows)


def test_they_are_the_distinct_rows_of_the_smallest_hashes():
    X = make_rows(density=0.1)  # mostly zeros, so that many rows are equal
    distinct = np.unique(X, axis=0)
    assert L < len(distinct) < N
    order = np.argsort(hash_rows(distinct, 0))[:L]
    assert np.array_equal(chosen(X).rows, distinct[order])


def test_a_row_is_chosen_once_however_often_it_stands():
    X = np.repeat(make_rows()[:40], 10, axis=0)
    landmarks = chosen(X, n=100)
    assert len(landmarks.rows) == 40 and as_set(landmarks.rows) == as_set(X)
    landmarks.add(X)
    assert len(landmarks.rows) == 40


def test_repeated_rows_do_not_change_the_choice():
    X = make_rows()
    assert np.array_equal(chosen(np.vstack([X, X[:200]])).rows, chosen(X).rows)


def test_equal_rows_are_kept_with_the_same_bits_whichever_comes_first():
    X = np.array([[0.0, 2.0, 0.0], [-0.0, 2.0, -0.0]])
    sparse = sp.csr_matrix(([0.0, 2.0, -0.0, 2.0], [0, 1, 2, 1], [0, 3, 4]), shape=(2, 3))
    for rows in (X, X[::-1], sparse, sparse[::-1]):
        found = Landmarks(5, 0)
        for k in range(2):
            found.add(rows[k : k + 1])
        kept = found.rows
        if sp.issparse(kept):
            assert kept.nnz == 1
            kept = kept.toarray()
        assert kept.tobytes() == X[:1].tobytes()


def test_the_seed_changes_the_choice():
    choices = [as_set(chosen(make_rows(), seed).rows) for seed in range(5)]
    assert all(len(a & b) < L / 2 for i, a in enumerate(choices) for b in choices[:i])


def test_the_choice_nests():
    X = make_rows()
    assert np.array_equal(chosen(X, n=L).rows, chosen(X, n=3 * L).rows[:L])


def test_rows_are_chosen_evenly():
    X = np.arange(20_000.0)[:, None] + 1
    found = np.concatenate([chosen(X, seed, 1000).rows.ravel() for seed in range(3)])
    assert np.allclose(np.histogram(found, 10, (1, 20_000))[0], 300, atol=6 * np.sqrt(300))


def test_hashes_know_values_and_places_but_not_how_zeros_are_kept():
    X = make_rows(density=0.3)
    explicit = sp.csr_matrix((X.ravel(), np.tile(np.arange(D), N), np.arange(N + 1) * D), shape=(N, D + 9))
    backwards = sp.csr_matrix(X[:, ::-1])
    backwards.indices = D - 1 - backwards.indices
    hashes = hash_rows(X, 3)
    for other in (sp.csr_matrix(X), explicit, backwards, np.where(X == 0, -0.0, X)):
        assert np.array_equal(hash_rows(other, 3), hashes)
    assert len(np.unique(hashes)) == len(np.unique(X, axis=0))
    full = np.random.default_rng(0).standard_normal((50, D))
    assert not np.isin(hash_rows(np.roll(full, 1, axis=1), 3), hash_rows(full, 3)).any()
    assert not np.isin(hash_rows(-full, 3), hash_rows(full, 3)).any()


@pytest.mark.parametrize('limit', [1, 300, 10**6])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_pieces_hold_all_rows_in_order_and_stay_small(limit, wrap):
    landmarks = chosen(wrap(make_rows()))
    pieces = list(landmarks.to_pieces(limit))
    rows = [rows_from_arrays([np.asarray(part, float) for part in piece]) for piece in pieces]  # as the wire gives them
    assert np.array_equal(np.vstack([dense(part) for part in rows]), dense(landmarks.rows))
    assert all(
        part.shape[0] == 1 or sum(a.size for a in piece) * 8 < 3 * limit
        for part, piece in zip(rows, pieces, strict=True)
    )


def test_no_rows_make_no_pieces():
    assert list(Landmarks(L, 0).to_pieces(100)) == []


@pytest.mark.parametrize('X', [make_rows(), sp.csr_matrix(make_rows()), sp.csr_matrix((3, 9))])
def test_rows_survive_being_taken_apart(X):
    again = rows_from_arrays([np.asarray(part, float) for part in rows_to_arrays(X)])
    assert sp.issparse(again) == sp.issparse(X) and np.array_equal(dense(again), dense(X))


def test_narrow_and_wide_sparse_rows_are_chosen_together():
    narrow, wide = sp.csr_matrix(make_rows(1)[:, :3]), sp.csr_matrix(make_rows(2))
    landmarks = Landmarks(L, 0)
    landmarks.add(narrow)
    landmarks.add(wide)
    both = np.vstack([np.pad(narrow.toarray(), ((0, 0), (0, D - 3))), wide.toarray()])
    assert np.array_equal(landmarks.rows.toarray(), chosen(both).rows)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('limit', [400, 2000])
def test_pieces_are_about_as_long_as_they_may_be(wrap, limit):
    """On the wire every number is a float64, the indices of sparse rows too."""
    landmarks = chosen(wrap(np.random.default_rng(0).uniform(1, 2, (N, D))), n=200)
    sizes = [8 * sum(np.size(part) for part in piece) for piece in landmarks.to_pieces(limit)]
    assert max(sizes) < 1.5 * limit and np.mean(sizes) > limit / 2


def place(X, layer):
    Z = (X - layer.offset) * layer.scale
    if layer.metric is None:
        return Z
    return Z * layer.metric if layer.metric.ndim == 1 else Z @ layer.metric.T


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('metric', [None, (D,), (D, D), (2, D)], ids=str)
@pytest.mark.parametrize('size', [1.0, 1e9])
def test_rows_are_found_among_landmarks_and_their_neighbours_are_not(rng, wrap, metric, size):
    X = make_rows(density=0.7)
    X[:, 0] *= size  # a column that drowns the others in a projection
    metric = metric and rng.standard_normal(metric)
    layer = HiddenLayer('nystrom', np.zeros((0, D)), np.ones(0), rng.standard_normal(D), rng.uniform(0.5, 2, D), metric)
    layer = replace(layer, weights=np.array([place(row, layer) for row in X[:50]]))
    found = LandmarkFinder(layer).find(wrap(X))
    wanted = (X[:, None] == X[:50]).all(axis=2).any(axis=1)
    assert np.array_equal(found, wanted)
    apart = X[:50].copy()
    apart[:, 2] += 1e-9 if np.ndim(metric) < 2 else 1e-8 * size  # a full metric mixes the columns, and rounds all alike
    assert not LandmarkFinder(layer).find(wrap(apart)).any()


def test_rows_kept_in_four_bytes_are_found_in_all_digits(rng):
    X = rng.standard_normal((60, D))
    single = X.astype(np.float32).astype(float)
    layer = HiddenLayer('nystrom', single[:20], np.ones(20), np.zeros(D), np.ones(D))
    assert np.array_equal(LandmarkFinder(layer).find(X), np.arange(60) < 20)
    assert np.array_equal(LandmarkFinder(layer).find(single), np.arange(60) < 20)


def test_a_constant_feature_does_not_tell_rows_apart(rng):
    X = rng.standard_normal((40, D))
    layer = HiddenLayer(
        'nystrom', (X[:9] - 1) * np.array([0, 1, 1, 1, 1, 1.0]), np.ones(9), np.ones(D), np.array([0, 1, 1, 1, 1, 1.0])
    )
    X[:, 0] = 77
    assert np.array_equal(LandmarkFinder(layer).find(X), np.arange(40) < 9)

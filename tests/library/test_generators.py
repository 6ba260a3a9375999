"""The drawn data sets: what a seed fixes, what their geometry promises, and how they are written."""

import gzip
import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import mr_elm.data
from mr_elm.data.generators import BLOCK_ROWS, GENERATORS, generate, write_rows

KINDS = sorted(GENERATORS)
TWO_CLASS_KINDS = ['ndc', 'ringnorm', 'twonorm']


def drawn(kind, n_rows, n_features=6, seed=0, **options):
    blocks = list(generate(kind, n_rows, n_features, seed, **options))
    return np.concatenate([X for X, _ in blocks]), np.concatenate([labels for _, labels in blocks])


def read_csv(path):
    table = np.loadtxt(path, delimiter=',', ndmin=2)
    return table[:, 1:], table[:, 0]


# What a seed fixes


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('n_rows', [1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_the_first_rows_never_depend_on_how_many_follow(kind, n_rows):
    X, labels = drawn(kind, n_rows)
    longer, more_labels = drawn(kind, 2 * BLOCK_ROWS + 5)
    assert np.array_equal(X, longer[:n_rows])
    assert np.array_equal(labels, more_labels[:n_rows])


@pytest.mark.parametrize('kind', KINDS)
def test_another_seed_or_another_block_draws_other_rows(kind):
    X, _ = drawn(kind, 2 * BLOCK_ROWS, seed=1)
    other, _ = drawn(kind, 2 * BLOCK_ROWS, seed=2)
    assert not np.isin(X, other).any()
    assert len(np.unique(X, axis=0)) == 2 * BLOCK_ROWS


def test_a_large_seed_shares_no_rows_with_the_small_one_it_contains():
    small, _ = drawn('twonorm', 2 * BLOCK_ROWS, seed=5)
    large, _ = drawn('twonorm', 2 * BLOCK_ROWS, seed=5 + 2**32)
    assert not np.isin(small, large).any()


@pytest.mark.parametrize('kind', KINDS)
def test_blocks_are_finite_float64_and_full_but_for_the_last(kind):
    blocks = list(generate(kind, 2 * BLOCK_ROWS + 3, 7, 0))
    assert [X.shape for X, _ in blocks] == [(BLOCK_ROWS, 7), (BLOCK_ROWS, 7), (3, 7)]
    assert all(X.dtype == np.float64 and np.isfinite(X).all() and np.isfinite(labels).all() for X, labels in blocks)
    assert list(generate(kind, 0, 7, 0)) == []


def test_a_set_too_long_to_hold_is_drawn_block_by_block():
    blocks = generate('ndc', 10**15, 20, 0)
    next(blocks)  # the fixed parameters and one block
    tracemalloc.start()
    for _ in itertools.islice(blocks, 20):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * BLOCK_ROWS * 20 * 8


# What the geometry promises


@pytest.mark.parametrize('kind', TWO_CLASS_KINDS)
def test_two_classes_are_minus_one_and_one_in_equal_shares(kind):
    _, labels = drawn(kind, 20_000)
    assert set(labels) == {-1, 1}
    assert abs(np.mean(labels)) < 0.05


@pytest.mark.parametrize('n_features', [2, 20])
def test_twonorm_a_plane_through_the_origin_is_right_on_977_rows_in_a_thousand(n_features):
    X, labels = drawn('twonorm', 50_000, n_features)
    right = np.mean(np.sign(X.sum(axis=1)) == labels)
    assert right == pytest.approx(0.97725, abs=0.003)  # Phi(2); three standard errors are 0.002


def test_ringnorm_classes_have_the_published_means_and_spreads():
    X, labels = drawn('ringnorm', 50_000, 16)
    wide, narrow = X[labels == 1], X[labels == -1]
    assert np.allclose(wide.mean(axis=0), 0, atol=0.06)
    assert np.allclose(np.cov(wide.T), 4 * np.eye(16), atol=0.2)
    assert np.allclose(narrow.mean(axis=0), 1 / 4, atol=0.03)
    assert np.allclose(np.cov(narrow.T), np.eye(16), atol=0.05)


def test_ringnorm_is_a_matter_of_distance_not_of_side():
    X, labels = drawn('ringnorm', 20_000, 20)
    by_distance = np.where(np.sum(X**2, axis=1) > 40, 1, -1)
    by_side = np.where(X.sum(axis=1) > np.sqrt(20) / 2, -1, 1)
    assert np.mean(by_distance == labels) > 0.95 > 0.8 > np.mean(by_side == labels)


def test_ndc_without_spread_is_parted_by_a_plane():
    X, labels = drawn('ndc', 5_000, 40, n_clusters=6, spread=1e-3)
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), labels, rcond=None)[0]
    assert np.array_equal(np.sign(X @ weights[:-1] + weights[-1]), labels)


def test_ndc_clusters_lean_their_own_way():
    X, _ = drawn('ndc', 40_000, 3, n_clusters=2, spread=1e-4)
    left = X[np.linalg.norm(X - X[0], axis=1) < 0.01]  # the cluster of the first row
    covariance = np.cov(left.T) / 1e-8
    assert np.all((np.linalg.eigvalsh(covariance) > 0.2) & (np.linalg.eigvalsh(covariance) < 2.5))
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 0.05


@pytest.mark.parametrize('n_classes', [2, 5])
def test_blobs_have_one_round_cluster_a_class(n_classes):
    X, labels = drawn('blobs', 20_000, 3, n_classes=n_classes, spread=0.5)
    assert set(labels) == set(range(1, n_classes + 1))
    assert np.min(np.unique(labels, return_counts=True)[1]) > 0.9 * 20_000 / n_classes
    for label in range(1, n_classes + 1):
        assert np.allclose(np.cov(X[labels == label].T), 0.25 * np.eye(3), atol=0.03)


def test_regression_is_friedmans_function_of_the_first_five_features():
    X, targets = drawn('regression', 1000, 9, noise=0.0)
    x1, x2, x3, x4, x5 = X[:, :5].T
    assert np.allclose(targets, 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)
    assert X.min() >= 0 and X.max() <= 1


def test_regression_noise_is_normal_with_the_deviation_asked_for():
    _, clean = drawn('regression', 20_000, noise=0.0)
    _, noisy = drawn('regression', 20_000, noise=2.0)
    assert np.std(noisy - clean) == pytest.approx(2.0, rel=0.03)
    assert np.mean(noisy - clean) == pytest.approx(0.0, abs=0.06)


# What is refused, before anything is drawn


@pytest.mark.parametrize(
    'arguments, options, wanted',
    [
        (('moons', 1, 2, 0), {}, 'kind: expected one of ndc, twonorm, .*moons'),
        (('ndc', -1, 2, 0), {}, 'n_rows must be a whole number of at least 0, not -1'),
        (('ndc', 1.5, 2, 0), {}, 'n_rows must be a whole number'),
        (('ndc', 1, 0, 0), {}, 'n_features must be a whole number of at least 1, not 0'),
        (('ndc', 1, 2, -3), {}, 'seed must be a whole number of at least 0, not -3'),
        (('blobs', 1, 2, 0), {'n_classes': 1}, 'n_classes must be'),
        (('regression', 1, 4, 0), {}, 'n_features of a regression set must be a whole number of at least 5'),
    ],
)
def test_impossible_wishes_are_refused_at_once(arguments, options, wanted):
    with pytest.raises(ValueError, match=wanted):
        generate(*arguments, **options)


# How rows are written


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', ['rows.csv', 'rows.txt', 'rows.csv.gz'])
def test_csv_reads_back_to_six_digits(kind, name, tmp_path):
    n_rows = BLOCK_ROWS + 10
    assert write_rows(generate(kind, n_rows, 5, 3), tmp_path / name) == n_rows
    X, labels = read_csv(tmp_path / name)
    wanted, wanted_labels = drawn(kind, n_rows, 5, 3)
    assert np.allclose(X, wanted, rtol=5e-6, atol=0)
    assert np.allclose(labels, wanted_labels, rtol=5e-6, atol=0)


@pytest.mark.parametrize('name', ['rows.libsvm', 'rows.libsvm.gz'])
def test_libsvm_reads_back_with_indices_from_one(name, tmp_path):
    write_rows(generate('blobs', 50, 3, 0), tmp_path / name)
    wanted, wanted_labels = drawn('blobs', 50, 3)
    open_text = gzip.open if name.endswith('.gz') else open
    with open_text(tmp_path / name, 'rt') as file:
        rows = [line.split() for line in file]
    assert [int(row[0]) for row in rows] == list(wanted_labels)
    assert all([pair.split(':')[0] for pair in row[1:]] == ['1', '2', '3'] for row in rows)
    assert np.allclose([[float(pair.split(':')[1]) for pair in row[1:]] for row in rows], wanted, rtol=5e-6)


def test_classes_are_written_as_whole_numbers_and_targets_with_their_decimals(tmp_path):
    write_rows([(np.array([[0.5], [1e-9]]), np.array([-1, 1]))], tmp_path / 'classes.csv')
    write_rows([(np.array([[0.5]]), np.array([2.25]))], tmp_path / 'targets.csv')
    assert (tmp_path / 'classes.csv').read_text() == '-1,0.5\n1,1e-09\n'
    assert (tmp_path / 'targets.csv').read_text() == '2.25,0.5\n'


def test_rows_wider_than_one_formatting_call_are_written(tmp_path):
    write_rows([(np.zeros((3, 60_000)), np.ones(3, int))], tmp_path / 'wide.csv')
    assert [line.count(',') for line in (tmp_path / 'wide.csv').open()] == [60_000] * 3


def test_the_same_rows_give_the_same_bytes_even_compressed(tmp_path):
    for name in ('one.csv.gz', 'two.csv.gz'):
        write_rows(generate('ndc', 100, 4, 0), tmp_path / name)
    assert (tmp_path / 'one.csv.gz').read_bytes() == (tmp_path / 'two.csv.gz').read_bytes()


def test_a_failure_in_mid_file_leaves_nothing_behind(tmp_path):
    def failing():
        yield from generate('blobs', 10, 2, 0)
        raise RuntimeError('no more')

    with pytest.raises(RuntimeError, match='no more'):
        write_rows(failing(), tmp_path / 'rows.csv')
    assert list(tmp_path.iterdir()) == []


# The samples


def test_the_samples_have_the_shapes_their_readme_tells():
    folder = Path(mr_elm.data.__file__).parent / 'samples'
    X, labels = read_csv(folder / 'blobs.csv')
    assert X.shape == (60, 4) and set(labels) == {1, 2, 3}
    rows = [line.split() for line in (folder / 'twonorm.libsvm').open()]
    assert len(rows) == 48 and {len(row) for row in rows} == {7} and {row[0] for row in rows} == {'-1', '1'}

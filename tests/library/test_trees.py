"""Boosted trees on histograms: the same as a search of all splits, and leaves that raw rows find again."""

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.features.forest import Forest, add_leaf_weights, write_indicators
from mr_elm.solvers.trees import BINS, Bins, TreeOptions, find_edges, grow_forest

N = 600


@pytest.fixture
def rows(rng):
    """Draw rows whose features differ in kind, and targets of two outputs."""
    X = rng.normal(size=(N, 5))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = np.where(rng.random(N) < 0.9, 0, X[:, 2])
    X[:, 3] = 7.0
    T = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] * 3 + X[:, 4] > 0])
    return X, T - T.mean(axis=0)


def naive_leaves(bins, R, w, options):
    """Grow one tree by trying every split of every leaf: the number of the leaf of each row, in any order."""
    leaves, ridge = [np.arange(len(R))], 1.0

    def gain(of_rows):
        return ((w[of_rows, None] * R[of_rows]).sum(axis=0) ** 2).sum() / (w[of_rows].sum() + ridge)

    def best_split(of_rows):
        best = (0.0, None, None)
        for bins_of_feature in bins.numbers:
            values = bins_of_feature[of_rows]
            for bound in np.unique(values)[:-1]:
                left, right = of_rows[values <= bound], of_rows[values > bound]
                if min(w[left].sum(), w[right].sum()) >= options.fewest:
                    found = gain(left) + gain(right) - gain(of_rows)
                    if found > best[0] * (1 + 1e-5):
                        best = found, left, right
        return best

    splits = [best_split(leaves[0])]
    while len(leaves) < options.n_leaves and max(split[0] for split in splits) > 1e-7:
        k = int(np.argmax([split[0] for split in splits]))
        _, leaves[k], right = splits[k]
        leaves.append(right)
        splits[k] = best_split(leaves[k])
        splits.append(best_split(right))
    numbers = np.empty(len(R), int)
    for k, of_leaf in enumerate(leaves):
        numbers[of_leaf] = k
    return numbers


def same_partition(one, other):
    return len(np.unique(np.column_stack([one, other]), axis=0)) == len(np.unique(one)) == len(np.unique(other))


@pytest.mark.parametrize('weighted', [False, True])
def test_trees_are_those_of_a_search_of_all_splits(rows, rng, weighted):
    X, T = rows
    bins, options = Bins.of(X), TreeOptions(3, 8, fewest=15)
    w = rng.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    w /= w.mean()
    leaves = grow_forest(bins, T, w if weighted else None, options).find_leaves(X)
    F = np.tile(np.average(T, axis=0, weights=w), (N, 1))
    for tree in range(3):
        numbers = naive_leaves(bins, T - F, w, options)
        assert same_partition(numbers, leaves[:, tree])
        for leaf in range(8):
            inside = numbers == leaf
            F[inside] += 0.1 * (w[inside, None] * (T - F)[inside]).sum(axis=0) / (w[inside].sum() + 1)


def test_a_row_of_weight_2_counts_as_two_rows(rows):
    X, T = rows
    twice = np.r_[np.arange(N), np.arange(50)]
    options = TreeOptions(2, 6, fewest=0.01)
    weights = np.where(np.arange(N) < 50, 2.0, 1.0)
    one, other = grow_forest(Bins.of(X), T, weights, options), grow_forest(Bins.of(X[twice]), T[twice], None, options)
    for leaves, others in zip(one.find_leaves(X).T, other.find_leaves(X).T, strict=True):
        assert len(np.unique(leaves)) == 6 and same_partition(leaves, others)


def test_every_leaf_has_its_least_weight_and_every_tree_its_leaves(rows):
    X, T = rows
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(5, 16, fewest=20))
    counts = np.bincount(forest.find_leaves(X).ravel(), minlength=forest.n_leaves)
    assert counts.min() >= 20 and counts.sum() == 5 * N and forest.n_leaves <= 80


def follow(forest, x, tree):
    """Let a row fall through a tree, node by node."""
    node = forest.roots[tree]
    while forest.features[node] >= 0:
        node = forest.children[node] + (x[forest.features[node]] > forest.thresholds[node])
    return forest.children[node]


@pytest.mark.parametrize('n_leaves', [2, 16, 64])
def test_rows_end_where_they_fall_through_the_trees_dense_and_sparse(rows, n_leaves):
    X, T = rows
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(6, n_leaves, fewest=1))
    X = np.vstack([X, np.tile(forest.thresholds[:100, None], 5)])  # rows at thresholds too
    leaves = forest.find_leaves(X)
    assert leaves.tolist() == [[follow(forest, x, tree) for tree in range(6)] for x in X]
    assert (forest.find_leaves(sp.csr_matrix(X)) == leaves).all()
    of_sparse = grow_forest(Bins.of(sp.csr_matrix(X[:N])), T, None, TreeOptions(6, n_leaves, fewest=1))
    assert (of_sparse.find_leaves(X) == leaves).all()


def test_rows_of_all_blocks_find_their_leaves(rows, monkeypatch):
    X, T = rows
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(3, 16))
    whole = forest.find_leaves(X)
    monkeypatch.setattr('mr_elm.features.forest.BLOCK_ROWS', 3)
    assert (forest.find_leaves(X) == whole).all()


def test_no_rows_have_no_leaves(rows):
    X, T = rows
    assert grow_forest(Bins.of(X), T, None, TreeOptions(3, 4)).find_leaves(X[:0]).shape == (0, 3)


def test_leaves_come_tree_after_tree_and_sum_up_as_indicators(rows, rng):
    X, T = rows
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(4, 8, fewest=5))
    leaves, out = forest.find_leaves(X), np.empty((N, forest.n_leaves))
    write_indicators(leaves, out)
    assert (np.diff(leaves, axis=1) > 0).all() and (out.sum(axis=1) == 4).all()
    B, values = rng.normal(size=(forest.n_leaves, 3)), np.zeros((N, 3))
    add_leaf_weights(leaves, B, values)
    assert np.allclose(values, out @ B)
    part = forest.take(2)
    assert (part.find_leaves(X) == leaves[:, :2]).all() and part.n_leaves == leaves[:, 1].max() + 1


def test_one_row_and_constant_features_make_one_leaf():
    for X in (np.ones((1, 2)), np.ones((30, 2))):
        forest = grow_forest(Bins.of(X), np.zeros((len(X), 1)), None, TreeOptions(2, 8))
        assert forest.n_leaves == 2 and (forest.find_leaves(X) == [0, 1]).all()


def test_few_values_have_a_bin_each_and_frequent_ones_of_many_too(rng):
    assert find_edges(np.array([3.0, 1.0, 1.0, 7.0])).tolist() == [2.0, 5.0]
    column = np.where(rng.random(20_000) < 0.95, 0.0, rng.normal(size=20_000))
    edges = find_edges(column)
    bins = np.searchsorted(edges, column[column != 0])
    assert len(edges) < BINS and (bins != np.searchsorted(edges, 0.0)).all()
    assert np.bincount(bins).max() < 30  # of 1,000 values; quantiles of all values would have put 80 into a bin


def test_many_targets_are_seen_through_a_few_combinations(rng):
    X = rng.normal(size=(N, 3))
    T = np.eye(8)[(X[:, 0] > 0) * 4 + (X[:, 1] > 0) * 2 + (X[:, 2] > 0)]
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(12, 8, fewest=5))
    out = np.empty((N, forest.n_leaves))
    write_indicators(forest.find_leaves(X), out)
    B = np.linalg.lstsq(out, T, rcond=None)[0]
    assert ((out @ B).argmax(axis=1) == T.argmax(axis=1)).mean() > 0.95


def test_wide_rows_are_split_by_some_of_their_features_each_tree(rng):
    X = rng.normal(size=(200, 100))
    forest = grow_forest(Bins.of(X), X[:, :1], None, TreeOptions.for_rows(200, 100, 8, 0))
    assert TreeOptions.for_rows(200, 100, 8, 0).column_share == 0.25 and 8 < len(forest.used) < 100


def test_trees_are_read_from_their_arrays(rows):
    X, T = rows
    forest = grow_forest(Bins.of(X), T, None, TreeOptions(2, 4))
    again = Forest(*(np.array(each) for each in (forest.features, forest.thresholds, forest.children, forest.roots)))
    assert (again.find_leaves(X) == forest.find_leaves(X)).all()


def test_gains_tell_which_features_are_split_by(rng):
    X = rng.normal(size=(2000, 6))
    gains = np.zeros(6)
    grow_forest(Bins.of(X), 2 * X[:, 1:2] + np.sign(X[:, 4:5]), None, TreeOptions(10, 16), gains)
    assert gains.argsort()[::-1][:2].tolist() == [1, 4] and gains[[1, 4]].sum() > 0.95 * gains.sum()

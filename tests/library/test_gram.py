"""The Gram: one, many or merged, in any order, the same bits; and the right numbers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.errors import AccountingError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.rows.blocks import Block
from mr_elm.sums.exact_sum import add_pair
from mr_elm.sums.gram import (
    JOINED_LABELS,
    SQUARES,
    TARGETS,
    GramSum,
    GridSteps,
    assemble,
    cut_slices,
    expand,
    merge_pairs,
    pack_upper,
    unpack_upper,
)

N, D, L = 229, 6, 11


def make_rows(case, rng):
    X = rng.standard_normal((N, D))
    if case == 'outlier':
        X[17] = 1e6
    if case == 'sparse':
        X = sp.csr_matrix(np.where(rng.random((N, D)) < 0.15, X, 0))
    return X


def make_layer(kind, X, seed=0):
    W, b = draw_nodes(kind, L, D, seed)
    return HiddenLayer(kind, W, b, np.zeros(D), np.full(D, 0.7))


def steps_for(layer, X, target=1.0, weights=None):
    dense = X.toarray() if sp.issparse(X) else X
    bound = layer.bound(dense.min(axis=0), dense.max(axis=0))
    return GridSteps.of(bound, target, 1.0 if weights is None else weights.max())


def make_blocks(X, labels, weights, size):
    cuts = [slice(i, i + size) for i in range(0, N, size)]
    return [
        Block(
            X[cut],
            *labels_of(labels[cut]),
            None if weights is None else weights[cut],
            labels[cut] if labels.dtype.kind == 'f' else None,
        )
        for cut in cuts
    ]


def labels_of(labels):
    names = list(dict.fromkeys(map(str, labels.tolist())))
    return tuple(names), np.array([names.index(str(label)) for label in labels.tolist()])


def summed(blocks, layer, steps, numeric=False):
    gram = GramSum(L + 1, steps, numeric)
    for block in blocks:
        gram.add(expand(layer, block.X, gram.n_targets(block)), block, block.weights)
    return gram


def merged(grams, tile, rng):
    """Merge what tasks emit, in a random order, pair by pair."""
    emitted = {}
    for gram in grams:
        for place, pair in gram.tiles(tile):
            emitted.setdefault(place, []).append(pair)
        for name, pair in gram.sums.items():
            emitted.setdefault(name, []).append(list(pair))
    for pairs in emitted.values():
        while len(pairs) > 1:
            chosen = [pairs.pop(rng.integers(len(pairs))) for _ in range(min(len(pairs), rng.integers(2, 4)))]
            pairs.append(merge_pairs(chosen))
    result = {key: pairs[0] for key, pairs in emitted.items()}
    high, low = assemble({key: result.pop(key) for key in list(result) if isinstance(key, tuple)}, L + 1, tile)
    return high, low, result


def bits(high, low, sums):
    upper = np.triu_indices(L + 1)
    named = {name: [np.ascontiguousarray(part).tobytes() for part in pair] for name, pair in sums.items()}
    return high[upper].tobytes(), low[upper].tobytes(), named


CASES = [(kind, case) for kind in ('sigmoid', 'relu', 'multiquadric', 'rbf') for case in ('plain', 'outlier', 'sparse')]


@pytest.mark.parametrize('kind, case', CASES)
@pytest.mark.parametrize('task', ['classes', 'weighted classes', 'regression', 'weighted regression'])
@pytest.mark.parametrize('seed', [0, 1])
def test_any_split_and_any_merge_give_the_same_bits_high_and_low(kind, case, task, seed):
    rng = np.random.default_rng(seed)
    X, numeric = make_rows(case, rng), 'regression' in task
    layer = make_layer(kind, X)
    labels = rng.standard_normal(N) * 1e9 if numeric else rng.integers(0, 3, N)
    weights = rng.uniform(0.01, 50, N) if 'weighted' in task else None
    steps = steps_for(layer, X, np.abs(labels).max(), weights)
    blocks = make_blocks(X, labels, weights, 8)
    one = summed(blocks, layer, steps, numeric)
    expected = bits(one.high, one.low, one.sums)
    assert any(np.frombuffer(expected[1]))
    tasks = np.array_split(rng.permutation(len(blocks)), np.sort(rng.integers(0, len(blocks), 5)))
    grams = [summed([blocks[i] for i in task], layer, steps, numeric) for task in tasks if len(task)]
    assert bits(*merged(grams, tile=5, rng=rng)) == expected


@pytest.mark.parametrize('kind', ['sigmoid', 'relu'])
def test_rows_that_leave_give_the_old_bits_back(kind):
    rng = np.random.default_rng(3)
    X = make_rows('outlier', rng)
    layer = make_layer(kind, X)
    blocks = make_blocks(X, rng.integers(0, 2, N), None, 16)
    old, new = (summed(part, layer, steps_for(layer, X)) for part in (blocks[:7], blocks[7:]))
    before = old.high.tobytes(), old.low.tobytes()
    add_pair(old.high, old.low, new.high, new.low)
    assert old.high.tobytes() != before[0]
    add_pair(old.high, old.low, -new.high, -new.low)
    assert (old.high.tobytes(), old.low.tobytes()) == before


@pytest.mark.parametrize('kind, case', CASES)
@pytest.mark.parametrize('size', [4, 50, N])
def test_the_sums_are_those_of_the_whole_expansion(kind, case, size):
    rng = np.random.default_rng(4)
    X = make_rows(case, rng)
    layer, labels, weights = make_layer(kind, X), rng.integers(0, 3, N), rng.uniform(0.1, 9, N)
    steps, E = steps_for(layer, X, weights=weights), expand(layer, X)
    gram = summed(make_blocks(X, labels, weights, size), layer, steps)
    norms, grid = np.sqrt((E**2 * weights[:, None]).sum(axis=0)), steps.gram * (1 + N // size)
    error = np.abs(np.triu(gram.high - (E * weights[:, None]).T @ E))
    assert (error <= 1e-12 * np.outer(norms, norms) + grid).all()
    for k in range(3):
        rows = labels == k
        expected = (E[rows] * weights[rows, None]).sum(axis=0)
        assert (np.abs(gram.sums[str(k)][0][:-1] - expected) <= 1e-12 * norms * np.sqrt(weights.sum()) + grid).all()
        assert gram.sums[str(k)][0][-1] == rows.sum()
    assert gram.n_rows == N


# Up to JOINED_LABELS labels of a block are summed within the product E'E, more of them on a path of their own.
@pytest.mark.parametrize('k', [JOINED_LABELS, JOINED_LABELS + 1, 60])
@pytest.mark.parametrize('weighted', [False, True], ids=['plain', 'weighted'])
@pytest.mark.parametrize('size', [N, 100])
def test_the_sums_of_few_and_of_many_classes_are_those_of_their_rows(k, weighted, size):
    rng = np.random.default_rng(k)
    X, codes = rng.standard_normal((N, D)), rng.permutation(np.arange(N) % k)
    layer, weights = make_layer('tanh', X), rng.uniform(0.1, 9, N) if weighted else np.ones(N)
    gram = summed(make_blocks(X, codes, weights if weighted else None, size), layer, steps_for(layer, X, 1, weights))
    E = np.c_[np.tanh(0.7 * X @ layer.weights.T + layer.biases), -np.ones(N)]
    assert np.allclose(np.triu(gram.high), np.triu(E.T @ np.diag(weights) @ E), rtol=1e-12, atol=1e-10)
    assert set(gram.sums) == set(map(str, range(k)))
    for c in range(k):
        sums, rows = gram.sums[str(c)][0], codes == c
        assert np.allclose(sums[:-1], weights[rows] @ E[rows], rtol=1e-12, atol=1e-12)
        assert sums[-1] == rows.sum()


def test_the_sums_of_a_regression_are_those_of_the_whole_expansion():
    rng = np.random.default_rng(5)
    X, targets, weights = make_rows('plain', rng), rng.standard_normal(N) * 1e9, rng.uniform(0.1, 9, N)
    layer = make_layer('tanh', X)
    gram = summed(make_blocks(X, targets, weights, 13), layer, steps_for(layer, X, 1e10, weights), numeric=True)
    E = expand(layer, X)
    assert np.allclose(gram.sums[TARGETS][0], E.T @ (weights * targets), rtol=1e-10)
    assert np.allclose(gram.sums[SQUARES][0], weights @ targets**2, rtol=1e-12)


def test_the_last_short_block_counts():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((29, D))
    layer = make_layer('sigmoid', X)
    blocks = [Block(X[i : i + 4], ('a',), np.zeros(len(X[i : i + 4]), int)) for i in range(0, 29, 4)]
    gram = summed(blocks, layer, GridSteps.of(1.0))
    assert len(blocks[-1]) == 1 and gram.n_rows == 29 == gram.high[-1, -1] == gram.sums['a'][0][-1]
    assert np.allclose(np.triu(gram.high), np.triu(expand(layer, X).T @ expand(layer, X)))


def test_merged_sums_have_the_labels_of_both():
    rng = np.random.default_rng(8)
    X, labels = make_rows('plain', rng), np.repeat([0, 1, 2], [80, 100, 49])
    layer = make_layer('sigmoid', X)
    blocks = make_blocks(X, labels, None, 60)
    whole = summed(blocks, layer, GridSteps.of(1.0))
    one, other = (summed(part, layer, GridSteps.of(1.0)) for part in (blocks[:1], blocks[1:]))
    assert set(one.sums) == {'0'} and set(other.sums) == {'0', '1', '2'}
    one.merge(other)
    assert bits(one.high, one.low, one.sums) == bits(whole.high, whole.low, whole.sums) and one.n_rows == N


def test_an_empty_block_changes_nothing():
    layer = make_layer('sigmoid', None)
    gram = summed([Block(np.zeros((0, D)), (), np.zeros(0, int))], layer, GridSteps.of(1.0))
    assert gram.n_rows == 0 and not gram.high.any() and gram.sums == {}


@pytest.mark.parametrize('bound', [1.0, 1e12, 1e20])
@pytest.mark.parametrize('weight', [1e-20, 1.0, 1e20])
def test_rows_are_counted_exactly_however_large_nodes_and_weights_are(bound, weight):
    gram = GramSum(L + 1, GridSteps.of(bound, 1.0, weight))
    for n in (1, 5, 29):
        gram.add(np.ones((n, L + 3)), Block(np.zeros((n, 1)), ('a', 'b'), np.arange(n) % 2), np.full(n, weight))
    assert [gram.sums[name][0][-1] for name in 'ab'] == [1 + 3 + 15, 0 + 2 + 14]


@pytest.mark.parametrize('target', [0.0, 1e-200, 1e-100, 1e100])
def test_targets_of_any_size_are_summed(target):
    gram = GramSum(L + 1, GridSteps.of(1.0, target), numeric=True)
    gram.add(np.ones((3, L + 2)), Block(np.zeros((3, 1)), targets=np.full(3, target)))
    assert np.allclose(gram.sums[TARGETS][0], 3 * target, rtol=1e-12, atol=1e-280)
    assert np.allclose(gram.sums[SQUARES][0], 3 * target**2, rtol=1e-12, atol=1e-280)


def test_a_class_that_appears_late_needs_no_earlier_row():
    rng = np.random.default_rng(7)
    X, labels = make_rows('plain', rng), np.repeat([0, 1], [N - 3, 3])
    layer = make_layer('sigmoid', X)
    gram = summed(make_blocks(X, labels, None, 10), layer, GridSteps.of(1.0))
    E = expand(layer, X)
    assert np.allclose(gram.sums['1'][0][:-1], E[-3:].sum(axis=0))
    assert np.allclose(gram.sums['0'][0][:-1] + gram.sums['1'][0][:-1], -gram.high[:, -1])


# A sum of up to 2^104 steps is exact in two floats. Rows with |E| <= e, |T| <= t and weights <= w add at most w e^2 to
# E'E, w e t to E'T and w t^2 to T'T, so that the largest of these says how many rows are too many.
@pytest.mark.parametrize(
    'e, t, w, largest',
    [(1, 1, 1, 1), (512, 1, 1, 2**18), (512, 8, 4, 2**20), (1, 512, 1, 2**18), (1, 1, 512, 512), (2**19, 1, 1, 2**38)],
)
def test_grids_hold_as_many_rows_as_stay_exact(e, t, w, largest):
    own = GridSteps.of(1.0, 1.0, 1.0)
    most = int(2**104 * own.gram) // largest
    assert own.holds(GridSteps.of(e, t, w), most) and not own.holds(GridSteps.of(e, t, w), most + 1)
    assert GridSteps.of(e, t, w).holds(own, 2**38)


@pytest.mark.parametrize('name', ['gram', 'target', 'square'])
def test_grids_hold_rows_only_where_each_of_them_does(name):
    own = GridSteps(2.0**-66, 2.0**-66, 2.0**-66)
    wanted = replace(own, **{name: 2.0**-60})
    assert own.holds(wanted, 2**32) and not own.holds(wanted, 2**32 + 1)


@pytest.mark.parametrize('m, tile', [(1, 1), (5, 2), (12, 12), (12, 5), (12, 100), (257, 256)])
def test_tiles_hold_the_upper_triangle_once(m, tile):
    gram = GramSum(m, GridSteps.of(1.0))
    gram.high[...], gram.low[...] = np.random.default_rng(m).standard_normal((2, m, m))
    tiles = dict(gram.tiles(tile))
    assert sum(pair[0].size for pair in tiles.values()) == m * (m + 1) // 2
    high, low = assemble(tiles, m, tile)
    assert np.array_equal(high, np.triu(gram.high)) and np.array_equal(low, np.triu(gram.low))


def test_a_missing_tile_and_one_too_many_are_found():
    tiles = {(i, j): [np.zeros(1)] * 2 for i, j, _ in cut_slices(3, 1)}
    assert assemble(tiles, 3, 1).shape == (2, 3, 3)
    with pytest.raises(AccountingError, match=r'\(0, 2\)\] missing'):
        assemble({place: pair for place, pair in tiles.items() if place != (0, 2)}, 3, 1)
    with pytest.raises(AccountingError, match=r'\(1, 0\)\] too many'):
        assemble({**tiles, (1, 0): [np.zeros(1)] * 2}, 3, 1)
    with pytest.raises(AccountingError, match=r': \[\(0, 0\), \(0, 1\), \(0, 2\)\] missing, \[\] too many'):
        assemble({}, 3, 1)
    with pytest.raises(AccountingError, match=r'\[\] missing, \[\(4, 0\), \(4, 1\), \(4, 2\)\] too many'):
        assemble({**tiles, **{(4, j): [np.zeros(1)] * 2 for j in range(4)}}, 3, 1)


def test_merging_does_not_change_what_is_merged():
    pairs = [list(np.ones((2, 3))) for _ in range(3)]
    for pair in pairs:
        for part in pair:
            part.flags.writeable = False  # as arrays from the wire are
    assert merge_pairs(pairs)[0].tolist() == [6.0] * 3


@pytest.mark.parametrize('m', [1, 2, 3, 50, 1001])
def test_a_packed_triangle_unpacks(m):
    matrix = np.triu(np.random.default_rng(m).standard_normal((m, m)))
    assert pack_upper(matrix).shape == (m * (m + 1) // 2,)
    assert np.array_equal(unpack_upper(pack_upper(matrix)), matrix)

"""Sums of leaves beside other nodes: those of E'E formed densely, exact, and the same for any cut of the rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.features.hidden import HiddenLayer
from mr_elm.parallel import using_threads
from mr_elm.rows.blocks import Block
from mr_elm.solvers.ridge import BIAS_RIDGE, JITTER, find_penalty, make_penalty, solve_regularized
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.sums.gram import GramSum, GridSteps, expand

N, D, L = 500, 4, 70  # more landmarks than a strip


@pytest.fixture
def layer(rng):
    """Make leaves of six trees before landmarks, behind a metric."""
    X = rng.normal(size=(N, D))
    forest = grow_forest(Bins.of(X), np.sin(X[:, :1]), None, TreeOptions(6, 8, fewest=5))
    nodes = HiddenLayer('nystrom', X[:L] * 2, np.full(L, 3.0), np.zeros(D), np.ones(D), np.full(D, 2.0))
    return replace(nodes, forest=forest)


def sum_up(layer, X, block_of, numeric, weights=None, cuts=(), origin=(), **options):
    """Sum up rows in the pieces between cuts, each by a task, and merge them."""
    steps = GridSteps.of(1.0, 5.0, 3.0, origin)
    tasks = []
    for start, stop in zip((0, *cuts), (*cuts, len(X.toarray() if sp.issparse(X) else X)), strict=True):
        task = GramSum(layer.n_hidden + 1, steps, numeric, n_leaves=layer.n_leaves, **options)
        for first in range(start, stop, 100):
            part = slice(first, min(first + 100, stop))
            block = block_of(part)
            ET = expand(layer.nodes, X[part], task.n_targets(block))
            task.add(ET, block, None if weights is None else weights[part], layer.forest.find_leaves(X[part]))
        tasks.append(task)
    for other in tasks[1:]:
        tasks[0].merge(other)
    return tasks[0]


@pytest.mark.parametrize('weighted', [False, True])
@pytest.mark.parametrize('n_labels', [3, 40])
def test_sums_are_those_of_dense_rows(layer, rng, weighted, n_labels):
    X, codes = rng.normal(size=(N, D)), rng.integers(0, n_labels, N)
    names = tuple(map(str, range(n_labels)))
    weights = rng.uniform(0, 3, N) if weighted else None
    found = sum_up(layer, X, lambda part: Block(X[part], names, codes[part]), False, weights)
    E, w = expand(layer, X), np.ones(N) if weights is None else weights
    assert np.allclose(np.triu(found.high), np.triu(E.T @ (w[:, None] * E)), rtol=1e-12, atol=1e-12)
    for k, name in enumerate(names):
        wanted = np.append((w[:, None] * E)[codes == k].sum(axis=0), (codes == k).sum())
        assert np.allclose(found.sums[name][0], wanted, rtol=1e-12, atol=1e-12)


def test_products_of_leaves_are_counts(layer, rng):
    X = rng.normal(size=(N, D))
    found = sum_up(layer, X, lambda part: Block(X[part], ('a',), np.zeros(len(X[part]), int)), False)
    m = layer.n_leaves
    counts = np.triu(found.high[:m, :m])
    assert (counts == np.rint(counts)).all() and counts.trace() == 6 * N and not found.low[:m, :m].any()


def test_sums_of_a_regression_are_those_of_dense_rows(layer, rng):
    X, T = rng.normal(size=(N, D)), rng.normal(size=(N, 2)) + 3
    found = sum_up(layer, X, lambda part: Block(X[part], targets=T[part]), True, origin=(3.0, 3.0))
    assert np.allclose(found.sums['targets'][0], (T - 3).T @ expand(layer, X), rtol=1e-12, atol=1e-12)


def test_no_bit_depends_on_how_many_threads_share_a_product(layer, rng):
    X, codes = rng.normal(size=(N, D)), rng.integers(0, 2, N)
    sums = []
    for n_threads in (None, 1, 2, 5):
        with using_threads(n_threads):
            sums.append(sum_up(layer, X, lambda part: Block(X[part], ('a', 'b'), codes[part]), False))
    for other in sums[1:]:
        assert np.array_equal(np.triu(sums[0].high), np.triu(other.high))
        assert np.array_equal(np.triu(sums[0].low), np.triu(other.low))
        assert all(np.array_equal(sums[0].sums[k], other.sums[k]) for k in 'ab')


@pytest.mark.parametrize('weighted', [False, True])
def test_no_bit_depends_on_how_rows_are_shared_among_tasks(layer, rng, weighted):
    X, codes = rng.normal(size=(N, D)), rng.integers(0, 2, N)
    weights = rng.uniform(0, 3, N) if weighted else None
    one, other = (
        sum_up(layer, X, lambda part: Block(X[part], ('a', 'b'), codes[part]), False, weights, cuts)
        for cuts in ((), (100, 300))
    )
    for a, b in ((one.high, other.high), (one.low, other.low), *((one.sums[k], other.sums[k]) for k in 'ab')):
        assert (a == b).all()


def test_sparse_rows_have_the_same_leaves(layer, rng):
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    codes = np.zeros(N, int)
    dense, sparse = (
        sum_up(layer, rows, lambda part, rows=rows: Block(rows[part], ('a',), codes[part]), False)
        for rows in (X, sp.csr_matrix(X))
    )
    assert np.allclose(np.triu(dense.high), np.triu(sparse.high), rtol=1e-9, atol=1e-9)


def test_output_weights_have_no_gradient_of_the_penalised_error(layer, rng):
    """The objective, written down again: its gradient by finite differences is 0."""
    X, T = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    E, m, mu, lam = expand(layer, X), layer.n_leaves, 7.0, 0.5
    distances = ((layer.weights[:, None] - layer.weights) ** 2).sum(axis=2)
    K = np.exp(-distances / 3.0) + JITTER * np.eye(L)

    def objective(b):
        return (
            ((E @ b - T[:, 0]) ** 2).sum()
            + mu * (b[:m] ** 2).sum()
            + lam * b[m:-1] @ K @ b[m:-1]
            + BIAS_RIDGE * b[-1] ** 2
        )

    b = solve_regularized(np.triu(E.T @ E), E.T @ T, 1.0, make_penalty(layer, mu, lam)).output_weights[:, 0]
    least = objective(b)
    for direction in rng.normal(size=(20, len(b))):
        assert objective(b + 1e-3 * direction) > least and objective(b - 1e-3 * direction) > least
        slope = (objective(b + 1e-3 * direction) - objective(b - 1e-3 * direction)) / 2e-3
        assert abs(slope) < 1e-5 * least


def test_a_header_names_the_penalty(layer):
    penalty = find_penalty({'leaf_ridge': 30.0, 'nu': 10.0}, layer)
    assert penalty.leaves == 3.0 and find_penalty({'nu': 1}, layer) is None
    assert np.allclose(penalty.nodes, find_penalty({'leaf_ridge': 3.0, 'nu': 1.0}, layer).nodes / 10)


@pytest.mark.parametrize('kind', ['nystrom', 'sigmoid'])
def test_a_penalty_multiplies_as_its_matrix_does(layer, rng, kind):
    penalty = make_penalty(replace(layer, kind=kind), 7.0, 0.5)
    P, B = np.zeros((layer.n_hidden + 1,) * 2), rng.normal(size=(layer.n_hidden + 1, 2))
    penalty.add_to(P)
    assert np.allclose(penalty.multiply(B), P @ B) and (P == P.T).all()

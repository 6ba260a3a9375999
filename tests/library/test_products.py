"""Products E'W E D of a pass are those of numpy, for any slices of the rows; sizes of tiles."""

import numpy as np
import pytest

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.sums import product
from mr_elm.sums.gram import GridSteps, cut_slices, cut_tile, expand, measure_tiles
from mr_elm.sums.product import ProductSum, expand_slices

N, D, L, K = 50, 4, 7, 2


@pytest.fixture
def layer():
    """Return a layer of Gaussians."""
    return HiddenLayer('rbf', *draw_nodes('rbf', L, D, 3), np.zeros(D), np.ones(D))


@pytest.fixture(params=[1, 3 * (L + 1), 1 << 22], ids=['rows', 'threes', 'whole'])
def sliced(request, monkeypatch):
    """Let so many numbers of E be in memory together."""
    monkeypatch.setattr(product, 'EXPANDED_NUMBERS', request.param)


def test_slices_are_all_rows_in_their_order(layer, rng, sliced):
    X = rng.normal(size=(N, D))
    found = np.full((N, L + 1), np.nan)
    for rows, E in expand_slices(layer, X):
        assert np.isnan(found[rows]).all()
        found[rows] = E
    np.testing.assert_allclose(found, expand(layer, X), rtol=1e-13)


@pytest.mark.parametrize('weighted', [False, True])
def test_a_product_is_that_of_numpy(layer, rng, sliced, weighted):
    X, B = rng.normal(size=(N, D)), rng.normal(size=(L + 1, K))
    w = rng.uniform(0.2, 3, N) if weighted else None
    total = ProductSum(B, GridSteps.of(1.0, 1.0, 3.0))
    for rows, E in expand_slices(layer, X):
        total.add(E, None if w is None else w[rows])
    E = expand(layer, X)
    expected = E.T @ ((np.ones(N) if w is None else w)[:, None] * (E @ B))
    np.testing.assert_allclose(total.high + total.low, expected, rtol=1e-11, atol=1e-11)
    assert total.n_rows == N


@pytest.mark.parametrize('m, tile', [(5, 2), (6, 3), (4, 9), (1, 1)])
def test_tiles_are_as_large_as_they_are_measured(m, tile):
    matrix = np.arange(m * m, dtype=float).reshape(m, m)
    tiles = [(i, j, len(cut_tile(matrix[part], i == j))) for i, j, part in cut_slices(m, tile)]
    assert list(measure_tiles(m, tile)) == tiles and sum(n for *_, n in tiles) >= m * (m + 1) // 2

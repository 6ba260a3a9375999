"""Layers of many nodes predict in float32: labels stay those of float64, and its errors stay within their bound."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mr_elm.features import hidden, single
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_tiles import make_kernel_product
from mr_elm.features.kernels import make_kernel
from mr_elm.features.nodes import NODES, draw_nodes
from mr_elm.features.single import SingleMachine, make_landmarks, make_single_product, product_error, takes_single
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel
from mr_elm.sums.gram import expand

L, D = 300, 5
SMOOTH = [
    kind
    for kind, node in NODES.items()
    if node.slope is not None and not node.takes_root and node.norm == 2 and kind != 'identity'
]


def make_layer(kind, rng):
    """Draw a layer on scaled rows."""
    weights, biases = rng.normal(size=(L, D)), np.full(L, 2.0 * D)
    if kind != 'nystrom':
        weights, biases = draw_nodes(kind, L, D)
    return HiddenLayer(kind, weights, biases, rng.normal(size=D), rng.uniform(0.5, 2, D))


@pytest.fixture(params=SMOOTH)
def layer(request, rng, monkeypatch):
    """Draw a layer that is large enough, and narrow tiles."""
    monkeypatch.setattr(single, 'MIN_NODES', L)
    monkeypatch.setattr(single, 'TILE_NODES', 128)
    monkeypatch.setattr(single, 'TILE_ROWS', 64)
    return make_layer(request.param, rng)


@pytest.mark.parametrize('metric', [None, np.array([1.0, 2, 0.5, 1, 0]), np.eye(D)[:3] + 0.1])
def test_errors_stay_within_their_bound(layer, metric, rng):
    layer = layer.pass_metric(metric)
    B, X = rng.normal(size=(L + 1, 3)) * 100, rng.normal(size=(200, D)) * rng.choice([1, 1e3], size=(200, 1))
    values, errors = SingleMachine(layer, B).evaluate(X)
    assert (np.abs(values - expand(layer, X) @ B).max(axis=1) <= errors).all()
    assert np.median(errors) < 1e-3 * np.abs(values).max()


@pytest.mark.parametrize('n_classes', [2, 3])
def test_labels_are_those_of_float64_even_at_a_tie(layer, n_classes, rng):
    n_scores = 1 if n_classes == 2 else n_classes
    X = rng.normal(size=(300, D))
    B = rng.normal(size=(L + 1, n_scores)) * 1e3
    model = HiddenNodeModel(
        ModelHeader('pesvm', 'classification', list(map(str, range(n_classes))), D, {}), {'output_weights': B}
    )
    model.__dict__['layer'] = layer
    if n_scores == 1:  # half of the rows lie within the rounding of float32 of the boundary
        B[-1] = np.median(model.decision_function(X))
    assert model.single is not None
    assert np.array_equal(model.predict(X), model.decide(model.decision_function(X)))


@pytest.mark.parametrize('kind', ['nystrom', 'laplacian'])
def test_many_landmarks_are_those_of_a_few(kind, rng, monkeypatch):
    layer, X = make_layer(kind, rng), rng.normal(size=(200, D))
    X[:5] = (layer.weights[:5] / layer.scale) + layer.offset
    for rows in X, csr_matrix(X):
        wanted = layer.evaluate(rows, np.empty((200, L)))
        with monkeypatch.context() as patch:
            patch.setattr(hidden, 'COMPILED_LANDMARKS', L)
            found = layer.evaluate(rows, np.empty((200, L + 1))[:, :L])
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_steps_roots_and_small_layers_stay_in_float64(layer, rng, monkeypatch):
    assert takes_single(layer)
    assert not any(takes_single(replace(layer, kind=kind)) for kind in ('hardlimit', 'laplacian', 'product-laplacian'))
    monkeypatch.setattr(single, 'MIN_NODES', L + 1)
    assert not takes_single(layer)


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('n, scale', [(600, 0.0), (2100, 0.01), (1024, 0.1)])
def test_where_all_values_are_close_to_one_the_sums_make_the_error(monkeypatch, n, scale, seed):
    """Recursive sums of 600 to 1,024 numbers: BLAS kernels differ by the factor 3, the bound holds for all of them."""
    monkeypatch.setattr(single, 'MIN_NODES', n)
    rng = np.random.default_rng(seed)
    Z, kernel, V = scale * rng.normal(size=(n, D)), make_kernel('gaussian', sigma=1.5), rng.normal(size=(n, 3))
    layer = make_landmarks(Z, kernel)
    off = make_single_product(layer)(V) - make_kernel_product(Z, kernel)(V)
    error = np.linalg.norm(off, axis=0) / np.linalg.norm(V, axis=0)
    assert (error < product_error(layer)).all()
    tile = V[: single.TILE_NODES]
    one_by_one = np.cumsum(tile.astype(np.float32), axis=0, dtype=np.float32)  # the worst of all orders
    rounded = np.abs(one_by_one[-1] - tile.sum(axis=0)) * np.sqrt(n * (n / len(tile)))
    assert np.median(rounded / np.linalg.norm(V, axis=0)) < product_error(layer)


@pytest.mark.parametrize('scale', [0.1, 1.0, 3.0])
def test_products_of_a_kernel_have_about_the_error_that_is_said(rng, monkeypatch, scale):
    monkeypatch.setattr(single, 'MIN_NODES', 2 * L)
    Z, kernel, V = scale * rng.normal(size=(2 * L, D)), make_kernel('gaussian', sigma=1.5), rng.normal(size=(2 * L, 3))
    layer = make_landmarks(Z, kernel)
    found, threaded = (make_single_product(layer, n_threads)(V) for n_threads in (None, 2))
    error = np.linalg.norm(found - make_kernel_product(Z, kernel)(V), axis=0) / np.linalg.norm(V, axis=0)
    assert (0.003 * product_error(layer) < error).all() and (error < product_error(layer)).all()
    assert np.array_equal(found, threaded)
    for other in (
        make_landmarks(csr_matrix(Z), kernel),
        make_landmarks(Z[1:], kernel),
        make_landmarks(Z, make_kernel('laplacian', sigma=1.5)),
    ):
        assert other is None

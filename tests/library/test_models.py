"""Models: what they decide, and what rows they take."""

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual
from sklearn.metrics.pairwise import rbf_kernel

from mr_elm.errors import ModelFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_tiles import KernelTiles
from mr_elm.features.nodes import LANDMARK_NODES, NODES, draw_nodes
from mr_elm.model.file import load_layer, model_words, read_model, save_model
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import AveragedModel, HiddenNodeModel, KernelModel
from mr_elm.model.parts import describe_map, landmark_widths, layer_arrays, layer_of, vector_arrays, vectors_of

D, L = 5, 8


def make_model(kind='sigmoid', n_outputs=1, classes=('-1', '+1'), task='classification', weights=None, seed=0):
    rng = np.random.default_rng(seed)
    kernel = next((name for name, node in LANDMARK_NODES.items() if node == kind), None)
    W, b = draw_nodes('rbf' if kernel else kind, L, D, seed)
    b = landmark_widths(kernel, L, 1.5) if kernel else b
    layer = HiddenLayer(kind, W, b, rng.standard_normal(D), rng.uniform(0.5, 2, D))
    B = rng.standard_normal((L + 1, n_outputs)) if weights is None else weights
    header = ModelHeader('pesvm', task, list(classes), D, {**describe_map(layer), 'sigma': 1.5})
    return HiddenNodeModel(header, {**layer_arrays(layer), 'output_weights': B})


def decision_by_hand(model, X):
    phi = model.layer.evaluate(X, np.empty((X.shape[0], L)))
    B = model.arrays['output_weights']
    return phi @ B[:-1] - B[-1]


@pytest.mark.parametrize('kind', sorted(set(NODES) - {'identity'}))
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_decision_values_are_nodes_times_weights_minus_the_bias(kind, wrap):
    model, X = make_model(kind, 3, 'abc'), np.random.default_rng(1).standard_normal((30, D))
    assert np.allclose(model.decision_function(wrap(X)), decision_by_hand(model, X), atol=1e-11)


def test_two_classes_are_told_apart_by_the_sign():
    model, X = make_model('sine'), 4 * np.random.default_rng(1).standard_normal((50, D))
    values = decision_by_hand(model, X)[:, 0]
    assert 0 < (values > 0).sum() < 50
    assert np.array_equal(model.predict(X), np.where(values > 0, 1, 0))


def test_of_several_classes_the_largest_value_wins():
    model, X = make_model('sine', 4, 'abcd'), 4 * np.random.default_rng(1).standard_normal((50, D))
    expected = [max(range(4), key=row.__getitem__) for row in decision_by_hand(model, X).tolist()]
    assert model.predict(X).tolist() == expected and len(set(expected)) > 1


def test_a_tie_goes_to_the_first_class():
    assert make_model(weights=np.zeros((L + 1, 1))).predict(np.ones((3, D))).tolist() == [0, 0, 0]
    several = make_model(n_outputs=3, classes='abc')
    assert several.decide(np.array([[1.0, 1, 1], [0, 2, 2], [-1, -2, -1], [-0.0, 0.0, 0.0]])).tolist() == [0, 1, 0, 0]
    assert make_model().decide(np.array([[0.0], [-0.0], [5e-324], [-5e-324]])).tolist() == [0, 0, 1, 0]


def test_a_regression_predicts_its_decision_values():
    model, X = make_model(task='regression', classes=()), np.random.default_rng(1).standard_normal((9, D))
    assert np.allclose(model.predict(X), decision_by_hand(model, X)[:, 0], atol=1e-12)


@pytest.mark.parametrize('size', [1, 7, 100])
@pytest.mark.parametrize('n', [1, 7, 20, 21])
def test_any_number_of_rows_is_predicted_block_by_block(size, n, monkeypatch):
    model, X = make_model(n_outputs=3, classes='abc'), np.random.default_rng(1).standard_normal((n, D))
    monkeypatch.setattr('mr_elm.model.models.BLOCK_ROWS', size)
    assert np.allclose(model.decision_function(X), decision_by_hand(model, X), atol=1e-12)


@pytest.mark.parametrize('kind', ['nodes', 'kernel'])
def test_memory_does_not_grow_with_the_rows(kind, monkeypatch):
    monkeypatch.setattr('mr_elm.model.models.BLOCK_ROWS', 100)
    monkeypatch.setattr('mr_elm.model.models.TILE_ROWS', 100)
    model = make_model() if kind == 'nodes' else make_kernel_model(sigma=1.3, n_outputs=1, classes='ab')[0]
    X = np.random.default_rng(1).standard_normal((30_000, D))
    model.decision_function(X[:1])
    tracemalloc.start()
    try:
        values = model.decision_function(X)
        assert tracemalloc.get_traced_memory()[1] < 4 * values.nbytes  # the decision values, and blocks of 100 rows
    finally:
        tracemalloc.stop()


def test_stages_read_the_sums_that_lie_beside_a_model_unless_they_need_none(tmp_path):
    path, sums = str(tmp_path / 'm.npz'), tmp_path / 'm.sums.npz'
    assert model_words(path) == ['--model', path]
    sums.touch()
    assert model_words(path) == ['--model', path, '--model-sums', str(sums)]
    assert model_words(path, reads_sums=False) == ['--model', path]


def test_no_rows_have_no_predictions():
    assert make_model(n_outputs=3, classes='abc').decision_function(np.zeros((0, D))).shape == (0, 3)
    assert make_model().predict(sp.csr_matrix((0, D))).shape == (0,)


def test_narrower_sparse_rows_end_in_zeros():
    model, X = make_model(), np.random.default_rng(1).standard_normal((9, 3))
    found = model.decision_function(sp.csr_matrix(X))
    assert np.allclose(found, decision_by_hand(model, np.hstack([X, np.zeros((9, D - 3))])), atol=1e-12)


@pytest.mark.parametrize('X', [np.ones((2, D - 1)), np.ones((2, D + 1)), sp.csr_matrix(np.ones((2, D + 1)))])
def test_rows_of_another_width_are_refused_with_both_widths(X):
    with pytest.raises(ValueError, match=f'expected rows of {D} features, found rows of {X.shape[1]}'):
        make_model().predict(X)


@pytest.mark.parametrize(
    'label, name',
    [('1', '1.0'), ('+1', '1.0'), ('1.0', '1.0'), ('-1e0', '-1'), ('2', '2'), ('x', 'x'), ('', ''), ('nan', 'nan')],
)
def test_a_label_names_the_class_of_its_value(label, name):
    assert make_model(classes=('-1', '1.0')).class_of(label) == name


@pytest.mark.parametrize('label', ['1', '1.0', 'a', '+1'])
def test_labels_of_text_classes_are_only_themselves(label):
    assert make_model(classes=('1', 'a')).class_of(label) == label


def test_a_width_sigma_is_that_of_the_gaussian_kernel():
    model = make_model('nystrom')
    layer, X = model.layer, np.random.default_rng(1).standard_normal((9, D))
    kernel = rbf_kernel((X - layer.offset) * layer.scale, model.arrays['landmarks'], gamma=1 / (2 * 1.5**2))
    assert np.allclose(layer.evaluate(X, np.empty((9, L))), kernel, rtol=1e-11)


@pytest.mark.parametrize('kind', sorted(set(NODES) - {'identity'}))
def test_a_saved_model_predicts_the_same_bits(kind, tmp_path):
    model, X = make_model(kind, 3, 'abc'), np.random.default_rng(1).standard_normal((30, D))
    save_model(tmp_path / 'm.npz', model.header, model.arrays)
    again = read_model(tmp_path / 'm.npz')
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.classes == model.classes and again.n_features == D and again.numeric is False
    layer = load_layer(tmp_path / 'm.npz')
    assert np.array_equal(layer.weights, model.layer.weights) and np.array_equal(layer.biases, model.layer.biases)


def make_kernel_model(
    kernel='gaussian',
    n_outputs=3,
    classes='abc',
    multiclass='one-vs-one',
    sparse=False,
    offset=0.3,
    n_vectors=40,
    **parameters,
):
    rng = np.random.default_rng(2)
    vectors = sp.random(n_vectors, D, density=0.5, random_state=2, format='csr')
    parameters = {'kernel': kernel, 'multiclass': multiclass, **parameters}
    header = ModelHeader('sparse-elm', 'classification', list(classes), D, parameters)
    parts = {f'support_vectors_{part}': getattr(vectors, part) for part in ('data', 'indices', 'indptr')}
    arrays = {
        'feature_offset': np.full(D, offset),
        'feature_scale': rng.uniform(0.5, 2, D),
        'dual_coef': rng.standard_normal((n_vectors, n_outputs)),
        'intercept': rng.standard_normal(n_outputs),
        **(parts if sparse else {'support_vectors': vectors.toarray()}),
    }
    return KernelModel(header, arrays), vectors.toarray()


@pytest.mark.parametrize(
    'kernel, given',
    [('gaussian', {'sigma': 1.3}), ('laplacian', {'sigma': 1.3}), ('polynomial', {'degree': 2}), ('linear', {})],
)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('sparse', [False, True])
@pytest.mark.parametrize('offset', [0.0, 0.3])
def test_kernel_models_decide_by_their_formula(kernel, given, wrap, sparse, offset):
    model, vectors = make_kernel_model(kernel, sparse=sparse, offset=offset, **given)
    X = np.random.default_rng(1).standard_normal((30, D))
    Z = (X - model.arrays['feature_offset']) * model.arrays['feature_scale']
    wanted = dual.KERNELS[kernel](Z, vectors, **given) @ model.arrays['dual_coef'] + model.arrays['intercept']
    assert np.allclose(model.decision_function(wrap(X)), wanted, rtol=0, atol=1e-11)
    assert np.array_equal(model.predict(wrap(X)), dual.one_against_one(wanted, 3))


# BLAS computes A @ A.T with another routine (syrk) than A @ B.T. Some of its kernels, such as those for AVX-512, round
# there differently, so that a model would give its very own rows other bits than copies of them. On other machines the
# bits are the same anyway: what holds everywhere is that no product is one of an array and itself.


def model_of_rows(vectors, kernel='gaussian', **parameters):
    """Make a model whose support vectors are these very rows, unscaled."""
    model, _ = make_kernel_model(kernel, n_vectors=len(vectors), **parameters)
    d = vectors.shape[1]
    return KernelModel(
        replace(model.header, n_features=d),
        {**model.arrays, 'support_vectors': vectors, 'feature_offset': np.zeros(d), 'feature_scale': np.ones(d)},
    )


@pytest.mark.parametrize(
    'kernel, given',
    [('gaussian', {'sigma': 1.3}), ('laplacian', {'sigma': 1.3}), ('polynomial', {'degree': 2}), ('linear', {})],
)
@pytest.mark.parametrize(
    'part', [slice(100, 700), slice(0, 800), slice(100, 500), slice(650, None), slice(0, None, 2)], ids=str
)
def test_rows_that_a_model_holds_are_predicted_as_copies_of_them(kernel, given, part, monkeypatch):
    table = np.random.default_rng(1).standard_normal((800, 7))
    model, multiplied, parts = model_of_rows(table[100:700], kernel, **given), [], KernelTiles.parts
    monkeypatch.setattr(KernelTiles, 'parts', lambda self, A, *rest: multiplied.append(A) or parts(self, A, *rest))
    values = model.decision_function(table[part])
    assert multiplied and not any(np.shares_memory(A, model.support_vectors) for A in multiplied)
    assert values.tobytes() == model.decision_function(table[part].copy()).tobytes()


BITS = """
import numpy as np
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import KernelModel
for n, d in ((300, 7), (500, 64)):
    X = np.random.default_rng(0).standard_normal((n, d))
    model = KernelModel(ModelHeader('mr-kelm', 'regression', [], d, {'kernel': 'gaussian', 'sigma': 2.0}),
                        {'support_vectors': X, 'dual_coef': X[:, :1], 'intercept': np.zeros(1),
                         'feature_offset': np.zeros(d), 'feature_scale': np.ones(d)})
    assert model.decision_function(X).tobytes() == model.decision_function(X.copy()).tobytes()
"""


def processor_flags():
    path = Path('/proc/cpuinfo')
    return set(path.read_text().split()) if path.exists() else set()


@pytest.mark.parametrize(
    'core, flags',
    [('Prescott', {'pni'}), ('Nehalem', {'sse4_2'}), ('SkylakeX', {'avx512f', 'avx512dq', 'avx512bw', 'avx512vl'})],
)
def test_kernels_of_any_processor_predict_rows_of_a_model_as_copies_of_them(core, flags):
    if not flags <= processor_flags():
        pytest.skip(f'this processor does not run kernels for {core}')
    subprocess.run([sys.executable, '-c', BITS], check=True, env={**os.environ, 'OPENBLAS_CORETYPE': core})


@pytest.mark.parametrize('size', [1, 7, 100])
def test_rows_are_scored_in_tiles_of_any_size(size, monkeypatch):
    model, _ = make_kernel_model(sigma=1.3)
    X = np.random.default_rng(1).standard_normal((50, D))
    whole = model.decision_function(X)
    monkeypatch.setattr('mr_elm.model.models.TILE_ROWS', size)
    assert np.allclose(model.decision_function(X), whole, rtol=0, atol=1e-12)


def test_one_against_all_takes_the_largest_value():
    model, _ = make_kernel_model(sigma=1.3, multiclass='one-vs-all')
    X = np.random.default_rng(1).standard_normal((50, D))
    assert np.array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize('sparse', [False, True])
def test_a_saved_kernel_model_predicts_the_same_bits(sparse, tmp_path):
    model, _ = make_kernel_model(sparse=sparse, gamma=1 / 123)
    X = np.random.default_rng(1).standard_normal((30, D))
    save_model(tmp_path / 'm.npz', model.header, model.arrays)
    again = read_model(tmp_path / 'm.npz')
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.decision_function(np.zeros((0, D))).shape == (0, 3)


@pytest.mark.parametrize('density', [0.1, 0.9])
def test_sparse_support_vectors_stay_sparse_where_this_is_smaller(density):
    vectors = sp.random(6, 90, density=density, random_state=0, format='csr')
    arrays = vector_arrays(vectors)
    parts = {'support_vectors_data', 'support_vectors_indices', 'support_vectors_indptr'}
    assert set(arrays) == (parts if density < 0.5 else {'support_vectors'})
    again = vectors_of(arrays, 90)
    assert np.array_equal(again.toarray() if density < 0.5 else again, vectors.toarray())


@pytest.mark.parametrize(
    'change',
    [
        {'dual_coef': np.zeros((3, 3))},
        {'intercept': np.zeros(2)},
        {'support_vectors': np.zeros((40, D + 1))},
        {'feature_scale': np.ones(D + 1)},
    ],
)
def test_a_kernel_model_whose_parts_do_not_fit_is_refused(change, tmp_path):
    model, _ = make_kernel_model(sigma=1.0)
    save_model(tmp_path / 'm.npz', model.header, {**model.arrays, **change})
    with pytest.raises(ModelFormatError, match='do not fit'):
        read_model(tmp_path / 'm.npz')


@pytest.mark.parametrize(
    'parameters', [{'kernel': 'cubic'}, {'kernel': 'gaussian'}, {'kernel': 'gaussian', 'sigma': -1}]
)
def test_a_kernel_that_is_not_known_or_has_no_width_is_refused(parameters, tmp_path):
    model, _ = make_kernel_model(sigma=1.0)
    save_model(tmp_path / 'm.npz', replace(model.header, parameters=parameters), model.arrays)
    with pytest.raises(ModelFormatError, match='expected a whole model'):
        read_model(tmp_path / 'm.npz')


def test_hidden_node_models_of_pairs_vote():
    model, X = make_model('sine', 6, 'abcd'), 4 * np.random.default_rng(1).standard_normal((50, D))
    model = replace(model, header=model.header.change_parameters(multiclass='one-vs-one'))
    assert np.array_equal(model.predict(X), dual.one_against_one(decision_by_hand(model, X), 4))


def test_what_is_no_model_of_ours_is_refused(tmp_path):
    model = make_model()
    save_model(tmp_path / 'm.npz', replace(model.header, method='other'), model.arrays)
    with pytest.raises(ModelFormatError, match="pesvm, .*, found 'other'"):
        read_model(tmp_path / 'm.npz')
    with pytest.raises(ModelFormatError, match="found 'step'"):
        layer_of({'map': 'step'}, model.arrays, D)


def test_dense_rows_wider_than_a_tile_are_scored():
    X, d = np.random.default_rng(0).normal(size=(5, 9000)), 9000
    header = ModelHeader('mr-kelm', 'regression', [], d, {'kernel': 'linear'})
    arrays = {
        'feature_offset': np.zeros(d),
        'feature_scale': np.ones(d),
        'support_vectors': X[:3],
        'dual_coef': np.ones((3, 1)),
        'intercept': np.zeros(1),
    }
    np.testing.assert_allclose(KernelModel(header, arrays).predict(X), (X @ X[:3].T).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize(
    'make, name',
    [
        (make_model, 'output_weights'),
        (lambda: make_kernel_model(sigma=1)[0], 'dual_coef'),
        (lambda: AveragedModel.of([make_model(), make_model()]), '1/output_weights'),
    ],
)
def test_a_model_that_could_not_be_read_back_does_not_take_its_name(make, name, tmp_path):
    model, path = make(), tmp_path / 'm.npz'
    model.save(path)
    before = path.read_bytes()
    model.arrays[name][-1, 0] = np.nan
    with pytest.raises(ModelFormatError, match=rf'm.npz: expected a model that can be read back, .*{name[-6:]}'):
        model.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]

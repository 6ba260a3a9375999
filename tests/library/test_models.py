"""Models: what they decide, and what rows they take."""
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from mr_elm.errors import ModelFormatError
from mr_elm.features.hidden import NODES, HiddenLayer, draw_nodes
from mr_elm.io.store import save_model
from mr_elm.models import HiddenNodeModel, layer_arrays, layer_of, load_layer, read_model

D, L = 5, 8


def make_model(kind='sigmoid', n_outputs=1, classes=('-1', '+1'), task='classification', weights=None, seed=0):
    rng = np.random.default_rng(seed)
    W, b = draw_nodes('rbf' if kind == 'nystrom' else kind, L, D, seed)
    b = np.full(L, 2 * 1.5**2) if kind == 'nystrom' else b
    layer = HiddenLayer(kind, W, b, rng.standard_normal(D), rng.uniform(0.5, 2, D))
    B = rng.standard_normal((L + 1, n_outputs)) if weights is None else weights
    header = {'method': 'pesvm', 'task': task, 'classes': list(classes), 'n_features': D,
              'parameters': {'map': kind, 'sigma': 1.5}}
    return HiddenNodeModel(header, {**layer_arrays(layer), 'output_weights': B})


def decision_by_hand(model, X):
    phi = model.layer.evaluate(X, np.empty((X.shape[0], L)))
    B = model.arrays['output_weights']
    return phi @ B[:-1] - B[-1]


@pytest.mark.parametrize('kind', NODES)
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
    monkeypatch.setattr('mr_elm.models.BLOCK_ROWS', size)
    assert np.allclose(model.decision_function(X), decision_by_hand(model, X), atol=1e-12)


def test_no_rows_have_no_predictions():
    assert make_model(n_outputs=3, classes='abc').decision_function(np.zeros((0, D))).shape == (0, 3)
    assert make_model().predict(sp.csr_matrix((0, D))).shape == (0,)


def test_narrower_sparse_rows_end_in_zeros():
    model, X = make_model(), np.random.default_rng(1).standard_normal((9, 3))
    found = model.decision_function(sp.csr_matrix(X))
    assert np.allclose(found, decision_by_hand(model, np.hstack([X, np.zeros((9, D - 3))])), atol=1e-12)


@pytest.mark.parametrize('X', [np.ones((2, D - 1)), np.ones((2, D + 1)), sp.csr_matrix(np.ones((2, D + 1)))])
def test_rows_of_another_width_are_refused_with_both_widths(X):
    with pytest.raises(ValueError, match=f'{D} features were expected, rows of {X.shape[1]} came'):
        make_model().predict(X)


@pytest.mark.parametrize('label, name', [('1', '1.0'), ('+1', '1.0'), ('1.0', '1.0'), ('-1e0', '-1'), ('2', '2'),
                                         ('x', 'x'), ('', ''), ('nan', 'nan')])
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


@pytest.mark.parametrize('kind', NODES)
def test_a_saved_model_predicts_the_same_bits(kind, tmp_path):
    model, X = make_model(kind, 3, 'abc'), np.random.default_rng(1).standard_normal((30, D))
    save_model(tmp_path / 'm.npz', model.header, model.arrays)
    again = read_model(tmp_path / 'm.npz')
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.classes == model.classes and again.n_features == D and again.numeric is False
    layer = load_layer(tmp_path / 'm.npz')
    assert np.array_equal(layer.weights, model.layer.weights) and np.array_equal(layer.biases, model.layer.biases)


def test_what_is_no_model_of_ours_is_refused(tmp_path):
    model = make_model()
    save_model(tmp_path / 'm.npz', {**model.header, 'method': 'other'}, model.arrays)
    with pytest.raises(ModelFormatError, match="pesvm, .* was expected, 'other' came"):
        read_model(tmp_path / 'm.npz')
    with pytest.raises(ModelFormatError, match="'step' came"):
        layer_of({'parameters': {'map': 'step'}}, model.arrays)

"""`train elm --C inf` is the pseudo-inverse of the node outputs, in one process, with its rank."""

import numpy as np
import pytest

from mr_elm.estimators import ELMClassifier, to_estimator
from mr_elm.model.file import read_model


@pytest.fixture
def table(rng):
    """Draw rows of three classes: (X, labels)."""
    X = rng.normal(size=(150, 4)) * [1, 30, 0.1, 5]
    return X, (X[:, 0] > 0.3) * 1 + (X[:, 3] > 0) * 1


def node_outputs(arrays, X):
    Z = (X - arrays['feature_offset']) * arrays['feature_scale']
    return 1 / (1 + np.exp(-Z @ arrays['hidden_weights'].T - arrays['hidden_biases']))


@pytest.mark.parametrize('hidden', [20, 200])
def test_the_output_weights_are_those_of_the_pseudo_inverse(elm, dense, table, tmp_path, model_of, maps, hidden):
    path = tmp_path / 'm.npz'
    assert elm('train', 'elm', dense, '--C', 'inf', '--hidden', hidden, '--model', path, '-q', *maps(3)).err == ''
    header, arrays = model_of(path)
    H, T = node_outputs(arrays, table[0]), np.where(table[1][:, None] == np.arange(3), 1.0, -1.0)
    found = arrays['output_weights']
    assert (found[-1] == 0).all() and header['parameters']['C'] is None and header['parameters']['solver'] == 'svd'
    assert header['parameters']['rank'] == np.linalg.matrix_rank(H)
    assert np.allclose(H @ found[:-1], H @ (np.linalg.pinv(H) @ T), rtol=0, atol=1e-6)
    assert set(arrays) & {'gram', 'class_sums'} == set()


def test_rows_of_weight_two_are_two_rows(elm, write, csv_of, table, tmp_path, model_of):
    X, labels = table
    weights, found = np.where(X[:, 0] > 0, 2.0, 1.0), []
    rows = {
        'weighted': csv_of(labels, np.c_[X, weights]),
        'twice': csv_of(*(np.r_[part, part[weights == 2]] for part in (labels, X))),
    }
    for name, text in rows.items():
        column = ('--weight-column', 5) if name == 'weighted' else ()
        words = ('--C', 'inf', '--hidden', 12, '--scale', 'none', '--weight-scale', 0.01)
        path = write(f'{name}.csv', text)
        assert elm('train', 'elm', path, *words, *column, '--model', tmp_path / f'{name}.npz', '-q').err == ''
        found.append(model_of(tmp_path / f'{name}.npz')[1]['output_weights'])
    assert np.allclose(*found, rtol=1e-6, atol=1e-6 * np.abs(found[0]).max())


def test_a_model_without_sums_becomes_an_estimator_and_takes_no_rows(elm, dense, table, tmp_path):
    path = tmp_path / 'm.npz'
    elm('train', 'elm', dense, '--C', 'inf', '--hidden', 20, '--model', path, '-q')
    fitted = to_estimator(read_model(path))
    assert isinstance(fitted, ELMClassifier) and np.inf == fitted.C
    assert fitted.score(*table) > 0.8
    done = elm('update', path, dense, '--model', tmp_path / 'new.npz', '-q')
    assert done.status == 1 and 'keeps no sums' in done.err


def test_rows_that_do_not_fit_are_refused_before_they_come(elm, dense, tmp_path):
    words = ('--C', 'inf', '--hidden', 1000, '--memory', 1)
    done = elm('train', 'elm', dense, *words, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and '150 x 1,000 node outputs take 4 MB, --memory 1 MB was given' in done.err


@pytest.mark.parametrize(
    'words, said',
    [
        (('elm', '--C', '-inf'), '--C'),
        (('pesvm', '--nu', 'inf'), '--nu'),
        (('pesvm', '--map', 'identity', '--hidden', 5), '--hidden'),
    ],
)
def test_what_it_cannot_take_is_wrong_usage(elm, dense, tmp_path, words, said):
    done = elm('train', words[0], dense, '--model', tmp_path / 'm.npz', *words[1:])
    assert done.status in (1, 2) and said in done.err and not (tmp_path / 'm.npz').exists()

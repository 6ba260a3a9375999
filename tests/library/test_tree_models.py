"""Models whose nodes are leaves of trees: their estimators, their file of sums, and what a file of trees must hold."""

import numpy as np
import pytest

from mr_elm.errors import ModelFormatError
from mr_elm.estimators import ESVMClassifier
from mr_elm.model.file import read_model
from mr_elm.model.models import join_members
from mr_elm.store import load_arrays, save_arrays
from mr_elm.sums.gram import expand

N, D = 300, 4


@pytest.fixture
def table(rng):
    """Draw rows of three classes, steps of one column and a smooth function of others."""
    X = rng.uniform(-2, 2, size=(N, D))
    return X, (X[:, 0] > 0.7) * 1 + (np.sin(3 * X[:, 1]) + X[:, 2] > 0) * 1


def test_an_estimator_lives(table):
    X, labels = table
    model = ESVMClassifier(map='leaves+nystrom', n_hidden=30, leaves=96).fit(X[:200], labels[:200])
    before = model.model_.decision_function(X)
    other = ESVMClassifier(map='leaves+nystrom', n_hidden=30, leaves=96).fit(X[200:], labels[200:], like=model)
    model.partial_fit(X[200:], labels[200:])
    grown = model.model_.decision_function(X)
    assert (
        not np.allclose(grown, before)
        and (model.forget(X[200:], labels[200:]).model_.decision_function(X) == before).all()
    )
    assert np.allclose(model.merge(other).model_.decision_function(X), grown, atol=1e-9)


@pytest.mark.parametrize('change', [{'leaves': 0}, {'leaf_ridge': 0}, {'map': 'leaves+leaves'}, {'metric': 'full'}])
def test_an_estimator_refuses_what_there_is_not(table, change):
    with pytest.raises(ValueError, match='expected|cannot be used'):
        ESVMClassifier(**{'map': 'leaves', **change}).fit(*table)


@pytest.mark.parametrize('weighted', [False, True])
@pytest.mark.parametrize('maps', [['leaves+nystrom'], ['leaves+nystrom', 'sigmoid'], ['sigmoid', 'leaves+nystrom']])
def test_products_of_leaves_are_small_whole_numbers_in_the_file_of_sums(table, tmp_path, rng, weighted, maps):
    X, labels = table
    weights = rng.uniform(0.5, 2, N) if weighted else None
    models = [ESVMClassifier(map=map, n_hidden=20, leaves=96, nu=3).fit(X, labels, weights).to_model() for map in maps]
    model, k = join_members(models), maps.index('leaves+nystrom')
    model.save(tmp_path / 'm.npz')
    again = read_model(tmp_path / 'm.npz', sums=True)
    assert set(again.sums) == set(model.sums)
    assert all(again.sums[name].tobytes() == model.sums[name].tobytes() for name in model.sums)
    prefix, n_leaves = f'{k}/' * (len(maps) > 1), models[k].layer.n_leaves
    with np.load(tmp_path / 'm.sums.npz') as written:
        if weighted:
            assert f'{prefix}leaf_counts' not in written.files
        else:
            counts = written[f'{prefix}leaf_counts']
            assert counts.dtype == np.uint8 and len(counts) == n_leaves * (n_leaves + 1) // 2
            assert len(written[f'{prefix}gram']) + len(counts) == len(model.sums[f'{prefix}gram'])
            E = expand(models[k].layer, X)[:, :n_leaves]
            assert (counts == (E.T @ E)[np.triu_indices(n_leaves)]).all()


@pytest.mark.parametrize(
    'change',
    [
        lambda arrays: arrays.update(leaf_counts=arrays['leaf_counts'][1:]),
        lambda arrays: arrays.update(leaf_counts=arrays['leaf_counts'].astype(float)),
        lambda arrays: arrays.update(leaf_counts=arrays['leaf_counts'][:, None]),
        lambda arrays: arrays.update(gram=arrays['gram'][1:]),
        lambda arrays: arrays.pop('gram_low'),
        lambda arrays: arrays.pop('leaf_counts'),
    ],
)
def test_damaged_counts_are_refused(table, tmp_path, change):
    ESVMClassifier(map='leaves', leaves=96).fit(*table).to_model().save(tmp_path / 'm.npz')
    header, arrays = load_arrays(tmp_path / 'm.sums.npz')
    change(arrays)
    save_arrays(tmp_path / 'm.sums.npz', header, arrays)
    with pytest.raises(ModelFormatError, match='sums.npz'):
        read_model(tmp_path / 'm.npz', sums=True)


TREE_DAMAGES = {
    'a feature': lambda arrays: arrays['tree_features'].__setitem__(0, D),
    'a feature below -1': lambda arrays: arrays['tree_features'].__setitem__(-1, -2),
    'a child that is its parent': lambda arrays: arrays['tree_children'].__setitem__(0, 0),
    'a child that is not there': lambda arrays: arrays['tree_children'].__setitem__(0, 10**6),
    'a child of another tree': lambda arrays: arrays['tree_children'].__setitem__(0, arrays['tree_roots'][1]),
    'leaves in another order': lambda arrays: arrays['tree_children'].__setitem__(-1, 0),
    'a first root behind the first node': lambda arrays: arrays['tree_roots'].__setitem__(0, 1),
    'a last root behind the last node': lambda arrays: arrays['tree_roots'].__setitem__(-1, 10**6),
    'roots out of order': lambda arrays: arrays['tree_roots'].__setitem__(1, 0),
    'a threshold': lambda arrays: arrays['tree_thresholds'].__setitem__(0, np.nan),
    'a type': lambda arrays: arrays.update(tree_features=arrays['tree_features'].astype(float)),
    'two dimensions': lambda arrays: arrays.update(tree_roots=arrays['tree_roots'][:, None]),
    'fewer children': lambda arrays: arrays.update(tree_children=arrays['tree_children'][:-1]),
    'no roots': lambda arrays: arrays.pop('tree_roots'),
    'empty roots': lambda arrays: arrays.update(tree_roots=arrays['tree_roots'][:0]),
}


@pytest.fixture(scope='module')
def tree_model():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(N, D))
    model = ESVMClassifier(map='leaves', leaves=96).fit(X, X[:, 0] > X[:, 1] ** 2).to_model()
    assert len(model.arrays['tree_roots']) > 1
    return model


@pytest.mark.parametrize('damage', TREE_DAMAGES)
def test_damaged_trees_are_refused(tree_model, damage, tmp_path):
    arrays = {name: array.copy() for name, array in tree_model.arrays.items()}
    TREE_DAMAGES[damage](arrays)
    save_arrays(tmp_path / 'm.npz', tree_model.header.to_json(), arrays)
    with pytest.raises(ModelFormatError, match='m.npz: expected a whole model'):
        read_model(tmp_path / 'm.npz')

"""The estimators are the commands: the same rows and the defaults of both give the same model."""

from pkgutil import resolve_name

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mr_elm import estimators
from mr_elm.arithmetic import one_thread
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, KernelELMRegressor, SparseELMClassifier
from mr_elm.methods import METHODS
from mr_elm.model.file import read_model
from mr_elm.rows.frames import read_frame

PAIRS = [(name, resolve_name(text)) for name, method in METHODS.items() for text in method.estimators]
EVERY = pytest.mark.parametrize('method, kind', PAIRS, ids=[kind.__name__ for _, kind in PAIRS])
KINDS = {kind.__name__: kind for _, kind in PAIRS}
SCALED = {name: kind for name, kind in KINDS.items() if kind._method != 'auto'}  # which chooses how rows are scaled


@pytest.fixture(autouse=True)
def one_thread_as_in_tasks():
    with one_thread():
        yield


@pytest.fixture
def X():
    """Draw features whose sizes and means differ, the last one of which is constant."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 5)) * [1, 1000, 0.1, 3, 1] + [0, 2000, 5, -30, 0]
    return np.column_stack([rows.round(3), np.full(120, 7.0)])


def label(X, kind, n_classes):
    Z = (X[:, :3] - X[:, :3].mean(axis=0)) / X[:, :3].std(axis=0)
    if is_regressor(kind()):
        return 100 * Z[:, 0] + Z[:, 1] ** 2
    return np.digitize(Z[:, 0] * Z[:, 1] + Z[:, 2], {2: [0], 4: [-1, 0, 1]}[n_classes])


def write(path, X, y):
    """Write rows as csv, or sparse ones as LIBSVM text."""
    if sp.issparse(X):
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savetxt(path, np.column_stack([y, X]), fmt='%.17g', delimiter=',')
    return path


def train(here, method, path, *options):
    """Train by the command with its defaults, and read the model."""
    model = path.with_name('m.npz')
    here('train', method, path, '--model', model, '--overwrite', '-q', *options)
    return read_model(model, sums=True) if method == 'pesvm' else read_model(model)


def compare(fitted, trained, X, frame=None):
    """Demand that an estimator and a model say the same about rows. frame : what X was encoded from, if anything."""
    values, wanted = fitted.to_model().decision_function(X), trained.decision_function(X)
    np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
    numbers = trained.predict(X)
    predicted = fitted.predict(X if frame is None else frame)
    if trained.numeric:
        np.testing.assert_allclose(predicted, numbers, rtol=0, atol=1e-8 * np.abs(numbers).max())
    else:
        assert predicted.astype(str).tolist() == [trained.classes[number] for number in numbers]


@pytest.mark.parametrize(
    'method, kind, n_classes',
    [(method, kind, n) for method, kind in PAIRS for n in ((0,) if is_regressor(kind()) else (2, 4))],
    ids=lambda value: getattr(value, '__name__', value),
)
@pytest.mark.parametrize('sparse', [False, True], ids=['dense', 'sparse'])
def test_an_estimator_with_its_defaults_is_the_command_with_its_defaults(
    method, kind, sparse, n_classes, X, here, tmp_path
):
    rows = sp.csr_matrix(np.where(np.random.default_rng(1).random(X.shape) < 0.5, 0, X)) if sparse else X
    y = label(rows.toarray() if sparse else X, kind, n_classes)
    task = ('--task', 'regression') if is_regressor(kind()) else ()
    trained = train(here, method, write(tmp_path / 'rows', rows, y), *task)
    compare(kind().fit(rows, y), trained, rows)


@EVERY
def test_rows_that_repeat_and_integers_train_the_same_machine(method, kind, here, tmp_path):
    """Equal values make ties, which must fall to the same side."""
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    task = ('--task', 'regression') if is_regressor(kind()) else ()
    compare(kind().fit(X, y), train(here, method, write(tmp_path / 'rows', X, y), *task), X)


@pytest.mark.parametrize(
    'method, kind',
    [pair for pair in PAIRS if 'multiclass' in pair[1]().get_params()],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_a_pair_of_classes_is_the_same_alone_and_among_others(method, kind, here, tmp_path):
    """Rows that repeat are solved as one where they are many: in two of four classes, and not in all rows together."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(640, 4)).round(3), np.repeat(np.arange(4), 160)
    X += 0.7 * np.eye(4)[y]
    X[20:40], X[180:195] = X[:20], X[160:175]
    compare(kind().fit(X, y), train(here, method, write(tmp_path / 'rows', X, y)), X)


@EVERY
def test_a_table_with_text_is_encoded_and_scaled_as_by_the_command(method, kind, here, tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            'age': np.where(rng.random(100) < 0.1, np.nan, rng.uniform(20, 70, 100)),
            'city': rng.choice(['Rome', 'Oslo', 'Lima'], 100),
            'size': rng.normal(1000, 50, 100),
        }
    )
    y = np.where((frame['age'].fillna(45) > 45) != (frame['city'] == 'Rome'), 'yes', 'no')
    if is_regressor(kind()):
        y = frame['size'] * (frame['city'] == 'Rome')
    task = ('--task', 'regression') if is_regressor(kind()) else ()
    frame.assign(y=y).to_csv(tmp_path / 'rows.csv', index=False)
    words = ('--encode', 'auto', '--label-column', 'y', *task)
    trained, fitted = train(here, method, tmp_path / 'rows.csv', *words), kind(encode='auto').fit(frame, y)
    compare(fitted, trained, fitted.encoding_.encode(read_frame(frame).table).spread(), frame)


@pytest.mark.parametrize(
    'method, kind',
    [pair for pair in PAIRS if not is_regressor(pair[1]())],
    ids=lambda value: value if isinstance(value, str) else '',
)
@pytest.mark.parametrize('threshold, positive', [('balanced', None), ('f1', 3), (5.0, '3')])
def test_a_threshold_is_that_of_the_command(method, kind, threshold, positive, X, here, tmp_path):
    y = np.where(np.random.default_rng(1).random(120) < 0.2, 1, label(X, kind, 2)) * 4 + 3
    words = () if positive is None else ('--positive', positive)
    rows = write(tmp_path / 'rows', X, y)
    trained = train(here, method, rows, '--probabilities', '--threshold', threshold, *words)
    fitted = kind(probabilities=True, threshold=threshold, positive=positive).fit(X, y)
    assert fitted.threshold_ == pytest.approx(trained.header.threshold, rel=1e-4)
    compare(fitted, trained, X)
    P, k = fitted.predict_proba(X), 1 if positive is None else 0
    assert ((P[:, k] > fitted.threshold_) == (fitted.predict(X) == [3, 7][k])).all()
    assert not np.array_equal(P.argmax(axis=1), fitted.predict(X) == 7)  # without it, some rows are of another class
    fitted = kind(positive=positive).fit(X, y)
    assert fitted.to_model().header.positive == str([3, 7][k]) and fitted.threshold_ is None


@pytest.mark.parametrize('method, kind', [pair for pair in PAIRS if pair[0] != 'auto'])
@pytest.mark.parametrize('scale', ['minmax', 'none'])
def test_every_scale_is_that_of_the_command(method, kind, scale, here, tmp_path):
    X, y = (part[:150] for part in load_digits(return_X_y=True))
    task = ('--task', 'regression') if is_regressor(kind()) else ()
    trained = train(here, method, write(tmp_path / 'rows', X, y), *task, '--scale', scale, '--seed', 3)
    compare(kind(scale=scale, seed=3).fit(X, y), trained, X)


@pytest.mark.parametrize('kind', [ESVMClassifier, ESVMRegressor])
def test_packed_rows_give_the_same_bits(kind, X, here, tmp_path):
    y, task = label(X, kind, 4), ('--task', 'regression') if is_regressor(kind()) else ()
    if not is_regressor(kind()):  # a block has its classes as they come, an estimator in increasing order
        y = np.unique(y, return_index=True)[1].argsort().argsort()[y]
    here('pack', write(tmp_path / 'rows', X, y), '-o', tmp_path / 'packed', '-q', *task)
    with one_thread():  # as tasks and finisher have it: more threads add in another order
        fitted = kind().fit(X, y).to_model()
    trained = train(here, 'pesvm', tmp_path / 'packed', *task)
    for name, array in {**trained.arrays, **trained.sums}.items():
        assert {**fitted.arrays, **fitted.sums}[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize('kind', [ESVMClassifier, ESVMRegressor])
def test_rows_that_come_later_are_scaled_as_the_first_ones_like_by_an_update(kind, X, here, tmp_path):
    y, task = label(X, kind, 4), ('--task', 'regression') if is_regressor(kind()) else ()
    later = X + [5, 5000, 1, 1, 0, 3]  # on another scale
    first, second = write(tmp_path / 'a', X, y), write(tmp_path / 'b', later, y)
    train(here, 'pesvm', first, *task)
    here('update', tmp_path / 'm.npz', second, '--model', tmp_path / 'ab.npz', '-q')
    grown = kind().partial_fit(X, y).partial_fit(later, y)
    compare(grown, read_model(tmp_path / 'ab.npz'), later)
    compare(grown.forget(later, y), kind().fit(X, y).to_model(), later)
    whole = kind().fit(np.concatenate([X, later]), np.concatenate([y, y])).predict(later)
    assert not np.array_equal(whole, grown.predict(later))  # `fit` looks at all rows before it scales


@pytest.mark.parametrize('name', [name for name in SCALED if name.endswith('Classifier')])
def test_the_size_of_a_column_does_not_matter(name):
    """Wine has columns of 0.1 and of 1000."""
    X, y = load_wine(return_X_y=True)
    score = cross_val_score(KINDS[name](), X, y, cv=5).mean()
    assert score > 0.97
    assert score - cross_val_score(KINDS[name](scale='none'), X, y, cv=5).mean() > 0.1
    assert score == pytest.approx(cross_val_score(make_pipeline(StandardScaler(), KINDS[name]()), X, y, cv=5).mean())
    assert cross_val_score(KINDS[name](scale='minmax'), X, y, cv=5).mean() > 0.95


@pytest.mark.parametrize('kind', [ESVMRegressor, KernelELMRegressor, SparseELMClassifier])
def test_rows_of_weight_0_do_not_scale(kind, X):
    y = label(X, kind, 2)
    weights = np.ones(len(X) + 3)
    weights[:3] = 0
    strange = np.concatenate([np.full((3, X.shape[1]), 1e9), X])
    fitted = kind(scale='minmax').fit(strange, np.concatenate([y[:3], y]), sample_weight=weights)
    np.testing.assert_allclose(fitted.scaling_, kind(scale='minmax').fit(X, y).scaling_, rtol=1e-12)


def test_an_unknown_scale_is_refused(X):
    for kind in SCALED.values():
        with pytest.raises(ValueError, match="scale: expected one of standard, minmax, none, found 'std'"):
            kind(scale='std').fit(X, label(X, kind, 2))


def test_all_estimators_are_compared():
    assert set(KINDS) == {name for name in estimators.__all__ if name[0].isupper()}

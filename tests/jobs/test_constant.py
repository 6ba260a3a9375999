"""A machine that says the same of all rows of its training says so, and only such a machine."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm import estimators
from mr_elm.errors import UnsuitableWarning
from mr_elm.machines.doubts import N_ROWS, choose_rows
from mr_elm.model.file import read_model

WIDE = '--sigma', 1e4, '--C', 1e-4
TINY = '--hidden', 20, '--weight-scale', 1e-3
USELESS = {  # words of a training that make the machine constant
    'pesvm': (*TINY, '--nu', 1e-9),
    'elm': (*TINY, '--C', 1e-9),
    'sparse-elm': WIDE,
    'oelm': WIDE,
    'sphere-svm': WIDE,
    'mr-kelm': WIDE,
}
NUMERIC = {'pesvm': USELESS['pesvm'], 'elm': USELESS['elm'], 'mr-kelm': ('--sigma', 1e6, '--C', 1e-3)}
SENTENCE = 'warning: this machine says the same of all 150 rows that were looked at, although their labels differ: try'


@pytest.fixture
def rows():
    """Draw 150 rows of two classes, 80 % of one of them, sorted by class."""
    X = np.random.default_rng(3).normal(size=(150, 4))
    X = X[np.argsort(X[:, 0])]
    return X, np.where(X[:, 0] > 0.85, 'ill', 'well')


@pytest.fixture
def train(elm, tmp_path):
    """Train: the Model, and what is said on standard error."""

    def run(*words):
        done = elm('train', *words, '--model', tmp_path / 'm.npz', '--overwrite', '-q')
        assert done.status == 0, done.err
        return read_model(tmp_path / 'm.npz'), done.err

    return run


@pytest.mark.parametrize('method', USELESS)
@pytest.mark.parametrize('kind', ['csv', 'pack'])
def test_a_machine_that_gives_all_rows_one_class_says_so(method, kind, train, write, csv_of, rows, elm, tmp_path):
    path = write('rows.csv', csv_of(rows[1], rows[0]))
    if kind == 'pack':
        elm('pack', path, '-o', tmp_path / 'pack', '-q')
        path = tmp_path / 'pack'
    model, err = train(method, path, *USELESS[method])
    assert set(model.predict(rows[0])) == {1} and err.count(SENTENCE) == 1
    model, err = train(method, path)
    assert len(set(model.predict(rows[0]))) == 2 and err == ''


def test_auto_advises_neither_itself_nor_options_that_it_has_not(train, write, csv_of, rows, rng):
    err = train('auto', write('noise.csv', csv_of(rows[1], rng.normal(size=(150, 2)))))[1]
    assert SENTENCE.removesuffix('try') + 'see whether the columns tell anything about the labels\n' in err
    assert '`auto`' not in err


@pytest.mark.parametrize('method', NUMERIC)
def test_a_machine_that_predicts_one_number_says_so(method, train, write, csv_of, rows):
    X, t = rows[0], 2005 + 5 * rows[0][:, 0]
    words = write('rows.csv', csv_of(t, X)), '--task', 'regression'
    model, err = train(method, *words, *NUMERIC[method])
    assert model.predict(X).std() < 1e-6 * t.std() and SENTENCE in err
    assert train(method, *words)[1] == ''


@pytest.mark.parametrize('unit', [1, 1e6])
def test_logarithms_are_not_compared_with_targets(unit, train, write, csv_of, rows):
    X, t = rows[0], unit * np.exp(rows[0][:, 0])
    words = write('rows.csv', csv_of(t, X)), '--task', 'regression', '--target', 'log'
    assert train('pesvm', *words)[1] == '' and SENTENCE in train('pesvm', *words, *NUMERIC['pesvm'])[1]


def test_sets_of_labels_and_categories_are_looked_at(train, write):
    X = np.random.default_rng(0).normal(size=(150, 2))
    text = 'labels,color,size\n' + ''.join(
        f'{"red;big" if a > 1 else "red"},{"blue" if b > 0 else "green"},{a!r}\n' for a, b in X.tolist()
    )
    words = write('rows.csv', text), '--label-column', 'labels', '--labels-separator', ';', '--encode', 'auto'
    assert SENTENCE in train('pesvm', *words, *TINY)[1]
    assert train('pesvm', *words, '--nu', 100)[1] == ''


CLASSIFIERS = [
    getattr(estimators, name)(**given)
    for name, given in {
        'ESVMClassifier': {'nu': 1e-9},
        'ELMClassifier': {'C': 1e-9},
        'SparseELMClassifier': {'sigma': 1e4, 'C': 1e-4},
        'OELMClassifier': {'sigma': 1e4, 'C': 1e-4},
        'SphereSVMClassifier': {'sigma': 1e4, 'C': 1e-4},
        'KernelELMClassifier': {'sigma': 1e4, 'C': 1e-4},
    }.items()
]


def warnings_of(estimator, *rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        estimator.fit(*rows)
    return [str(each.message) for each in caught if issubclass(each.category, UnsuitableWarning)]


@pytest.mark.parametrize('estimator', CLASSIFIERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_an_estimator_says_so(estimator, wrap, rows):
    X, y = wrap(rows[0]), rows[1]
    (text,) = warnings_of(estimator, X, y)
    assert 'says the same of all 150 rows' in text and set(estimator.predict(X)) == {'well'}
    assert warnings_of(type(estimator)(), X, y) == []


@pytest.mark.parametrize(
    'estimator', [estimators.ESVMRegressor(nu=1e-12), estimators.KernelELMRegressor(sigma=1e6, C=1e-3)]
)
def test_a_regressor_says_so(estimator, rows):
    assert len(warnings_of(estimator, rows[0], rows[0][:, 0])) == 1
    assert warnings_of(type(estimator)(), rows[0], rows[0][:, 0]) == []


def test_rows_of_all_labels_are_looked_at_first():
    labels = np.repeat([0, 1, 2], [5000, 3, 4000])
    chosen = choose_rows(labels, False)
    assert len(chosen) == N_ROWS and labels[chosen[:9]].tolist() == [0, 1, 2] * 3
    assert (labels[chosen] == 1).sum() == 3 and len(set(chosen)) == N_ROWS
    numbers = choose_rows(np.sort(np.random.default_rng(0).normal(size=9000)), True)
    assert len(numbers) == N_ROWS and numbers[0] == 0 and numbers[-1] == 8999

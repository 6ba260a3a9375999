"""A machine that says the same of all rows says so: in a warning and in its header, and only then."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm import estimators
from mr_elm.errors import ConstantWarning
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, KernelELMClassifier, KernelELMRegressor, to_estimator
from mr_elm.machines.constant_check import N_ROWS, choose_rows, differs_by_sums, note_rows
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


@pytest.fixture
def rows():
    """Draw 150 rows of two classes, 80 % of one of them."""
    X = np.random.default_rng(3).normal(size=(150, 4))
    return X, np.where(X[:, 0] > 0.85, 'ill', 'well')


@pytest.fixture
def train(elm, tmp_path):
    """Train: the Model, and what is said on standard error."""

    def run(*words):
        done = elm('train', *words, '--model', tmp_path / 'm.npz', '--overwrite', '-q')
        assert done.status == 0, done.err
        return read_model(tmp_path / 'm.npz'), done.err

    return run


def answer_of(model):
    return model.header.parameters.get('constant_prediction')


def demand_said(found, method, answer):
    """Demand one sentence that names what the machine says and what to try, and the same in the header."""
    model, err = found
    assert answer_of(model) == answer
    assert err.count('warning: this machine') == 1 and 'although their labels differ: try ' in err
    assert {'pesvm': '--nu', 'elm': '--C'}.get(method, '--sigma') in err


@pytest.mark.parametrize('method', USELESS)
@pytest.mark.parametrize('kind', ['csv', 'pack'])
def test_a_machine_that_gives_all_rows_one_class_says_so(method, kind, train, write, csv_of, rows, elm, tmp_path):
    path = write('rows.csv', csv_of(rows[1], rows[0]))
    if kind == 'pack':
        elm('pack', path, '-o', tmp_path / 'pack', '-q')
        path = tmp_path / 'pack'
    found = train(method, path, *USELESS[method])
    assert set(found[0].predict(rows[0])) == {1}
    demand_said(found, method, 'well')
    assert "the class 'well'" in found[1]
    model, err = train(method, path)
    assert len(set(model.predict(rows[0]))) == 2 and err == '' and answer_of(model) is None


def test_rows_of_a_packed_table_are_looked_at(train, write, here, tmp_path, rows):
    text = 'state,color,size\n' + ''.join(
        f'{label},{"red" if row[1] > 0 else "blue"},{row[0]!r}\n'
        for label, row in zip(rows[1], rows[0].tolist(), strict=True)
    )
    here('pack', write('rows.csv', text), '--encode', 'auto', '--label-column', 'state', '-o', tmp_path / 'pack', '-q')
    demand_said(train('pesvm', tmp_path / 'pack', *USELESS['pesvm']), 'pesvm', 'well')


@pytest.mark.parametrize(
    'words',
    [
        ('pesvm', '--nu', 1e-9, '--solver', 'passes'),
        ('pesvm', '--nu', 1e-9, '--map', 'nystrom', '--scale', 'none'),
        ('pesvm', '--nu', 1e-9, '--probabilities'),
        ('elm', '--map', 'sine', '--C', 'inf', '--weight-scale', 1e-12),
        ('sparse-elm', '--kernel', 'sigmoid', '--weight-scale', 1e-3, '--C', 1e-3),
        ('sparse-elm', *WIDE, '--partitions', 2),
        ('mr-kelm', *WIDE, '--solver', 'cg'),
        ('mr-kelm', *WIDE, '--solver', 'svd'),
    ],
    ids=lambda words: ' '.join(map(str, words)),
)
def test_the_header_tells_what_the_model_says_on_every_path(words, train, write, csv_of, rows):
    X, y = rows
    model, err = train(words[0], write('rows.csv', csv_of(y, X)), *words[1:])
    said = {model.classes[number] for number in model.predict(X)}
    assert answer_of(model) == (said.pop() if len(said) == 1 else None)
    assert ('this machine gives all' in err) == (answer_of(model) is not None)


@pytest.mark.parametrize('method', NUMERIC)
@pytest.mark.parametrize('kind', ['csv', 'pack', 'passes'])
def test_a_machine_that_predicts_one_number_says_so(method, kind, train, write, csv_of, rows, elm, tmp_path):
    X, t = rows[0], 2005 + 5 * rows[0][:, 0]
    path, words = write('rows.csv', csv_of(t, X)), ['--task', 'regression']
    if kind == 'pack':
        elm('pack', path, *words, '-o', tmp_path / 'pack', '-q')
        path = tmp_path / 'pack'
    if kind == 'passes':
        words += ['--solver', 'cg' if method == 'mr-kelm' else 'passes']
    found = train(method, path, *words, *NUMERIC[method])
    predicted = found[0].predict(X)
    assert predicted.std() < 1e-6 * t.std()
    demand_said(found, method, pytest.approx(predicted.mean(), abs=1e-6))
    model, err = train(method, path, *words)
    assert err == '' and answer_of(model) is None


def test_several_targets_are_constant_where_all_are(train, write):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    text = 'a,b,c,y1,y2\n' + ''.join(','.join(map(repr, [*row, row[0], 7 + row[1]])) + '\n' for row in X.tolist())
    words = write('rows.csv', text), '--task', 'regression', '--targets', 'y1,y2'
    model, err = train('pesvm', *words, *USELESS['pesvm'])
    assert answer_of(model) == pytest.approx([X[:, 0].mean(), 7 + X[:, 1].mean()], abs=1e-6) and 'predicts' in err
    model, err = train('pesvm', *words)
    assert answer_of(model) is None and err == ''


def test_sets_of_labels_are_constant_where_all_rows_have_the_same_set(train, write):
    X = np.random.default_rng(0).normal(size=(90, 3))
    labels = [';'.join(['red'] + ['big'] * bool(row[0] > 1)) for row in X]
    path = write(
        'rows.csv',
        ''.join(f'{label},{",".join(map(repr, row))}\n' for label, row in zip(labels, X.tolist(), strict=True)),
    )
    model, err = train('pesvm', path, '--labels-separator', ';', '--hidden', 20, '--weight-scale', 1e-3)
    assert (model.predict(X) == model.predict(X)[0]).all()
    assert answer_of(model) == 'red' and "the labels 'red'" in err
    model, err = train('pesvm', path, '--labels-separator', ';', '--nu', 100)
    assert answer_of(model) is None and err == ''


def test_labels_that_are_all_alike_tell_nothing(rows):
    X, y = rows
    model = KernelELMClassifier(sigma=1e4, C=1e-4).fit(X, y).to_model()
    header = model.header
    plain = {name: value for name, value in header.parameters.items() if name != 'constant_prediction'}
    silent = replace(model, header=replace(header, parameters=plain))
    assert note_rows(silent, X[y == 'ill'], y[y == 'ill']) is silent
    with pytest.warns(ConstantWarning):
        assert note_rows(silent, X, y) is not silent


def test_rows_that_come_take_the_note_away(here, write, csv_of, rows, tmp_path, elm):
    X, y = rows
    path = write('rows.csv', csv_of(y, X))
    elm('train', 'pesvm', path, *USELESS['pesvm'], '--model', tmp_path / 'a.npz', '-q')
    assert answer_of(read_model(tmp_path / 'a.npz')) == 'well'
    here('update', tmp_path / 'a.npz', path, '--model', tmp_path / 'b.npz', '-q')
    assert answer_of(read_model(tmp_path / 'b.npz')) is None
    assert to_estimator(read_model(tmp_path / 'a.npz')).predict(X[:2]).tolist() == ['well', 'well']


def test_inspect_shows_it(here, write, csv_of, rows, tmp_path, elm):
    elm('train', 'mr-kelm', write('rows.csv', csv_of(rows[1], rows[0])), *WIDE, '--model', tmp_path / 'a.npz', '-q')
    assert 'nearly all rows are predicted well' in here('inspect', tmp_path / 'a.npz')
    assert '"constant_prediction": "well"' in here('inspect', tmp_path / 'a.npz', '--json')


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
    return [str(each.message) for each in caught if issubclass(each.category, ConstantWarning)]


@pytest.mark.parametrize('estimator', CLASSIFIERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_an_estimator_says_so_by_the_names_of_its_parameters(estimator, wrap, rows):
    X, y = wrap(rows[0]), rows[1]
    (text,) = warnings_of(estimator, X, y)
    assert "gives all 150 rows that were looked at the class 'well'" in text and '--' not in text
    assert all(f'a larger {name}' in text for name in ('nu', 'C') if name in estimator.get_params())
    assert answer_of(estimator.to_model()) == 'well' and set(estimator.predict(X)) == {'well'}
    plain = type(estimator)()
    assert warnings_of(plain, X, y) == [] and answer_of(plain.to_model()) is None


@pytest.mark.parametrize('estimator', [ESVMRegressor(nu=1e-12), KernelELMRegressor(sigma=1e6, C=1e-3)])
def test_a_regressor_says_so(estimator, rows):
    (text,) = warnings_of(estimator, rows[0], rows[0][:, 0])
    assert 'predicts' in text and np.isclose(answer_of(estimator.to_model()), rows[0][:, 0].mean(), atol=1e-6)
    assert warnings_of(type(estimator)(), rows[0], rows[0][:, 0]) == []


def test_rows_of_weight_0_do_not_count(rows):
    X, y = rows
    weights = np.where(y == 'ill', 0.0, 1.0)
    assert warnings_of(KernelELMClassifier(sigma=1e4), X, y, weights) == []


@pytest.mark.parametrize('n_classes', [2, 3, 7])
def test_sums_prove_only_what_is_true(n_classes):
    """Wherever the means of two classes get different classes, rows do."""
    rng, proven = np.random.default_rng(n_classes), 0
    for trial in range(30):
        X = rng.normal(size=(60, 3))
        y = np.digitize(X[:, 0] + rng.normal(scale=0.3, size=60), np.sort(rng.normal(size=n_classes - 1)))
        y[:n_classes] = np.arange(n_classes)
        fitted = ESVMClassifier(n_hidden=8, nu=10.0 ** rng.integers(-6, 2), seed=trial)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = fitted.fit(X, y).to_model()
        if differs_by_sums(model):
            proven += 1
            assert len(set(model.predict(X))) > 1
    assert proven > 5


def test_rows_of_all_labels_are_looked_at_first():
    labels = np.repeat([0, 1, 2], [5000, 3, 4000])
    chosen = choose_rows(labels)
    assert len(chosen) == N_ROWS and labels[chosen[:9]].tolist() == [0, 1, 2] * 3
    assert (labels[chosen] == 1).sum() == 3 and len(set(chosen)) == N_ROWS
    numbers = choose_rows(np.sort(np.random.default_rng(0).normal(size=9000)), numeric=True)
    assert len(numbers) == N_ROWS and numbers[0] == 0 and numbers[-1] == 8999

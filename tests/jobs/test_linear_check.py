"""Classifiers say where a linear machine is far better: on rows of words, and not on others."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference.commands import elm
from sklearn.datasets import dump_svmlight_file, make_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.summary import learn_rows
from mr_elm.engines import make_engine
from mr_elm.errors import UnsuitableWarning
from mr_elm.estimators import (
    ELMClassifier,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.machines import linear_check
from mr_elm.machines.linear_check import find_errors, sample_labelled
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions

FAILING = [
    ESVMClassifier(n_hidden=300),
    ESVMClassifier(n_hidden=300, scale='none'),
    ELMClassifier(n_hidden=300),
    OELMClassifier('sigmoid', n_hidden=30),
    SparseELMClassifier(),
    SphereSVMClassifier(),
    KernelELMClassifier(),
]
SENTENCE = 'a linear machine on the features labels'


@pytest.fixture(autouse=True)
def one_thread_as_in_tasks():
    with one_thread():
        yield


def draw_words(n, n_topics=6, n_words=6000, seed=0):
    """Draw documents as rows of counts: common words by Zipf's law, and an eighth of all words from a topic."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(3, n_words + 3)
    topics = [np.random.default_rng(k).permutation(n_words)[:300] for k in range(n_topics)]
    y = rng.integers(n_topics, size=n)
    X = np.zeros((n, n_words))
    for row, label in zip(X, y, strict=True):
        np.add.at(row, rng.choice(n_words, 40, p=zipf / zipf.sum()), 1)
        np.add.at(row, topics[label][rng.choice(300, 6, p=zipf[:300] / zipf[:300].sum())], 1)
    return sp.csr_matrix(X), y


TFIDF = TfidfTransformer().fit(draw_words(500)[0])


def weigh_words(X, y):
    """Return documents as rows of length 1, in which rare words are large."""
    return TFIDF.transform(X), y


@pytest.fixture(scope='module')
def words():
    return weigh_words(*draw_words(500))


def warnings_of(fit, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        fit(*arguments, **options)
    return [str(warning.message) for warning in caught if issubclass(warning.category, UnsuitableWarning)]


@pytest.mark.parametrize('estimator', FAILING, ids=repr)
def test_a_machine_that_fails_on_words_says_so_in_one_sentence(estimator, words):
    X, y = words
    (said,) = warnings_of(estimator.fit, X, y)
    assert said.startswith(SENTENCE) and "KernelELMClassifier(scale='none')" in said and '\n' not in said
    new = weigh_words(*draw_words(300, seed=1))
    assert estimator.score(*new) < RidgeClassifier().fit(X, y).score(*new) - 0.05


@pytest.mark.parametrize(
    'estimator',
    [
        KernelELMClassifier(scale='none'),
        KernelELMClassifier('linear', scale='none'),
        SphereSVMClassifier(scale='none'),
        SparseELMClassifier(scale='none', multiclass='one-vs-all'),
    ],
    ids=repr,
)
def test_a_machine_that_is_as_good_as_a_linear_one_is_not_blamed(estimator, words):
    assert warnings_of(estimator.fit, *words) == []
    assert estimator.score(*weigh_words(*draw_words(300, seed=1))) > 0.85


@pytest.mark.parametrize('seed', range(4))
def test_pairs_of_words_of_few_documents_are_no_reason_to_blame_it(seed):
    """Rows with very many rare features are nearly at right angles, so that a sample needs another C than all rows."""
    X, y = draw_words(300, seed=seed)
    rare = sp.random(300, 20000, 0.002, 'csr', random_state=seed)
    rows = sp.hstack([weigh_words(X, y)[0], 3 * rare], format='csr')
    assert warnings_of(KernelELMClassifier(scale='none').fit, rows, y) == []


def test_a_first_batch_is_judged_and_later_ones_are_not(words):
    X, y = words
    estimator = ESVMClassifier(n_hidden=50)
    assert len(warnings_of(estimator.partial_fit, X[:400], y[:400])) == 1
    assert warnings_of(estimator.partial_fit, X[400:], y[400:]) == []


def test_only_a_single_label_can_be_compared(words):
    X, y = words
    assert warnings_of(ESVMRegressor(n_hidden=50).fit, X, y.astype(float)) == []
    assert warnings_of(ESVMClassifier(n_hidden=50).fit, X, np.eye(6, dtype=int)[y]) == []
    assert warnings_of(KernelELMClassifier('precomputed').fit, (X @ X.T).toarray(), y) == []


def test_a_machine_is_not_advised_to_be_what_it_is(words):
    X, y = words
    narrow = {'sigma': 0.01, 'C': 1.0}  # so narrow that no row is near another
    assert len(warnings_of(KernelELMClassifier(**narrow).fit, X, y)) == 1
    assert warnings_of(KernelELMClassifier(scale='none', **narrow).fit, X, y) == []


def test_rows_of_weight_0_are_not_looked_at(words):
    """Random rows beside the documents hide what a linear machine can do, unless they count for nothing."""
    X, y = words
    noise = sp.random(2000, X.shape[1], 0.02, 'csr', random_state=0)
    rows, labels = sp.vstack([noise, X], format='csr'), np.concatenate([np.arange(2000) % 6, y])
    weights = np.concatenate([np.zeros(2000), np.ones(len(y))])
    assert len(warnings_of(ESVMClassifier(n_hidden=100).fit, rows, labels, sample_weight=weights)) == 1


@pytest.mark.parametrize('estimator', [ESVMClassifier(), KernelELMClassifier(), SphereSVMClassifier()], ids=repr)
@pytest.mark.parametrize('n_features', [10, 600])
def test_ordinary_dense_rows_cause_no_alarm(estimator, n_features, monkeypatch):
    monkeypatch.setattr(linear_check, 'FEWEST_FEATURES', 2)
    for seed in range(3):
        X, y = make_classification(500, n_features, n_informative=8, n_classes=3, random_state=seed)
        assert warnings_of(estimator.fit, X, y) == []


@pytest.mark.parametrize('value', [0.0, 1e153])
def test_rows_that_cannot_be_compared_are_left_alone(value):
    """They have no inner products: all are 0, or beyond the largest number."""
    X, y = np.full((40, 600), value), np.arange(40) % 2
    X[:, 0] = value * y
    assert warnings_of(ESVMClassifier(n_hidden=10).fit, X, y) == []
    assert warnings_of(ESVMClassifier(n_hidden=10).fit, sp.csr_matrix(X), y) == []


@pytest.mark.parametrize('name', ['usps', 'splice', 'waveform', 'a1a', 'w1a', 'colon-cancer'])
@pytest.mark.parametrize('estimator', [ESVMClassifier(), KernelELMClassifier()], ids=repr)
def test_no_alarm_on_public_sets_where_a_linear_machine_is_good(name, estimator, public_set, monkeypatch):
    monkeypatch.setattr(linear_check, 'FEWEST_FEATURES', 2)
    X, y = public_set(name)
    assert warnings_of(estimator.fit, X[:2000], y[:2000]) == []


def test_errors_are_those_of_kernel_ridge_on_all_other_rows(rng):
    X, codes = rng.normal(size=(60, 4)), np.arange(60) % 3
    X[:, 0] += codes
    inner, T = X @ X.T, np.where(codes[:, None] == np.arange(3), 1, -1)
    expected = []
    for row in range(60):
        kept = np.arange(60) != row
        ridge = KernelRidge(alpha=0.5, kernel='precomputed').fit(inner[np.ix_(kept, kept)], T[kept])
        expected.append(ridge.predict(inner[[row]][:, kept]).argmax() != codes[row])
    assert find_errors(inner, 0.5, codes, 3).tolist() == expected and 0 < sum(expected) < 60


def test_the_sample_is_that_of_the_jobs(tmp_path):
    X, y = draw_words(300)  # whole numbers, which text keeps to the last bit
    path = tmp_path / 'rows.libsvm'
    dump_svmlight_file(X, y, str(path), zero_based=False)
    with make_engine('inline', ()) as engine:
        data = DataSet(plan_inputs([str(path)], RowOptions(n_features=6000)), engine)
        summary, classes = learn_rows(data, 'classification', seed=5, judged=True)
    sample = sample_labelled(X, tuple(classes.names), y, None, 5)
    assert (summary.sample != sample).nnz == 0 and sample.shape == (300, 6002)


def train(method, path, *options):
    done = elm('train', method, path, '--model', path.with_name('m.npz'), '--overwrite', *options)
    assert done.status == 0, done.err
    return [line for line in done.err.splitlines() if SENTENCE in line]


@pytest.mark.parametrize(
    'method, options',
    [
        ('pesvm', ('--hidden', 100)),
        ('elm', ('--hidden', 100)),
        ('mr-kelm', ()),
        ('pesvm', ('--hidden', 100, '--solver', 'passes')),
        ('oelm', ('--kernel', 'sigmoid', '--hidden', 50)),
        ('sphere-svm', ()),
    ],
)
def test_a_command_that_trains_such_a_machine_says_so(method, options, words, tmp_path):
    dump_svmlight_file(*words, str(tmp_path / 'rows.libsvm'), zero_based=False)
    (said,) = train(method, tmp_path / 'rows.libsvm', *options)
    assert said.startswith('mr-elm: warning: ') and 'mr-elm train mr-kelm --scale none' in said


def test_other_trainings_say_nothing(words, tmp_path):
    path = tmp_path / 'rows.libsvm'
    dump_svmlight_file(*words, str(path), zero_based=False)
    assert train('mr-kelm', path, '--scale', 'none', '--kernel', 'linear') == []
    assert train('pesvm', path, '--hidden', 50, '--task', 'regression') == []
    elm('pack', path, '-o', tmp_path / 'packed', '-q')
    assert len(train('pesvm', tmp_path / 'packed', '--hidden', 50)) == 1
    X, y = make_classification(300, 20, n_classes=3, n_informative=5, random_state=0)
    dump_svmlight_file(X, y, str(path), zero_based=False)
    assert train('pesvm', path, '--hidden', 50) == []

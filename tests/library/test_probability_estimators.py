"""Probabilities of the estimators: scikit-learn's own checks, models of files, rows that come and leave."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import (
    AutoClassifier,
    ELMClassifier,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
    to_estimator,
)
from mr_elm.estimators.probabilities import leave_equal_rows_out
from mr_elm.machines.press import HeldOut
from mr_elm.model.file import read_model

CLASSIFIERS = [
    ESVMClassifier(n_hidden=60, probabilities=True),
    ELMClassifier(n_hidden=60, probabilities=True),
    KernelELMClassifier(probabilities=True),
    SparseELMClassifier(probabilities=True),
    OELMClassifier('sigmoid', n_hidden=40, probabilities=True),
    SparseELMClassifier(multiclass='one-vs-all', probabilities=True),
    SphereSVMClassifier(probabilities=True),
]
ALL = pytest.mark.parametrize('estimator', CLASSIFIERS, ids=str)


@pytest.fixture(scope='module')
def table():
    """Draw rows of three classes that overlap: (X, labels)."""
    X, y = make_moons(240, noise=0.3, random_state=0)
    return X, np.array(list('abc'))[y + (X[:, 0] > 1.2) * (y == 1)]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('estimator', [each for each in CLASSIFIERS if not isinstance(each, OELMClassifier)], ids=str)
def test_scikit_learn_is_content(estimator):
    assert [
        row['check_name'] for row in check_estimator(clone(estimator), on_fail=None) if row['status'] == 'failed'
    ] == []


@ALL
def test_probabilities_are_there_only_when_they_are_asked_for(estimator, table):
    plain = clone(estimator).set_params(probabilities=False).fit(*table)
    assert not hasattr(plain, 'predict_proba') and not hasattr(plain, 'predict_log_proba')
    fitted = clone(estimator).fit(*table)
    P = fitted.predict_proba(table[0])
    assert np.allclose(P.sum(axis=1), 1) and np.allclose(np.log(P), fitted.predict_log_proba(table[0]))
    assert np.array_equal(fitted.classes_[P.argmax(axis=1)], fitted.predict(table[0]))
    assert np.array_equal(fitted.decision_function(table[0]).argmax(axis=1), P.argmax(axis=1))


@ALL
def test_probabilities_of_new_rows_are_better_than_the_shares_of_the_classes(estimator, table):
    X, y = table
    P = clone(estimator).fit(X[:160], y[:160]).predict_proba(X[160:])
    shares = np.tile([np.mean(y[:160] == name) for name in 'abc'], (80, 1))
    assert log_loss(y[160:], P) < 0.75 * log_loss(y[160:], shares)


@ALL
def test_a_model_keeps_the_probabilities(estimator, table, tmp_path):
    X, y = table
    fitted = clone(estimator).fit(X, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    model = read_model(tmp_path / 'm.npz')
    again = to_estimator(model)
    assert np.allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    assert np.array_equal(np.array(model.classes)[model.predict(X)], fitted.predict(X))


@pytest.mark.parametrize(
    'estimator',
    [
        ESVMClassifier(n_hidden=30, probabilities=True),
        ELMClassifier(n_hidden=30, probabilities=True),
        KernelELMClassifier(sigma=0.5**0.5, probabilities=True),
        SparseELMClassifier(sigma=0.5**0.5, tol=1e-8, probabilities=True),
    ],
    ids=str,
)
def test_a_row_of_weight_two_counts_as_two_rows(estimator, table):
    X, y = table[0][:90], table[1][:90]
    weights = 1.0 + (np.arange(90) % 3 == 0)
    rows = np.repeat(np.arange(90), weights.astype(int))
    weighted, repeated = clone(estimator).fit(X, y, weights), clone(estimator).fit(X[rows], y[rows])
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize('weighted', [False, True])
def test_leave_one_out_leaves_out_equal_rows_of_the_same_label_and_no_others(weighted):
    rng = np.random.default_rng(4)
    H, labels = rng.standard_normal((20, 3)), np.arange(20) % 3
    H[[4, 7, 5]] = H[1]  # 4 and 7 have the label of 1, 5 has another
    w = rng.uniform(0.5, 2, 20) if weighted else np.ones(20)
    T = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)

    def train(kept):
        WH = w[kept, None] * H[kept]
        return np.linalg.solve(WH.T @ H[kept] + np.eye(3) / 2, WH.T @ T[kept])

    values = np.array([H[i] @ train(np.arange(20) != i) for i in range(20)])
    leverages = w * np.einsum('ij,jk,ik->i', H, np.linalg.inv((w[:, None] * H).T @ H + np.eye(3) / 2), H)
    found = leave_equal_rows_out(HeldOut(labels, w, values, leverages), H, 3).decisions
    for i in range(20):
        rest = (H[i] != H).any(axis=1) | (labels != labels[i])
        assert np.allclose(found[i], H[i] @ train(rest))


def test_the_unified_elm_on_nodes_has_the_leave_one_out_scores_of_its_kernel(table):
    X, y = table
    nodes = ELMClassifier(n_hidden=25, C=5, scale='none', weights='uniform', probabilities=True).fit(X, y)
    H = nodes.model_.layer.evaluate(X, np.empty((len(X), 25)))
    weights = np.linspace(0.5, 2, len(X))
    for w in (None, weights):
        kernel = KernelELMClassifier('linear', C=5, scale='none', probabilities=True).fit(H, y, w)
        assert np.allclose(
            clone(nodes).fit(X, y, w).model_.arrays['calibration'], kernel.model_.arrays['calibration'], atol=1e-5
        )


def test_probabilities_are_kept_when_rows_come_and_made_anew_on_demand(table):
    X, y = table
    grown = ESVMClassifier(n_hidden=30, probabilities=True).fit(X[:120], y[:120])
    before = grown.model_.arrays['calibration']
    grown.partial_fit(X[120:], y[120:])
    assert np.array_equal(grown.model_.arrays['calibration'], before)
    whole = clone(grown).fit(X, y, like=grown)
    assert np.allclose(grown.calibrate(X, y).predict_proba(X), whole.predict_proba(X), atol=1e-6)
    grown.partial_fit(X[:1], ['new'])
    with pytest.raises(ValueError, match='expected a model with probabilities'):
        grown.predict_proba(X)
    assert len(grown.predict(X)) == len(X)


@pytest.fixture(scope='module')
def two(table):
    """Draw rows of two classes, few of the first: (X, labels)."""
    return table[0], np.where(table[1] == 'c', 'churned', 'stayed')


CHOOSING = {'n_hidden': 30, 'probabilities': True, 'threshold': 'f1', 'positive': 'churned'}


@pytest.mark.parametrize('threshold', ['f1', 5.0, 'balanced', None])
def test_a_threshold_that_class_weights_move_is_named(two, threshold):
    """Weights that make the classes equal do not move the threshold of the balanced accuracy."""
    estimator = ESVMClassifier(n_hidden=30, probabilities=True, threshold=threshold, class_weight='balanced')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        estimator.fit(*two)
    assert ['class weights' in str(each.message) for each in caught].count(True) == (threshold in ('f1', 5.0))


def test_a_threshold_stays_when_rows_come_and_is_fitted_anew_with_the_probabilities(two):
    X, y = two
    grown = ESVMClassifier(**CHOOSING).fit(X[:120], y[:120])
    before, other = grown.threshold_, clone(grown).fit(X[120:], y[120:], like=grown)
    assert grown.partial_fit(X[120:180], y[120:180]).threshold_ == before == grown.merge(other).threshold_
    rows = np.r_[:180, 120:240]
    whole = clone(grown).fit(X[rows], y[rows], like=grown)
    assert grown.calibrate(X[rows], y[rows]).threshold_ == pytest.approx(whole.threshold_, rel=1e-4)
    assert whole.threshold_ != before
    with pytest.warns(UserWarning, match='left out'):
        grown.forget(X[:9], y[:9])
    assert grown.threshold_ is None
    assert 0 < grown.calibrate(X[9:], y[9:]).threshold_ < 1
    assert grown.partial_fit(X[:9], ['new'] * 9).threshold_ is None and grown.to_model().header.positive is None
    X, y = np.roll(X, -9, axis=0), [*y[9:], *['new'] * 9]
    with pytest.raises(ValueError, match='positive=None in Python'):
        grown.calibrate(X, y)
    with pytest.raises(ValueError, match='threshold=None in Python'):
        grown.set_params(positive=None).calibrate(X, y)
    assert grown.set_params(threshold=None).calibrate(X, y).predict_proba(X).shape == (len(X), 3)


def test_calibrate_reads_another_positive_class(two):
    X, y = two
    fitted = ESVMClassifier(**CHOOSING).fit(X, y)
    other = clone(fitted).set_params(positive='stayed').fit(X, y)
    assert fitted.set_params(positive='stayed').calibrate(X, y).threshold_ == other.threshold_
    assert fitted.to_model().header.positive == 'stayed'
    fitted.set_params(threshold=None, positive='churned').calibrate(X, y)
    assert fitted.threshold_ is None  # that of the other class does not stay
    with pytest.raises(ValueError, match="positive: expected 'churned' or 'stayed', the classes, found 'gone'"):
        fitted.set_params(positive='gone').calibrate(X, y)


def test_a_model_keeps_the_threshold_and_the_positive_class(two, tmp_path):
    X, y = two
    fitted = ESVMClassifier(**CHOOSING).fit(X, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    again = to_estimator(read_model(tmp_path / 'm.npz', sums=True))
    assert (again.threshold_, again.positive, again.threshold) == (fitted.threshold_, 'churned', None)
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.partial_fit(X[:9], y[:9]).calibrate(X, y).threshold_ == fitted.threshold_  # as update --calibrate
    numbers = to_estimator(ESVMClassifier(n_hidden=9, positive=4.0).fit(X, (y == 'stayed') * 1 + 4).to_model())
    assert numbers.positive == 4 and ESVMClassifier(n_hidden=9).fit(X, y).threshold_ is None


def test_a_fit_says_the_threshold_in_the_words_of_the_command(two, capsys):
    fitted = ESVMClassifier(**CHOOSING, verbose=1).fit(*two)
    said = f"threshold: 'churned' where its probability is above {fitted.threshold_:.6g}\n"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize('estimator', [*CLASSIFIERS, AutoClassifier(budget=10)], ids=str)
@pytest.mark.parametrize(
    'wrong, n_classes, what',
    [
        ({'threshold': 'f1', 'probabilities': False}, 2, 'threshold: expected probabilities=True beside it'),
        ({'threshold': 'best'}, 2, "threshold: expected balanced, f1 or a number above 0, found 'best'"),
        ({'threshold': 0}, 2, "threshold: expected balanced, f1 or a number above 0, found '0'"),
        ({'threshold': True}, 2, "threshold: expected balanced, f1 or a number above 0, found 'True'"),
        (
            {'threshold': 'f1'},
            3,
            'threshold: expected two classes, found 3: leave threshold out, or set threshold=None in Python',
        ),
        ({'positive': 'gone'}, 2, "positive: expected 'churned' or 'stayed', the classes, found 'gone'"),
        (
            {'positive': 'a'},
            3,
            'positive: expected two classes, found 3: leave positive out, or set positive=None in Python',
        ),
    ],
    ids=str,
)
def test_a_threshold_that_cannot_be_is_refused_in_the_words_of_the_command(
    estimator, wrong, n_classes, what, two, table
):
    rows = two if n_classes == 2 else table
    with pytest.raises(ValueError, match=f'^{what}$'):
        clone(estimator).set_params(**wrong).fit(*rows)


def test_several_labels_have_no_positive_one(table):
    with pytest.raises(ValueError, match='positive: expected None, rows with several labels need it'):
        ESVMClassifier(positive='a').fit(table[0], np.eye(3)[np.arange(240) % 3])


def test_intervals_of_an_estimator_are_those_of_its_model(tmp_path, table):
    X = table[0]
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    assert not hasattr(ESVMRegressor().fit(X, y), 'predict_interval')
    fitted = ESVMRegressor(n_hidden=30, intervals=True).fit(X[:160], y[:160])
    bounds = fitted.predict_interval(X[160:], 0.8)
    assert bounds.shape == (80, 2) and np.allclose(bounds.mean(axis=1), fitted.predict(X[160:]))
    assert 0.6 < np.mean((bounds[:, 0] <= y[160:]) & (y[160:] <= bounds[:, 1])) < 0.95
    assert (np.diff(fitted.predict_interval(X[160:], 0.9)) > np.diff(bounds)).all()
    again = to_estimator(fitted.to_model())
    assert np.allclose(again.predict_interval(X[160:], 0.8), bounds)
    grown = fitted.partial_fit(X[160:], y[160:])
    whole = clone(grown).fit(X, y, like=grown)
    assert not np.allclose(grown.predict_interval(X, 0.8), whole.predict_interval(X, 0.8))
    assert np.allclose(grown.calibrate(X, y).predict_interval(X, 0.8), whole.predict_interval(X, 0.8), atol=1e-6)


@pytest.mark.filterwarnings('ignore')
def test_scikit_learn_is_content_with_intervals():
    assert [
        row['check_name']
        for row in check_estimator(ESVMRegressor(n_hidden=60, intervals=True), on_fail=None)
        if row['status'] == 'failed'
    ] == []


def test_a_solver_without_leave_one_out_refuses_probabilities(table):
    with pytest.raises(ValueError, match='expected the solver cholesky or svd, found cg'):
        KernelELMClassifier(solver='cg', probabilities=True).fit(*table)

"""The estimators that choose their machines have scikit-learn's interface."""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.errors import UnsuitableWarning
from mr_elm.estimators import AutoClassifier, AutoRegressor
from mr_elm.export.facts import list_facts

FEW = {'budget': 10}  # nodes; as many as without a budget take twice as long, in hundreds of trainings


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'estimator', [AutoClassifier(**FEW, keep_sums=True), AutoRegressor(**FEW, encode='auto')], ids=repr
)
def test_scikit_learn_finds_no_fault(estimator):
    found = check_estimator(estimator, on_fail=None)
    assert [(row['check_name'], row['exception']) for row in found if row['status'] == 'failed'] == []


def test_verbose_says_what_is_chosen(capsys):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for verbose in (False, True):
        AutoClassifier(budget=20, verbose=verbose).fit(X, X[:, 0] > 0)
        assert bool(capsys.readouterr().err) == verbose


def write_words(rng, n):
    """Return counts of words in n texts of eight subjects, a sparse table, and the subjects."""
    subjects = 0.85 * rng.dirichlet(np.full(150, 0.3)) + 0.15 * rng.dirichlet(np.full(150, 0.05), size=8)
    labels = rng.integers(8, size=n)
    return csr_matrix(rng.multinomial(40, subjects[labels]) ** 0.5), labels


def draw_digits(rng, n):
    """Return n rows of the digits in any order."""
    X, labels = load_digits(return_X_y=True)
    rows = rng.permutation(len(X))[:n]
    return X[rows], labels[rows]


def read_score(messages):
    """Return the share or the error that a training says of its model, and how many rows were held out."""
    found = [re.fullmatch(r'the model: \D*([\d.]+)%? of ([\d,]+) rows held out.*', text) for text in messages]
    score, n = next(filter(None, found)).groups()
    return float(score), int(n.replace(',', ''))


@pytest.mark.parametrize(('draw', 'n', 'keep_sums'), [(write_words, 1100, True), (draw_digits, 400, False)])
def test_the_share_that_is_said_is_that_of_the_model_whatever_its_size(rng, caplog, draw, n, keep_sums):
    X, labels = draw(rng, n + 2000)
    said, right = [], []
    for budget in (60, None):
        caplog.clear()
        with caplog.at_level('INFO', 'mr_elm.estimators.auto'):
            model = AutoClassifier(budget, keep_sums, probabilities=False).fit(X[:n], labels[:n])
        share, n_held = read_score(caplog.messages)
        said.append(share / 100)
        right.append(model.score(X[n:], labels[n:]))
        assert abs(said[-1] - right[-1]) < 0.02 + 4 * (said[-1] * (1 - said[-1]) / n_held) ** 0.5
    assert said[1] - said[0] > 0.4 * (right[1] - right[0]) > 0


@pytest.mark.parametrize('n', [400, 1100])
def test_the_error_that_is_said_of_a_regression_is_that_of_the_model_whatever_its_size(rng, caplog, n):
    X = rng.uniform(-2, 2, size=(n + 2000, 5))
    t = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    for budget in (60, None):
        caplog.clear()
        with caplog.at_level('INFO', 'mr_elm.estimators.auto'):
            model = AutoRegressor(budget).fit(X[:n], t[:n])
        error = np.mean((model.predict(X[n:]) - t[n:]) ** 2) / t[:n].var()
        assert 0.7 < read_score(caplog.messages)[0] / error < 1.4


def test_the_rows_of_an_estimator_are_counted_as_they_come_and_leave():
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = AutoClassifier(**FEW, keep_sums=True).fit(X[:60], X[:60, 0] > 0)
    assert model.n_rows_ == 60
    assert model.partial_fit(X[60:], X[60:, 0] > 0).n_rows_ == 80
    assert model.forget(X[60:], X[60:, 0] > 0).n_rows_ == 60


def test_rows_that_come_calibrate_and_rows_that_leave_end_what_was_calibrated():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(400, 3)), rng.integers(2, size=400)  # which nothing can predict
    model = AutoClassifier(budget=40, keep_sums=True).fit(X[:300], labels[:300])
    model.partial_fit(X[300:], labels[300:]).calibrate(X[300:], labels[300:])
    assert np.abs(model.predict_proba(X[300:]) - 0.5).mean() < 0.1
    numeric = AutoRegressor(budget=40, keep_sums=True).fit(X[:300], X[:300, 0])
    assert np.ptp(np.ptp(numeric.predict_interval(X), axis=1)) < 1e-9
    numeric.partial_fit(X[300:], X[300:, 0]).calibrate(X, X[:, 0])
    assert np.ptp(np.ptp(numeric.predict_interval(X), axis=1)) > 1e-6  # they follow the leverage from now on
    with pytest.warns(
        UserWarning, match='left out, they may have been fitted to rows that left; calibrate fits new ones$'
    ):
        numeric.forget(X[399:], X[399:, 0])
    with pytest.raises(ValueError, match='fit it with keep_sums=True'):
        AutoClassifier(**FEW).fit(X, labels).calibrate(X, labels)


def test_the_facts_of_a_model_say_whether_it_has_intervals():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with_them, without = (AutoRegressor(**FEW, intervals=given).fit(X, X[:, 0]).to_model() for given in (True, False))
    assert 'errors of held-out rows' in list_facts(with_them)['intervals'] and 'intervals' not in list_facts(without)


def test_a_rare_class_that_a_threshold_finds_is_not_said_to_be_lost(rng):
    """Decision values are all below 0, but rows are labelled by their probabilities."""
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 2 * rng.normal(size=400) > 3.6
    with warnings.catch_warnings():
        warnings.simplefilter('error', UnsuitableWarning)
        fitted = AutoClassifier(budget=20, probabilities=True, threshold='balanced', positive=True).fit(X, y)
    assert (fitted.model_.decision_function(X) < 0).all() and fitted.predict(X).any()

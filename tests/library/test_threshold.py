"""Thresholds: no other cut does better on the rows that chose them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as oracle

from mr_elm.scores.calibration import Labelling
from mr_elm.scores.ranking import MAX_VALUES
from mr_elm.scores.threshold import choose_positive, choose_threshold, make_goal

SCORES = {
    'balanced': lambda y, said, w: oracle.balanced_accuracy_score(y, said, sample_weight=w),
    'f1': lambda y, said, w: oracle.f1_score(y, said, sample_weight=w, zero_division=0),
    '7': lambda y, said, w: -(7 * w[(y == 1) & ~said].sum() + w[(y == 0) & said].sum()),
}


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', SCORES)
@pytest.mark.parametrize('seed', range(3))
def test_no_other_cut_is_better(name, seed):
    rng = np.random.default_rng(seed)
    y, w = (rng.random(200) < 0.1).astype(int), rng.uniform(0.3, 2, 200)
    P = np.round(np.clip(0.1 + 0.15 * y + 0.1 * rng.normal(size=200), 0, 1), 2)
    threshold = choose_threshold(name, P, y == 1, w)
    found = SCORES[name](y, threshold < P, w)
    assert found == pytest.approx(max(SCORES[name](y, cut < P, w) for cut in [-1, *np.unique(P)]))


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', SCORES)
@pytest.mark.parametrize('least', [0, 1])
def test_of_few_rows_all_or_none_may_be_positive(name, least):
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = rng.integers(2, 6)
        P, w = rng.integers(least, 5, n) / 4, rng.uniform(0.1, 5, n)
        y = rng.permutation(np.arange(n) < rng.integers(1, n))
        threshold = choose_threshold(name, P, y, w)
        assert 0 <= threshold <= 1
        best = max(SCORES[name](y.astype(int), cut < P, w) for cut in [0, *P])
        assert SCORES[name](y.astype(int), threshold < P, w) == pytest.approx(best)


def test_goals_are_the_scores_of_scikit_learn():
    y, said = np.array([1, 1, 1, 0, 0, 0, 0]), np.array([1, 1, 0, 1, 0, 0, 0])
    assert make_goal('balanced')(2, 1, 3, 4) == pytest.approx(oracle.balanced_accuracy_score(y, said))
    assert make_goal('f1')(2, 1, 3, 4) == pytest.approx(oracle.f1_score(y, said))
    assert make_goal('7')(2, 1, 3, 4) == -8


@pytest.mark.parametrize('n', [3, MAX_VALUES + 3])
def test_a_cut_between_neighbours_of_float64_tells_them_apart(n):
    P = 0.5 + np.arange(n) * np.spacing(0.5)
    for k in (1, 2):
        positive = np.arange(n) >= k
        assert ((choose_threshold('f1', P, positive, np.ones(n)) < P) == positive).all()


def test_probabilities_of_zero_cannot_be_above_a_threshold():
    P, positive = np.array([0.0, 0.0, 0.3, 0.4]), np.array([True, True, False, True])
    # costs of the cuts above 0.4, 0.3 and 0: 300, 200, 201; a cut at 0 misses two rows as that above 0 does
    assert choose_threshold('100', P, positive, np.ones(4)) == pytest.approx(0.35)


@pytest.mark.parametrize('label, name', [('1', '+1'), ('+1', '+1'), ('1.0', '+1'), ('-1', '-1.0')])
def test_the_positive_class_is_named_by_its_value(label, name):
    assert choose_positive(label, ['-1.0', '+1']) == name


@pytest.mark.parametrize(
    'label, classes, what',
    [
        ('c', ['a', 'b'], "expected 'a' or 'b', the classes, found 'c'"),
        ('2', ['0', '1'], "found '2'"),
        ('nan', ['0', '1'], "found 'nan'"),
        ('a', ['0', '1'], "found 'a'"),
        ('1.0', ['1', 'x'], "found '1.0'"),
        ('a', ['a', 'b', 'c'], 'expected two classes, found 3: leave --positive out, or set positive=None in Python$'),
        ('a', [], 'found a regression'),
    ],
)
def test_a_label_that_names_none_of_two_classes_is_refused(label, classes, what):
    with pytest.raises(ValueError, match=what):
        choose_positive(label, classes)


def test_a_missed_row_that_costs_more_lowers_the_threshold():
    rng = np.random.default_rng(0)
    P = rng.random(5000)
    y = rng.random(5000) < P
    for cost in (0.25, 1, 4):  # P is calibrated, so the best cut is known
        assert choose_threshold(str(cost), P, y, np.ones(5000)) == pytest.approx(1 / (1 + cost), abs=0.06)


@pytest.mark.parametrize('name', ['best', '-1', 'nan', 'inf', '0'])
def test_another_name_is_refused(name):
    with pytest.raises(ValueError, match='expected balanced, f1 or a number above 0'):
        choose_threshold(name, np.array([0.2, 0.8]), np.array([False, True]), np.ones(2))


@pytest.mark.parametrize('positive', [0, 1])
def test_a_row_at_the_threshold_is_not_of_the_positive_class(positive):
    decisions = np.array([[-1.0], [0.3], [2.0]])
    labelling = Labelling(2, calibration=np.array([0.2, 0.1]), positive=positive)
    for place, probability in enumerate(labelling.probabilities(decisions)[:, positive]):
        chosen = replace(labelling, threshold=float(probability)).choose(decisions)
        above = np.arange(3) > place if positive == 1 else np.arange(3) < place
        assert np.array_equal(chosen == positive, above)

"""Thresholds: no other cut does better on the rows that chose them."""
import numpy as np
import pytest
from sklearn import metrics as oracle

from mr_elm.scores.threshold import choose_threshold

SCORES = {'balanced': lambda y, said, w: oracle.balanced_accuracy_score(y, said, sample_weight=w),
          'f1': lambda y, said, w: oracle.f1_score(y, said, sample_weight=w, zero_division=0),
          '7': lambda y, said, w: -(7 * w[(y == 1) & ~said].sum() + w[(y == 0) & said].sum())}


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

"""Scores of probabilities: scikit-learn's numbers, from counts that merge in any order and any pieces."""

from functools import reduce

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics as oracle

from mr_elm.scores.metrics import Confusion
from mr_elm.scores.probability_scores import ProbabilityScores, area_scores
from mr_elm.scores.ranking import Ranking, key_of, key_of_number


def draw(seed, k, n=700):
    """Draw probabilities with ties that say something of the class: (P, class numbers, weights)."""
    rng = np.random.default_rng(seed)
    numbers, logits = rng.integers(0, k, n), rng.normal(scale=2, size=(n, k)).round(1)
    logits[np.arange(n), numbers] += 1
    return softmax(logits, axis=1), numbers, rng.uniform(0.2, 3, n)


def by_probability(P, *rows):
    return Ranking.of(key_of(P), *rows)


def by_number(values, *rows):
    return Ranking.of(key_of_number(values), *rows)


def merged(make, rng, *arrays):
    """Make counts of pieces of the rows, and merge them in any order."""
    cuts = np.sort(rng.integers(0, len(arrays[0]), 6))
    pieces = [piece for piece in zip(*(np.split(array, cuts) for array in arrays), strict=True) if len(piece[0])]
    return reduce(lambda a, b: a.merge(b), [make(*pieces[i]) for i in rng.permutation(len(pieces))])


@pytest.mark.filterwarnings('error')
def test_the_loss_of_a_row_has_the_bound_of_scikit_learn():
    P, numbers = np.array([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]]), np.array([0, 0, 1])
    found = ProbabilityScores.of(P, numbers, np.ones(3)).scores()['log_loss']
    assert found == pytest.approx(oracle.log_loss(numbers, P), rel=1e-12)


def test_rows_that_are_all_right_are_among_the_most_probable_classes_of_all_numbers():
    numbers = np.arange(12) % 6
    sure = ProbabilityScores.of(np.eye(6)[numbers] * 0.9 + 0.1 / 6, numbers, np.ones(12))
    other = ProbabilityScores.of(np.eye(6)[numbers] * -0.2 + 0.2, numbers, np.ones(12))
    assert (sure.scores()['top_3_accuracy'], sure.scores()['top_5_accuracy']) == (1, 1)
    assert sure.merge(other).scores()['top_5_accuracy'] == 0.5


@pytest.mark.parametrize('k', [2, 3, 7])
def test_scores_are_those_of_scikit_learn(k):
    P, numbers, weights = draw(k, k)
    for w in (np.ones(len(numbers)), weights):
        scores = merged(ProbabilityScores.of, np.random.default_rng(0), P, numbers, w).scores()
        labels = list(range(k))
        assert np.isclose(scores['log_loss'], oracle.log_loss(numbers, P, sample_weight=w, labels=labels), rtol=1e-9)
        said = P[:, 1] if k == 2 else P
        assert scores['brier'] == pytest.approx(oracle.brier_score_loss(numbers, said, sample_weight=w), rel=1e-9)
        for top in (3, 5):
            assert (f'top_{top}_accuracy' in scores) == (top < k)
            if top < k:
                wanted = oracle.top_k_accuracy_score(numbers, P + 1e-12 * np.arange(k), k=top, sample_weight=w)
                assert scores[f'top_{top}_accuracy'] == pytest.approx(wanted, abs=0.02)  # ties are broken otherwise


def test_the_calibration_error_is_the_mean_gap_of_fifteen_bins():
    P, numbers, w = draw(5, 4)
    guessed = np.random.default_rng(0).random(len(P)) < 0.6  # sure rows are wrong too often, others too rarely
    numbers = np.where(guessed, P.argmax(axis=1), P.argmin(axis=1))
    top, right = P.max(axis=1), P.argmax(axis=1) == numbers
    gaps = 0.0
    for low in range(15):
        rows = (top * 15 >= low) & (top * 15 < low + 1)
        if rows.any():
            gaps += abs(w[rows] @ right[rows] - w[rows] @ top[rows])
    assert ProbabilityScores.of(P, numbers, w).scores()['calibration_error'] == pytest.approx(gaps / w.sum(), rel=1e-9)


@pytest.mark.parametrize('k', [2, 5])
def test_the_area_is_that_of_scikit_learn_with_ties_and_weights(k):
    P, numbers, weights = draw(k + 10, k)
    for w in (np.ones(len(numbers)), weights):
        rankings = [
            merged(by_probability, np.random.default_rng(j), P[:, j], numbers == j, w)
            for j in (range(1, 2) if k == 2 else range(k))
        ]
        areas = [oracle.roc_auc_score(numbers == j, P[:, j], sample_weight=w) for j in range(k)]
        wanted = areas[1] if k == 2 else np.mean(areas)
        assert area_scores(rankings) == {'auc': pytest.approx(wanted, abs=1e-9)}


def test_curves_are_those_of_scikit_learn():
    P, numbers, w = draw(3, 2)
    true, false = by_probability(P[:, 1], numbers == 1, w).curve()
    fpr, tpr, _ = oracle.roc_curve(numbers, P[:, 1], sample_weight=w, drop_intermediate=False)
    assert np.allclose(false / false[-1], fpr) and np.allclose(true / true[-1], tpr)
    precision, recall, _ = oracle.precision_recall_curve(numbers, P[:, 1], sample_weight=w)
    assert np.allclose((true[1:] / (true + false)[1:])[::-1], precision[:-1])
    assert np.allclose((true[1:] / true[-1])[::-1], recall[:-1])


def test_many_probabilities_are_counted_together_whatever_the_pieces():
    rng = np.random.default_rng(0)
    logits = np.append(rng.normal(size=20_000) * 3, [-700, -40, 40, 700])
    P, positive = 1 / (1 + np.exp(-logits)), rng.random(20_004) < 1 / (1 + np.exp(-logits / 2))
    exact = oracle.roc_auc_score(positive, P)
    one, *others = (
        merged(lambda *rows: by_probability(*rows, 1000), np.random.default_rng(seed), P, positive, np.ones(len(P)))
        for seed in range(4)
    )
    assert len(one.keys) <= 1000 and one.dropped > 0
    again = Ranking.from_arrays([np.asarray(part, float) for part in one.to_arrays()])
    assert (again.dropped, again.limit) == (one.dropped, 1000)
    mean = (one.positive + one.negative) @ one.probabilities / len(P)
    assert mean == pytest.approx(P.mean(), rel=0.01)
    assert abs(one.area - exact) <= 2e-3
    for other in others:
        assert np.array_equal(one.keys, other.keys) and one.dropped == other.dropped
        assert np.array_equal(one.positive, other.positive) and one.area == other.area
    pieces = [
        by_probability(P[start::40], positive[start::40], np.ones(len(P[start::40])), 1000) for start in range(40)
    ]
    assert max(len(piece.keys) for piece in pieces) < 1000
    assert np.array_equal(reduce(Ranking.merge, pieces).keys, one.keys)


def test_keys_are_in_the_order_of_the_probabilities_and_tell_them_apart_at_both_ends():
    P = np.array([0.0, 5e-324, 1e-300, 1e-9, 0.1, 0.5 - 2**-54, 0.5, 0.5 + 2**-53, 0.9, 1 - 1e-9, 1 - 2**-53, 1.0])
    assert (np.diff(key_of(P)) > 0).all()
    assert key_of(np.array([-0.0])) == key_of(np.array([0.0]))
    single = P.astype(np.float32)
    assert np.array_equal(key_of(single), key_of(single.astype(float)))
    ranking = by_probability(P, P > 0.3, np.ones(len(P)))
    assert ranking.probabilities.tolist() == P.tolist()
    again = Ranking.from_arrays([np.asarray(part, float) for part in ranking.to_arrays()])
    assert np.array_equal(again.keys, ranking.keys) and again.area == ranking.area == 1.0


@pytest.mark.parametrize('scale', [0.0, 1.0, 1e-300, 1e300])
def test_the_average_precision_is_that_of_scikit_learn_with_ties_and_weights(scale):
    P, numbers, weights = draw(8, 2)
    values = scale * np.log(P[:, 0] / P[:, 1])
    for w in (np.ones(len(numbers)), weights):
        wanted = oracle.average_precision_score(numbers == 0, values, sample_weight=w)
        found = merged(by_number, np.random.default_rng(0), values, numbers == 0, w)
        assert found.average_precision == pytest.approx(wanted, rel=1e-12)
        area = oracle.roc_auc_score(numbers == 0, values, sample_weight=w)
        assert area_scores([found])['auc'] == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize('seed', range(4))
def test_the_average_precision_of_many_values_is_close(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=20_000)
    positive = rng.random(20_000) < 0.5 / (1 + np.exp(-3 * values))
    ranking = merged(lambda *rows: by_number(*rows, 500), rng, values, positive, np.ones(20_000))
    assert ranking.dropped and len(ranking.keys) <= 500
    off = abs(ranking.average_precision - oracle.average_precision_score(positive, values))
    assert 0 < off < 5e-3


def test_keys_of_numbers_are_in_their_order():
    largest = np.finfo(float).max
    values = np.array([-largest, -1.5, -1, -1e-300, -5e-324, 0, 5e-324, 1e-300, 1, 1 + 2**-52, largest])
    assert (np.diff(key_of_number(values).astype(object)) > 0).all()
    assert key_of_number(np.array([-0.0])) == key_of_number(np.array([0.0]))
    single = np.array([-1.5, 0, 1e-30, 1], np.float32)
    assert np.array_equal(key_of_number(single), key_of_number(single.astype(float)))
    ranking = by_number(values, values > 0, np.ones(len(values)))
    again = Ranking.from_arrays([np.asarray(part, float) for part in ranking.to_arrays()])
    assert np.array_equal(again.keys, ranking.keys) and again.average_precision == again.area == 1


def test_rows_of_one_class_have_no_area():
    none = by_number(np.array([0.2, 0.7]), np.array([False, False]), np.ones(2))
    assert none.average_precision is None
    assert area_scores([by_probability(np.array([0.2, 0.7]), np.array([True, True]), np.ones(2))]) == {}


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('unit', [1, 1e-3])
def test_balanced_accuracy_and_matthews_are_those_of_scikit_learn(seed, unit):
    rng = np.random.default_rng(seed)
    true = rng.choice(list('abcz'), 300, p=[0.6, 0.2, 0.15, 0.05])  # z is no class of the model
    said = np.where(rng.random(300) < 0.6, np.where(true == 'z', 'a', true), rng.choice(list('abc'), 300))
    w = unit * rng.uniform(0.2, 3, 300)
    table = {}
    for pair in zip(true.tolist(), said.tolist(), w.tolist(), strict=True):
        table[pair[:2]] = table.get(pair[:2], 0) + pair[2]
    scores = Confusion(table).scores(list('abc'))
    assert scores['balanced_accuracy'] == pytest.approx(oracle.balanced_accuracy_score(true, said, sample_weight=w))
    assert scores['matthews'] == pytest.approx(oracle.matthews_corrcoef(true, said, sample_weight=w))
    assert scores['accuracy'] == pytest.approx(oracle.accuracy_score(true, said, sample_weight=w))
    one = Confusion({('a', 'a'): 3, ('b', 'a'): 1}).scores(list('abc'))
    assert one['matthews'] == oracle.matthews_corrcoef(list('aaab'), list('aaaa')) == 0

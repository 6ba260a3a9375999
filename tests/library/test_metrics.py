"""Metrics: scikit-learn's numbers, from counts that merge in any order."""

from collections import Counter
from functools import reduce

import numpy as np
import pytest
from sklearn import metrics as oracle

from mr_elm.scores.metrics import Confusion, Residuals

CLASSES = ['10', 'a', 'b', 'é']


def make_labels(seed, n=200):
    rng = np.random.default_rng(seed)
    true = rng.choice(CLASSES, n, p=[0.5, 0.3, 0.15, 0.05])
    return true, np.where(rng.random(n) < 0.6, true, rng.choice(CLASSES, n))


def confusion(true, said):
    return Confusion(dict(Counter(zip(true.tolist(), said.tolist(), strict=True))))


def merged(parts, rng):
    return reduce(lambda a, b: a.merge(b), [parts[i] for i in rng.permutation(len(parts))])


@pytest.mark.parametrize('seed', range(5))
def test_scores_of_classes_are_those_of_scikit_learn(seed):
    true, said = make_labels(seed)
    scores = confusion(true, said).scores(CLASSES)
    precision, recall, _, rows = oracle.precision_recall_fscore_support(true, said, labels=CLASSES)
    assert scores['accuracy'] == pytest.approx(oracle.accuracy_score(true, said)) and scores['rows'] == 200
    assert [scores['per_class'][name]['precision'] for name in CLASSES] == pytest.approx(precision)
    assert [scores['per_class'][name]['recall'] for name in CLASSES] == pytest.approx(recall)
    assert [scores['per_class'][name]['rows'] for name in CLASSES] == rows.tolist()
    assert scores['confusion'] == {
        'true': CLASSES,
        'predicted': CLASSES,
        'rows': oracle.confusion_matrix(true, said, labels=CLASSES).tolist(),
    }


@pytest.mark.parametrize('seed', range(5))
def test_counts_merge_in_any_order(seed):
    rng, (true, said) = np.random.default_rng(seed), make_labels(seed)
    cuts = np.sort(rng.integers(0, 200, 6))
    parts = [confusion(*pair) for pair in zip(np.split(true, cuts), np.split(said, cuts), strict=True)]
    assert merged(parts, rng) == confusion(true, said)


def test_what_never_happens_has_no_score():
    scores = Confusion({('a', 'a'): 3, ('b', 'a'): 1}).scores(['a', 'b', 'c'])
    assert scores['per_class']['b'] == {'precision': None, 'recall': 0.0, 'rows': 1}
    assert scores['per_class']['c'] == {'precision': None, 'recall': None, 'rows': 0}
    assert Confusion({}).scores(['a'])['accuracy'] is None


def test_rows_of_a_label_that_is_no_class_are_errors():
    scores = Confusion({('a', 'a'): 3, ('new', 'a'): 1}).scores(['a', 'b'])
    assert scores['accuracy'] == 0.75 and scores['per_class']['a']['precision'] == 0.75
    assert scores['confusion']['true'] == ['a', 'b', 'new'] and set(scores['per_class']) == {'a', 'b'}
    assert sum(map(sum, scores['confusion']['rows'])) == scores['rows'] == 4


@pytest.mark.parametrize('offset', [0, 1e6])
@pytest.mark.parametrize('scale', [1e-9, 1, 1e9])
@pytest.mark.parametrize('cuts', [(), (1,), (40, 41, 150)])
@pytest.mark.parametrize('weighted', [False, True])
def test_scores_of_a_regression_are_those_of_scikit_learn_in_any_pieces(offset, scale, cuts, weighted):
    rng = np.random.default_rng(0)
    true = (rng.standard_normal(200) + offset) * scale
    said = true + rng.standard_normal(200) * scale / 3
    w = rng.uniform(0.2, 3, 200) if weighted else np.ones(200)
    arrays = [np.split(array, cuts) for array in ([true, said, w] if weighted else [true, said])]
    scores = merged([Residuals.of(*part) for part in zip(*arrays, strict=True)], rng).scores()
    assert scores['rmse'] == pytest.approx(oracle.root_mean_squared_error(true, said, sample_weight=w), rel=1e-9)
    assert scores['mae'] == pytest.approx(oracle.mean_absolute_error(true, said, sample_weight=w), rel=1e-9)
    assert scores['r2'] == pytest.approx(oracle.r2_score(true, said, sample_weight=w), rel=1e-8)
    assert scores['rows'] == (pytest.approx(w.sum()) if weighted else 200)
    assert isinstance(scores['rows'], float) == weighted  # rows are counted, weights are added up


def test_targets_without_spread_have_no_r2():
    assert Residuals.of(np.ones(3), np.array([1.0, 2, 1])).scores() == {
        'rmse': pytest.approx(np.sqrt(1 / 3)),
        'mae': pytest.approx(1 / 3),
        'r2': None,
        'rows': 3,
    }

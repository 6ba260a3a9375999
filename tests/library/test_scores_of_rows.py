"""Scores of label sets, of several targets, of a positive class and of rows held out: the numbers of others."""

from functools import reduce

import numpy as np
import pytest
from sklearn import metrics as oracle

from mr_elm.scores.intervals import find_quantile, measure_coverage, scale_residuals, sort_sizes
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Confusion, Residuals, average_targets

N = 60
LABELS = ['blue', 'green', 'red', 'white']


@pytest.mark.parametrize('weighted', [False, True])
def test_scores_of_sets_are_those_of_scikit_learn_in_any_pieces(rng, weighted):
    true = (rng.random((N, 4)) < [0.2, 0.5, 0.7, 0]).astype(float)
    said = np.where(rng.random((N, 4)) < 0.7, true > 0, rng.random((N, 4)) < 0.4)
    w = rng.uniform(0.2, 4, N) if weighted else None
    pieces = np.array_split(rng.permutation(N), 5)
    parts = [
        LabelSets.of(LABELS, true[rows], said[rows].astype(float), None if w is None else w[rows]) for rows in pieces
    ]
    found = reduce(LabelSets.merge, parts).scores(LABELS)
    given = {'sample_weight': w, 'zero_division': 0}
    assert found['f1_micro'] == pytest.approx(oracle.f1_score(true, said, average='micro', **given))
    assert found['f1_macro'] == pytest.approx(oracle.f1_score(true, said, average='macro', **given))
    assert found['subset_accuracy'] == pytest.approx(oracle.accuracy_score(true, said, sample_weight=w))
    assert found['hamming_loss'] == pytest.approx(oracle.hamming_loss(true, said, sample_weight=w))
    assert found['rows'] == pytest.approx(N if w is None else w.sum()) and isinstance(found['rows'], float) == weighted
    for k, label in enumerate(LABELS):
        of_label = found['per_label'][label]
        arguments = {'y_true': true[:, k], 'y_pred': said[:, k], **given}
        assert of_label['f1'] == pytest.approx(oracle.f1_score(**arguments))
        assert (of_label['precision'] or 0) == pytest.approx(oracle.precision_score(**arguments))
        assert (of_label['recall'] or 0) == pytest.approx(oracle.recall_score(**arguments))
        assert of_label['rows'] == pytest.approx(true[:, k].sum() if w is None else w @ true[:, k])


def test_a_label_of_rows_that_the_model_does_not_know_is_missed():
    scores = LabelSets.of(['a', 'new'], np.array([[1, 1], [0, 0]]), np.array([[True, False]] * 2)).scores(['a'])
    assert scores['per_label']['new'] == {'precision': None, 'recall': 0.0, 'f1': 0.0, 'rows': 1}
    assert scores['hamming_loss'] == 0.5 and scores['f1_macro'] == pytest.approx((2 / 3 + 0) / 2)


def test_labels_that_rows_of_one_part_have_not_are_counted_in_the_other():
    one = LabelSets.of(['a', 'b'], np.array([[1, 0], [1, 1]]), np.array([[1, 1], [0, 1]]))
    other = LabelSets.of(['c', 'a'], np.array([[1, 1], [1, 0], [0, 0]]), np.array([[0, 1], [1, 0], [1, 1]]))
    expected = {'a': [2, 1, 1], 'b': [1, 1, 0], 'c': [1, 1, 1]}
    for merged in one.merge(other), other.merge(one):
        assert (merged.n, merged.right, dict(merged.counts)) == (5, 1, expected)
    scores = merged.scores(['a', 'b', 'c', 'never'])
    assert scores['per_label']['never'] == {'precision': None, 'recall': None, 'f1': 0.0, 'rows': 0}
    assert scores['hamming_loss'] == (3 + 2) / (5 * 4) and scores['f1_micro'] == 2 * 4 / (2 * 4 + 3 + 2)


@pytest.mark.parametrize('positive', ['no', 'yes'])
def test_scores_of_the_positive_class_are_those_of_scikit_learn(positive):
    table = {('yes', 'yes'): 5, ('yes', 'no'): 2, ('no', 'yes'): 4, ('no', 'no'): 11}
    true, said = ([pair[k] for pair, n in table.items() for _ in range(n)] for k in (0, 1))
    scores = Confusion(table).positive_scores(positive)
    for name, score in {
        'f1': oracle.f1_score,
        'precision': oracle.precision_score,
        'recall': oracle.recall_score,
    }.items():
        assert scores[name] == pytest.approx(score(true, said, pos_label=positive))
    assert Confusion({('no', 'yes'): 3, ('yes', 'no'): 2}).positive_scores('yes') == dict.fromkeys(scores, 0)
    assert Confusion({('no', 'no'): 3}).positive_scores('yes') == {'f1': 0.0, 'precision': None, 'recall': None}


def test_scores_of_several_targets_are_means_as_in_scikit_learn(rng):
    T, P = rng.normal(size=(2, N, 3)) * [1, 10, 100]
    found = average_targets({str(k): Residuals.of(T[:, k], P[:, k]) for k in range(3)})
    assert found['rmse'] == pytest.approx(oracle.root_mean_squared_error(T, P))
    assert found['mae'] == pytest.approx(oracle.mean_absolute_error(T, P))
    assert found['r2'] == pytest.approx(oracle.r2_score(T, P))
    assert found['rows'] == N and found['per_target']['2']['mae'] == pytest.approx(np.abs(T - P)[:, 2].mean())
    flat = Residuals.of(np.ones(4), np.zeros(4))
    assert average_targets({'a': flat, 'b': Residuals.of(T[:4, 0], P[:4, 0])})['r2'] is None


def test_residuals_are_scaled_by_the_leverage_in_the_machine_of_all_other_rows(rng):
    E, w, ridge = rng.normal(size=(N, 4)), rng.uniform(0.2, 4, N), 0.3 * np.eye(4)
    A = E.T @ (w[:, None] * E) + ridge
    leverages = w * np.einsum('ij,ij->i', E, np.linalg.solve(A, E.T).T)
    expected = []
    for i, e in enumerate(E):
        rest = np.arange(N) != i
        others = E[rest].T @ (w[rest, None] * E[rest]) + ridge
        expected.append(7 / np.sqrt(1 + e @ np.linalg.solve(others, e)))
    np.testing.assert_allclose(scale_residuals(np.full(N, 7.0), leverages, w), expected, rtol=1e-9)


@pytest.mark.parametrize('coverage', [0.05, 0.5, 0.8, 60 / 61])
def test_a_quantile_is_the_smallest_size_that_covers_so_many_rows_and_one_more(rng, coverage):
    residuals = rng.normal(size=N)
    sizes = sort_sizes(residuals, np.full(N, 2.5))
    assert sizes.tolist() == sorted(np.abs(residuals).tolist())
    found = find_quantile(sizes, coverage)
    assert (sizes <= found).sum() == int(np.ceil(np.float64(coverage * (N + 1)).round(9)))


def test_a_row_of_integer_weight_stands_for_as_many_rows(rng):
    residuals, w = rng.normal(size=10), rng.integers(1, 4, 10)
    repeated = np.sort(np.abs(np.repeat(residuals, w)))
    places = np.ceil(np.arange(1, 11) / 10 * w.sum() - 1e-9).astype(int) - 1
    assert sort_sizes(residuals, w.astype(float)).tolist() == repeated[places].tolist()


def test_each_width_is_judged_by_the_rows_that_it_covers(rng):
    sizes, residuals = np.sort(rng.random(7)), rng.normal(size=N)
    residuals[0] = -sizes[4]  # a row at the end of an interval is in it
    wanted, covered = measure_coverage(sizes, residuals)
    assert wanted.tolist() == [k / 8 for k in range(1, 8)]
    assert covered.tolist() == [np.mean(np.abs(residuals) <= size) for size in sizes]


@pytest.mark.parametrize('coverage', [0.0, 1.0, 61 / 62])
def test_a_coverage_that_the_rows_do_not_allow_is_refused(coverage):
    with pytest.raises(ValueError, match=r'above 0 and at most 0.9836, as 60 rows held out allow, found'):
        find_quantile(np.arange(1.0, N + 1), coverage)

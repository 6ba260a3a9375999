"""Calibration: the sigmoid of scikit-learn for two classes, the optimality conditions of softmax for several."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax
from sklearn.calibration import _SigmoidCalibration

from mr_elm.errors import DataFormatError
from mr_elm.machines.calibrating import calibrate
from mr_elm.machines.press import HeldOut
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import KernelModel
from mr_elm.scores.calibration import (
    Labelling,
    class_scores,
    fit_calibration,
    log_loss_at,
    newton_step,
    platt_targets,
    search_line,
)


def draw(seed, k, n=400):
    """Draw decision values that say something of the class: (decisions, class numbers, weights)."""
    rng = np.random.default_rng(seed)
    numbers = np.append(np.arange(k), rng.integers(0, k, n - k))
    decisions = rng.normal(size=(n, 1 if k == 2 else k))
    if k == 2:
        decisions[:, 0] += 2 * numbers - 0.5
    else:
        decisions[np.arange(n), numbers] += 1.5
    return decisions, numbers, rng.uniform(0.2, 3, n)


def fitted(decisions, numbers, weights=None):
    k = numbers.max() + 1
    return Labelling(k, calibration=fit_calibration(class_scores(decisions, k), numbers, weights))


@pytest.mark.parametrize('scale', [1e-6, 1, 1e6])
@pytest.mark.parametrize('seed', range(3))
def test_two_classes_have_the_sigmoid_of_scikit_learn(seed, scale):
    decisions, numbers, weights = draw(seed, 2)
    for w in (None, weights):
        oracle = _SigmoidCalibration().fit(decisions[:, 0], numbers, w)
        ours = fitted(decisions * scale, numbers, w).probabilities(decisions * scale)
        assert np.allclose(ours[:, 1], oracle.predict(decisions[:, 0]), atol=1e-4)
        assert np.allclose(ours.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize('k', [2, 3, 6])
def test_predicted_and_wanted_means_agree_at_the_optimum(k):
    decisions, numbers, weights = draw(k, k)
    t, *biases = fitted(decisions, numbers, weights).calibration
    scores = np.column_stack([0 * decisions, decisions]) if k == 2 else decisions
    P = softmax(np.exp(t) * scores + np.append(0, biases), axis=1)
    totals = np.bincount(numbers, weights)
    own = 1 - 2 / k / (totals + 2)
    Q = np.where(numbers[:, None] == np.arange(k), own[numbers][:, None], ((1 - own) / (k - 1))[numbers][:, None])
    assert np.allclose(weights @ P, weights @ Q, rtol=1e-5)
    assert np.isclose(weights @ (P * scores).sum(axis=1), weights @ (Q * scores).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(('k', 'distance'), [(10, 6), (26, 8)])
def test_probabilities_of_many_classes_are_as_sure_as_new_rows_bear_out(k, distance):
    rng, scores_of = np.random.default_rng(k), distance * np.eye(k)
    numbers = [np.repeat(np.arange(k), n) for n in (20, 500)]
    held, new = (scores_of[each] + 2 * rng.normal(size=(len(each), k)) for each in numbers)
    logits = np.log(fitted(held, numbers[0]).probabilities(new))

    def log_loss_at(slope):
        return -np.log(softmax(slope * logits, axis=1)[np.arange(len(new)), numbers[1]]).mean()

    assert log_loss_at(1) < 1.02 * min(map(log_loss_at, np.geomspace(0.3, 3, 50)))


@pytest.mark.parametrize('k', [2, 4])
def test_separable_classes_have_finite_probabilities(k):
    numbers = np.arange(40) % k
    decisions = (
        np.where(numbers == 1, 1.0, -1.0)[:, None] if k == 2 else np.where(numbers[:, None] == np.arange(k), 1.0, -1.0)
    )
    found = fitted(decisions, numbers)
    assert np.isfinite(found.calibration).all()
    n = 40 // k  # Platt's target is reached exactly
    assert np.allclose(found.probabilities(decisions).max(axis=1), 1 - 2 / k / (n + 2), atol=1e-4)


@pytest.mark.parametrize('sign', [0, -1])
@pytest.mark.parametrize('swapped', [False, True])
def test_scores_that_say_nothing_leave_the_shares_of_the_classes(sign, swapped):
    decisions, numbers, _ = draw(0, 2)
    rare = (numbers == 1) & (np.arange(len(numbers)) % 4 > 0)  # one class has more rows than the other
    decisions, numbers = decisions[~rare], numbers[~rare]
    if swapped:
        decisions, numbers = -decisions, 1 - numbers
    found = fitted(sign * decisions, numbers)
    assert np.isfinite(found.calibration).all()
    wanted = platt_targets(numbers, np.bincount(numbers))[:, 1].mean()
    assert np.allclose(found.probabilities(sign * decisions)[:, 1], wanted, atol=1e-6)


def test_rows_of_next_to_no_weight_leave_two_classes_alike():
    decisions, numbers, weights = draw(4, 2)  # Platt's targets are then 1/2
    assert np.allclose(fitted(decisions, numbers, 1e-12 * weights).probabilities(decisions), 0.5, atol=1e-6)


@pytest.mark.parametrize('k', [2, 4])
@pytest.mark.parametrize('length', [1, 7, 1e4, -1])
def test_a_step_is_taken_as_far_as_the_loss_does_not_rise(k, length):
    """A step of Newton as a whole, a longer one in part, and none at all uphill."""
    decisions, numbers, weights = draw(k, k)
    scores, weights = class_scores(decisions, k), weights / weights.sum()
    theta, q = np.append(1.0, np.linspace(-1, 1, k - 1)), platt_targets(numbers, np.bincount(numbers, weights * 400))
    step = length * newton_step(theta, scores, q, weights)
    moved = search_line(theta, step, scores, q, weights)
    loss, before = (log_loss_at(each, scores, q, weights) for each in (moved, theta))
    if length == 1:
        assert np.array_equal(moved, theta + step)
    assert loss < before if length > 0 else np.array_equal(moved, theta)


def test_log_probabilities_are_those_of_scipy_however_large_the_scores_are():
    decisions = np.array([[1e5, 0, 2e5], [-3e5, -3e5, -3e5 - 1], [0.1, 0.2, 0.3]])
    found = Labelling(3, calibration=np.zeros(3)).log_probabilities(decisions)
    np.testing.assert_allclose(found, log_softmax(decisions, axis=1), rtol=1e-12)


def test_a_model_without_probabilities_says_how_to_get_them():
    says = r'^expected a model with probabilities: .* with probabilities=True\. After .* calibrate\(X, y\) to .* again$'
    with pytest.raises(ValueError, match=says):
        Labelling(2).probabilities(np.ones((3, 1)))


def test_a_row_of_weight_two_counts_as_two_rows():
    decisions, numbers, _ = draw(1, 3)
    twice = np.arange(len(numbers)) % 3 == 0
    rows = np.repeat(np.arange(len(numbers)), 1 + twice)
    weighted = fitted(decisions, numbers, 1.0 + twice).calibration
    assert np.allclose(weighted, fitted(decisions[rows], numbers[rows]).calibration, atol=1e-6)


def test_pairs_are_calibrated_by_votes_and_bounded_sums():
    decisions = np.array([[3.0, -1, 2], [-1, -1, 1]])  # pairs 01, 02, 12; positive is the second class
    sums = np.array([[-2.0, 1, 1], [2, -2, 0]])
    assert np.allclose(
        class_scores(decisions, 3, 'one-vs-one'), [[1, 1, 1], [2, 0, 1]] + sums / (3 * (np.abs(sums) + 1))
    )
    labelling = Labelling(3, 'one-vs-one', calibration=np.array([0.5, 0.1, -0.2]))
    logits = np.exp(0.5) * class_scores(decisions, 3, 'one-vs-one') + [0, 0.1, -0.2]
    assert np.allclose(labelling.probabilities(decisions), softmax(logits, axis=1))


def test_labels_are_the_most_probable_classes_and_a_threshold_overrides_that():
    decisions, numbers, _ = draw(2, 2)
    found = fitted(decisions, numbers)
    P = expit(np.exp(found.calibration[0]) * decisions[:, 0] + found.calibration[1])
    assert np.array_equal(found.choose(decisions), P > 0.5) and (found.choose(decisions) != (decisions[:, 0] > 0)).any()
    assert np.array_equal(replace(found, threshold=0.2).choose(decisions), P > 0.2)


def test_a_class_without_rows_is_an_error_that_names_it():
    header = ModelHeader('pesvm', 'classification', ['in', 'out'], 3, {})
    with pytest.raises(DataFormatError, match="none of class 'out' among the 4 rows that were scored"):
        calibrate(KernelModel(header, {}), HeldOut(np.zeros(4), np.ones(4), np.ones((4, 1)), np.zeros(4)))


def test_a_few_rows_that_are_scored_by_hundreds_do_not_make_all_others_unsure():
    rng = np.random.default_rng(0)
    f = rng.normal(size=2000)
    numbers = (rng.random(2000) < 1 / (1 + np.exp(-3 * f))).astype(int)
    scores, far = np.column_stack([np.zeros(2000), f]), np.array([[0, -700.0], [0, 400.0]])
    plain = fit_calibration(scores, numbers)
    both = fit_calibration(np.vstack([scores, far]), np.append(numbers, [1, 0]))
    assert np.exp(plain[0]) == pytest.approx(3, abs=0.3)
    assert np.exp(both[0]) == pytest.approx(3, abs=0.5)

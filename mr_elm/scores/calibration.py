"""Turn decision values into probabilities: a temperature and a bias for each class, fitted to rows held out.

    P(k | x) = exp(e^t f_k + b_k) / sum_j exp(e^t f_j + b_j),  b_0 = 0
    min_{t, b}  - sum_i w_i sum_k q_ik log P(k | x_i)

f (K,) scores of the classes, of two classes (0, f); w weights of rows. q_ik = 1 - (2/K) / (N_k + 2) for the class k of
row i, N_k the total weight of the class; the other classes share the rest. So separable classes have a finite optimum.
The problem is convex in (e^t, b). Of two classes this is Platt's sigmoid with a positive slope and his targets,
(N_k + 1)/(N_k + 2).

Source: Platt, Probabilistic outputs for support vector machines, 1999; Guo et al., On calibration of modern neural
networks, 2017, the temperature. Ours: both together, and the factor 2/K: summed over all rows, the targets give about
two rows to other classes, whatever K is; without it many classes would have unsure probabilities.
"""

from dataclasses import dataclass

import numpy as np

from mr_elm.errors import one_line
from mr_elm.rows.blocks import fill_weights
from mr_elm.solvers.multiclass import ONE_VS_ALL, ONE_VS_ONE, class_numbers, count_votes
from mr_elm.typing import Floats, RowWeights

MIN_SLOPE = 1e-9  # slope on scores of size 1: scores that say nothing, or the contrary, are ignored
MAX_MEDIANS = 10  # median sizes; of 5 to 20, all fit as well


def class_scores(decisions: Floats, n_classes: int, scheme: str = ONE_VS_ALL) -> Floats:
    """Return a score for each class, (n, K), from decision values (n, P).

    Of two classes they are 0 and f; of pairs the votes of a class, with its sum of decision values squeezed into
    (-1/3, 1/3).
    """
    if n_classes == 2:
        return np.column_stack([np.zeros(len(decisions)), decisions[:, 0]])
    if scheme != ONE_VS_ONE:
        return decisions
    votes, sums, _ = count_votes(decisions, n_classes)
    return (votes + sums / (3 * (np.abs(sums) + 1))).T


def normalise_logits(logits: Floats) -> Floats:
    """Return log softmax of each row."""
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Labelling:
    """Say how the decision values of a model become classes.

    n_classes : K. scheme : one-vs-all or one-vs-one. calibration : (K,) or None; without it there are no probabilities.
    threshold : of two classes, the probability of the class number `positive` above which a row is of this class; None
        for the more probable class.
    """

    n_classes: int
    scheme: str = ONE_VS_ALL
    calibration: Floats | None = None
    threshold: float | None = None
    positive: int = 1
    __repr__ = one_line

    def score(self, decisions: Floats) -> Floats:
        """Return e^t f + b, (n, K), from decision values (n, P); softmax makes probabilities of them."""
        if self.calibration is None:
            raise ValueError(
                'expected a model with probabilities: train it with --probabilities, or fit it with '
                'probabilities=True. After forget, or after a new class, call calibrate(X, y) to fit them again'
            )
        theta = np.append(np.exp(self.calibration[0]), self.calibration[1:])
        return logits_at(theta, class_scores(decisions, self.n_classes, self.scheme))

    def log_probabilities(self, decisions: Floats) -> Floats:
        """Return the natural logarithm of the probability of each class, (n, K)."""
        return normalise_logits(self.score(decisions))

    def probabilities(self, decisions: Floats) -> Floats:
        """Return the probability of each class, (n, K)."""
        return np.exp(self.log_probabilities(decisions))

    def choose(self, decisions: Floats) -> np.ndarray:
        """Return class numbers, (n,): the most probable class where there are probabilities. A tie: the first class."""
        if self.calibration is None:
            return class_numbers(decisions, self.n_classes, self.scheme)
        P = self.probabilities(decisions)
        if self.threshold is None:
            return P.argmax(axis=1)
        return np.where(P[:, self.positive] > self.threshold, self.positive, 1 - self.positive)


def fit_calibration(scores: Floats, numbers: np.ndarray, weights: RowWeights = None) -> Floats:
    """Return the calibration (K,), t and b_1, ..., of rows that the scores have not seen.

    scores : of the classes, (n, K), see `bound_scores`. numbers : (n,) class numbers, each class among them.
    weights : (n,) or None.
    """
    weights = fill_weights(weights, len(scores))
    totals = np.bincount(numbers, weights)
    scores = bound_scores(scores)
    size = np.abs(scores).max() or 1.0
    theta = minimise_log_loss(scores / size, platt_targets(numbers, totals), weights / weights.sum())
    return np.append(np.log(theta[0] / size), theta[1:])


def bound_scores(scores: Floats) -> Floats:
    """Return scores of at most MAX_MEDIANS times their median size.

    If the leverage of a row is close to 1, the machine of all other rows may score it by hundreds. With a wrong sign,
    the log loss of this row alone would make all probabilities unsure.
    """
    sizes = np.abs(scores[scores != 0])
    if len(sizes):
        return np.clip(scores, -MAX_MEDIANS * np.median(sizes), MAX_MEDIANS * np.median(sizes))
    return scores


def platt_targets(numbers: np.ndarray, totals: np.ndarray) -> Floats:
    """Return q, (n, K), of class numbers (n,). totals : (K,) weight of each class."""
    k = len(totals)
    own_class = (totals + 2 - 2 / k) / (totals + 2)
    q = np.repeat(((1 - own_class) / (k - 1))[numbers, None], k, axis=1)
    q[np.arange(len(numbers)), numbers] = own_class[numbers]
    return q


def minimise_log_loss(scores: Floats, q: Floats, weights: Floats) -> Floats:
    """Return (e^t, b_1, ...) by Newton's method; e^t stays at MIN_SLOPE or above. weights : of sum 1."""
    theta = np.append(1.0, np.zeros(scores.shape[1] - 1))
    for _ in range(100):  # about ten are taken
        step = newton_step(theta, scores, q, weights)
        theta = search_line(theta, step, scores, q, weights)
        if np.abs(step).max() < 1e-9 * (1 + np.abs(theta).max()):  # the error is about its square
            break
    return theta


def search_line(theta: Floats, step: Floats, scores: Floats, q: Floats, weights: Floats) -> Floats:
    """Return theta moved by the step, or by so much less that the log loss does not rise."""
    value, rate = log_loss_at(theta, scores, q, weights), 1.0
    while rate > 1e-8:
        moved = theta + rate * step
        moved[0] = max(moved[0], MIN_SLOPE)
        if log_loss_at(moved, scores, q, weights) <= value + 1e-14:  # rounding
            return moved
        rate /= 2
    return theta


def logits_at(theta: Floats, scores: Floats) -> Floats:
    """Return e^t f + b, (n, K)."""
    logits = theta[0] * scores
    logits[:, 1:] += theta[1:]
    return logits


def log_loss_at(theta: Floats, scores: Floats, q: Floats, weights: Floats) -> float:
    """Return the log loss against targets q."""
    return -float(weights @ (q * normalise_logits(logits_at(theta, scores))).sum(axis=1))


def newton_step(theta: Floats, scores: Floats, q: Floats, weights: Floats) -> Floats:
    """Return -H^-1 g of the log loss; the slope stays where it is at its least value and would fall."""
    P = np.exp(normalise_logits(logits_at(theta, scores)))
    rest = weights[:, None] * (P - q)
    gradient = np.append((rest * scores).sum(), rest[:, 1:].sum(axis=0))
    centred = scores - (P * scores).sum(axis=1, keepdims=True)
    weighted = weights[:, None] * P
    H = np.empty((len(theta), len(theta)))
    H[0, 0] = (weighted * centred**2).sum()
    H[0, 1:] = H[1:, 0] = (weighted * centred)[:, 1:].sum(axis=0)
    H[1:, 1:] = np.diag(weighted[:, 1:].sum(axis=0)) - weighted[:, 1:].T @ P[:, 1:]
    H[np.diag_indices_from(H)] += 1e-12
    free = np.ones(len(theta), bool)
    free[0] = theta[0] > MIN_SLOPE or gradient[0] < 0
    step = np.zeros(len(theta))
    step[free] = -np.linalg.solve(H[np.ix_(free, free)], gradient[free])
    return step

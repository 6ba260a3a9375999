"""Score probabilities in sums that merge: log loss, Brier score, ranks of the true class, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mr_elm.errors import one_line
from mr_elm.scores.ranking import Ranking
from mr_elm.typing import Floats

BINS = 15
MOST = -np.log(np.finfo(float).eps)  # loss of a row, as scikit-learn bounds it


@dataclass(frozen=True)
class ProbabilityScores:
    """Sum up what P says of rows of known classes.

    weight : of the rows. loss, squared : sums of the log loss, and of the squared errors over all classes.
    ranks : (K,) weight of the rows whose true class has so many more probable ones.
    bins : (3, BINS) weight of the rows by the probability of the predicted class, sum of that, weight of those right.
    """

    weight: float
    loss: float
    squared: float
    ranks: np.ndarray
    bins: np.ndarray
    __repr__ = one_line

    @classmethod
    def of(cls, P: Floats, numbers: np.ndarray, weights: Floats) -> ProbabilityScores:
        """Score probabilities (n, K) of rows of classes (n,)."""
        of_label = P[np.arange(len(P)), numbers]
        with np.errstate(divide='ignore'):
            loss = np.minimum(-np.log(of_label), MOST)
        squared = (P**2).sum(axis=1) - 2 * of_label + 1
        ranks = np.bincount((of_label[:, None] < P).sum(axis=1), weights, P.shape[1])
        top, right = P.max(axis=1), P.argmax(axis=1) == numbers
        bins = sum_bins(top, weights, weights * right)
        return cls(float(weights.sum()), float(weights @ loss), float(weights @ squared), ranks, bins)

    def merge(self, other: ProbabilityScores) -> ProbabilityScores:
        """Return the sums of both sets of rows."""
        return self.from_arrays([one + two for one, two in zip(self.to_arrays(), other.to_arrays(), strict=True)])

    def to_arrays(self) -> list[np.ndarray]:
        """Return arrays for the wire."""
        return [np.array([self.weight, self.loss, self.squared]), self.ranks, self.bins]

    @classmethod
    def from_arrays(cls, arrays: Sequence[np.ndarray]) -> ProbabilityScores:
        """Undo `to_arrays`."""
        return cls(*arrays[0].tolist(), *arrays[1:])

    def scores(self) -> dict[str, float]:
        """Return log loss, Brier score (of two classes that of the last one), calibration error and top-k accuracy."""
        n_classes = len(self.ranks)
        gaps = np.abs(self.bins[2] - self.bins[1]).sum()
        tops = {f'top_{k}_accuracy': float(self.ranks[:k].sum() / self.weight) for k in (3, 5) if k < n_classes}
        return {
            'log_loss': self.loss / self.weight,
            'brier': self.squared / self.weight / (2 if n_classes == 2 else 1),
            'calibration_error': float(gaps / self.weight),
            **tops,
        }


def sum_bins(P: Floats, weights: Floats, hits: Floats) -> Floats:
    """Return (3, BINS): the sums of weights, of weights times P, and of hits in each bin of P. All are (n,)."""
    return np.array([np.histogram(P, BINS, (0, 1), weights=part)[0] for part in (weights, weights * P, hits)])


def area_scores(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return the area under the ROC curve, for several classes the mean of one against the rest.

    Classes without positive or negative rows are left out.
    """
    areas = [ranking.area for ranking in rankings if ranking.area is not None]
    if not areas:
        return {}
    return {'auc': float(np.mean(areas))}

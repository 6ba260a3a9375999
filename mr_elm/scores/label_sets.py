"""Score predicted sets of labels in counts that merge: Hamming loss, F1 and the share of sets that are all right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm.scores.metrics import divide
from mr_elm.typing import Floats, RowWeights


@dataclass(frozen=True)
class LabelSets:
    """Count rows, or their weight, by label.

    n : rows. right : rows whose set is predicted without an error.
    counts : label -> [rows that have it and are said to, said to without having it, have it without being said to].
    """

    n: float
    right: float
    counts: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, labels: Sequence[str], true: Floats, predicted: np.ndarray, weights: RowWeights = None) -> LabelSets:
        """Compare true (n, K) with predicted (n, K) sets, 1 where a row has a label. weights : (n,) or None."""
        has, chosen = np.asarray(true, bool), np.asarray(predicted, bool)
        w = np.ones(len(has), int) if weights is None else weights
        parts = [w @ part for part in (has & chosen, chosen & ~has, has & ~chosen)]
        counts = {label: column.tolist() for label, column in zip(labels, np.transpose(parts), strict=True)}
        return cls(w.sum().item(), (w @ (has == chosen).all(axis=1)).item(), counts)

    def merge(self, other: LabelSets) -> LabelSets:
        """Return the counts of both sets of rows."""
        none = [0, 0, 0]
        counts = {
            label: [a + b for a, b in zip(self.counts.get(label, none), other.counts.get(label, none), strict=True)]
            for label in {**self.counts, **other.counts}
        }
        return LabelSets(self.n + other.n, self.right + other.right, counts)

    def scores(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the scores by name. labels : of the model; others that rows have count as missed.

        A label that no row has and that is never predicted has an F1 of 0, as in scikit-learn.
        """
        names = [*labels, *sorted(set(self.counts) - set(labels))]
        table = np.array([self.counts.get(name, [0, 0, 0]) for name in names], float)
        hits, false, missed = table.sum(axis=0)
        per_label = {
            name: {'precision': divide(a, a + b), 'recall': divide(a, a + c), 'f1': f1(a, b, c), 'rows': a + c}
            for name, (a, b, c) in zip(names, table.tolist(), strict=True)
        }
        return {
            'hamming_loss': float(false + missed) / (self.n * len(names)),
            'f1_micro': f1(hits, false, missed),
            'f1_macro': float(np.mean([row['f1'] for row in per_label.values()])),
            'subset_accuracy': self.right / self.n,
            'rows': self.n,
            'per_label': per_label,
        }


def f1(hits: float, false: float, missed: float) -> float:
    """Return the harmonic mean of precision and recall, 0 where there is nothing to find and nothing was found."""
    return float(divide(2 * hits, 2 * hits + false + missed) or 0.0)

"""Score predictions in counts that merge, so that any split of the rows gives the same scores."""

from dataclasses import dataclass

import numpy as np

from mr_elm.rows.blocks import fill_weights
from mr_elm.typing import Floats, RowWeights


@dataclass(frozen=True)
class Confusion:
    """Count rows by true and predicted class.

    table : (true label as text, predicted class as text) -> rows, or their weight.
    """

    table: dict

    def merge(self, other: 'Confusion') -> 'Confusion':
        """Return the counts of both sets of rows."""
        return Confusion(
            {pair: self.table.get(pair, 0) + other.table.get(pair, 0) for pair in {**self.table, **other.table}}
        )

    def scores(self, classes: list[str]) -> dict:
        """Return accuracy, rows, and per class precision, recall and rows, with the confusion matrix.

        Beside them balanced accuracy, the mean recall of the classes that occur, and Matthews' coefficient.

        classes : names in class order. Rows of labels that are no class count as errors.

        Source: Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, 2004.
        """
        total = sum(self.table.values())
        truths = classes + sorted({true for true, _ in self.table} - set(classes))
        matrix = [[self.table.get((true, predicted), 0) for predicted in classes] for true in truths]
        true, predicted = [sum(row) for row in matrix], list(map(sum, zip(*matrix, strict=True)))
        hits = [row[k] if k < len(classes) else 0 for k, row in enumerate(matrix)]
        recalls = [hit / n for hit, n in zip(hits, true, strict=True) if n]
        per_class = {
            name: {'precision': divide(hits[k], predicted[k]), 'recall': divide(hits[k], true[k]), 'rows': true[k]}
            for k, name in enumerate(classes)
        }
        # Matthews' coefficient
        spread = (total**2 - sum(n**2 for n in predicted)) * (total**2 - sum(n**2 for n in true))
        agreed = sum(hits) * total - sum(a * b for a, b in zip(true, predicted, strict=False))
        return {
            'accuracy': divide(sum(hits), total),
            'rows': total,
            'balanced_accuracy': divide(sum(recalls), len(recalls)),
            'matthews': agreed / spread**0.5 if spread > 0 else 0.0,
            'per_class': per_class,
            'confusion': {'true': truths, 'predicted': classes, 'rows': matrix},
        }

    def positive_scores(self, positive: str) -> dict:
        """Return F1, precision and recall of a class; None where there is nothing to divide by, but an F1 of 0.

        As in scikit-learn the F1 of a class that no row has, and that is never predicted, is 0.
        """
        right = self.table.get((positive, positive), 0)
        true = sum(n for (label, _), n in self.table.items() if label == positive)
        predicted = sum(n for (_, name), n in self.table.items() if name == positive)
        return {
            'f1': divide(2 * right, true + predicted) or 0.0,
            'precision': divide(right, predicted),
            'recall': divide(right, true),
        }


def divide(part: float, whole: float) -> float | None:
    """Divide, or return None where there is nothing to divide by."""
    if whole:
        return part / whole
    return None


@dataclass(frozen=True)
class Residuals:
    """Sum up the errors of a regression.

    n : rows, or their weight; squared, absolute : sums of the errors' squares and sizes; mean, spread : mean of the
    targets and the sum of their squared distances from it.
    """

    n: float
    squared: float
    absolute: float
    mean: float
    spread: float

    @classmethod
    def of(cls, targets: Floats, predictions: Floats, weights: RowWeights = None) -> 'Residuals':
        """Compare targets with predictions, (n,) each. weights : (n,), None when all rows count once."""
        error = targets - predictions
        w = fill_weights(weights, len(targets))
        mean = float(np.average(targets, weights=w))
        return cls(
            len(error) if weights is None else float(w.sum()),
            float(w @ error**2),
            float(w @ np.abs(error)),
            mean,
            float(w @ (targets - mean) ** 2),
        )

    def merge(self, other: 'Residuals') -> 'Residuals':
        """Return the sums of both sets of rows."""
        n, shift = self.n + other.n, other.mean - self.mean
        return Residuals(
            n,
            self.squared + other.squared,
            self.absolute + other.absolute,
            self.mean + shift * other.n / n,
            self.spread + other.spread + shift**2 * self.n * other.n / n,
        )

    def scores(self) -> dict:
        """Return RMSE, MAE and R2."""
        r2 = None
        if self.spread:
            r2 = 1 - self.squared / self.spread
        return {'rmse': (self.squared / self.n) ** 0.5, 'mae': self.absolute / self.n, 'r2': r2, 'rows': self.n}


def average_targets(by_target: dict[str, Residuals]) -> dict:
    """Return the mean of each score over several targets, and the scores of each. by_target : target -> Residuals."""
    per_target = {name: residuals.scores() for name, residuals in by_target.items()}
    rows = {row.pop('rows') for row in per_target.values()}
    values = {name: [row[name] for row in per_target.values()] for name in ('rmse', 'mae', 'r2')}
    means = dict.fromkeys(values)
    for name, target_scores in values.items():
        if None not in target_scores:
            means[name] = sum(target_scores) / len(target_scores)
    return {**means, 'rows': max(rows), 'per_target': per_target}

"""Hold labelled rows in memory, by which a training chooses, and let them judge decision values."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import record
from mr_elm.features.landmarks import hash_rows, scramble
from mr_elm.features.metric import FeatureColumns
from mr_elm.rows.blocks import fill_weights, take_weights
from mr_elm.scores.selection import ORDER, select_sample
from mr_elm.solvers.centred import CentredTargets
from mr_elm.solvers.multiclass import class_targets
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.statistics import Classes, ColumnStatistics, list_classes
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows, RowWeights

SAMPLE_ROWS = 24_000  # by which trees grow, metrics are learned, and auto chooses
MERGED_ROWS = 1000  # up to which copies are merged
CLIP = 3.0  # decision values of classes beyond it are as good, or as bad, as this one


def find_classes(values: Floats) -> np.ndarray:
    """Return the class numbers, (n,) int, of targets or decision values, (n, K): above 0 is the second of two."""
    if values.shape[1] > 1:
        return values.argmax(axis=1)
    return (values[:, 0] > 0).astype(int)


@record
class SampleRows:
    """Hold a sample of labelled rows.

    X : (n, d), raw, dense or CSR. T : (n, K) targets. n_classes : 0 where targets are numbers: these are standardised,
    so that their errors are relative to the variance of each. mean, deviation : (K,) or (), a target is
    mean + deviation * T.
    weights : (n,) of the rows, or None.
    training_columns : the FeatureColumns of all rows of the training; None where the sample is all rows, and no table.
    """

    X: Rows
    T: Floats
    n_classes: int = 0
    weights: RowWeights = None
    training_columns: FeatureColumns | None = None
    mean: Floats | float = 0.0
    deviation: Floats | float = 1.0

    @classmethod
    def of(
        cls,
        X: Rows,
        numbers: np.ndarray,
        n_classes: int,
        weights: RowWeights = None,
        training_columns: FeatureColumns | None = None,
        center: bool = True,
    ) -> SampleRows:
        """Make a sample of rows with class numbers, or targets where n_classes is 0; (n,) or (n, K).

        center : whether the machines that are compared take the mean of targets off.
        """
        if np.ndim(numbers) == 2:
            T = np.asarray(numbers, float)
        else:
            T = class_targets(numbers, n_classes)
        if n_classes:
            return cls(X, T, n_classes, weights, training_columns)
        centred = CentredTargets.of(T, weights)
        rest = centred.T * centred.units
        deviation = np.sqrt(np.average(rest**2, axis=0, weights=weights))
        deviation = np.where(deviation > 0, deviation, 1.0)  # a constant target stays
        mean: Floats | float = centred.mean
        if not center:
            rest, mean = T, 0.0
        return cls(X, rest / deviation, 0, weights, training_columns, mean, deviation)

    @classmethod
    def of_training(
        cls,
        X: Rows,
        numbers: np.ndarray,
        weights: RowWeights,
        summary: Summary,
        classes: Classes | None,
        center: bool = True,
    ) -> SampleRows:
        """Make a sample of rows of a training; see `of`."""
        n_classes = 0
        if summary.separator is None:
            n_classes = len(list_classes(classes))
        return cls.of(X, numbers, n_classes, weights, FeatureColumns.of(summary.columns, summary.encoding), center)

    @cached_property
    def columns(self) -> FeatureColumns:
        """Return the FeatureColumns of the training."""
        return self.training_columns or FeatureColumns.of(ColumnStatistics.of(self.X, self.weights))

    @property
    def row_weights(self) -> Floats:
        """Return the weights, (n,), also where all rows count once."""
        return fill_weights(self.weights, len(self))

    def __len__(self) -> int:
        return len(self.T)

    def take(self, rows: np.ndarray | slice) -> SampleRows:
        """Return some of the rows."""
        return replace(self, X=self.X[rows], T=self.T[rows], weights=take_weights(self.weights, rows))

    def split(self, n: int) -> tuple[SampleRows, SampleRows]:
        """Return the first n rows, and the others."""
        return self.take(slice(0, n)), self.take(slice(n, None))

    def judge(self, values: Floats) -> float:
        """Return how good decision values (n, K) are, the larger the better: the accuracy minus half the error.

        The error, a root mean square, tells machines apart that label the same rows right. Numbers have only the error.
        """
        error = float(np.sqrt(self.measure_error(values)))
        if self.n_classes:
            return self.measure_accuracy(values) - error / 2
        return -error

    def measure_accuracy(self, values: Floats) -> float:
        """Return the share of the weights that decision values label right."""
        return float(np.average(self.find_right(values), weights=self.weights))

    def measure_error(self, values: Floats, clip: float = CLIP) -> float:
        """Return the mean squared error of a target, weighted. clip : decision values of classes end there."""
        return float(np.average(self.square_errors(values, clip), weights=self.weights))

    def measure_losses(self, values: Floats) -> Floats:
        """Return the loss of each row, (n,): whether it is labelled wrong, or its squared error."""
        if self.n_classes:
            return 1.0 - self.find_right(values)
        return self.square_errors(values)

    def square_errors(self, values: Floats, clip: float = CLIP) -> Floats:
        """Return the mean squared error of the targets of each row, (n,). clip : see `measure_error`."""
        if self.n_classes:
            values = np.clip(values, -clip, clip)
        return ((values - self.T) ** 2).mean(axis=1)

    def find_right(self, values: Floats) -> np.ndarray:
        """Tell which rows are labelled right, (n,) bool."""
        return find_classes(values) == find_classes(self.T)


def count_sample(summary: Summary, sparse: bool) -> int:
    """Return how many rows a sample should have: of dense rows at most 30 million numbers."""
    if sparse:
        return SAMPLE_ROWS
    return max(1, min(SAMPLE_ROWS, int(3e7 / summary.columns.n_features)))


def select_rows(rows: TrainingRows, chosen: np.ndarray) -> TrainingRows:
    """Return some rows in memory, by their numbers or a mask."""
    return replace(rows, X=rows.X[chosen], y=rows.y[chosen], sample_weight=take_weights(rows.sample_weight, chosen))


def take_sample(rows: TrainingRows, summary: Summary, seed: int, center: bool = True) -> SampleRows:
    """Return the sample that a driver would take of rows in memory. center : see `SampleRows.of`."""
    share = min(1.0, count_sample(summary, sp.issparse(rows.X)) / rows.X.shape[0])
    chosen = select_rows(rows, select_sample(rows.X, share, seed))
    return SampleRows.of_training(chosen.X, chosen.y, chosen.sample_weight, summary, rows.classes, center)


def arrange_rows(rows: SampleRows, seed: int) -> SampleRows:
    """Return the rows of a sample in the order of a search, copies of few different rows merged."""
    first, weights = merge_copies(rows.X, rows.T, rows.weights)
    rows = replace(rows.take(first), weights=weights)
    return rows.take(order_rows(rows, seed))


def merge_copies(X: Rows, T: np.ndarray, weights: RowWeights) -> tuple[np.ndarray, Floats | None]:
    """Return the number of each different row, once, and the weight of all its copies, where few rows are different.

    Where many are, all rows are returned. Leave-one-out of a row whose copy stays says nothing of new rows. So a row of
    weight 2 is as two rows. T : (n,) or (n, K), targets or class numbers, which must be equal too.
    """
    everything = np.arange(len(T))
    if len(T) > MERGED_ROWS:
        return everything, weights
    keys = np.column_stack([hash_rows(X, 0).view(np.int64), (T + 0.0).view(np.int64)])
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) > 100 or (weights is None and len(first) == len(T)):
        return everything, weights
    return first, np.bincount(number.ravel(), weights).astype(float)


def order_rows(rows: SampleRows, seed: int) -> np.ndarray:
    """Return the order of rows by a keyed hash, whatever their order is; copies of a row are spread.

    Classes have their shares in any first part of the rows, and each of them has a row in front.
    """
    hashes = hash_rows(rows.X, seed + ORDER)
    order = np.lexsort((*rows.T.T, hashes))
    ordered = hashes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    copies = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    order = order[np.argsort(scramble(ordered + copies.astype(np.uint64)), kind='stable')]
    if not rows.n_classes:
        return order
    numbers = find_classes(rows.T[order])
    counts = np.bincount(numbers)
    by_class = np.argsort(numbers, kind='stable')
    ranks = np.empty(len(order), int)
    ranks[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.argsort(ranks / counts[numbers], kind='stable')]

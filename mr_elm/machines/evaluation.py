"""Compare what a model says of labelled rows with their labels, in counts that merge, and make scores of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError, warn_unsuitable
from mr_elm.machines.press import LeaveOneOutModel, mark_sets
from mr_elm.model.base import Model
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.rows.inputs import describe_columns
from mr_elm.scores.intervals import find_quantile
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Confusion, Residuals, average_targets
from mr_elm.scores.probability_scores import ProbabilityScores, area_scores
from mr_elm.scores.ranking import MAX_ALL_VALUES, MAX_VALUES, Ranking, key_of, key_of_number
from mr_elm.typing import Floats


def read_pairs(value: dict[str, list]) -> Confusion:
    """Read a Confusion that `write_pairs` wrote."""
    return Confusion({(true, predicted): n for true, predicted, n in value['counts']})


def write_pairs(confusion: Confusion) -> dict[str, list]:
    """Write a Confusion as a dictionary of lists."""
    return {'counts': [[true, predicted, n] for (true, predicted), n in sorted(confusion.table.items())]}


# kind of counts -> functions that read and write them, as they travel
COUNTS: dict[str, tuple[Callable, Callable]] = {
    'confusion': (read_pairs, write_pairs),
    'residuals': (lambda value: Residuals(**value), asdict),
    'coverage': (lambda value: Residuals(**value), asdict),
    'sets': (lambda value: LabelSets(**value), asdict),
    'probabilities': (ProbabilityScores.from_arrays, ProbabilityScores.to_arrays),
    'ranking': (Ranking.from_arrays, Ranking.to_arrays),
}


def merge_counts(kind: str, values: Iterable[Any]) -> Any:
    """Merge counts of a kind, as they travel, over tasks."""
    read, write = COUNTS[kind]
    return write(reduce(lambda one, other: one.merge(other), map(read, values)))


@dataclass
class Evaluation:
    """Hold the counts of rows.

    counts : (kind, ...) -> counts: ('confusion',); ('sets',) where rows have several labels; ('residuals',) of a
        regression, ('residuals', TARGET) where rows have several; ('coverage',) of 1 where the interval of a row holds
        its target, else 0; ('probabilities',) of what these say; ('ranking',
        CLASS) by its probability, or of two classes by the decision value where there are no probabilities.
    """

    counts: dict[tuple, Any] = field(default_factory=dict)

    def add(self, key: tuple, counts: Any) -> None:
        """Add the counts of more rows."""
        if key in self.counts:
            counts = self.counts[key].merge(counts)
        self.counts[key] = counts

    @property
    def probabilities(self) -> ProbabilityScores | None:
        """Return the sums of what the probabilities say, None where there are none."""
        return self.counts.get(('probabilities',))

    @property
    def rankings(self) -> dict[int, Ranking]:
        """Return class number -> Ranking."""
        return {key[1]: counts for key, counts in sorted(self.counts.items()) if key[0] == 'ranking'}

    @property
    def n_rows(self) -> Mapping[str, float]:
        """Return label -> rows that have it, or their weight; nothing of a regression."""
        rows: Counter[str] = Counter()
        if ('confusion',) in self.counts:
            for (label, _), n in self.counts['confusion',].table.items():
                rows[label] += n
        if ('sets',) in self.counts:
            rows.update({label: hit + missed for label, (hit, _, missed) in self.counts['sets',].counts.items()})
        return +rows

    def scores(
        self, classes: Sequence[str], target_names: Sequence[str] = (), positive: str | None = None
    ) -> dict[str, Any]:
        """Return the scores by name, what takes several numbers last.

        classes : in class order. positive : of two classes, the one that F1, precision and recall are about.
        """
        if ('residuals', 0) in self.counts:
            return average_targets({name: self.counts['residuals', k] for k, name in enumerate(target_names)})
        if ('residuals',) in self.counts:
            scores = self.counts['residuals',].scores()
            if ('coverage',) in self.counts:
                scores['coverage_90'] = self.counts['coverage',].mean
            return scores
        if ('sets',) in self.counts:
            return self.counts['sets',].scores(classes)
        confusion, rankings = self.counts['confusion',], self.rankings
        scores = confusion.scores(list(classes))
        tables = {name: scores.pop(name) for name in ('per_class', 'confusion')}
        if positive is not None:
            scores |= {'positive': positive, **confusion.positive_scores(positive)}
        if self.probabilities is not None:
            scores |= self.probabilities.scores()
        scores |= area_scores(list(rankings.values()))  # of two classes both have the same area
        if positive is not None and rankings:
            scores['average_precision'] = rankings[classes.index(positive)].average_precision
        return {**scores, **tables}


class Evaluator:
    """Compare what a model says of rows with their labels, block by block.

    leave_one_out : the rows are those of the training; each is judged by the model of the others.
    threshold, positive : see `Model.label_by`.
    """

    def __init__(self, model: Any, leave_one_out: bool, threshold: float | None, positive: int | None) -> None:
        self.model, self.evaluation = model, Evaluation()
        self.labelling = model.label_by(threshold, positive)
        self.press = None
        if leave_one_out:
            self.press = LeaveOneOutModel(model)
        self.calibrated = self.labelling.calibration is not None
        self.waiting: list[tuple] = []  # rows whose scores are yet to be counted

    def add(self, block: Block) -> None:
        """Add the rows of a block. Raises DataFormatError where they have no labels, or others than the model."""
        model = self.model
        if not block.labelled:
            raise DataFormatError('expected labels, the rows have none')
        if self.press is None:
            decisions = model.decision_function(block.X)
        else:
            decisions = self.press.score(block, block.weights).decisions
        if model.numeric:
            self.add_errors(block, decisions)
        elif model.multilabel:
            self.evaluation.add(('sets',), compare_sets(model, block, model.decide(decisions)))
        else:
            self.evaluation.add(('confusion',), count_pairs(model, block, self.labelling.choose(decisions)))
            if self.calibrated or model.header.positive is not None:
                self.rank(block, decisions)

    def add_errors(self, block: Block, decisions: Floats) -> None:
        """Add the errors of a regression, of each target, and how many rows intervals of 90 % and of one width hold."""
        predictions = self.model.decide(decisions)
        if block.targets.shape != predictions.shape:
            raise DataFormatError(f'expected rows of {predictions[:1].size} target(s), found {block.targets[:1].size}')
        targets = self.model.to_targets(block.targets)
        for k, columns in enumerate(zip(np.atleast_2d(targets.T), np.atleast_2d(predictions.T), strict=True)):
            key = ('residuals', k)[: predictions.ndim]
            self.evaluation.add(key, Residuals.of(*columns, block.weights))
        sizes = self.model.arrays.get('interval_residuals', ())
        if len(sizes) >= 9:  # else they are too few for 90 %
            covered = np.abs(block.targets - decisions[:, 0]) <= find_quantile(sizes, 0.9)
            self.evaluation.add(('coverage',), Residuals.of(covered + 0.0, predictions, block.weights))

    def rank(self, block: Block, decisions: Floats) -> None:
        """Keep the scores of the rows whose labels are classes of the model, and count them when many have come."""
        index = {name: k for k, name in enumerate(self.model.classes)}
        numbers = np.array([index.get(self.model.class_of(label), -1) for label in block.names])[block.codes]
        has_class = numbers >= 0
        if has_class.any():
            weights = fill_weights(block.weights, len(block))
            self.waiting.append((decisions[has_class], numbers[has_class], weights[has_class]))
        if sum(len(part[1]) for part in self.waiting) >= self.limit:
            self.count()

    @property
    def limit(self) -> int:
        """Return how many values of a class a Ranking keeps."""
        return min(MAX_VALUES, MAX_ALL_VALUES // len(self.model.classes))

    def count(self) -> None:
        """Count the scores of the rows that wait."""
        decisions, numbers, weights = map(np.concatenate, zip(*self.waiting, strict=True))
        self.waiting = []
        find_keys: Any = key_of_number
        scores = np.hstack([-decisions, decisions])
        if self.calibrated:
            find_keys, scores = key_of, self.labelling.probabilities(decisions)
            self.evaluation.add(('probabilities',), ProbabilityScores.of(scores, numbers, weights))
        for k, values in enumerate(scores.T):
            self.evaluation.add(('ranking', k), Ranking.of(find_keys(values), numbers == k, weights, self.limit))

    def finish(self) -> Evaluation:
        """Return the counts of all rows."""
        if self.waiting:
            self.count()
        return self.evaluation


def check_labels(model: Model, n_rows: Mapping[str, float], name: str) -> None:
    """Warn of labels that are no class of a model. n_rows : label -> rows that have it. name : of the rows.

    Raises DataFormatError when no label is a class.
    """
    unknown, classes = model.find_unknown(n_rows), describe_columns(model.classes)
    if not unknown:
        return
    if len(unknown) == len(n_rows):
        raise DataFormatError(
            f'{name}: none of the labels is a class of the model ({classes}): found {describe_columns(unknown)}; write '
            'them as in the training, or name their column with --label-column'
        )
    counts = [f'{label} in {n_rows[label]:,} row(s)' for label in unknown]
    warn_unsuitable(
        f'{name}: expected labels that are classes of the model ({classes}), found others, which count as errors: '
        f'{describe_columns(counts)}'
    )


def count_pairs(model: Model, block: Block, predictions: np.ndarray) -> Confusion:
    """Count rows by label and predicted class. predictions : class numbers, (n,)."""
    weights = np.ones(len(block), int) if block.weights is None else block.weights
    counts = np.zeros((len(block.names), len(model.classes)), weights.dtype)
    np.add.at(counts, (block.codes, predictions), weights)
    pairs: Counter = Counter()
    for i, k in zip(*counts.nonzero(), strict=True):
        pairs[model.class_of(block.names[i]), model.classes[k]] += counts[i, k].item()
    return Confusion(dict(pairs))


def compare_sets(model: Model, block: Block, predictions: np.ndarray) -> LabelSets:
    """Compare the labels of rows with those that a model predicts, (n, K); labels that it does not know are missed."""
    labels, true = mark_sets(model, block)
    return LabelSets.of(
        labels, true, np.pad(predictions, ((0, 0), (0, len(labels) - predictions.shape[1]))), block.weights
    )


def compare_targets(errors: dict[str, float]) -> tuple[str, str]:
    """Return none or log, whichever errs less on held-out rows, in the unit of the targets; and a sentence."""
    best = min(errors, key=errors.__getitem__)
    said = f'{errors["none"]:.6g} without and {errors["log"]:.6g} with logarithms'
    return best, f'target: {best}, the error of held-out rows is {said}'

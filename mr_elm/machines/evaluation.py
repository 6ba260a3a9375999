"""Collect what a model says of labelled rows, in counts that merge, and make scores of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mr_elm.model.base import Model
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Confusion, Residuals, average_targets
from mr_elm.scores.probability_scores import ProbabilityScores, area_scores
from mr_elm.scores.ranking import MAX_ALL_VALUES, MAX_VALUES, Ranking
from mr_elm.typing import Floats


@dataclass
class Evaluation:
    """Hold the counts of all rows: a Confusion, LabelSets where rows have several labels, or Residuals of a regression.

    targets : number of a target -> Residuals, where rows have several.
    probabilities : sums of what the probabilities say, or None.
    rankings : class number -> Ranking by its probability, or of two classes by the decision value where there are no
        probabilities.
    """

    counts: Confusion | Residuals | LabelSets | None = None
    targets: dict[int, Residuals] = field(default_factory=dict)
    probabilities: ProbabilityScores | None = None
    rankings: dict[int, Ranking] = field(default_factory=dict)

    def scores(
        self, classes: Sequence[str], target_names: Sequence[str] = (), positive: str | None = None
    ) -> dict[str, Any]:
        """Return the scores by name, what takes several numbers last.

        classes : in class order. positive : of two classes, the one that F1, precision and recall are about.
        """
        if self.targets:
            return average_targets({name: self.targets[k] for k, name in enumerate(target_names)})
        if isinstance(self.counts, Residuals):
            return self.counts.scores()
        if isinstance(self.counts, LabelSets):
            return self.counts.scores(classes)
        counts: Any = self.counts
        scores = counts.scores(list(classes))
        tables = {name: scores.pop(name) for name in ('per_class', 'confusion')}
        if positive is not None:
            scores |= {'positive': positive, **counts.positive_scores(positive)}
        if self.probabilities is not None:
            scores |= self.probabilities.scores()
        if positive is None:
            scores |= area_scores(list(self.rankings.values()))
        elif self.rankings:  # those of both classes have the same area
            precision = self.rankings[classes.index(positive)].average_precision
            scores |= {**area_scores([self.rankings[1]]), 'average_precision': precision}
        return {**scores, **tables}


class ScoreCollector:
    """Collect the scores of the rows of a task, and count them when many have come.

    model : Model of two classes, or with probabilities.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.calibrated = model.labelling.calibration is not None
        self.ranked = range(len(model.classes))
        self.limit = min(MAX_VALUES, MAX_ALL_VALUES // len(self.ranked))
        self.waiting: list[tuple] = []
        self.scores: ProbabilityScores | None = None
        self.rankings: dict[int, Ranking] = {}

    def add(self, block: Block, decisions: Floats) -> None:
        """Add the rows of a block whose labels are classes of the model."""
        index = {name: k for k, name in enumerate(self.model.classes)}
        numbers = np.array([index.get(self.model.class_of(label), -1) for label in block.names])[block.codes]
        has_class = numbers >= 0
        weights = fill_weights(block.weights, len(block))
        if has_class.any():
            self.waiting.append((self.score(decisions[has_class]), numbers[has_class], weights[has_class]))
        if sum(len(part[1]) for part in self.waiting) >= self.limit:
            self.count()

    def score(self, decisions: Floats) -> Floats:
        """Return the probability of each class, or what ranks rows alike, (n, K)."""
        if self.calibrated:
            return self.model.labelling.probabilities(decisions)
        return np.hstack([-decisions, decisions])

    def count(self) -> None:
        """Count the rows that wait."""
        if not self.waiting:
            return
        P, numbers, weights = map(np.concatenate, zip(*self.waiting, strict=True))
        self.waiting = []
        if self.calibrated:
            scores = ProbabilityScores.of(P, numbers, weights)
            if self.scores is None:
                self.scores = scores
            else:
                self.scores = self.scores.merge(scores)
        for k in self.ranked:
            rank = Ranking.of if self.calibrated else Ranking.of_numbers
            ranking = rank(P[:, k], numbers == k, weights, self.limit)
            if k in self.rankings:
                self.rankings[k] = self.rankings[k].merge(ranking)
            else:
                self.rankings[k] = ranking

    def collect(self) -> Iterator[tuple[tuple, list[np.ndarray]]]:
        """Yield (name of the counts, arrays) of all rows."""
        self.count()
        if self.scores is not None:
            yield ('probabilities',), self.scores.to_arrays()
        for k, ranking in self.rankings.items():
            yield ('ranking', k), ranking.to_arrays()


def compare_targets(errors: dict[str, float]) -> tuple[str, str]:
    """Return none or log, whichever errs less on held-out rows, in the unit of the targets; and a sentence."""
    best = min(errors, key=errors.__getitem__)
    said = f'{errors["none"]:.6g} without and {errors["log"]:.6g} with logarithms'
    return best, f'target: {best}, the error of held-out rows is {said}'

"""Write what a model says of rows: a line of text a row, the label first, then what the user asks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, compress
from typing import Any

import numpy as np

from mr_elm.machines.press import LeaveOneOutModel
from mr_elm.model.base import Model
from mr_elm.option import option
from mr_elm.scores.intervals import find_quantile
from mr_elm.solvers.multiclass import ONE_VS_ALL
from mr_elm.typing import Floats, Rows

LABEL, SCORE, PROBABILITY = 'label', 'score', 'probability'


@dataclass(frozen=True)
class AnswerColumns:
    """Say what is written of each row behind its label.

    threshold : instead of the one of the model.
    """

    scores: bool = option(False, 'write the decision values after the label, separated by tabs')
    probabilities: bool = option(False, 'write the probability of each class')
    interval: float | None = option(
        None,
        'regression: after the prediction, write bounds that hold the label with this probability, such as 0.9',
        metavar='P',
        advanced=True,
        read=float,
    )
    leverage: bool = option(
        False,
        'pesvm, elm, auto with --keep-sums: write how much a row differs from those of the training',
        advanced=True,
    )
    threshold: float | None = option(
        None,
        'two classes: predict the positive class where its probability is above P',
        metavar='P',
        advanced=True,
        read=float,
    )

    @classmethod
    def of(cls, options: Any) -> 'AnswerColumns':
        """Read parsed options."""
        return cls(**{name: getattr(options, name) for name in cls.__dataclass_fields__})

    @property
    def reads_sums(self) -> bool:
        """Tell whether the sums of the rows of the training say something of what is written."""
        return self.leverage or self.interval is not None

    @property
    def arguments(self) -> list[str]:
        """Return the options of the stage that ask for the same."""
        words = []
        for name, value in vars(self).items():
            if value is True:
                words.append(f'--{name}')
            elif value is not None and value is not False:
                words += [f'--{name}', repr(value)]
        return words

    def demand(self, model: Model) -> None:
        """Raise ValueError when a model cannot say what is asked for."""
        if self.probabilities and model.numeric and not model.multilabel:
            raise ValueError('--probabilities: expected a model of classes, found a regression, which has --interval')
        if self.probabilities and 'calibration' not in model.arrays:
            raise ValueError('--probabilities: expected a model that was trained with --probabilities')
        demand_threshold(model, self.threshold)
        if self.interval is not None:
            if 'interval_residuals' not in model.arrays:
                raise ValueError('--interval: expected a model that was trained with --intervals')
            find_quantile(model.arrays['interval_residuals'], self.interval)
        if self.leverage and model.sums is None:
            raise ValueError(
                '--leverage: expected a model with the sums of its rows, found none (--model-sums names their file)'
            )

    def names(self, model: Model) -> list[str]:
        """Name the columns that are written."""
        scores = [SCORE]
        if model.n_scores > 1 or model.multilabel:
            size = 2 - (model.scheme == ONE_VS_ALL)  # of the groups of classes that a decision value is of
            scores = [f'{SCORE}_{"_".join(group)}' for group in combinations(model.classes, size)]
        values = [f'{LABEL}_{name}' for name in model.header.target_names] or [LABEL]
        return [
            *values,
            *(scores if self.scores and not model.numeric else []),
            *(f'{PROBABILITY}_{name}' for name in model.classes if self.probabilities),
            *(['lower', 'upper'] if self.interval is not None else []),
            *(['leverage'] if self.leverage else []),
        ]


class Writer:
    """Write what a model says of rows, line by line. model : Model. columns : AnswerColumns."""

    def __init__(self, model: Model, columns: AnswerColumns) -> None:
        self.model, self.columns, self.press = model, columns, LeaveOneOutModel(model)
        self.labelling = model.label_by(columns.threshold)

    def write(self, X: Rows) -> list[str]:
        """Return a line of text for each row."""
        decisions = self.model.decision_function(X)
        if self.model.numeric:
            lines = ['\t'.join(map(repr, values)) for values in self.model.to_targets(decisions).tolist()]
        elif self.model.multilabel:
            separator = self.model.header.separator or ''
            lines = [separator.join(compress(self.model.classes, present)) for present in self.model.decide(decisions)]
        else:
            lines = [self.model.classes[k] for k in self.labelling.choose(decisions)]
        numbers = list(self.numbers(X, decisions))
        if numbers:
            rows = np.hstack(numbers).tolist()
            return ['\t'.join([line, *map(repr, row)]) for line, row in zip(lines, rows, strict=True)]
        return lines

    def numbers(self, X: Rows, decisions: Floats) -> Iterator[Floats]:
        """Yield what follows the label, (n, k) each."""
        columns = self.columns
        if columns.scores and not self.model.numeric:
            yield decisions
        if columns.probabilities:
            yield self.labelling.probabilities(decisions)
        if columns.interval is not None:
            yield self.model.to_targets(self.press.interval(X, decisions[:, 0], columns.interval))
        if columns.leverage:
            yield self.press.leverages(X)[:, None]


def demand_threshold(model: Model, threshold: float | None) -> None:
    """Raise ValueError where a model has no probabilities of two classes, or the threshold is none of these."""
    if threshold is None:
        return
    if 'calibration' not in model.arrays or len(model.classes) != 2:
        raise ValueError('--threshold: expected a model of two classes that was trained with --probabilities')
    if not 0 <= threshold <= 1:
        raise ValueError(f'--threshold: expected a probability, from 0 to 1, found {threshold:g}')


ONLY_LABELS = AnswerColumns()

"""Compare the predictions of a model with the labels of a data set."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.machines.evaluation import ScoreCollector
from mr_elm.machines.press import LeaveOneOutModel, mark_sets
from mr_elm.model.base import Model
from mr_elm.model.file import add_sums, read_model
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Confusion, Residuals
from mr_elm.scores.probability_scores import ProbabilityScores
from mr_elm.scores.ranking import Ranking
from mr_elm.streaming.stage import MRRows, Pair, RowKey, demand_width


def merge(read: Callable[[Any], Any], write: Callable[[Any], Any], values: Iterable[Any]) -> Any:
    """Merge sums over tasks. read, write : between the sums and what a value holds of them."""
    return write(reduce(lambda one, other: one.merge(other), map(read, values)))


def pairs_to_json(confusion: Confusion) -> dict[str, list]:
    """Write a Confusion as a dictionary of lists."""
    return {'counts': [[true, predicted, n] for (true, predicted), n in sorted(confusion.table.items())]}


def pairs_from_json(value: Any) -> Confusion:
    """Undo `pairs_to_json`."""
    return Confusion({(true, predicted): n for true, predicted, n in value['counts']})


class MREvaluate(MRRows):
    """Compare the predictions of a model with the labels of the rows.

    Input:  <split, rows>, text or packed, with labels
    Output: <confusion, JSON>
                counts: a list of [label, predicted class, number of rows], or their
                weight where rows have weights
            when the model has probabilities also:
            <probabilities, [sums, ranks, bins]>
                of rows of known classes: sums holds their weight, and sums of
                the log loss and of the squared errors; ranks (K,) the weight of
                the rows whose true class has so many more probable ones; bins
                (3, 15), by the probability of the predicted class: the weight
                of the rows, the sum of these probabilities, the weight of the
                rows that are labelled right
            and, when it has probabilities or two classes:
            <ranking CLASS, [high, low, positive, negative, facts]>
                weights of rows of this class and of others for each probability of
                it, or else for each decision value; high and low are halves of its
                key; facts: how many bits of the keys were dropped, and how many
                keys there may be
            or, when the model is one of regression:
            <residuals, JSON>
                n rows, or their weight, the sums of squared and of absolute
                errors, the mean of the labels, and spread, the sum of their
                squared distances from it; of several targets <residuals TARGET,
                JSON>, numbered from 0
            or, where rows have several labels:
            <sets, JSON>
                n rows, or their weight; right: the weight of those whose set is
                predicted without an error; counts: label -> [weight of the rows
                that have it and are said to have it, that are said to have it and
                have not, that have it and are not said to]

    Map:    predict each block, count, write when the task ends.
    Reduce: add the counts; merge the sums.
    """

    REQUIRED = ('model',)
    MERGE = {
        'confusion': partial(merge, pairs_from_json, pairs_to_json),
        'residuals': partial(merge, lambda value: Residuals(**value), asdict),
        'sets': partial(merge, lambda value: LabelSets(**value), asdict),
        'probabilities': partial(merge, ProbabilityScores.from_arrays, ProbabilityScores.to_arrays),
        'ranking': partial(merge, Ranking.from_arrays, Ranking.to_arrays),
    }

    def configure_args(self) -> None:
        """Add the model."""
        super().configure_args()
        self.add_file_arg('--model', help='npz: the trained model')
        self.add_file_arg('--model-sums', help='npz: the sums of the model, for --leave-one-out')
        self.add_passthru_arg(
            '--leave-one-out',
            action='store_true',
            default=False,
            help='the rows are those of the training; predict each by the model of all others',
        )
        self.add_passthru_arg(
            '--threshold', type=float, metavar='P', help='two classes: predict a class where its probability is above P'
        )
        self.add_passthru_arg(
            '--positive',
            type=int,
            metavar='CLASS',
            help='number of the class of --threshold, 0 or 1 (default: that of the model)',
        )

    def map_begin(self) -> None:
        """Load the model."""
        self.model = read_model(self.options.model)
        if self.options.model_sums:
            self.model = add_sums(self.model, self.options.model, sums_path=self.options.model_sums)
        self.pairs: Counter = Counter()
        self.residuals: dict[tuple, Residuals] = {}
        self.sets: LabelSets | None = None
        self.labelling = self.model.label_by(self.options.threshold, self.options.positive)
        ranked = self.labelling.calibration is not None or self.model.header.positive is not None
        self.collector = ScoreCollector(self.model) if ranked else None
        self.press = LeaveOneOutModel.of(self.model) if self.options.leave_one_out else None  # type: ignore[arg-type]

    def map_block(self, block: Block, row_key: RowKey) -> None:
        """Score a block."""
        demand_width(block.X, self.model.n_features)
        if not block.labelled:
            raise DataFormatError('expected labels, the rows have none')
        if self.press is None:
            decisions = self.model.decision_function(block.X)
        else:
            decisions = self.press.score(block, block.weights).decisions
        if self.model.numeric:
            self.add_errors(block, self.model.decide(decisions))
        elif self.model.multilabel:
            new = compare_sets(self.model, block, self.model.decide(decisions))
            if self.sets is None:
                self.sets = new
            else:
                self.sets = self.sets.merge(new)
        else:
            self.count_pairs(block, self.labelling.choose(decisions))
            if self.collector is not None:
                self.collector.add(block, decisions)

    def add_errors(self, block: Block, predictions: np.ndarray) -> None:
        """Add the errors of a regression, of each target."""
        if block.targets.shape != predictions.shape:
            raise DataFormatError(f'expected rows of {predictions[:1].size} target(s), found {block.targets[:1].size}')
        names = [()] if predictions.ndim == 1 else [(k,) for k in range(predictions.shape[1])]
        columns = (
            values.reshape(len(predictions), -1).T for values in (self.model.to_targets(block.targets), predictions)
        )
        for name, true, predicted in zip(names, *columns, strict=True):
            new = Residuals.of(true, predicted, block.weights)
            if name in self.residuals:
                self.residuals[name] = self.residuals[name].merge(new)
            else:
                self.residuals[name] = new

    def count_pairs(self, block: Block, predictions: np.ndarray) -> None:
        """Count rows by label and predicted class."""
        if block.weights is None:
            weights = np.ones(len(block), int)
        else:
            weights = block.weights
        counts = np.zeros((len(block.names), len(self.model.classes)), weights.dtype)
        np.add.at(counts, (block.codes, predictions), weights)
        for i, k in zip(*counts.nonzero(), strict=True):
            self.pairs[self.model.class_of(block.names[i]), self.model.classes[k]] += counts[i, k].item()

    def map_end(self) -> Iterator[Pair]:
        """Emit the counts, nothing when there was no row."""
        if self.pairs:
            yield make_key('confusion'), pairs_to_json(Confusion(dict(self.pairs)))
        for name, residuals in self.residuals.items():
            yield make_key('residuals', *name), asdict(residuals)
        if self.sets is not None:
            yield make_key('sets'), asdict(self.sets)
        if self.collector is not None:
            for name, arrays in self.collector.collect():
                yield make_key(*name), arrays


def compare_sets(model: Model, block: Block, predictions: np.ndarray) -> LabelSets:
    """Compare the labels of rows with those that a model predicts, (n, K); labels that it does not know are missed."""
    labels, true = mark_sets(model, block)
    return LabelSets.of(
        labels, true, np.pad(predictions, ((0, 0), (0, len(labels) - predictions.shape[1]))), block.weights
    )


if __name__ == '__main__':
    MREvaluate.run()

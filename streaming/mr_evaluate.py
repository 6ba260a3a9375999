"""Compare the predictions of a model with the labels of a data set."""

from collections.abc import Iterator
from functools import partial

from mr_elm.machines.evaluation import COUNTS, Evaluator, merge_counts
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.streaming.mr_predict import ModelStage
from mr_elm.streaming.stage import Pair, RowKey, demand_width


class MREvaluate(ModelStage):
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
            <coverage, JSON>
                when the model has intervals: the same, where the labels are 1 for
                rows whose interval of 90 % holds their label, and 0 for others
            or, where rows have several labels:
            <sets, JSON>
                n rows, or their weight; right: the weight of those whose set is
                predicted without an error; counts: label -> [weight of the rows
                that have it and are said to have it, that are said to have it and
                have not, that have it and are not said to]

    Map:    predict each block, count, write when the task ends.
    Reduce: add the counts; merge the sums.
    """

    MERGE = {kind: partial(merge_counts, kind) for kind in COUNTS}

    def configure_args(self) -> None:
        """Add how to predict."""
        super().configure_args()
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
        super().map_begin()
        options = self.options
        self.evaluator = Evaluator(self.model, options.leave_one_out, options.threshold, options.positive)

    def map_block(self, block: Block, row_key: RowKey) -> None:
        """Score a block."""
        demand_width(block.X, self.model.n_features)
        self.evaluator.add(block)

    def map_end(self) -> Iterator[Pair]:
        """Emit the counts, nothing when there was no row."""
        for key, counts in self.evaluator.finish().counts.items():
            yield make_key(*key), COUNTS[key[0]][1](counts)


if __name__ == '__main__':
    MREvaluate.run()

"""Score a sample of the rows of a training by machines that have not seen them."""

from collections.abc import Iterator

from mr_elm.machines.calibrating import ScoreSample
from mr_elm.machines.fold_machines import load_scorer
from mr_elm.rows.blocks import Block, take_rows
from mr_elm.rows.wire import make_key
from mr_elm.store import read_json
from mr_elm.streaming.mr_predict import ModelStage
from mr_elm.streaming.stage import Pair, RowKey, demand_width
from mr_elm.sums.statistics import row_weights


class MRScores(ModelStage):
    """Score a sample of the rows of a training by models that have not seen them.

    Probabilities are fitted to these decision values. With the sums of a model each
    row is scored by the model of all other rows; else by that of the other folds,
    where the sample may be of one fold only.
    There are no reducers.

    Input:  <split, rows>, text or packed, with labels: the rows of the training
    Output: <scores FILE START FIRST, [numbers, weights, decisions, leverages]>
                n rows of the sample, the first of them row FIRST of the split:
                numbers (n,) holds class numbers, or targets; weights (n,) their
                weights, times those of their classes; decisions (n, P) their
                decision values; leverages (n,) w_i e_i'(I/nu + E'WE)^-1 e_i, or 0

    Map:    choose rows by a keyed hash, score them.

    Source: Allen, The relationship between variable selection and data augmentation
    and a method for prediction, 1974.
    """

    REQUIRED = 'model', 'sample'
    INPUT_FILES = {'--sample': 'JSON: share of the rows, seed of the hash, weights of the classes, folds'}
    MAP_ONLY = True

    def map_begin(self) -> None:
        """Load the model."""
        self.sample = ScoreSample(**read_json(self.options.sample))
        self.scorer, self.model = load_scorer(self.options.model, self.options.model_sums)

    def map_block(self, block: Block, row_key: RowKey) -> Iterator[Pair]:
        """Score the rows of a block that are in the sample."""
        demand_width(block.X, self.model.n_features)
        chosen = self.sample.choose(block)
        if not len(chosen):
            return
        part = take_rows(block, chosen)
        for piece, rows in self.scorer.score(part, row_weights(part, self.sample.class_weights)).cut():
            yield make_key('scores', *row_key[:2], row_key[2] + int(chosen[rows.start])), piece


if __name__ == '__main__':
    MRScores.run()

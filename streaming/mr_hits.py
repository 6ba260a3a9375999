"""Count the rows of each fold that candidates trained without it label right: their weights are one product."""

from collections.abc import Iterable, Iterator

import numpy as np

from mr_elm.rows.blocks import Block, take_rows, take_weights, widen
from mr_elm.rows.wire import make_key
from mr_elm.solvers.multiclass import ONE_VS_ALL, class_numbers, machine_count
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.typing import Floats, RowWeights


def add_up(values: Iterable[list]) -> list:
    """Add the counts of tasks up."""
    return np.sum(list(values), axis=0).tolist()


class MRHits(MRFolds):
    """Count the held-out rows that each candidate labels right.

    A candidate is a weight nu and a number of nodes on a layer. Each fold is
    labelled by output weights that were solved for without it.

    Input:  <split, rows>, text or packed
    Output: <hits LAYER, arrays>
                the weight of the held-out rows of each class, then for each
                candidate that of those that it labels right

    Map:    label the held-out rows of the sample, count, write when the task ends.
    Reduce: add the counts of a key.
    """

    MERGE = {'hits': add_up}

    def prepare(self) -> None:
        """Begin with nothing counted."""
        self.hits: dict[int, np.ndarray] = {}

    def add(self, block: Block, edges: np.ndarray) -> None:
        """Score the held-out rows of a block."""
        block = take_rows(block, slice(0, edges[self.task.folds.n_tested]))  # others are never held out
        truth = self.task.folds.class_numbers(block)
        for number, layer in enumerate(self.task.layers):
            E = self.expansion.expand(layer, widen(block.X, layer.n_features))
            for fold in range(self.task.folds.n_tested):
                rows = slice(edges[fold], edges[fold + 1])
                weights = take_weights(block.weights, rows)
                self.count(number, E[rows] @ self.task.scores[number, fold], truth[rows], weights)

    def count(self, number: int, scores: Floats, truth: np.ndarray, weights: RowWeights) -> None:
        """Count what the candidates on a layer, whose scores (n, K' P) stand side by side, label right."""
        n_classes = self.task.folds.n_classes
        width = machine_count(n_classes, ONE_VS_ALL)
        counts = [np.bincount(truth, weights, n_classes)]
        for start in range(0, scores.shape[1], width):
            right = class_numbers(scores[:, start : start + width], n_classes, ONE_VS_ALL) == truth
            counts.append(np.bincount(truth[right], take_weights(weights, right), n_classes))
        self.hits[number] = self.hits.get(number, 0) + np.array(counts)

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit the counts."""
        self.add_waiting()
        for number, counts in self.hits.items():
            yield make_key('hits', number), counts.tolist()


if __name__ == '__main__':
    MRHits.run()

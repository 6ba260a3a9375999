"""Sum up E'E and the class sums of every fold and every candidate layer in one pass: the key gains fold and map."""

from collections.abc import Iterator

import numpy as np

from mr_elm.machines.grid_task import load_task
from mr_elm.rows.blocks import BLOCK_ROWS, Block, concatenate, take_rows, widen
from mr_elm.streaming.mr_gram import Expansion, write_sums
from mr_elm.streaming.stage import MRRows, demand_width
from mr_elm.sums.gram import GramSum, merge_pairs
from mr_elm.sums.statistics import row_weights
from mr_elm.typing import Floats


class MRFolds(MRRows):
    """Sum up E'E and the class sums of each layer and each fold in one pass.

    As mr_gram, with two more coordinates: LAYER is the number of a candidate layer
    of hidden nodes, FOLD that of a fold. A keyed hash of the row chooses its fold.
    Folds that are never held out count as one, which has the last number.

    Input:  <split, rows>, text or packed
    Output: <gram LAYER FOLD I J, [high, low]>    a tile of E'E, see mr_gram
            <sum LAYER FOLD LABEL, [high, low]>   a class sum; with --task
                                                  regression LABEL is targets or
                                                  squares, see mr_gram

    Map:    add the rows of the sample, fold by fold, to the sums of the task,
            write them at its end.
    Reduce: add the pairs of a key.

    Source: He et al., A parallel incremental extreme SVM classifier, 2011, section
    4; the folds are ours.
    """

    REQUIRED = ('problem',)
    INPUT_FILES = {'--problem': 'npz: layers, folds and grids'}
    MERGE = {'gram': merge_pairs, 'sum': merge_pairs}

    @property
    def thread_bytes(self) -> int:  # type: ignore[override]
        """Return the bytes of the sums of a task where some nodes are leaves, whose products threads share."""
        layers = load_task(self.options.problem).layers
        if not any(layer.n_leaves for layer in layers):
            return 0
        return sum(8 * (layer.n_hidden + 1) ** 2 for layer in layers)

    def map_begin(self) -> None:
        """Load the problem and make room for the sums of every layer and fold."""
        self.task = load_task(self.options.problem)
        self.expansion = Expansion()
        self.waiting: list[Block] = []
        self.prepare()

    def prepare(self) -> None:
        """Begin with empty sums."""
        workspace: dict[str, Floats] = {}
        self.sums = [
            [
                GramSum(layer.n_hidden + 1, steps, self.plan.form.numeric_labels, workspace, n_leaves=layer.n_leaves)
                for _ in range(self.task.folds.n_parts)
            ]
            for layer, steps in zip(self.task.layers, self.task.grids, strict=True)
        ]

    def map_block(self, block: Block, row_key: list[int]) -> None:
        """Take the rows of the sample, and add them; a small sample waits until there are enough for a product."""
        demand_width(block.X, self.task.layers[0].n_features)
        self.waiting.append(self.task.folds.sample(block))
        if self.task.folds.share == 1 or sum(map(len, self.waiting)) >= BLOCK_ROWS:
            self.add_waiting()

    def add_waiting(self) -> None:
        """Add the rows that wait, ordered by their fold."""
        waiting, self.waiting = concatenate(self.waiting), []
        if waiting is not None and len(waiting):
            self.add(*self.task.folds.split(waiting))

    def add(self, block: Block, edges: np.ndarray) -> None:
        """Add each fold's rows of a block to its sums, layer by layer."""
        for number, layer in enumerate(self.task.layers):
            sums = self.sums[number]
            X = widen(block.X, layer.n_features)
            ET = self.expansion.expand(layer.nodes, X, sums[0].n_targets(block))
            leaves = layer.find_leaves(X)
            for fold in range(self.task.folds.n_parts):
                rows = slice(edges[fold], edges[fold + 1])
                part = take_rows(block, rows)
                weights = row_weights(part, self.task.folds.class_weights)
                of_rows = None
                if leaves is not None:
                    of_rows = leaves[rows]
                sums[fold].add(ET[rows], part, weights, of_rows)

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit the sums tile by tile."""
        self.add_waiting()
        for layer, folds in enumerate(self.sums):
            for fold, total in enumerate(folds):
                if total.n_rows:
                    yield from write_sums(total, layer, fold)


if __name__ == '__main__':
    MRFolds.run()

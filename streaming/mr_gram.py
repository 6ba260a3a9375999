"""Sum up E'E and the class sums of a data set: the map, shuffle and reduce stages of PESVM."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import LandmarkFinder
from mr_elm.model.file import load_layer
from mr_elm.rows.blocks import Block, take_rows, widen
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import read_json
from mr_elm.streaming.mr_stats import PIECE, merged
from mr_elm.streaming.stage import MRRows, Pair, demand_width
from mr_elm.sums.gram import GramSum, GridSteps, expand, merge_pairs
from mr_elm.sums.statistics import ColumnStatistics, row_weights
from mr_elm.typing import Floats, Rows


class Expansion:
    """Expand rows in a buffer that is kept, and grows as it must."""

    buffer = np.empty(0)

    def expand(self, layer: HiddenLayer, X: Rows, n_targets: int = 0) -> Floats:
        """Return [E T], see `expand`, until the next call."""
        size = X.shape[0] * (layer.n_hidden + 1 + n_targets)
        if size > len(self.buffer):
            self.buffer = np.empty(size)
        return expand(layer, X, n_targets, self.buffer)


def write_sums(gram: GramSum, *place: Any) -> Iterator[Pair]:
    """Yield the sums of a task, tile by tile. place : coordinates that stand first in each key."""
    for (i, j), pair in gram.tiles():
        yield make_key('gram', *place, i, j), pair
    for name, sums in sorted(gram.sums.items()):
        yield make_key('sum', *place, name), list(sums)


class LayerStage(MRRows):
    """Add up exact sums of the node outputs of rows, on the grids that --grid holds."""

    REQUIRED: tuple[str, ...] = 'layer', 'grid'
    INPUT_FILES = {
        '--layer': 'npz: the hidden layer',
        '--grid': 'JSON: the three grids of the exact sums, and the origin of the targets of a regression',
        # a file, because there may be many classes, and EMR takes no argument of over 10,280 characters
        '--class-weights': 'JSON: label -> weight, or null (default: each label has weight 1)',
    }
    MERGE = {'gram': merge_pairs, 'product': merge_pairs, 'sum': merge_pairs}

    def map_begin(self) -> None:
        """Load them."""
        self.layer = load_layer(self.options.layer)
        self.grid_steps = GridSteps.from_json(read_json(self.options.grid))
        self.class_weights = None
        if self.options.class_weights is not None:
            self.class_weights = read_json(self.options.class_weights)


class MRGram(LayerStage):
    """Sum up E'E and the class sums of the rows: map and reduce of PESVM.

    E = [Phi(X), -e] has a row for each row of X and m = L + 1 columns: the outputs
    of the L hidden nodes, leaves of trees first where the layer has some, and -1.
    T holds the targets of a regression, less their origin where --grid gives one.
    The weight of a row, times that of its class, multiplies its share of every sum.

    Input:  <split, rows>, text or packed
    Output: <gram I J, [high, low]>
                tile (I, J), I <= J, of the upper triangle of E'E: rows 256 I to
                256 I + 255, columns 256 J to 256 J + 255, flattened row by row; of
                a tile on the diagonal only its upper triangle; E'E = high + low
            <sum LABEL, [high, low]>
                the weighted sum of the rows of E with this label, and as last
                number how many rows that are, shape (m + 1,)
            with --task regression instead of the sums of the labels:
            <sum targets, [high, low]>    E'T, shape (m,); of K targets T'E, (K, m)
            <sum squares, [high, low]>    the squares of T, shape (K,)
            with --find-landmarks:
            <stored, JSON>
                {"rows": how many rows of a task are landmarks of the layer}, from
                each task that has some

            with --by-part the keys are <gram PART I J> and <sum PART LABEL>, where
            PART is the path of a file, or the values of the columns that the plan
            names, with commas between. Each task adds
            <part PART, [rows, n, mean, squares]>
                number of rows; and where there are no more than 65,536 features
                weight of the rows, mean of each feature and sum of the squares of
                its distances from it

    Map:     add E'E of each block to the sums of the task, write them at its end.
    Reduce:  add the pairs of a key.

    All sums are exact on a grid (--grid): their order does not change a bit.
    Source: He et al., A parallel incremental extreme SVM classifier, 2011, section
    4; labels instead of -1 and +1, tiles and exact sums are ours.
    """

    def configure_args(self) -> None:
        """Add how to divide the rows."""
        super().configure_args()
        self.add_passthru_arg(
            '--find-landmarks',
            action='store_true',
            default=False,
            help='count the rows that the layer keeps as landmarks',
        )
        self.add_passthru_arg(
            '--by-part',
            action='store_true',
            default=False,
            help='sum up the rows of each part alone: of each file, or of each value of the columns of parts',
        )
        self.add_passthru_arg(
            '--max-parts', type=int, default=1, metavar='N', help='of how many parts the sums fit into the memory'
        )

    @property
    def task_bytes(self) -> int:  # type: ignore[override]
        """Return the bytes of the sums of a task: E'E of each part as two numbers, and the product of a block.

        How many parts columns name is not known before the rows are read: there may be as many as are allowed.
        """
        m, n_parts = load_layer(self.options.layer).n_hidden + 1, 1
        if self.options.by_part:
            plan = InputPlan.from_json(read_json(self.options.plan))
            n_parts = len(plan.files)
            if plan.form.part_by:
                n_parts = self.options.max_parts
        return (2 * n_parts + 1) * 8 * m * m

    def map_begin(self) -> None:
        """Load the layer, and begin without sums."""
        super().map_begin()
        self.grams: dict[str, GramSum] = {}  # name of a part, '' for all rows -> sums
        self.columns: dict[str, ColumnStatistics] = {}
        self.workspace: dict = {}
        self.expansion = Expansion()
        self.finder = LandmarkFinder(self.layer) if self.options.find_landmarks else None
        self.n_stored = 0

    def map_block(self, block: Block, row_key: list[int]) -> None:
        """Add a block to the sums, or its rows to those of their parts."""
        demand_width(block.X, self.layer.n_features)
        block = replace(block, X=widen(block.X, self.layer.n_features))
        if self.finder is not None:
            self.n_stored += int(self.finder.find(block.X).sum())
        file = self.plan.files[row_key[0]]
        if not self.options.by_part:
            self.add_rows('', block)
        elif not file.format.part_by:
            self.add_rows(file.path, block)
        else:
            for part in np.unique(block.parts).tolist():
                self.add_rows(part, take_rows(block, block.parts == part))

    def add_rows(self, part: str, block: Block) -> None:
        """Add a block to the sums of a part."""
        if part not in self.grams:
            if self.options.by_part:
                demand_parts(len(self.grams) + 1, self.options.max_parts)
            form, n_leaves = self.plan.form, self.layer.n_leaves
            self.grams[part] = GramSum(
                self.layer.n_hidden + 1,
                self.grid_steps,
                form.numeric_labels,
                self.workspace,
                separator=form.labels_separator,
                n_leaves=n_leaves,
            )
        if self.options.by_part and self.layer.n_features <= PIECE:
            self.columns[part] = merged(self.columns.get(part), block.X, block.weights)
        gram, weights = self.grams[part], row_weights(block, self.class_weights)
        ET = self.expansion.expand(self.layer.nodes, block.X, gram.n_targets(block))
        gram.add(ET, block, weights, self.layer.find_leaves(block.X))

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit the sums tile by tile, and how many rows are landmarks."""
        for part, gram in self.grams.items():
            place = [part]
            if not self.options.by_part:
                place = []
            yield from write_sums(gram, *place)
            if self.options.by_part:
                yield make_key('part', part), [np.array(gram.n_rows), *write_means(self.columns.get(part))]
        if self.n_stored:
            yield make_key('stored'), {'rows': self.n_stored}


def demand_parts(n_parts: int, most: int) -> None:
    """Raise DataFormatError where the sums of parts do not fit into the memory."""
    if n_parts > most:
        raise DataFormatError(
            f'--part-by: expected at most {most:,} parts, whose sums fit into --memory, found more: take columns with '
            'fewer values, fewer files or nodes, or raise --memory'
        )


def write_means(columns: ColumnStatistics | None) -> list[Any]:
    """Return the statistics of a part without its ranges, whose bounds are values of single rows."""
    if columns is None:
        return []
    return [np.array(columns.n), columns.mean, columns.squares]


def group_sums(
    pairs: Iterable[tuple[str, Any]], n: int = 0, read: Callable[[str], Any] = int
) -> dict[tuple, tuple[dict, dict]]:
    """Read output pairs: the first n coordinates, as `read` reads them -> ((I, J) -> tile, LABEL -> sum)."""
    groups: dict[tuple, tuple[dict, dict]] = {}
    for key, value in pairs:
        kind, coordinates = split_key(key)
        tiles, sums = groups.setdefault(tuple(map(read, coordinates[:n])), ({}, {}))
        if kind == 'gram':
            tiles[int(coordinates[n]), int(coordinates[n + 1])] = value
        else:
            sums[coordinates[n]] = value
    return groups


if __name__ == '__main__':
    MRGram.run()

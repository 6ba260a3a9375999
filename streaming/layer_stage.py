"""Load the hidden layer and what decides the sums of a PESVM: the base of the stages that take --layer."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.file import load_layer
from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows, Pair, read_json
from mr_elm.sums.gram import GramSum, GridSteps, expand, merge_pairs
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
    MERGE = {'gram': merge_pairs, 'product': merge_pairs, 'sum': merge_pairs}

    def configure_args(self) -> None:
        """Add the hidden layer and what decides the sums."""
        super().configure_args()
        self.add_file_arg('--layer', help='npz: the hidden layer')
        self.add_file_arg(
            '--grid', help='JSON: the three grids of the exact sums, and the origin of the targets of a regression'
        )
        # a file, because there may be many classes, and EMR takes no argument of over 10,280 characters
        self.add_file_arg('--class-weights', help='JSON: label -> weight, or null (default: each label has weight 1)')

    def map_begin(self) -> None:
        """Load them."""
        self.layer = load_layer(self.options.layer)
        self.grid_steps = GridSteps.from_json(read_json(self.options.grid))
        self.class_weights = None
        if self.options.class_weights is not None:
            self.class_weights = read_json(self.options.class_weights)

"""Cut rows into folds, and describe a search over hidden nodes to its tasks: the layers, and what scores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike

import numpy as np

from mr_elm.errors import record
from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.parts import (
    find_forest,
    join_arrays,
    scaling_arrays,
    spread_scaling,
    take_arrays,
    tree_arrays,
    vector_arrays,
    vectors_of,
)
from mr_elm.rows.blocks import Block, take_rows
from mr_elm.scores.selection import FOLD, SAMPLE, fold_numbers, select_sample
from mr_elm.store import load_arrays, save_arrays
from mr_elm.sums.gram import GridSteps


@dataclass(frozen=True)
class Folds:
    """Say which rows are looked at, which fold each is in, and what its label is.

    n_folds : how many; n_tested : those to be held out, the first ones. share : of the rows. seed : of both choices.
    class_weights : label -> weight, or None. index : label -> class number, or None.
    """

    n_folds: int
    n_tested: int
    share: float
    seed: int
    class_weights: Mapping[str, float] | None
    index: Mapping[str, int] | None

    @property
    def n_parts(self) -> int:
        """Count the parts of the rows: the folds to be held out, and all others as one."""
        return min(self.n_tested + 1, self.n_folds)

    @property
    def n_classes(self) -> int:
        """Return the number of classes, 0 for a regression."""
        return len(set((self.index or {}).values()))

    @property
    def share_trained(self) -> float:
        """Return about which share of all rows is not held out."""
        return self.share * (1 - self.n_tested / self.n_folds)

    def class_numbers(self, block: Block) -> np.ndarray:
        """Return the class number of each row, (n,), or its target."""
        if self.index is None:
            return block.targets
        return block.look_up(self.index)

    def sample(self, block: Block) -> Block:
        """Return the rows of a block that are in the sample."""
        if self.share == 1:
            return block
        return take_rows(block, select_sample(block.X, self.share, self.seed + SAMPLE))

    def split(self, block: Block) -> tuple[Block, np.ndarray]:
        """Return the rows of a block ordered by their part, and where each part begins."""
        part = np.minimum(fold_numbers(block.X, self.n_folds, self.seed + FOLD), self.n_tested)
        order = np.argsort(part, kind='stable')
        return take_rows(block, order), np.searchsorted(part[order], np.arange(self.n_parts + 1))


@record
class GridTask:
    """Know the candidate layers, of one scaling, and the folds.

    grids : GridSteps of each layer's sums, where rows are summed up.
    scores : (layer, fold) -> (m, K' P), where candidates are scored: the output weights of P candidates on a layer
        that have not seen a fold, side by side.
    """

    folds: Folds
    layers: Sequence[HiddenLayer]
    grids: Sequence[GridSteps] = ()
    scores: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def save(self, path: str | PathLike) -> None:
        """Write the file."""
        arrays = join_arrays(
            [
                {
                    **scaling_arrays(layer.offset, layer.scale, layer.metric),
                    **vector_arrays(layer.weights, 'weights'),
                    'biases': layer.biases,
                    **tree_arrays(layer),
                }
                for layer in self.layers
            ]
        )
        arrays |= {f'scores-{layer}-{fold}': weights for (layer, fold), weights in self.scores.items()}
        save_arrays(
            path,
            {
                'folds': asdict(self.folds),
                'layers': [layer.kind for layer in self.layers],
                'grids': [steps.to_json() for steps in self.grids],
                'scores': list(self.scores),
                'n_features': self.layers[0].n_features,
            },
            arrays,
        )


def load_task(path: str | PathLike) -> GridTask:
    """Read what `GridTask.save` wrote."""
    header, arrays = load_arrays(path)
    layers = [
        read_layer(kind, take_arrays(arrays, number), header['n_features'])
        for number, kind in enumerate(header['layers'])
    ]
    return GridTask(
        Folds(**header['folds']),
        layers,
        list(map(GridSteps.from_json, header['grids'])),
        {(layer, fold): arrays[f'scores-{layer}-{fold}'] for layer, fold in header['scores']},
    )


def read_layer(kind: str, arrays: dict[str, np.ndarray], n_features: int) -> HiddenLayer:
    """Return a layer of the arrays that `GridTask.save` wrote of it."""
    offset, scale = spread_scaling(arrays, n_features)
    metric = arrays.get('feature_metric')
    weights = vectors_of(arrays, n_features if metric is None else len(metric), 'weights')
    return HiddenLayer(kind, weights, arrays['biases'], offset, scale, metric, find_forest(arrays))

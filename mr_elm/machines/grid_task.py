"""Describe a search over hidden nodes to its tasks: one file with the layers, the folds and what scores them."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.io.blocks import Block, take_rows
from mr_elm.io.store import load_arrays, save_arrays
from mr_elm.scores.selection import NodeScore, finalists, fold_numbers, select_sample
from mr_elm.solvers.ridge.fold_grid import FoldGrid
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats

Kind = tuple[str, float]  # map and weight scale
SAMPLE, FOLD = 1, 3  # what a row's hash decides, each with a key of its own


@dataclass(frozen=True)
class Search:
    """Keep what to search; see `mr-elm tune pesvm --help`.

    kinds : list of (map, weight scale). nus, sizes : lists of nu and of L.
    n_folds : of the cross-validation; tested : how many of them to hold out, one after another; None for all.
    sample : about how many rows to look at, or None for all. n_counted : candidates whose accuracy to count.
    memory : MB that the sums of a task may take.
    """

    kinds: tuple[Kind, ...]
    nus: tuple[float, ...]
    sizes: tuple[int, ...]
    n_folds: int = 5
    tested: int | None = None
    sample: int | None = None
    n_counted: int = 10
    memory: float = 2000.0

    @property
    def n_tested(self) -> int:
        """Return how many folds are held out."""
        return self.n_folds if self.tested is None else self.tested

    def demand_memory(self, name: str, layers: Collection[HiddenLayer]) -> None:
        """Raise DataFormatError when the sums of a task over the data set `name` would not fit into memory."""
        parts = min(self.n_tested + 1, self.n_folds)
        wanted = sum(16 * parts * (layer.n_hidden + 1)**2 for layer in layers) / 1e6
        if wanted > self.memory:
            raise DataFormatError(f'{name}: the sums of {len(layers)} kinds of nodes in {parts} folds take '
                                  f'{wanted:,.0f} MB a task, expected at most {self.memory:,.0f} MB: search fewer '
                                  'kinds or nodes, or raise --memory')


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

    def sample(self, block: Block) -> Block:
        """Return the rows of a block that are in the sample."""
        return block if self.share == 1 else take_rows(block, select_sample(block.X, self.share, self.seed + SAMPLE))

    def split(self, block: Block) -> tuple[Block, np.ndarray]:
        """Return the rows of a block ordered by their part, and where each part begins."""
        part = np.minimum(fold_numbers(block.X, self.n_folds, self.seed + FOLD), self.n_tested)
        order = np.argsort(part, kind='stable')
        return take_rows(block, order), np.searchsorted(part[order], np.arange(self.n_parts + 1))


@dataclass(frozen=True)
class GridTask:
    """Know the candidate layers, of one scaling but perhaps several metrics, and the folds.

    grids : GridSteps of each layer's sums, where rows are summed up. slopes : whether to sum up the second Gram of each
        layer too, that of the slopes of its nodes at the rows that are never held out.
    scores : (layer, fold) -> (m, K' P), where candidates are scored: the output weights of P candidates on a layer
        that have not seen a fold, side by side.
    """

    folds: Folds
    layers: Sequence[HiddenLayer]
    grids: Sequence[GridSteps] = ()
    scores: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict)
    slopes: bool = False

    def save(self, path: str | PathLike) -> None:
        """Write the file."""
        arrays = {'feature_offset': self.layers[0].offset, 'feature_scale': self.layers[0].scale}
        for number, layer in enumerate(self.layers):
            arrays |= {f'weights-{number}': layer.weights, f'biases-{number}': layer.biases}
            arrays |= {} if layer.metric is None else {f'metric-{number}': layer.metric}
        arrays |= {f'scores-{layer}-{fold}': weights for (layer, fold), weights in self.scores.items()}
        save_arrays(path, {'folds': asdict(self.folds), 'layers': [layer.kind for layer in self.layers],
                           'grids': [asdict(steps) for steps in self.grids], 'scores': list(self.scores),
                           'slopes': self.slopes}, arrays)


def load_task(path: str | PathLike) -> GridTask:
    """Read what `GridTask.save` wrote."""
    header, arrays = load_arrays(path)
    scaling = arrays['feature_offset'], arrays['feature_scale']
    layers = [HiddenLayer(kind, arrays[f'weights-{number}'], arrays[f'biases-{number}'], *scaling,
                          arrays.get(f'metric-{number}'))
              for number, kind in enumerate(header['layers'])]
    return GridTask(Folds(**header['folds']), layers, [GridSteps(**steps) for steps in header['grids']],
                    {(layer, fold): arrays[f'scores-{layer}-{fold}'] for layer, fold in header['scores']},
                    header['slopes'])


def score_kind(kind: Kind, grid: FoldGrid, search: Search) -> list[NodeScore]:
    """Return the NodeScore of every nu and L of one kind of nodes."""
    sizes = sorted({min(size, len(grid.total.gram) - 1) for size in search.sizes})
    cells = defaultdict(list)
    for cell in grid.score(search.nus, sizes, range(search.n_tested)):
        cells[cell.nu, cell.n_hidden].append(cell)
    return [NodeScore(*kind, nu, size, tuple(found)) for (nu, size), found in cells.items()]


def state_finals(scores: Sequence[NodeScore], task: GridTask, grids: Mapping[Kind, FoldGrid],
                 n_counted: int) -> tuple[GridTask, list[list[NodeScore]]]:
    """Return the GridTask that scores the n_counted most promising candidates, and those on each of its layers.

    task : with a layer for each of `grids`.
    """
    chosen = defaultdict(list)
    for score in finalists(scores, n_counted):
        chosen[score.map, score.weight_scale].append(score)
    layers, weights = dict(zip(grids, task.layers, strict=True)), {}
    for number, (kind, found) in enumerate(chosen.items()):
        cells = [(score.nu, score.n_hidden) for score in found]
        for fold in range(task.folds.n_tested):
            weights[number, fold] = np.hstack([widen_weights(B, layers[kind].n_hidden)
                                               for B in grids[kind].weights(fold, cells)])
    return GridTask(task.folds, [layers[kind] for kind in chosen], scores=weights), list(chosen.values())


def widen_weights(B: Floats, n_hidden: int) -> Floats:
    """Give output weights rows of zeros for the nodes that they leave out; the bias stays last."""
    return np.insert(B, [len(B) - 1] * (n_hidden + 1 - len(B)), 0.0, axis=0)

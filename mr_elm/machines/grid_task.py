"""Describe a search over hidden nodes to its tasks: one file with the layers, the folds and what scores them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from mr_elm.errors import DataFormatError, one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.option_fields import METRIC_ROWS
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
from mr_elm.scores.selection import FOLD, SAMPLE, NodeKind, NodeScore, finalists, fold_numbers, select_sample
from mr_elm.solvers.folds import FoldGrid, GridCell
from mr_elm.store import load_arrays, save_arrays
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats


class Nodes(NamedTuple):
    """Name the nodes of a search: a kind, and the fold that their metric has not seen, None without a metric."""

    kind: NodeKind
    held: int | None = None


@dataclass(frozen=True)
class Search:
    """Keep what to search; see `mr-elm tune pesvm --help`.

    kinds : of nodes. nus, sizes : lists of nu and of L.
    n_folds : of the cross-validation; tested : how many of them to hold out, one after another; None for all.
    sample : about how many rows to look at, or None for all. n_counted : candidates whose accuracy to count.
    memory : MB that the sums of a task may take.
    """

    kinds: tuple[NodeKind, ...]
    nus: tuple[float, ...]
    sizes: tuple[int, ...]
    n_folds: int = 5
    tested: int | None = None
    sample: int | None = None
    n_counted: int = 10
    memory: float = 2000.0

    @property
    def n_sampled(self) -> int:
        """Return how large the sample is from which metrics are learned, 0 where no kind has one."""
        if any(kind.metric != 'none' for kind in self.kinds):
            return METRIC_ROWS
        return 0

    @property
    def n_tested(self) -> int:
        """Return how many folds are held out."""
        if self.tested is None:
            return self.n_folds
        return self.tested

    def demand_memory(self, name: str, layers: Mapping[Nodes, HiddenLayer]) -> None:
        """Raise DataFormatError when the sums of a task over the data set `name` would not fit into memory."""
        parts = min(self.n_tested + 1, self.n_folds)
        wanted = (
            sum(
                16 * (parts if nodes.held is None else 2) * (layer.n_hidden + 1) ** 2 for nodes, layer in layers.items()
            )
            / 1e6
        )
        if wanted > self.memory:
            raise DataFormatError(
                f'{name}: the sums of {len(self.kinds)} kinds of nodes in {parts} folds take '
                f'{wanted:,.0f} MB a task, expected at most {self.memory:,.0f} MB: search fewer '
                'kinds or nodes, or raise --memory'
            )


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


@dataclass(frozen=True)
class GridTask:
    """Know the candidate layers, of one scaling but perhaps several metrics, and the folds.

    grids : GridSteps of each layer's sums, where rows are summed up.
    scores : (layer, fold) -> (m, K' P), where candidates are scored: the output weights of P candidates on a layer
        that have not seen a fold, side by side.
    held : the one fold that each layer is tested on, None for all that are held out; () stands for None of each layer.
    """

    folds: Folds
    layers: Sequence[HiddenLayer]
    grids: Sequence[GridSteps] = ()
    scores: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict)
    held: Sequence[int | None] = ()
    __repr__ = one_line

    def list_tested(self, number: int) -> list[int]:
        """Return the folds that a layer is tested on."""
        held = None
        if self.held:
            held = self.held[number]
        if held is None:
            return list(range(self.folds.n_tested))
        return [held]

    def n_sums(self, number: int) -> int:
        """Count the sums of a layer: those of each fold that it is tested on, and of all other rows."""
        return min(len(self.list_tested(number)) + 1, self.folds.n_parts)

    def find_sum(self, number: int, part: int) -> int:
        """Return which sum of a layer the rows of a part belong to."""
        tested = self.list_tested(number)
        if part in tested:
            return tested.index(part)
        return len(tested)

    def save(self, path: str | PathLike) -> None:
        """Write the file."""
        arrays: dict[str, np.ndarray] = join_arrays(
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
                'held': self.held,
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
        header['held'],
    )


def read_layer(kind: str, arrays: dict[str, np.ndarray], n_features: int) -> HiddenLayer:
    """Return a layer of the arrays that `GridTask.save` wrote of it."""
    offset, scale = spread_scaling(arrays, n_features)
    metric = arrays.get('feature_metric')
    weights = vectors_of(arrays, n_features if metric is None else len(metric), 'weights')
    return HiddenLayer(kind, weights, arrays['biases'], offset, scale, metric, find_forest(arrays))


def score_nodes(nodes: Nodes, grid: FoldGrid, search: Search) -> list[GridCell]:
    """Return what the folds say of every nu and L on some nodes."""
    sizes = sorted({min(size, len(grid.total.gram) - 1) for size in search.sizes})
    if nodes.held is None:
        return grid.score(search.nus, sizes, range(search.n_tested))
    return [replace(cell, fold=nodes.held) for cell in grid.score(search.nus, sizes, [0])]


def score_kinds(found: Iterable[tuple[Nodes, list[GridCell]]]) -> list[NodeScore]:
    """Return the NodeScore of every kind of nodes, nu and L. found : of `score_nodes`."""
    cells = defaultdict(list)
    for nodes, of_nodes in found:
        for cell in of_nodes:
            cells[nodes.kind, cell.nu, cell.n_hidden].append(cell)
    return [NodeScore(kind, nu, size, tuple(of_kind)) for (kind, nu, size), of_kind in cells.items()]


def state_finals(
    scores: Sequence[NodeScore], task: GridTask, grids: Mapping[Nodes, FoldGrid], n_counted: int
) -> tuple[GridTask, list[list[NodeScore]]]:
    """Return the GridTask that scores the n_counted most promising candidates, and those on each of its layers.

    task : with a layer for each of `grids`.
    """
    chosen = defaultdict(list)
    for score in finalists(scores, n_counted):
        chosen[score.kind].append(score)
    numbers = [number for kind in chosen for number, nodes in enumerate(grids) if nodes.kind == kind]
    every, weights = list(grids), {}
    for place, number in enumerate(numbers):
        cells = [(score.nu, score.n_hidden) for score in chosen[every[number].kind]]
        for fold in task.list_tested(number):
            found = grids[every[number]].weights(task.find_sum(number, fold), cells)
            weights[place, fold] = np.hstack([widen_weights(B, task.layers[number].n_hidden) for B in found])
    return (
        GridTask(
            task.folds,
            [task.layers[number] for number in numbers],
            scores=weights,
            held=[every[number].held for number in numbers],
        ),
        [chosen[every[number].kind] for number in numbers],
    )


def widen_weights(B: Floats, n_hidden: int) -> Floats:
    """Give output weights rows of zeros for the nodes that they leave out; the bias stays last."""
    return np.insert(B, [len(B) - 1] * (n_hidden + 1 - len(B)), 0.0, axis=0)

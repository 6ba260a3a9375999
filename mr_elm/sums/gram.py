"""Sum up [E T]'[E T], the sufficient statistic of ridge regression on hidden nodes, block by block and exactly.

E = [Phi(X), -e] has m = L + 1 columns. For classes T holds indicators of the labels met in the block, so that E'T are
the sums S_k of the rows of E per class: they give any coding, T = +-1 has E'T_k = 2 S_k - sum of all S, and a class
that appears late needs no earlier row. Targets of a regression are counted from an origin close to their mean before
they are multiplied: sums of numbers that are all far from zero have lost the digits in which these differ.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, eq. 7 and section 3.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import AccountingError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.parallel import map_in_threads
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.rows.labels import find_labels
from mr_elm.rows.wire import demand_arrays
from mr_elm.sums.exact_sum import EXACT_ROWS, add_pair, add_triangle, add_values, choose_step
from mr_elm.typing import Floats, Rows, RowWeights

TILE_NODES = 256
# Step over a number: steps are 2^-66 of a bound, float64 has 53 binary digits, and sums want some more.
RELATIVE_STEP = 2.0**-20
JOINED_LABELS = 32  # labels of a block that are summed within the symmetric product; it would cost too much with more
TARGETS, SQUARES = 'targets', 'squares'  # the names of E'T and T'T among the sums of a regression
ONES = 'ones'  # the name of E'1, which a pass over centred targets sums up too; a Gram has it as its last column


@dataclass(frozen=True)
class GridSteps:
    """Hold the grids of the three exact sums: the steps of E'E (and class sums), E'T, T'T, and the origin of T.

    origin : m_0 of each target of a regression; T is t - m_0. Empty where targets are taken as they are.
    """

    gram: float
    target: float
    square: float
    origin: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, node_bound: float, target_bound: float = 1.0, weight_bound: float = 1.0, origin: tuple[float, ...] = ()
    ) -> 'GridSteps':
        """Choose steps from bounds on |E|, |T| and the row weights."""
        e, t = max(node_bound, 1.0), target_bound
        gram, target, square = (choose_step(weight_bound * product) for product in (e * e, e * t, t * t))
        return cls(gram, target, square, origin)

    @classmethod
    def from_json(cls, numbers: Sequence[Any]) -> 'GridSteps':
        """Read what `to_json` gave."""
        return cls(*numbers[:3], *map(tuple, numbers[3:]))

    def to_json(self) -> list[Any]:
        """Return the three steps, and the list of origins where targets have some."""
        if self.origin:
            return [*self.steps, list(self.origin)]
        return list(self.steps)

    @property
    def steps(self) -> tuple[float, float, float]:
        """Return the three steps."""
        return self.gram, self.target, self.square

    @property
    def centres(self) -> bool:
        """Tell whether the mean of the targets is taken off before a solve, and added to what it finds."""
        return bool(self.origin)

    def shift(self, targets: Floats) -> Floats:
        """Return targets, (n,) or (n, K), counted from the origin."""
        if self.origin:
            return targets - np.array(self.origin)
        return targets

    def holds(self, needed: 'GridSteps', n_rows: int) -> bool:
        """Tell whether sums of n_rows rows stay exact with these steps; `needed` are the steps for their bounds."""
        return all(
            needed_step * n_rows <= step * EXACT_ROWS
            for step, needed_step in zip(self.steps, needed.steps, strict=True)
        )

    def finer(self, other: 'GridSteps') -> 'GridSteps':
        """Return the smaller step of each sum: multiples of both are multiples of it."""
        gram, target, square = map(min, self.steps, other.steps)
        return GridSteps(gram, target, square, self.origin)

    def coarser(self, other: 'GridSteps') -> 'GridSteps':
        """Return the coarser grid of each sum."""
        gram, target, square = map(max, self.steps, other.steps)
        return GridSteps(gram, target, square, self.origin)


def bound_targets(minimum: Floats, maximum: Floats, origin: tuple[float, ...] = ()) -> float:
    """Return a bound on targets that lie between minimum and maximum, (K,) or (), counted from their origin.

    It is at least RELATIVE_STEP of the origin: targets have no finer digits, and others that come later may vary more.
    """
    bound = np.abs([minimum, maximum]).max()
    if origin:
        m_0 = np.array(origin)
        bound = max(np.abs([minimum - m_0, maximum - m_0]).max(), RELATIVE_STEP * np.abs(m_0).max())
    return float(bound)


def expand(layer: HiddenLayer, X: Rows, n_targets: int = 0, buffer: Floats | None = None) -> Floats:
    """Return [E T], E = [Phi(X), -e] and room for T behind it: (n, L + 1 + n_targets).

    buffer : flat array to work in, grown by the caller; a new one is made when it is too small.
    """
    n, width = X.shape[0], layer.n_hidden + 1 + n_targets
    if buffer is None or len(buffer) < n * width:
        buffer = np.empty(n * width)
    ET = buffer[: n * width].reshape(n, width)
    layer.evaluate(X, ET[:, : layer.n_hidden])
    ET[:, layer.n_hidden] = -1.0
    return ET


class TargetSums:
    """Accumulate one task's sums of the rows of E per label, or E'T and T'T of a regression.

    steps : GridSteps. numeric : whether labels are targets of a regression.
    separator : what stands between the labels of a row, None where a row has one label.
    sums : label, or TARGETS and SQUARES -> (2, m + 1), (2, m) or (2, 1), high and low part; rows are counted last.
        Of K > 1 targets these are (2, K, m) and (2, K). Where targets are centred there are ONES too, (2, m).
    """

    def __init__(self, steps: GridSteps, numeric: bool = False, separator: str | None = None) -> None:
        self.steps, self.numeric, self.separator = steps, numeric, separator
        self.sums: dict[str, Floats] = {}
        self.n_rows = 0

    def add_targets(self, E: Floats, block: Block, row_weights: RowWeights) -> None:
        """Add the rows of E, (n, m), of a block."""
        if row_weights is None:
            WE = E
        else:
            WE = E * row_weights[:, None]
        if self.numeric:
            self._add_numbers(WE, block, row_weights)
        else:
            names, holds = self.label_sets(block)
            self._add_classes(sum_by_label(WE, block, holds), names, block, holds)
        self.n_rows += len(E)

    def label_sets(self, block: Block) -> tuple[tuple[str, ...], Floats | None]:
        """Return the labels of a block, and which of them each of its names holds; None where each holds itself."""
        if self.separator is None:
            return (block.names, None)
        return find_labels(block.names, self.separator)

    def _add_numbers(self, WE: Floats, block: Block, row_weights: RowWeights) -> None:
        """Add E'WT, E'W1 where the targets are centred, and the squares of the targets."""
        T = self.steps.shift(block.targets.reshape(len(block), -1))
        if self.steps.centres:
            sums = np.column_stack([T, np.ones(len(T))]).T @ WE
            self._add_sum(ONES, sums[-1], self.steps.gram)
            sums = sums[:-1]
        else:
            sums = T.T @ WE
        self._add_sum(TARGETS, sums.reshape(*block.targets.shape[1:], -1), self.steps.target)
        self._add_sum(SQUARES, fill_weights(row_weights, len(T)) @ T**2, self.steps.square)

    def _add_classes(self, sums: Floats, names: Sequence[str], block: Block, holds: Floats | None) -> None:
        counts: np.ndarray = np.bincount(block.codes, minlength=len(block.names))
        if holds is not None:
            counts = counts @ holds
        steps = np.append(np.full(sums.shape[1], self.steps.gram), 1.0)  # counts are whole however large E is
        for k, name in enumerate(names):
            self._add_sum(name, np.append(sums[k], counts[k]), steps)

    def _add_sum(self, name: str, values: Floats, step: float | Floats) -> None:
        pair = self.sums.setdefault(name, np.zeros((2, *values.shape)))
        add_values(pair[0], pair[1], values, step)


class GramSum(TargetSums):
    """Accumulate one task's part of E'E beside the sums of `TargetSums`.

    n_columns : m = L + 1. steps, numeric, separator : see `TargetSums`; there are no ONES.
    workspace : dictionary that sums of one task may share, for the product of a block.
    n_leaves : how many of the first columns are leaves of trees, whose products are counts.
    Memory: high and low part and one block's Gram, about 3 m^2 numbers, whatever the number of rows.
    """

    def __init__(
        self,
        n_columns: int,
        steps: GridSteps,
        numeric: bool = False,
        workspace: dict | None = None,
        separator: str | None = None,
        n_leaves: int = 0,
    ) -> None:
        super().__init__(steps, numeric, separator)
        self.n_leaves = n_leaves
        self.high, self.low = np.zeros((2, n_columns, n_columns))
        if workspace is None:
            self._workspace = {}
        else:
            self._workspace = workspace

    def n_targets(self, block: Block) -> int:
        """Return how many columns T has for a block: one a target or a label, none when labels are many."""
        if self.numeric:
            return block.targets[:1].size
        n_labels = len(self.label_sets(block)[0])
        if n_labels <= JOINED_LABELS:
            return n_labels
        return 0

    def add(self, ET: Floats, block: Block, row_weights: RowWeights = None, leaves: np.ndarray | None = None) -> None:
        """Add a block: ET is its expansion without leaves, with room for the targets behind; it is overwritten.

        ET : (n, m - n_leaves + n_targets). leaves : (n, n_trees), numbers of the leaves of each row, where there are
        trees.
        """
        if not len(ET):
            return
        m, width = len(self.high), len(self.high) - self.n_leaves
        root = None
        if row_weights is not None:
            root = np.sqrt(row_weights)[:, None]
        if self.numeric:
            ET[:, width:] = self.steps.shift(block.targets.reshape(len(ET), -1))
        else:
            names, holds = self.label_sets(block)
            if ET.shape[1] > width:
                ET[:, width:] = make_indicators(block, holds)
        if root is not None:
            ET *= root
        products, size = self._workspace.get('products'), self.n_leaves + ET.shape[1]
        if products is None or len(products) != size:
            products = self._workspace['products'] = np.empty((size, size))
        multiply(ET, leaves, row_weights, products)
        add_triangle(self.high, self.low, products[:m, :m], self.steps.gram)
        if self.numeric:
            self._add_sum(TARGETS, products[:m, m:].T.reshape(*block.targets.shape[1:], m), self.steps.target)
            self._add_sum(SQUARES, products[m:, m:].diagonal(), self.steps.square)
        else:
            if ET.shape[1] > width:
                sums = products[:m, m:].T
            else:
                if root is not None:
                    ET *= root
                sums = sum_by_label(ET, block, holds)
                if leaves is not None:
                    sums = np.hstack([sum_leaves_by_label(leaves, self.n_leaves, block, holds, row_weights), sums])
            self._add_classes(sums, names, block, holds)
        self.n_rows += len(ET)

    def merge(self, other: 'GramSum') -> None:
        """Add the sums of other rows, on the same grids."""
        add_pair(self.high, self.low, other.high, other.low)
        for name, pair in other.sums.items():
            add_pair(*self.sums.setdefault(name, np.zeros_like(pair)), *pair)
        self.n_rows += other.n_rows

    def tiles(self, tile: int = TILE_NODES) -> Iterator[tuple[tuple[int, int], list[Floats]]]:
        """Yield ((i, j), [high, low]) for every tile of the upper triangle; a diagonal one holds its triangle."""
        for i, j, part in cut_slices(len(self.high), tile):
            yield (i, j), [cut_tile(matrix[part], i == j) for matrix in (self.high, self.low)]


def multiply(ET: Floats, leaves: np.ndarray | None, row_weights: RowWeights, products: Floats) -> None:
    """Write [leaves E T]'[leaves E T], of leaves the upper triangle alone.

    ET : (n, c), rows times the roots of their weights. leaves : (n, n_trees), or None. products : (m + c, m + c) of m
    leaves. Threads that may be used share the work where there are leaves.
    """
    first = len(products) - ET.shape[1]
    # by BLAS' dsyrk: numpy sees that both are one array
    multiply_columns = partial(np.matmul, ET.T, ET, out=products[first:, first:])
    if leaves is None:
        multiply_columns()
        return
    from mr_elm.sums.leaf_loops import list_leaf_products

    calls = [multiply_columns, *list_leaf_products(leaves, ET, fill_weights(row_weights, len(ET)), products)]
    map_in_threads(lambda call: call(), calls)


def make_indicators(block: Block, holds: Floats | None) -> Floats:
    """Return T with a 1 where a row has a label, (n, labels of the block): E'T are the sums of E per label.

    holds : see `find_labels`, None where each name is a label.
    """
    if holds is None:
        holds = np.eye(len(block.names))
    return holds[block.codes]


def sum_by_label(E: Floats, block: Block, holds: Floats | None) -> Floats:
    """Sum up the rows of E per label, (labels of the block, m), when there are many. holds : see `make_indicators`."""
    of_names = sp.csr_matrix((np.ones(len(E)), (block.codes, np.arange(len(E)))), shape=(len(block.names), len(E))) @ E
    if holds is None:
        return of_names
    return holds.T @ of_names


def sum_leaves_by_label(
    leaves: np.ndarray, n_leaves: int, block: Block, holds: Floats | None, row_weights: RowWeights
) -> Floats:
    """Sum up the outputs of the leaves per label, as `sum_by_label` does: (labels of the block, n_leaves)."""
    label_leaves = block.codes[:, None] * n_leaves + leaves
    weights = None
    if row_weights is not None:
        weights = np.repeat(row_weights, leaves.shape[1])
    counts = np.bincount(label_leaves.ravel(), weights, len(block.names) * n_leaves)
    of_names = counts.astype(float).reshape(-1, n_leaves)
    if holds is None:
        return of_names
    return holds.T @ of_names


def cut_slices(m: int, tile: int) -> Iterator[tuple[int, int, tuple[slice, slice]]]:
    """Yield (i, j, slices) for the tiles i <= j of an m x m matrix."""
    edges = [slice(start, min(start + tile, m)) for start in range(0, m, tile)]
    for i, rows in enumerate(edges):
        for j in range(i, len(edges)):
            yield i, j, (rows, edges[j])


def measure_tiles(m: int, tile: int = TILE_NODES) -> Iterator[tuple[int, int, int]]:
    """Yield (i, j, numbers) for the tiles of the upper triangle of an m x m matrix, as `cut_tile` makes them."""
    for i, j, (rows, columns) in cut_slices(m, tile):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if i == j:
            yield i, j, height * (height + 1) // 2
        else:
            yield i, j, height * width


def cut_tile(part: Floats, diagonal: bool) -> Floats:
    """Flatten a tile; of a diagonal one take the upper triangle."""
    if diagonal:
        return part[mark_upper(len(part))]
    return part.ravel()


def merge_pairs(pairs: Iterable[list[Floats]]) -> list[Floats]:
    """Add up [high, low] pairs exactly. Raises DataFormatError when one is no pair."""
    pairs = iter(pairs)
    high, low = (part.copy() for part in demand_arrays(next(pairs), 2))  # arrays of the wire may be read-only
    for pair in pairs:
        add_pair(high, low, *demand_arrays(pair, 2))
    return [high, low]


def assemble(tiles: dict[tuple[int, int], list[Floats]], m: int, tile: int = TILE_NODES) -> Floats:
    """Put tiles together: (high, low), each (m, m) with the upper triangle filled.

    tiles : (i, j) -> [high, low].
    Raises AccountingError when a tile is missing or there is one too many.
    """
    expected = {(i, j): part for i, j, part in cut_slices(m, tile)}
    if set(tiles) != set(expected):
        missing, extra = sorted(set(expected) - set(tiles)), sorted(set(tiles) - set(expected))
        raise AccountingError(f'expected every tile of the Gram once: {missing[:3]} missing, {extra[:3]} too many')
    matrices = np.zeros((2, m, m))
    for key, part in expected.items():
        for matrix, values in zip(matrices, tiles[key], strict=True):
            fill_tile(matrix[part], values, key[0] == key[1])
    return matrices


def fill_tile(part: Floats, values: Floats, diagonal: bool) -> None:
    """Undo `cut_tile`."""
    if diagonal:
        part[mark_upper(len(part))] = values
    else:
        part[...] = values.reshape(part.shape)


def pack_upper(matrix: Floats) -> Floats:
    """Keep the upper triangle, row after row."""
    return matrix[mark_upper(len(matrix))]


def unpack_upper(packed: Floats) -> Floats:
    """Undo `pack_upper`; the lower triangle is zero."""
    m = isqrt(2 * len(packed))  # m (m + 1) / 2 numbers
    matrix = np.zeros((m, m))
    matrix[mark_upper(m)] = packed
    return matrix


def mirror_upper(matrix: Floats) -> Floats:
    """Return the symmetric matrix of an upper triangle; what stands below the diagonal does not count."""
    return np.triu(matrix) + np.triu(matrix, 1).T


def mark_upper(m: int) -> np.ndarray:
    """Tell which entries of an m x m matrix are in the upper triangle: a byte for each, where indices take 16."""
    return ~np.tri(m, k=-1, dtype=bool)

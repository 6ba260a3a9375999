"""Grow boosted trees on a sample: their leaves become hidden nodes of a ridge regression, which fits them anew.

    F_0 = 0;  tree t splits the rows so that the residual R = T - F_{t-1} differs between its leaves;
    F_t = F_{t-1} + rate * (sum of w R in the leaf of the row) / (sum of w in it + 1)

1. Bins: features are counted in at most 255 bins. A value that is frequent has a bin of its own, the others share bins
   of equal frequency: quantiles alone would merge the rare values of a feature that is mostly 0.
2. A tree grows best first: the leaf with the largest gain
       sum_k G_left,k^2 / (w_left + 1) + G_right,k^2 / (w_right + 1) - G_k^2 / (w + 1),     G = sum of w R,
   is split, until there are LEAVES. The histogram of the larger child is that of the parent less that of the smaller.
3. Of more than SKETCH_TARGETS targets the tree sees random combinations R S, S (K, SKETCH_TARGETS) normal, drawn anew
   for each tree.

The order of all sums is that of the rows, so that the same rows give the same trees.

Source: Friedman, Greedy function approximation, 2001 (boosting); Ke et al., LightGBM, 2017 (histograms, best first);
Iosipoi, Vakhrushev, SketchBoost, 2022 (random combinations); frequent values and the refit of leaves are ours.
"""

from dataclasses import dataclass, replace

import numpy as np

from mr_elm import sparse as sp
from mr_elm.compiled import jit
from mr_elm.errors import one_line
from mr_elm.features.forest import Forest
from mr_elm.typing import Floats, Rows, RowWeights

BINS = 255  # of a feature: their numbers fit into a byte
SKETCH_TARGETS = 3  # combinations of targets that a tree sees
LEAF_RIDGE = 1.0  # added to the weight of a leaf
MIN_GAIN = 1e-7  # below it a gain is rounding
# Beyond so many features a tree sees FEATURE_SHARE of them: twice as fast, and as accurate on 4 of 4 sets (2026-11).
WIDE_FEATURES = 60
FEATURE_SHARE = 0.25
DENSE_FEATURES = 256  # features of sparse rows that become dense together
MAX_FEATURES = 2000  # of sparse rows that trees see: those that are most often not 0


@dataclass(frozen=True)
class TreeOptions:
    """Say how trees grow.

    n_trees, n_leaves : numbers of trees, and of leaves of each at most. rate : what a tree takes off the residual.
    fewest : the least weight of a leaf, of rows whose weights are 1 in the mean.
    row_share, column_share : of the rows and features that each tree grows on. seed : of their choice.
    """

    n_trees: int = 64
    n_leaves: int = 32
    rate: float = 0.1
    fewest: float = 20.0
    row_share: float = 1.0
    column_share: float = 1.0
    seed: int = 0

    @classmethod
    def for_rows(cls, n_rows: int, n_features: int, n_trees: int, seed: int) -> 'TreeOptions':
        """Return the options for a sample of so many rows and features."""
        share = 1.0
        if n_features > WIDE_FEATURES:
            share = FEATURE_SHARE
        return cls(n_trees, fewest=float(min(20, max(3, n_rows // 50))), column_share=share, seed=seed)

    def vary(self) -> 'TreeOptions':
        """Return options for other trees that are about as good."""
        return replace(self, row_share=0.6, column_share=min(0.6, self.column_share), seed=self.seed + 1)


@dataclass(frozen=True)
class Bins:
    """Hold rows in bins.

    numbers : (d, n) uint8. edges : of each feature, increasing; a value is in bin k if k edges are below it.
    columns : (d,), which features of the rows these are.
    """

    numbers: np.ndarray
    edges: list[Floats]
    columns: np.ndarray
    __repr__ = one_line

    @classmethod
    def of(cls, X: Rows) -> 'Bins':
        """Put rows (n, d), dense or CSR, into bins."""
        columns, edges = choose_columns(X), []
        numbers = np.empty((len(columns), X.shape[0]), np.uint8)
        for start in range(0, len(columns), DENSE_FEATURES):
            some = columns[start : start + DENSE_FEATURES]
            if sp.issparse(X):
                dense = sp.take_columns(X, some).toarray()
            else:
                dense = X[:, some]
            for k, column in enumerate(dense.T, start):
                edges.append(find_edges(column))
                numbers[k] = np.searchsorted(edges[k], column)
        return cls(numbers, edges, columns)


def choose_columns(X: Rows) -> np.ndarray:
    """Return the features that trees see: of wide sparse rows those that are most often not 0."""
    d = X.shape[1]
    if not sp.issparse(X) or d <= MAX_FEATURES:
        return np.arange(d)
    counts = np.bincount(X.indices[X.data != 0], minlength=d)
    return np.sort(np.argsort(-counts, kind='stable')[:MAX_FEATURES])


def find_edges(column: Floats) -> Floats:
    """Return what separates the bins of a feature: halfway between two values that follow each other."""
    values, counts = np.unique(column, return_counts=True)
    cuts = np.arange(len(values) - 1)
    if len(values) > BINS:
        frequent = counts >= len(column) / BINS
        per_bin = counts[~frequent].sum() / max(BINS - frequent.sum(), 1)
        cuts = np.empty(len(values), np.int64)
        cuts = cuts[: cut_bins(counts, frequent, per_bin, cuts)]
        if len(cuts) >= BINS:
            cuts = cuts[np.linspace(0, len(cuts) - 1, BINS - 1).astype(int)]
    return values[cuts] / 2 + values[cuts + 1] / 2


@jit()
def cut_bins(counts: np.ndarray, frequent: np.ndarray, per_bin: float, cuts: np.ndarray) -> int:
    """Write behind which values a bin ends; return how many these are."""
    n_cuts, in_bin = 0, 0
    for i in range(len(counts) - 1):
        in_bin += counts[i]
        if frequent[i] or frequent[i + 1] or in_bin >= per_bin:
            cuts[n_cuts] = i
            n_cuts += 1
            in_bin = 0
    return n_cuts


def grow_forest(
    bins: Bins, T: Floats, weights: RowWeights, options: TreeOptions, gains: Floats | None = None
) -> Forest:
    """Grow trees: a Forest for raw rows.

    bins : of n rows. T : (n, K) targets, whose mean the machine takes off. weights : (n,) of the rows, or None.
    gains : (d,), to which the gains of all splits are added, or None. Of more than SKETCH_TARGETS targets they are
    those of the combinations.
    """
    n, K = T.shape
    if weights is None:
        w = np.ones(n)
    else:
        w = weights / weights.mean()
    values = np.tile(np.average(T, axis=0, weights=w), (n, 1))
    trees = []
    for number in range(options.n_trees):
        random = np.random.default_rng([options.seed, number])
        residual = w[:, None] * (T - values)
        if K <= SKETCH_TARGETS:
            targets_of_tree = residual
        else:
            targets_of_tree = residual @ (random.standard_normal((K, SKETCH_TARGETS)) / np.sqrt(SKETCH_TARGETS))
        tree = grow_tree(bins, np.column_stack([w, targets_of_tree]).astype(np.float32), options, random, gains)
        leaves = np.empty(n, np.int32)
        put_in_leaves(bins.numbers, *tree, leaves)
        n_leaves = int(leaves.max()) + 1
        steps = np.column_stack([np.bincount(leaves, column, n_leaves) for column in residual.T])
        steps = steps * (options.rate / (np.bincount(leaves, w, n_leaves) + LEAF_RIDGE)[:, None])
        values += steps[leaves]
        trees.append(tree)
    return join_trees(trees, bins)


def grow_tree(
    bins: Bins, sums: np.ndarray, options: TreeOptions, random: np.random.Generator, gains: Floats | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grow a tree on [weight, weighted residuals] of the rows, (n, k + 1): features, bins and children of its nodes.

    A row goes to the first child where its bin is not larger than that of the node. Leaves have feature -1.
    """
    d, n = bins.numbers.shape
    rows, columns = np.arange(n, dtype=np.int32), np.arange(d)
    if options.row_share < 1:
        rows = np.sort(random.permutation(rows)[: max(1, int(n * options.row_share))])
    if options.column_share < 1:
        columns = np.sort(random.permutation(columns)[: max(1, int(np.ceil(d * options.column_share)))])
    starts = np.cumsum([0, *(len(bins.edges[j]) + 1 for j in columns)])
    nodes = np.full((3, 2 * options.n_leaves - 1), -1)
    histograms = np.empty((options.n_leaves, starts[-1], sums.shape[1]), np.float32)
    of_nodes = np.zeros(nodes.shape[1])
    n_nodes = split_leaves(bins.numbers, sums, rows, columns, starts, options.fewest, histograms, nodes, of_nodes)
    features, split_bins, children = nodes[:, :n_nodes]
    if gains is not None:
        inner = features >= 0
        np.add.at(gains, bins.columns[features[inner]], of_nodes[:n_nodes][inner])
    ends = features < 0
    children[ends] = np.arange(ends.sum())
    return features, split_bins, children


@jit(fastmath=True)
def split_leaves(
    numbers: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    fewest: float,
    histograms: np.ndarray,
    nodes: np.ndarray,
    gain: np.ndarray,
) -> int:
    """Split leaf after leaf, the one with the largest gain first; return how many nodes the tree has.

    rows : which the tree grows on; they are reordered, so that those of a leaf follow each other.
    histograms : (leaves, bins of all columns, k + 1), room for the sums of each leaf that may still be split.
    nodes : (3, 2 leaves - 1), features, bins and first children to write. gain : (2 leaves - 1), of the best split of
    each node, to write.
    """
    n_leaves, n_nodes = len(histograms), 1
    first, last = np.zeros(nodes.shape[1], np.int64), np.zeros(nodes.shape[1], np.int64)
    slot = np.zeros(nodes.shape[1], np.int64)
    split = np.zeros((nodes.shape[1], 2), np.int64)
    others = np.empty(len(rows), np.int32)
    last[0] = len(rows)
    add_rows(numbers, sums, rows, columns, starts, histograms[0])
    gain[0] = find_split(histograms[0], starts, fewest, split[0])
    for n_open in range(1, n_leaves):
        # 1. the leaf with the largest gain
        best = -1
        for node in range(n_nodes):
            if nodes[0, node] < 0 and gain[node] > (MIN_GAIN if best < 0 else gain[best]):
                best = node
        if best < 0:
            break
        # 2. its rows: those of the first child stay in front
        column, bound = columns[split[best, 0]], split[best, 1]
        bins, middle, n_others = numbers[column], first[best], 0
        for i in range(first[best], last[best]):
            row = rows[i]
            if bins[row] <= bound:
                rows[middle] = row
                middle += 1
            else:
                others[n_others] = row
                n_others += 1
        rows[middle : middle + n_others] = others[:n_others]
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        nodes[0, best], nodes[1, best], nodes[2, best] = column, bound, left
        first[left], last[left], first[right], last[right] = first[best], middle, middle, last[best]
        # 3. histograms: of the smaller child anew, of the larger one what is left of the parent's
        if middle - first[best] <= last[best] - middle:
            smaller, larger = left, right
        else:
            smaller, larger = right, left
        slot[smaller], slot[larger] = n_open, slot[best]
        fresh, rest = histograms[slot[smaller]], histograms[slot[larger]]
        add_rows(numbers, sums, rows[first[smaller] : last[smaller]], columns, starts, fresh)
        for b in range(fresh.shape[0]):
            for c in range(fresh.shape[1]):
                rest[b, c] -= fresh[b, c]
        gain[left] = find_split(histograms[slot[left]], starts, fewest, split[left])
        gain[right] = find_split(histograms[slot[right]], starts, fewest, split[right])
    return n_nodes


@jit(fastmath=True)
def add_rows(
    numbers: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    histogram: np.ndarray,
) -> None:
    """Write the sums of the rows in each bin of each column."""
    histogram[:] = 0
    for a in range(len(columns)):
        bins, of_column = numbers[columns[a]], histogram[starts[a] : starts[a + 1]]
        for i in range(len(rows)):
            row = rows[i]
            b = bins[row]
            for c in range(sums.shape[1]):
                of_column[b, c] += sums[row, c]


@jit(fastmath=True)
def find_split(histogram: np.ndarray, starts: np.ndarray, fewest: float, split: np.ndarray) -> float:
    """Return the largest gain of a split, 0 where there is none; write its column and its bin."""
    width = histogram.shape[1]
    total, left = np.zeros(width), np.zeros(width)
    best = 0.0
    for a in range(len(starts) - 1):
        of_column = histogram[starts[a] : starts[a + 1]]
        for c in range(width):
            total[c], left[c] = 0.0, 0.0
            for b in range(len(of_column)):
                total[c] += of_column[b, c]
        whole = 0.0
        for c in range(1, width):
            whole += total[c] * total[c]
        whole /= total[0] + LEAF_RIDGE
        for b in range(len(of_column) - 1):
            if of_column[b, 0] <= 0:
                continue
            squares_left, squares_right = 0.0, 0.0
            left[0] += of_column[b, 0]
            for c in range(1, width):
                left[c] += of_column[b, c]
                rest = total[c] - left[c]
                squares_left += left[c] * left[c]
                squares_right += rest * rest
            right = total[0] - left[0]
            if left[0] < fewest:
                continue
            if right < fewest:
                break
            gain = squares_left / (left[0] + LEAF_RIDGE) + squares_right / (right + LEAF_RIDGE) - whole
            if gain > best:
                best, split[0], split[1] = gain, a, b
    return best


@jit()
def put_in_leaves(
    numbers: np.ndarray, features: np.ndarray, split_bins: np.ndarray, children: np.ndarray, leaves: np.ndarray
) -> None:
    """Write the leaf of each row in bins."""
    for row in range(len(leaves)):
        node = 0
        while features[node] >= 0:
            node = children[node] + (1 if numbers[features[node], row] > split_bins[node] else 0)
        leaves[row] = children[node]


def join_trees(trees: list[tuple[np.ndarray, np.ndarray, np.ndarray]], bins: Bins) -> Forest:
    """Put trees in bins behind each other, with thresholds of the features themselves."""
    n_leaves, features, thresholds, children, roots = 0, [], [], [], [0]
    for tree_features, split_bins, tree_children in trees:
        inner = tree_features >= 0
        numbers = np.where(inner, tree_children + roots[-1], tree_children + n_leaves)
        edges = [bins.edges[j][b] if j >= 0 else 0.0 for j, b in zip(tree_features, split_bins, strict=True)]
        features.append(np.where(inner, bins.columns[tree_features], -1))
        thresholds.append(np.array(edges))
        children.append(numbers)
        roots.append(roots[-1] + len(tree_features))
        n_leaves += int((~inner).sum())
    return Forest(
        np.concatenate(features).astype(np.int32),
        np.concatenate(thresholds),
        np.concatenate(children).astype(np.int32),
        np.array(roots[:-1], np.int32),
    )

"""Choose a joint machine by a sample of the rows: leaves of boosted trees and landmarks in one ridge regression.

    min_B  |E B - T|^2 + mu |B_leaves|^2 + lam B_landmarks' (K + JITTER I) B_landmarks
    E = [leaves of trees | K(z, landmarks) | -1],  K the kernel between landmarks, the bias free

Trees give steps, heavy tails and useless features; landmarks give smooth surfaces. The ridge fits every leaf anew, to
all rows. In the sample, in the order of a keyed hash, the first rows are held out; the others train.

1. Trees grow on the training part: boosting with squared loss, see `solvers.trees`.
2. Landmarks: kernel, width and metric by few landmarks and rows; the best again with more of them.
3. Ridges mu and lam, on half a machine, for each kind of landmarks that is left. The squared error of the rows held out
   judges, also which kind is the best beside the trees.
4. Size: what the error does when trees and landmarks double says how many pay.
5. Trees grow again, in their final number, on all rows of the sample.
6. Where size does not pay, a second machine on other trees and landmarks joins, and decision values are averaged.

Source: ours; Scholkopf, Smola, Learning with kernels, 2002 (the norm of the second term). methods.md has figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.features.forest import Forest, add_leaf_weights
from mr_elm.features.gradients import average_gradients, make_metric
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import hash_rows, scramble
from mr_elm.features.metric import FeatureColumns, choose_kind
from mr_elm.features.nodes import BEFORE, NODES
from mr_elm.machines.metric import LearnedMetric, SampleRows, find_classes
from mr_elm.machines.node_choice import (
    MOST_FEATURES,
    Candidate,
    climb,
    judge,
    list_kernels,
    median_scale,
    round_scale,
    square_errors,
)
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.parallel import map_in_threads
from mr_elm.scores.selection import select_sample
from mr_elm.solvers.ridge import Penalty, TrainingRows, factor_ridge, measure_nodes
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.sums.gram import expand
from mr_elm.sums.leaf_loops import add_leaves
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows

SAMPLE_ROWS = 24_000  # of which trees grow and landmarks are taken
SAMPLE_NUMBERS = 3e7  # of a dense sample: wide rows are fewer
MERGED, FEW_DIFFERENT = 1000, 100  # rows, and different ones among them, up to which copies are merged
HELD_SHARE, MOST_HELD, ORDER_KEY = 4, 4000, 11  # a quarter of the sample is held out, by a hash with a key of its own
TREES, LANDMARKS = 64, 500  # of the machine that ridges and size are chosen with
RIDGE_ROWS = 12_000  # of the half machine
WIDTH_STEPS = (0, -2, 2)  # doublings of a width that a search begins with
RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001)  # lam of landmarks alone
LEAF_RIDGES, FACTORS = (30.0, 300.0), (0.3, 3.0, 30.0)  # mu; multiples of the lam that landmarks alone would take
METRIC_STEPS = 2
FULL_FEATURES = 200  # up to which a full metric is tried
MARGIN = 0.01  # by which a metric must win
PAYS = 0.96  # error(full) / error(half) above which a second machine helps more than a larger one
SECOND = 0.02  # how much worse the landmarks of a second machine may be
# of few rows, whose folds must be fitted many times
FOLDS, FEWEST_ROWS = 4, 20
FEW_TREES, FEW_LEAVES, FEW_LANDMARKS = 40, 8, 200
FEW_LEAF_RIDGES = (3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Stage:
    """Say how many landmarks, training rows and rows held out a comparison takes."""

    n_landmarks: int
    n_rows: int
    n_held: int


FIRST, SECOND_STAGE = Stage(150, 1000, 1000), Stage(400, 2500, 1500)


@dataclass(frozen=True)
class LandmarkKind:
    """Hold what landmarks compute: kernel, width and metric stand in the problem.

    ridge : lam of landmarks alone. value : how good these are, see `judge`.
    """

    problem: NodeProblem
    ridge: float
    value: float
    __repr__ = one_line

    @property
    def has_metric(self) -> bool:
        """Tell whether the landmarks are behind a learned metric."""
        return self.problem.learned is not None

    def describe(self) -> str:
        """Say for people what it is."""
        options, learned = self.problem.options, self.problem.learned
        if learned is None:
            metric = ''
        else:
            metric = f' behind a {learned.kind} metric'
        return f'{options.kernel} landmarks of weight scale {options.weight_scale:g}{metric}'


@dataclass(frozen=True)
class JointDesign:
    """Say how a joint machine is made of a sample and a pass over all rows.

    trees : how they grow. kind : of the landmarks; n_landmarks of them, from first_landmark of the sample on.
    leaf_ridge, landmark_ridge : mu and lam.
    """

    trees: TreeOptions
    kind: LandmarkKind
    n_landmarks: int
    leaf_ridge: float
    landmark_ridge: float
    first_landmark: int = 0

    def make_layer(self, bins: Bins, rows: SampleRows) -> HiddenLayer:
        """Grow the trees on rows of the sample, and place the landmarks."""
        nodes = place_landmarks(self.kind.problem, self.n_landmarks, self.first_landmark)
        return replace(nodes, forest=grow_forest(bins, rows.T, rows.weights, self.trees))

    @property
    def options(self) -> PESVMOptions:
        """Return the options of a training on all rows."""
        options = self.kind.problem.options
        return replace(
            options,
            map=f'{BEFORE}{options.map}',
            n_hidden=self.n_landmarks,
            nu=1 / self.landmark_ridge,
            leaves=self.trees.n_trees * self.trees.n_leaves,
            leaf_ridge=self.leaf_ridge / self.landmark_ridge,
        )


@dataclass(frozen=True)
class Choice:
    """Hold what a sample says: the design of the machine that ridges and size were chosen with, and others.

    errors : mean squared error on the rows held out of each kind of landmarks beside half of the trees.
    ratio : error of the machine divided by that of its half.
    values : (n_held, K), decision values of the rows held out.
    """

    design: JointDesign
    kinds: list[LandmarkKind]
    errors: list[float]
    ratio: float
    values: Floats
    __repr__ = one_line

    @property
    def second_kind(self) -> LandmarkKind:
        """Return the kind of landmarks of a second machine: another one where it is about as good."""
        best = min(self.errors)
        others = [
            (error, k)
            for k, error in enumerate(self.errors)
            if self.kinds[k] is not self.design.kind and error <= best * (1 + SECOND)
        ]
        if others:
            return self.kinds[min(others)[1]]
        return self.design.kind

    def size(self, n_trees: int, n_landmarks: int) -> list[JointDesign]:
        """Return the designs of the machines to average, of so many trees and landmarks each."""
        first = replace(self.design, trees=replace(self.design.trees, n_trees=n_trees), n_landmarks=n_landmarks)
        if self.ratio <= PAYS:
            return [first]
        kind = self.second_kind
        factor = self.design.landmark_ridge / self.design.kind.ridge
        return [
            first,
            replace(
                first,
                trees=first.trees.vary(),
                kind=kind,
                landmark_ridge=factor * kind.ridge,
                first_landmark=n_landmarks,
            ),
        ]


def count_sample(summary: Summary, sparse: bool) -> int:
    """Return how many rows a sample should have."""
    if sparse:
        return SAMPLE_ROWS
    return max(1, min(SAMPLE_ROWS, int(SAMPLE_NUMBERS / summary.columns.n_features)))


def take_sample(rows: TrainingRows, summary: Summary, seed: int, center: bool = True) -> SampleRows:
    """Return the sample that a driver would take of rows in memory. center : see `SampleRows.of`."""
    share = min(1.0, count_sample(summary, sp.issparse(rows.X)) / rows.X.shape[0])
    chosen = select_sample(rows.X, share, seed)
    weights = None
    if rows.sample_weight is not None:
        weights = rows.sample_weight[chosen]
    if rows.classes is None:
        n_classes = 0
    else:
        n_classes = len(rows.classes.names)
    columns = FeatureColumns.of(summary.columns, summary.encoding)
    return SampleRows.of(rows.X[chosen], rows.y[chosen], n_classes, weights, columns, center)


def merge_copies(X: Rows, T: np.ndarray, weights: Floats | None) -> tuple[np.ndarray, Floats | None]:
    """Return the number of each different row, once, and the weight of all its copies, where few rows are different.

    Where many are, all rows are returned. Leave-one-out of a row whose copy stays says nothing of new rows. So a row of
    weight 2 is as two rows. T : (n,) or (n, K), targets or class numbers, which must be equal too.
    """
    everything = np.arange(len(T))
    if len(T) > MERGED:
        return everything, weights
    keys = np.column_stack([hash_rows(X, 0).view(np.int64), (T + 0.0).view(np.int64)])
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) > FEW_DIFFERENT or (weights is None and len(first) == len(T)):
        return everything, weights
    return first, np.bincount(number.ravel(), weights).astype(float)


def grow_leaves(layer: HiddenLayer, rows: SampleRows, options: PESVMOptions) -> HiddenLayer:
    """Return a layer behind leaves of trees that grow on a sample of the rows, as those of `JointDesign` do."""
    if rows.weights is not None and rows.weights.any():
        rows = rows.take(rows.weights > 0)
    first, weights = merge_copies(rows.X, rows.T, rows.weights)
    rows = replace(rows.take(first), weights=weights)
    rows = rows.take(order_rows(rows, options.seed))
    n_trees = max(1, options.leaves // TreeOptions.n_leaves)
    trees = TreeOptions.for_rows(len(rows), rows.X.shape[1], n_trees, options.seed)
    trees = replace(trees, n_leaves=min(trees.n_leaves, options.leaves))
    return replace(layer, forest=grow_forest(Bins.of(rows.X), rows.T, rows.weights, trees))


def order_rows(rows: SampleRows, seed: int) -> np.ndarray:
    """Return the order of rows by a keyed hash, whatever their order is; copies of a row are spread.

    Classes have their shares in any first part of the rows, and each of them has a row in front.
    """
    hashes = hash_rows(rows.X, seed + ORDER_KEY)
    order = np.lexsort((*rows.T.T, hashes))
    ordered = hashes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    copies = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    order = order[np.argsort(scramble(ordered + copies.astype(np.uint64)), kind='stable')]
    if not rows.n_classes:
        return order
    numbers = find_classes(rows.T[order])
    counts = np.bincount(numbers)
    by_class = np.argsort(numbers, kind='stable')
    ranks = np.empty(len(order), int)
    ranks[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.argsort(ranks / counts[numbers], kind='stable')]


def count_held(n_rows: int) -> int:
    """Return how many rows of a sample are held out: the first ones."""
    return min(n_rows // HELD_SHARE, MOST_HELD)


def choose_joint(problem: NodeProblem, rows: SampleRows, n_threads: int | None = None) -> Choice:
    """Choose landmarks and ridges by a sample. problem : with landmarks. rows : in the order of `order_rows`.

    n_threads : see `map_in_threads`; no choice depends on it.
    """
    n_held, seed = count_held(len(rows)), problem.options.seed
    held, grown = rows.take(slice(0, n_held)), rows.take(slice(n_held, None))
    bins = Bins.of(grown.X)
    trees = TreeOptions.for_rows(len(rows), rows.X.shape[1], TREES, seed)
    forest = grow_forest(bins, grown.T, grown.weights, trees)
    kinds = search_landmarks(problem, grown, held, n_threads)
    half = forest.take(TREES // 2)
    part = grown.take(slice(0, RIDGE_ROWS))

    def choose(kind: LandmarkKind) -> Ridges:
        return choose_ridges(JointSums.of(half, place_landmarks(kind.problem, LANDMARKS // 2), part, held), kind)

    found = map_in_threads(choose, kinds, n_threads)
    chosen = min(range(len(kinds)), key=lambda k: found[k].error * (1 + MARGIN * kinds[k].has_metric))
    ridges, kind = found[chosen], kinds[chosen]
    layer = place_landmarks(kind.problem, LANDMARKS)
    full = JointSums.of(forest, layer, grown, held)
    halved = full.take(half, layer.take(len(layer.biases) // 2))
    error, values = full.score(ridges.leaves, ridges.landmarks)
    error_of_half = halved.score(ridges.leaves, ridges.landmarks)[0]
    ratio = 1.0
    if 0 < error_of_half < np.inf:
        ratio = error / error_of_half
    design = JointDesign(trees, kind, LANDMARKS, ridges.leaves, ridges.landmarks)
    return Choice(design, kinds, [each.error for each in found], ratio, values)


def place_landmarks(problem: NodeProblem, n_landmarks: int, first: int = 0) -> HiddenLayer:
    """Return the nodes of a kind of landmarks: n_landmarks rows of the sample from one on, the last where it ends."""
    rows = problem.summary.landmarks
    first = max(0, min(first, rows.shape[0] - n_landmarks))
    return replace(
        problem,
        summary=replace(problem.summary, landmarks=rows[first:]),
        options=replace(problem.options, n_hidden=n_landmarks),
    ).make_layer()


def search_landmarks(
    problem: NodeProblem, grown: SampleRows, held: SampleRows, n_threads: int | None = None
) -> list[LandmarkKind]:
    """Return the two best kinds of landmarks without a metric, and the best one with a metric, the best first."""

    def search(kernel: str) -> LandmarkKind:
        return choose_width(problem.with_options(map='nystrom', kernel=kernel), grown, held, FIRST)

    plain = map_in_threads(search, list_kernels(grown, 0), n_threads)
    plain.sort(key=lambda kind: -kind.value)
    smooth = next(kind for kind in plain if NODES[kind.problem.options.node_kind].norm == 2)
    found = map_in_threads(lambda metric: search_metrics(smooth, metric, grown, held), list_metrics(grown), n_threads)
    learned = sorted(chain(*found), key=lambda kind: -kind.value)
    refined = map_in_threads(lambda kind: refine_width(kind, grown, held), [*plain[:2], *learned[:1]], n_threads)
    return sorted(refined, key=lambda kind: -kind.value)


def list_metrics(rows: SampleRows) -> list[str]:
    """Return the kinds of metric that are worth their time: none for a single feature, and for very many."""
    d = rows.X.shape[1]
    if not 1 < d <= MOST_FEATURES:
        return []
    wanted = ('diagonal', 'full') if d <= FULL_FEATURES else ('diagonal',)
    return list(dict.fromkeys(choose_kind(name, d, hasattr(rows.X, 'toarray')) for name in wanted))


def choose_width(problem: NodeProblem, grown: SampleRows, held: SampleRows, stage: Stage) -> LandmarkKind:
    """Return landmarks of the width that rows held out choose: it goes on outwards while the best lies at an edge."""
    start = median_scale(problem, problem.options.kernel)

    def score(step: int) -> LandmarkKind:
        scaled = problem.with_options(weight_scale=round_scale(start * 2.0**-step))
        return score_landmarks(scaled, grown, held, stage, RIDGES)

    return climb(score, WIDTH_STEPS, n_neighbours=2)


def refine_width(kind: LandmarkKind, grown: SampleRows, held: SampleRows) -> LandmarkKind:
    """Return landmarks as they suit their larger number: as wide, or half as wide, with the ridge chosen anew."""
    scale, ridges = kind.problem.options.weight_scale, [kind.ridge * factor for factor in (3.0, 1.0, 0.3, 0.1)]
    tried = [
        score_landmarks(
            kind.problem.with_options(weight_scale=round_scale(scale * factor)), grown, held, SECOND_STAGE, ridges
        )
        for factor in (1.0, 2.0)
    ]
    return max(tried, key=lambda each: each.value)


def score_landmarks(
    problem: NodeProblem, grown: SampleRows, held: SampleRows, stage: Stage, ridges: tuple[float, ...] | list[float]
) -> LandmarkKind:
    """Return landmarks with the best of some ridges, as rows held out judge."""
    layer = place_landmarks(problem, stage.n_landmarks)
    sums = JointSums.of(None, layer, grown.take(slice(0, stage.n_rows)), held.take(slice(0, stage.n_held)))
    kinds = [LandmarkKind(problem, ridge, sums.judge(ridge)) for ridge in ridges]
    return max(kinds, key=lambda kind: kind.value)


def search_metrics(base: LandmarkKind, metric: str, grown: SampleRows, held: SampleRows) -> list[LandmarkKind]:
    """Return landmarks behind metrics of a kind that are learned step by step, each at its best width.

    A metric is learned with the kernel and the width of `base`, relative to the median distance.
    """
    few, kind, found = grown.take(slice(0, FIRST.n_rows)), base, []
    for step in range(1, METRIC_STEPS + 1):
        learned = learn_metric_step(kind, few, metric == 'full')
        if learned is None:
            break
        behind = replace(base.problem, learned=LearnedMetric(learned, step))
        tried = [
            choose_width(behind.with_options(kernel=kernel), grown, held, FIRST) for kernel in list_kernels(grown, 0)
        ]
        found += tried
        kind = max(
            (each for each in tried if NODES[each.problem.options.node_kind].norm == 2), key=lambda each: each.value
        )
    return found


def learn_metric_step(kind: LandmarkKind, rows: SampleRows, full: bool) -> Floats | None:
    """Return the metric of the gradients of landmarks fitted to rows; None where no feature counts."""
    layer = place_landmarks(kind.problem, FIRST.n_landmarks)
    B = JointSums.of(None, layer, rows, rows).solve(0.0, kind.ridge)
    if B is None:
        return None
    gradients = average_gradients(layer, rows.X, B[:-1], full, rows.weights, along=rows.columns.project)
    return make_metric(gradients, rows.columns.variance * layer.scale**2)


def cross_fit(
    problem: NodeProblem, rows: SampleRows, best: Candidate, n_nodes: int | None = None, n_threads: int | None = None
) -> Candidate | None:
    """Return a joint machine of few rows, on the landmarks of the best candidate; None where rows or nodes are too few.

    Its leaves have seen the labels of their rows, so leave-one-out would flatter it: each fold is judged by trees and
    weights of the others. All folds together choose mu and lam. n_nodes : at most so many, None for any
    number. n_threads : see `map_in_threads`.
    """
    n_leaves = FEW_TREES * FEW_LEAVES
    n_landmarks = min(FEW_LANDMARKS, len(rows), problem.summary.landmarks.shape[0])
    if len(rows) < FEWEST_ROWS or (n_nodes is not None and n_nodes < n_leaves + n_landmarks):
        return None
    seed, fold = problem.options.seed, np.arange(len(rows)) % FOLDS
    trees = replace(TreeOptions.for_rows(len(rows), rows.X.shape[1], FEW_TREES, seed), n_leaves=FEW_LEAVES)
    kind = LandmarkKind(best.state(problem), 1 / best.options.nu, best.value)
    nodes = place_landmarks(kind.problem, n_landmarks)

    def sum_up(k: int) -> JointSums:
        grown = rows.take(fold != k)
        return JointSums.of(
            grow_forest(Bins.of(grown.X), grown.T, grown.weights, trees), nodes, grown, rows.take(fold == k)
        )

    sums, found = map_in_threads(sum_up, range(FOLDS), n_threads), []
    for mu, factor in product(FEW_LEAF_RIDGES, FACTORS):
        scored = [each.score(mu, factor * kind.ridge) for each in sums]
        if all(error < np.inf for error, _ in scored):
            values = np.empty(rows.T.shape)
            for k, (_, of_fold) in enumerate(scored):
                values[fold == k] = of_fold
            found.append((judge(values, rows), mu, factor * kind.ridge, values))
    if not found:
        return None
    value, mu, lam, values = max(found, key=lambda each: each[0])
    design = JointDesign(trees, kind, n_landmarks, mu, lam)
    return Candidate(
        design.options, design.make_layer(Bins.of(rows.X), rows), value, values, np.ones(len(rows), bool), best.learned
    )


@dataclass(frozen=True)
class Ridges:
    """Hold mu and lam, and the squared error of rows held out with them."""

    leaves: float
    landmarks: float
    error: float


def choose_ridges(sums: JointSums, kind: LandmarkKind) -> Ridges:
    """Choose mu and lam by rows held out: mu first, then lam, then mu in smaller steps."""
    tried: dict[tuple[float, float], float] = {}

    def score(mu: float, factor: float) -> None:
        if (mu, factor) not in tried:
            tried[mu, factor] = sums.score(mu, factor * kind.ridge)[0]

    def find_best() -> tuple[float, float]:
        return min(tried, key=lambda pair: tried[pair])

    low, high = LEAF_RIDGES
    middle = FACTORS[1]
    score(low, middle)
    score(high, middle)
    mu, _ = find_best()
    score(mu / 10 if mu == low else mu * 10, middle)
    mu, _ = find_best()
    for factor in FACTORS:
        score(mu, factor)
    mu, factor = find_best()
    for step in (1 / 3, 3.0):
        score(mu * step, factor)
    mu, factor = find_best()
    return Ridges(mu, factor * kind.ridge, tried[mu, factor])


@dataclass(frozen=True)
class JointSums:
    """Hold the sums of training rows on a layer, and what rows held out see of it.

    gram, right : (m, m) upper triangle, (m, K), m = leaves + landmarks + 1. kernel : K + JITTER I.
    mean : (K,), of the targets, which is taken off before the sums. leaves, E : of the rows held out.
    """

    n_leaves: int
    gram: Floats
    right: Floats
    kernel: Floats
    mean: Floats
    leaves: np.ndarray | None
    E: Floats
    held: SampleRows
    __repr__ = one_line

    @classmethod
    def of(cls, forest: Forest | None, nodes: HiddenLayer, rows: SampleRows, held: SampleRows) -> JointSums:
        """Sum up rows. forest : None for landmarks alone."""
        n_leaves, n_targets = 0 if forest is None else forest.n_leaves, rows.T.shape[1]
        if rows.weights is None:
            weights = np.ones(len(rows))
        else:
            weights = rows.weights
        mean = np.average(rows.T, axis=0, weights=weights)
        ET = expand(nodes, rows.X, n_targets)
        ET[:, nodes.n_hidden + 1 :] = rows.T - mean
        ET *= np.sqrt(weights)[:, None]
        m = n_leaves + nodes.n_hidden + 1
        products = np.empty((m + n_targets, m + n_targets))
        np.matmul(ET.T, ET, out=products[n_leaves:, n_leaves:])
        leaves = None
        if forest is not None:
            add_leaves(forest.find_leaves(rows.X), ET, weights, products)
            leaves = forest.find_leaves(held.X)
        return cls(
            n_leaves,
            products[:m, :m],
            products[:m, m:],
            measure_nodes(nodes),
            mean,
            leaves,
            expand(nodes, held.X),
            held,
        )

    def take(self, forest: Forest, nodes: HiddenLayer) -> JointSums:
        """Return the sums of the first trees and landmarks."""
        n_landmarks, m = nodes.n_hidden, len(self.gram)
        kept = np.r_[0 : forest.n_leaves, self.n_leaves : self.n_leaves + n_landmarks, m - 1]
        assert self.leaves is not None
        return replace(
            self,
            n_leaves=forest.n_leaves,
            gram=self.gram[np.ix_(kept, kept)],
            right=self.right[kept],
            kernel=self.kernel[:n_landmarks, :n_landmarks],
            leaves=self.leaves[:, : forest.n_trees],
            E=np.delete(self.E, slice(n_landmarks, -1), axis=1),
        )

    def solve(self, leaf_ridge: float, landmark_ridge: float) -> Floats | None:
        """Return the output weights, (m, K); None where rounding errors are larger than the ridges."""
        penalty = Penalty(self.n_leaves, leaf_ridge, landmark_ridge * self.kernel)
        factor = factor_ridge(self.gram, penalty)
        if factor is None:
            return None
        return linalg.dpotrs(factor, np.asfortranarray(self.right), lower=1)[0]

    def predict(self, B: Floats) -> Floats:
        """Return the decision values of the rows held out, (n, K)."""
        values = self.E @ B[self.n_leaves :] + self.mean
        if self.leaves is not None:
            add_leaf_weights(self.leaves, B, values)
        return values

    def score(self, leaf_ridge: float, landmark_ridge: float) -> tuple[float, Floats]:
        """Return (mean squared error, decision values) of the rows held out; (inf, 0) where there is no solution."""
        B = self.solve(leaf_ridge, landmark_ridge)
        if B is None:
            return np.inf, np.zeros(self.held.T.shape)
        values = self.predict(B)
        return float(np.average(square_errors(values, self.held), weights=self.held.weights)), values

    def judge(self, landmark_ridge: float) -> float:
        """Return how good landmarks alone are, see `node_choice.judge`."""
        B = self.solve(0.0, landmark_ridge)
        if B is None:
            return -np.inf
        return judge(self.predict(B), self.held)

"""Choose a joint machine by a sample of the rows: leaves of boosted trees and landmarks in one ridge regression.

    min_B  |E B - T|^2 + mu |B_leaves|^2 + lam B_landmarks' (K + JITTER I) B_landmarks
    E = [leaves of trees | K(z, landmarks) | -1],  K the kernel between landmarks, the bias free

Trees give steps, heavy tails and useless features; landmarks give smooth surfaces. The ridge fits every leaf anew, to
all rows. In the sample, in the order of a keyed hash, the first rows are held out; the others train.

1. Trees grow on the training part: boosting with squared loss, see `solvers.trees`.
2. Landmarks: kernel, width and metric by few landmarks and rows; the best again with more of them.
3. Ridges mu and lam, on half a machine, for each kind of landmarks that is left. The squared error of the rows held out
   judges, also which kind is the best beside the trees.
4. Size: what the error does when trees and landmarks double says how many pay. Smaller machines choose ridges anew.
   Machines of this size, which have not seen the rows held out, score them.
5. Trees grow again, in their final number, on all rows of the sample.
6. Where size does not pay, a second machine on other trees and landmarks joins, and decision values are averaged.

Source: ours; Scholkopf, Smola, Learning with kernels, 2002 (the norm of the second term). methods.md has figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, product

import numpy as np

from mr_elm import linalg
from mr_elm.errors import record
from mr_elm.features.forest import Forest, add_leaf_weights
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import BEFORE, NODES
from mr_elm.machines.choose import (
    Candidate,
    climb,
    find_best,
    list_kernels,
    list_metrics,
    median_scale,
    round_scale,
)
from mr_elm.machines.metric import LearnedMetric, take_metric_step
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.sample import SampleRows, arrange_rows
from mr_elm.parallel import map_in_threads
from mr_elm.solvers.ridge import Penalty, factor_ridge, measure_nodes
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.sparse import issparse
from mr_elm.sums.gram import expand, multiply
from mr_elm.typing import Floats

ROWS_PER_HELD, MAX_HELD_ROWS = 4, 4000  # a quarter of the sample is held out, and at most so many rows
TREES, LANDMARKS = 64, 500  # of the machine that ridges and size are chosen with
RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001)  # lam of landmarks alone
LEAF_RIDGES, RIDGE_FACTORS = (30.0, 300.0), (0.3, 3.0, 30.0)  # mu; multiples of the lam that landmarks alone would take
SECOND_MACHINE_RATIO = 0.96  # error(full) / error(half) above which a second machine helps more than a larger one
MIN_ROWS = 20  # with fewer rows, the scores of rows held out are mostly chance
FOLDS = 4  # of few rows, whose folds must be fitted many times
FOLD_TREES, FOLD_LEAVES, FOLD_LANDMARKS = 40, 8, 200


@dataclass(frozen=True)
class Stage:
    """Say how many landmarks, training rows and rows held out a comparison takes."""

    n_landmarks: int
    n_rows: int
    n_held: int


FIRST_STAGE, SECOND_STAGE = Stage(150, 1000, 1000), Stage(400, 2500, 1500)


@dataclass(frozen=True)
class JointDesign:
    """Say how a joint machine is made of a sample and a pass over all rows.

    trees : how they grow. kind : of the landmarks; n_landmarks of them, from first_landmark of the sample on.
    leaf_ridge, landmark_ridge : mu and lam. Designs that differ in them alone have the same sums, and are equal.
    """

    trees: TreeOptions
    kind: Candidate
    n_landmarks: int
    leaf_ridge: float = field(compare=False)
    landmark_ridge: float = field(compare=False)
    first_landmark: int = 0

    def make_layer(self, bins: Bins, rows: SampleRows) -> HiddenLayer:
        """Grow the trees on rows of the sample, and place the landmarks."""
        return replace(self.place_landmarks(), forest=grow_forest(bins, rows.T, rows.weights, self.trees))

    def place_landmarks(self) -> HiddenLayer:
        """Return the nodes of the landmarks."""
        return place_landmarks(self.kind.problem, self.n_landmarks, self.first_landmark)

    @property
    def problem(self) -> NodeProblem:
        """Return the problem of a training on all rows."""
        return self.kind.problem.with_options(
            map=f'{BEFORE}{self.kind.problem.options.map}',
            n_hidden=self.n_landmarks,
            nu=1 / self.landmark_ridge,
            leaves=self.trees.n_trees * self.trees.n_leaves,
            leaf_ridge=self.leaf_ridge / self.landmark_ridge,
        )


@record
class Choice:
    """Hold what a sample says: the design of the machine that ridges and size were chosen with, and others.

    errors : mean squared error on the rows held out of each kind of landmarks beside half of the trees.
    ratio : error of the machine divided by that of its half.
    sum_up : returns the sums of a design that has not seen the rows held out.
    """

    design: JointDesign
    kinds: list[Candidate]
    errors: list[float]
    ratio: float
    sum_up: Callable[[JointDesign], JointSums]

    def size(self, n_trees: int, n_landmarks: int) -> list[JointDesign]:
        """Return the designs of the machines to average, of so many trees and landmarks each.

        The rows held out choose the ridges of smaller machines anew.
        """
        first = replace(self.design, trees=replace(self.design.trees, n_trees=n_trees), n_landmarks=n_landmarks)
        if n_trees < TREES:
            leaf_ridge, landmark_ridge, _ = choose_ridges(self.sum_up(first), first.kind)
            first = replace(first, leaf_ridge=leaf_ridge, landmark_ridge=landmark_ridge)
        if self.ratio <= SECOND_MACHINE_RATIO:
            return [first]
        others = {
            error: kind
            for error, kind in zip(self.errors, self.kinds, strict=True)
            if kind is not self.design.kind and error <= 1.02 * min(self.errors)
        }
        kind = self.design.kind
        if others:  # another one that is about as good
            kind = others[min(others)]
        factor = first.landmark_ridge / first.kind.ridge
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

    def predict(self, design: JointDesign) -> Floats:
        """Return the decision values of the rows held out, by a machine of a design that has not seen them."""
        return self.sum_up(design).score(design.leaf_ridge, design.landmark_ridge)[1]


def grow_leaves(layer: HiddenLayer, rows: SampleRows, options: PESVMOptions) -> HiddenLayer:
    """Return a layer behind leaves of trees that grow on a sample of the rows, as those of `JointDesign` do."""
    if rows.weights is not None and rows.weights.any():
        rows = rows.take(rows.weights > 0)
    rows = arrange_rows(rows, options.seed)
    n_trees = max(1, options.leaves // TreeOptions.n_leaves)
    trees = TreeOptions.for_rows(len(rows), rows.X.shape[1], n_trees, options.seed)
    trees = replace(trees, n_leaves=min(trees.n_leaves, options.leaves))
    return replace(layer, forest=grow_forest(Bins.of(rows.X), rows.T, rows.weights, trees))


def count_held(n_rows: int) -> int:
    """Return how many rows of a sample are held out: the first ones."""
    return min(n_rows // ROWS_PER_HELD, MAX_HELD_ROWS)


def choose_scale(problem: NodeProblem, rows: SampleRows) -> NodeProblem:
    """Return the problem of sparse rows unscaled where they choose so: scaling gives a rare word the largest weight."""
    if not issparse(rows.X) or len(rows) < MIN_ROWS:
        return problem
    n_held, unscaled = count_held(len(rows)), problem.with_options(scale='none')
    held, grown = rows.split(n_held)

    def judge(problem: NodeProblem) -> float:
        return choose_width(problem.with_options(map='nystrom'), grown, held, FIRST_STAGE).value

    if judge(unscaled) > judge(problem) + 0.01:  # an accuracy better by a hundredth, at least
        return unscaled
    return problem


def choose_joint(problem: NodeProblem, rows: SampleRows) -> Choice:
    """Choose landmarks and ridges by a sample. problem : with landmarks. rows : in the order of `order_rows`."""
    n_held, seed = count_held(len(rows)), problem.options.seed
    held, grown = rows.split(n_held)
    bins = Bins.of(grown.X)
    trees = TreeOptions.for_rows(len(rows), rows.X.shape[1], TREES, seed)
    grow = cache(partial(grow_forest, bins, grown.T, grown.weights))
    half = grow(trees).take(TREES // 2)
    kinds = search_landmarks(problem, grown, held)
    part = grown.take(slice(0, 12_000))  # enough to choose ridges by

    def choose(kind: Candidate) -> tuple[float, float, float]:
        return choose_ridges(JointSums.of(half, place_landmarks(kind.problem, LANDMARKS // 2), part, held), kind)

    of_kinds = map_in_threads(choose, kinds)
    errors = [error for *_, error in of_kinds]
    # a metric must win by 1 %
    weights = [1.0 if kind.problem.learned.metric is None else 1.01 for kind in kinds]
    chosen = int(np.argmin(np.multiply(errors, weights)))
    mu, lam, _ = of_kinds[chosen]
    design = JointDesign(trees, kinds[chosen], LANDMARKS, mu, lam)

    @cache
    def sum_up(design: JointDesign) -> JointSums:
        return JointSums.of(grow(design.trees), design.place_landmarks(), grown, held)

    full = sum_up(design)
    halved = full.take(half, len(full.kernel) // 2)
    error, error_of_half = (sums.score(mu, lam)[0] for sums in (full, halved))
    ratio = 1.0
    if 0 < error_of_half < np.inf:
        ratio = error / error_of_half
    return Choice(design, kinds, errors, ratio, sum_up)


def place_landmarks(problem: NodeProblem, n_landmarks: int, first: int = 0) -> HiddenLayer:
    """Return the nodes of a kind of landmarks: n_landmarks rows of the sample from one on, the last where it ends."""
    rows = problem.summary.landmarks
    first = max(0, min(first, rows.shape[0] - n_landmarks))
    problem = problem.with_options(n_hidden=n_landmarks)
    return replace(problem, summary=replace(problem.summary, landmarks=rows[first:])).make_layer()


def search_landmarks(problem: NodeProblem, grown: SampleRows, held: SampleRows) -> list[Candidate]:
    """Return the two best kinds of landmarks without a metric, and the best one with a metric, the best first."""

    def search(kernel: str) -> Candidate:
        return choose_width(problem.with_options(map='nystrom', kernel=kernel), grown, held, FIRST_STAGE)

    plain = map_in_threads(search, list_kernels(grown))
    plain.sort(key=lambda kind: -kind.value)
    smooth = next(filter(is_smooth, plain))
    metrics = list_metrics(grown, max_full=200)  # of more features a full one costs more than the rest of the search
    behind = map_in_threads(lambda metric: search_metrics(smooth, metric, grown, held), metrics)
    learned = sorted(chain(*behind), key=lambda kind: -kind.value)

    def refine(kind: Candidate) -> Candidate:  # more landmarks: as wide, or half as wide, with the ridge chosen anew
        scale, ridges = kind.problem.options.weight_scale, [kind.ridge * factor for factor in (3.0, 1.0, 0.3, 0.1)]
        scales = [round_scale(scale * factor) for factor in (1.0, 2.0)]
        scaled = [kind.problem.with_options(weight_scale=each) for each in scales]
        return find_best([score_landmarks(each, grown, held, SECOND_STAGE, ridges) for each in scaled])

    refined = map_in_threads(refine, [*plain[:2], *learned[:1]])
    return sorted(refined, key=lambda kind: -kind.value)


def is_smooth(kind: Candidate) -> bool:
    """Tell whether the kernel of landmarks has gradients that teach a metric."""
    return NODES[kind.problem.options.node_kind].norm == 2


def choose_width(problem: NodeProblem, grown: SampleRows, held: SampleRows, stage: Stage) -> Candidate:
    """Return landmarks of the width that rows held out choose: it goes on outwards while the best lies at an edge."""
    start = median_scale(problem, problem.options.kernel)

    def score(step: int) -> Candidate:
        scaled = problem.with_options(weight_scale=round_scale(start * 2.0**-step))
        return score_landmarks(scaled, grown, held, stage, RIDGES)

    return climb(score, (0, -2, 2), n_neighbours=2)


def score_landmarks(
    problem: NodeProblem, grown: SampleRows, held: SampleRows, stage: Stage, ridges: tuple[float, ...] | list[float]
) -> Candidate:
    """Return landmarks with the best of some ridges, as rows held out judge."""
    layer = place_landmarks(problem, stage.n_landmarks)
    sums = JointSums.of(None, layer, grown.take(slice(0, stage.n_rows)), held.take(slice(0, stage.n_held)))
    return find_best([sums.judge(problem, ridge) for ridge in ridges])


def search_metrics(base: Candidate, metric: str, grown: SampleRows, held: SampleRows) -> list[Candidate]:
    """Return landmarks behind metrics of a kind that are learned step by step, each at its best width.

    A metric is learned with the kernel and the width of `base`, relative to the median distance.
    """
    rows, kind, candidates = grown.take(slice(0, FIRST_STAGE.n_rows)), base, []
    for step in (1, 2):
        layer = place_landmarks(kind.problem, FIRST_STAGE.n_landmarks)
        B = JointSums.of(None, layer, rows, rows).solve(0.0, kind.ridge)
        if B is None:
            break
        learned = take_metric_step(layer, rows, B, metric == 'full')
        if learned is None:
            break
        behind = replace(base.problem, learned=LearnedMetric(learned, step))
        tried = [
            choose_width(behind.with_options(kernel=kernel), grown, held, FIRST_STAGE) for kernel in list_kernels(grown)
        ]
        candidates += tried
        kind = find_best([each for each in tried if is_smooth(each)])
    return candidates


def cross_fit(problem: NodeProblem, rows: SampleRows, best: Candidate, n_nodes: int | None = None) -> Candidate | None:
    """Return a joint machine of few rows, on the landmarks of the best candidate; None where rows or nodes are too few.

    Its leaves have seen the labels of their rows, so leave-one-out would flatter it: each fold is judged by trees and
    weights of the others. All folds together choose mu and lam. n_nodes : at most so many, None for any
    number.
    """
    n_leaves = FOLD_TREES * FOLD_LEAVES
    n_landmarks = min(FOLD_LANDMARKS, len(rows), problem.summary.landmarks.shape[0])
    if len(rows) < MIN_ROWS or (n_nodes is not None and n_nodes < n_leaves + n_landmarks):
        return None
    seed, fold = problem.options.seed, np.arange(len(rows)) % FOLDS
    trees = replace(TreeOptions.for_rows(len(rows), rows.X.shape[1], FOLD_TREES, seed), n_leaves=FOLD_LEAVES)
    nodes = place_landmarks(best.problem, n_landmarks)

    def sum_up(k: int) -> JointSums:
        grown = rows.take(fold != k)
        return JointSums.of(
            grow_forest(Bins.of(grown.X), grown.T, grown.weights, trees), nodes, grown, rows.take(fold == k)
        )

    sums, tried = map_in_threads(sum_up, range(FOLDS)), []
    for mu, factor in product((3.0, 10.0, 30.0, 100.0), RIDGE_FACTORS):
        scored = [each.score(mu, factor * best.ridge) for each in sums]
        if all(error < np.inf for error, _ in scored):
            values = np.empty(rows.T.shape)
            for k, (_, of_fold) in enumerate(scored):
                values[fold == k] = of_fold
            design = JointDesign(trees, best, n_landmarks, mu, factor * best.ridge)
            tried.append(Candidate.of(design.problem, values, rows))
    if not tried:
        return None
    return replace(find_best(tried), forest=grow_forest(Bins.of(rows.X), rows.T, rows.weights, trees))


def choose_ridges(sums: JointSums, kind: Candidate) -> tuple[float, float, float]:
    """Return mu, lam, and the squared error of rows held out, which choose: mu first, lam, then mu in smaller steps."""
    tried = {}

    def compare(leaves: Iterable[float], factors: Iterable[float]) -> tuple[float, float]:
        for mu, factor in product(leaves, factors):
            if (mu, factor) not in tried:
                tried[mu, factor] = sums.score(mu, factor * kind.ridge)[0]
        return min(tried, key=lambda pair: tried[pair])

    mu, factor = compare(LEAF_RIDGES, RIDGE_FACTORS[1:2])
    mu, factor = compare([mu / 10 if mu == LEAF_RIDGES[0] else mu * 10], [factor])
    mu, factor = compare([mu], RIDGE_FACTORS)
    mu, factor = compare([mu * (1 / 3), mu * 3.0], [factor])
    return mu, factor * kind.ridge, tried[mu, factor]


@record
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

    @classmethod
    def of(cls, forest: Forest | None, nodes: HiddenLayer, rows: SampleRows, held: SampleRows) -> JointSums:
        """Sum up rows. forest : None for landmarks alone."""
        if forest is None:
            n_leaves = 0
        else:
            n_leaves = forest.n_leaves
        n_targets = rows.T.shape[1]
        weights = rows.row_weights
        mean = np.average(rows.T, axis=0, weights=weights)
        ET = expand(nodes, rows.X, n_targets)
        ET[:, nodes.n_hidden + 1 :] = rows.T - mean
        ET *= np.sqrt(weights)[:, None]
        m = n_leaves + nodes.n_hidden + 1
        products = np.empty((m + n_targets, m + n_targets))
        leaves = held_leaves = None
        if forest is not None:
            leaves, held_leaves = forest.find_leaves(rows.X), forest.find_leaves(held.X)
        multiply(ET, leaves, weights, products)
        return cls(
            n_leaves,
            products[:m, :m],
            products[:m, m:],
            measure_nodes(nodes),
            mean,
            held_leaves,
            expand(nodes, held.X),
            held,
        )

    def take(self, forest: Forest, n_landmarks: int) -> JointSums:
        """Return the sums of the first trees and landmarks."""
        kept = np.r_[0 : forest.n_leaves, self.n_leaves : self.n_leaves + n_landmarks, len(self.gram) - 1]
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
        factor = factor_ridge(self.gram, Penalty(self.n_leaves, leaf_ridge, landmark_ridge * self.kernel))
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
        return self.held.measure_error(values), values

    def judge(self, problem: NodeProblem, ridge: float) -> Candidate:
        """Return landmarks alone as a candidate. problem : theirs. ridge : lam."""
        B = self.solve(0.0, ridge)
        return Candidate.of(problem.with_options(nu=1 / ridge), None if B is None else self.predict(B), self.held)

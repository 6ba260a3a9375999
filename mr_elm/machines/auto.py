"""Choose the machines of the method auto by a sample of the rows, in memory: the driver and the estimators call it.

    rows            machines whose decision values are averaged
    up to 1,000     up to four of landmarks of three kernels, random nodes, and landmarks behind a metric, each at its
                    best by leave-one-out, and a joint machine by folds: those that are not clearly worse than the best
    up to 5,000     a joint machine (or two), and an exact kernel machine, which has every row as a landmark
    more            a joint machine, or two where size does not pay

`machines.joint` has the joint machine: leaves of trees and landmarks in one ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from mr_elm import linalg
from mr_elm.errors import record
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.choose import (
    COMPARED_NODES,
    Candidate,
    choose_candidates,
    choose_metric,
    find_best,
    keep_members,
    list_kernels,
    median_scale,
    prepare_problem,
    refine_candidate,
    round_scale,
)
from mr_elm.machines.joint import TREES, choose_joint, choose_scale, count_held, cross_fit, place_landmarks
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.press import HeldOut
from mr_elm.machines.sample import SampleRows, arrange_rows, find_classes
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import layer_arrays
from mr_elm.parallel import map_in_threads
from mr_elm.rows.encoding import Encoding
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.typing import Floats, RowWeights

COMPARED_ROWS, EXACT_ROWS = 1000, 5000  # up to which small machines are compared, and an exact one is trained
SIZES = ((0.88, 112, 2000), (0.95, 96, 1200), (0.98, 80, 800), (np.inf, 64, 500))  # error(full) / error(half): size
EXACT_KERNELS = ('gaussian', 'product-laplacian')

Say = Callable[[str], None]


@dataclass(frozen=True)
class Budget:
    """Bound a training: at most so many leaves and landmarks together, or about so many seconds of one core."""

    nodes: int | None = None
    seconds: float | None = None

    def choose_size(self, ratio: float, n_rows: int) -> tuple[int, int]:
        """Return the number of trees and of landmarks of a machine.

        ratio : error of a machine divided by that of its half: where it is small, size pays. The sizes go on, by a
        factor of 1.5, where a budget allows more than the largest of SIZES and the error falls steeply.
        """
        first = next(k for k, (bound, *_) in enumerate(SIZES) if ratio <= bound)
        sizes = [(trees, landmarks) for _, trees, landmarks in SIZES[first:]]
        if first == 0 and (self.seconds or self.nodes):
            n_trees, n_landmarks = sizes[0]
            sizes = [(int(n_trees * 1.5**k), int(n_landmarks * 1.5**k)) for k in (2, 1)] + sizes
        for n_trees, n_landmarks in sizes:
            if self.allows(n_rows, n_trees, n_landmarks):
                return n_trees, n_landmarks
        while (self.nodes or self.seconds) and n_landmarks > 8 and not self.allows(n_rows, n_trees, n_landmarks):
            n_trees, n_landmarks = max(1, int(n_trees * 0.9)), int(n_landmarks * 0.9)
        return n_trees, n_landmarks

    def allows(self, n_rows: int, n_trees: int, n_landmarks: int) -> bool:
        """Tell whether a machine is within the budget."""
        if self.nodes is not None and n_trees * TreeOptions.n_leaves + n_landmarks > self.nodes:
            return False
        return estimate_seconds(n_rows, n_trees, n_landmarks) <= (self.seconds or 4.0) or self.nodes is not None


def estimate_seconds(n_rows: int, n_trees: int, n_landmarks: int) -> float:
    """Return about how long the pass and the solve of a joint machine take on a core of the reference.

    A formula, and not a clock, so that the same rows give the same machine everywhere. Its speeds were measured on one
    core in 2026-11: products, additions to leaves, counts of pairs of leaves, reading a row, and the solve.
    """
    of_row = 2 * n_landmarks**2 / 1e11 + n_trees * n_landmarks / 3e9 + n_trees**2 / 2e9 + 5e-7
    return n_rows * of_row + 2 / 3 * (n_trees * TreeOptions.n_leaves + n_landmarks) ** 3 / 6e10


@record
class Member:
    """Hold a machine that all rows are to train.

    problem : with its options and metric. layer : its nodes. weights : output weights (m, K) of a machine that is
    trained already.
    """

    problem: NodeProblem
    layer: HiddenLayer
    weights: RowWeights = None


@record
class AutoChoice:
    """Hold the machines to average, and what machines that have not seen some rows of the sample say of these.

    rows : in the order of the search, the first n_held of which are these. values : (n_held, K), decision values of the
    average, on the scale of rows.T. kind : how they were held out: leave-one-out or held-out.
    """

    members: list[Member]
    rows: SampleRows
    n_held: int
    values: Floats
    kind: str

    @property
    def held(self) -> SampleRows:
        """Return the rows that were held out."""
        return self.rows.take(slice(0, self.n_held))

    def measure_importance(self, encoding: Encoding | None) -> Floats:
        """Return the share of each column in what the splits of a few trees take off the squared error.

        Where no split helps, all columns have the same share. encoding : None where the columns are the features.
        """
        rows = self.rows
        d = rows.X.shape[1]
        gains = np.zeros(d)
        options = TreeOptions.for_rows(len(rows), d, n_trees=16, seed=0)
        grow_forest(Bins.of(rows.X), rows.T, rows.weights, options, gains)
        if encoding is not None:
            gains = np.add.reduceat(gains, encoding.starts[:-1])
        if not gains.any():
            gains += 1
        return gains / gains.sum()


def choose_machines(
    problem: NodeProblem,
    rows: SampleRows,
    budget: Budget,
    say: Say,
    keep_sums: bool,
) -> AutoChoice:
    """Choose the machines of a training.

    problem : its summary counts all rows. rows : a sample of them, all where they are few. say : is called with a line
    for each decision. keep_sums : whether every machine must
    be one of sums.
    """
    rows = arrange_rows(rows, problem.options.seed)
    problem = choose_scale(prepare_problem(problem, rows, budget.nodes or COMPARED_NODES), rows)
    if problem.options.scale == 'none':
        say('--scale none: machines of these sparse rows are better without scaling')
    if problem.summary.n_rows <= COMPARED_ROWS:
        choice = choose_small(problem, rows, budget, say)
    else:
        choice = choose_large(problem, rows, budget, say, keep_sums)
    say(f'the model: {describe_score(choice.held, choice.values)}')
    return choice


def choose_large(problem: NodeProblem, rows: SampleRows, budget: Budget, say: Say, keep_sums: bool) -> AutoChoice:
    """Choose joint machines, and for few rows an exact kernel machine beside them."""
    n_rows, n_held = problem.summary.n_rows, count_held(len(rows))
    say(f'choosing by {len(rows):,} rows, {n_held:,} of them held out')
    choice = choose_joint(problem, rows)
    for kind, error in zip(choice.kinds, choice.errors, strict=True):
        say(f'{TREES // 2} trees and {kind.describe()}: {name_error(rows)} {error:.4g} of rows held out')
    n_trees, n_landmarks = budget.choose_size(choice.ratio, n_rows)
    n_landmarks = min(n_landmarks, problem.summary.landmarks.shape[0])
    designs = choice.size(n_trees, n_landmarks)
    say(
        f'twice the size has {choice.ratio:.3f} times the error: {len(designs)} x {n_trees} trees and {n_landmarks:,} '
        f'landmarks, mu {designs[0].leaf_ridge:.3g}, lambda {designs[0].landmark_ridge:.3g}'
    )
    bins = Bins.of(rows.X)
    members = map_in_threads(lambda design: Member(design.problem, design.make_layer(bins, rows)), designs)
    values = np.mean(map_in_threads(choice.predict, designs), axis=0)
    if len(rows) == n_rows <= EXACT_ROWS and budget.nodes is None and not keep_sums:
        exact, of_exact = choose_exact(problem, rows, n_held, say)
        values = (len(members) * values + of_exact) / (len(members) + 1)
        members.append(exact)
    return AutoChoice(members, rows, n_held, values, 'held-out')


def choose_exact(problem: NodeProblem, rows: SampleRows, n_held: int, say: Say) -> tuple[Member, Floats]:
    """Train a kernel machine with every row as a landmark: the member, and its decision values of the rows held out.

        (K + W^-1 / nu) A = T - mean,    f(z) = K(z, rows) A + mean

    Width and nu are chosen by the rows held out: widths from the median distance on, narrower while that helps.
    """
    held, grown = rows.split(n_held)
    kernels = [kernel for kernel in list_kernels(rows) if kernel in EXACT_KERNELS]
    best = find_best(map_in_threads(lambda kernel: search_exact(problem, kernel, grown, held), kernels))
    say(f'an exact machine {best.describe()} --nu {best.problem.options.nu:.3g}')
    layer = place_rows(best.problem, rows)
    A, mean = solve_exact(layer.evaluate(rows.X, np.empty((len(rows), len(rows)))), rows, best.ridge)
    A, mean = A * rows.deviation, rows.mean + rows.deviation * mean
    weights = np.vstack([A, -np.reshape(mean, (1, -1))])
    return Member(best.problem.with_options(n_hidden=len(rows)), layer, weights), best.values


def search_exact(problem: NodeProblem, kernel: str, grown: SampleRows, held: SampleRows) -> Candidate:
    """Return the best width and nu of a kernel, by the squared error of rows held out."""
    start = median_scale(problem, kernel)
    best = []
    for step in range(5):  # halvings of the median distance
        scaled = problem.with_options(map='nystrom', kernel=kernel, weight_scale=round_scale(start * 2.0**step))
        layer = place_rows(scaled, grown)
        K, K_held = (layer.evaluate(X, np.empty((X.shape[0], len(grown)))) for X in (grown.X, held.X))
        tried = []
        for ridge in (0.03, 0.3):
            A, mean = solve_exact(K, grown, ridge)
            values = K_held @ A + mean
            tried.append(Candidate(scaled.with_options(nu=1 / ridge), -held.measure_error(values), values))
        best.append(find_best(tried))
        if step and best[-1].value <= best[-2].value:
            break
    return find_best(best)


def place_rows(problem: NodeProblem, rows: SampleRows) -> HiddenLayer:
    """Return landmarks at all rows."""
    return place_landmarks(replace(problem, summary=replace(problem.summary, landmarks=rows.X)), len(rows))


def solve_exact(K: Floats, rows: SampleRows, ridge: float) -> tuple[Floats, Floats]:
    """Return (A, mean) of the exact machine. K : (n, n), which stays."""
    weights = np.maximum(rows.row_weights, 1e-12)
    mean = np.average(rows.T, axis=0, weights=weights)
    system = np.array(K, order='F')
    system[np.diag_indices_from(system)] += ridge / weights
    factor, _ = linalg.dpotrf(system, lower=1, overwrite_a=1, clean=0)
    return linalg.dpotrs(factor, np.asfortranarray(rows.T - mean), lower=1)[0], mean


def make_exact(member: Member, blas: Iterable[str]) -> HiddenNodeModel:
    """Return the model of a member that is trained already."""
    header = member.problem.describe(member.layer, member.problem.choose_grid(member.layer), blas)
    assert member.weights is not None
    of_sums = ('peak', 'condition')
    parameters = {name: value for name, value in header.parameters.items() if name not in of_sums}
    return HiddenNodeModel(
        replace(header, parameters={**parameters, 'solver': 'cholesky'}),
        {**layer_arrays(member.layer), 'output_weights': member.weights},
    )


def hold_out_rows(choice: AutoChoice) -> HeldOut:
    """Return the rows that were held out, with decision values as the model has them.

    A class that has no row among them gets its share of all rows: the weight of a row with the mean decision values.
    """
    rows = choice.held
    targets, values = (rows.mean + rows.deviation * each for each in (rows.T, choice.values))
    numbers, weights = targets[:, 0], rows.row_weights
    classes = choice.members[0].problem.classes
    if classes is not None:
        numbers = find_classes(rows.T).astype(float)
        absent = np.setdiff1d(np.arange(rows.n_classes), numbers)
        shares = np.array(classes.weights)[absent] / sum(classes.weights)
        numbers, weights = np.append(numbers, absent), np.append(weights, weights.sum() * shares)
        values = np.vstack([values, *[values.mean(axis=0)] * len(absent)])
    return HeldOut(numbers, weights, values, np.zeros(len(numbers)))


def choose_small(problem: NodeProblem, rows: SampleRows, budget: Budget, say: Say) -> AutoChoice:
    """Choose up to four machines by leave-one-out."""
    say(f'comparing machines on {len(rows):,} rows')
    candidates = choose_candidates(problem, rows)
    best = find_best([each for each in candidates if each.problem.options.map == 'nystrom'])
    others = choose_metric(problem, rows, best), cross_fit(problem, rows, best, budget.nodes)
    good = keep_good(rows, [*candidates, *filter(None, others)], say)
    n_hidden = min(len(rows), budget.nodes or len(rows))
    if n_hidden > COMPARED_NODES:
        say(f'choosing width and nu again for {n_hidden:,} hidden nodes')
        good = keep_good(rows, map_in_threads(lambda each: refine_candidate(each, rows, n_hidden), good), say)
    chosen = good[:4]
    for each in chosen:
        say(describe(each, rows))
    values = np.mean([each.values for each in chosen], axis=0)
    members = [Member(each.problem, each.layer) for each in chosen]
    return AutoChoice(members, rows, len(rows), values, 'leave-one-out')


def keep_good(rows: SampleRows, candidates: list[Candidate], say: Say) -> list[Candidate]:
    """Return the machines that are not clearly worse than the best, and say which are."""
    good = keep_members(candidates, rows)
    for each in candidates:
        if each not in good:
            say(f'{describe(each, rows)}: clearly worse, left out')
    return good


def describe(candidate: Candidate, rows: SampleRows) -> str:
    """Say for people what a machine is, and what the rows of the sample say of it."""
    options = candidate.problem.options
    leaves = ''
    if options.has_leaves:
        leaves = f' --leaves {options.leaves} --leaf-ridge {options.leaf_ridge:.3g}'
    score = describe_score(rows, candidate.values)
    return f'{candidate.describe()}{leaves} --nu {options.nu:.3g}, {score}'


def describe_score(rows: SampleRows, values: Floats) -> str:
    """Say for people how good decision values of rows are, by machines that have not seen these."""
    if rows.n_classes:
        return f'{rows.find_right(values).mean():.2%} of {len(rows):,} rows held out are right'
    return f'{name_error(rows)} {rows.measure_error(values):.4g} of {len(rows):,} rows held out'


def name_error(rows: SampleRows) -> str:
    """Return what the errors of rows are: those of numbers are divided by the variance of the target."""
    if rows.n_classes:
        return 'squared error'
    return 'relative squared error'

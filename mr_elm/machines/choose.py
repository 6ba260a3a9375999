"""Choose machines by a sample of the rows in memory: candidates, how rows judge them, and the search over their nodes.

A candidate is hidden nodes (kind, width, metric) with a nu. Rows that its machine has not seen judge it: those that are
left out one by one, those of a fold, or those that a search holds out.

1. `choose_candidates`: one machine of each family. Its width starts at the median distance of two rows and moves on
   while the best one lies at an edge; leave-one-out scores choose width and nu.
2. `choose_metric`: a machine of landmarks behind a learned metric. For every fold the metric is learned on all others
   and judged on that fold, so that kind and number of steps are chosen by all rows. The metric that is kept is that of
   the first fold, as it was judged.
3. `refine_candidate`: width and nu again for as many nodes as a machine will have: more landmarks pay for narrower
   kernels.
4. `keep_members`: which of the machines are worth averaging.

`machines.joint` searches landmarks beside leaves of trees in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import record
from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import Landmarks
from mr_elm.features.metric import choose_kind
from mr_elm.features.nodes import LANDMARK_NODES, NODES
from mr_elm.machines.metric import N_FOLDS, LearnedMetric, measure_importance, take_metric_step
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.sample import SampleRows
from mr_elm.parallel import map_in_threads
from mr_elm.scores.selection import METRIC_FOLD, NodeChoice, fold_numbers
from mr_elm.solvers.folds import NuPath, decompose
from mr_elm.solvers.increment import largest_nu
from mr_elm.solvers.ridge import MIN_LEVERAGE_GAP, factor_ridge
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats

Problem = TypeVar('Problem', bound=NodeProblem)

FAMILIES = (
    ('nystrom', 'gaussian'),
    ('nystrom', 'laplacian'),
    ('nystrom', 'product-laplacian'),
    ('sigmoid', 'gaussian'),
)  # map, kernel of landmarks
MAX_FEATURES = 500  # beyond it distances of norm 1, and metrics, cost more than the rest of the search
COMPARED_NODES = 500  # of a machine that is compared, at most
NUS = tuple(10.0**k for k in range(-2, 7))
WIDTHS = (0, -1, 1, -2, 2, -3, 3)  # doublings of a width that every search tries


@record(eq=False)  # two of them are the same one, or not
class Candidate:
    """Hold a machine that rows of a sample judge.

    problem : its options say map, kernel, weight scale and nu; `learned` is the metric that its nodes are behind.
    value : how good it is, see `SampleRows.judge`. values : (n, K), decision values of the rows by machines that have
    not seen them. forest : whose leaves stand before the nodes, or None.
    """

    problem: NodeProblem
    value: float
    values: Floats
    forest: Forest | None = None

    @classmethod
    def of(cls, problem: NodeProblem, values: Floats | None, rows: SampleRows) -> Candidate:
        """Judge decision values of rows, None where rounding errors leave no solution."""
        if values is None:
            return cls(problem, -np.inf, np.zeros(rows.T.shape))
        return cls(problem, rows.judge(values), values)

    @cached_property
    def layer(self) -> HiddenLayer:
        """Return the nodes."""
        return replace(self.problem.make_layer(), forest=self.forest)

    @property
    def ridge(self) -> float:
        """Return 1 / nu."""
        return 1 / self.problem.options.nu

    def describe(self) -> str:
        """Say for people what the nodes are."""
        options, learned = self.problem.options, self.problem.learned
        return NodeChoice(options.map, options.weight_scale, options.kernel, learned.kind).describe()


def prepare_problem(problem: Problem, rows: SampleRows, largest: int = COMPARED_NODES) -> Problem:
    """Return the problem of machines to compare: its landmarks are rows of the sample, those that all rows give."""
    landmarks = Landmarks(rows.X.shape[0], problem.options.seed)
    landmarks.add(rows.X)
    problem = replace(problem, summary=replace(problem.summary, landmarks=landmarks.rows))
    return problem.with_options(n_hidden=min(COMPARED_NODES, largest))


def choose_candidates(problem: NodeProblem, rows: SampleRows) -> list[Candidate]:
    """Return the best machine of each family. problem : with landmarks."""

    def search(map: str, kernel: str) -> Candidate:
        family = problem.with_options(map=map, kernel=kernel)
        start = 1.0
        if map == 'nystrom':
            start = median_scale(problem, kernel)

        def score(step: int) -> Candidate:
            scaled = family.with_options(weight_scale=round_scale(start * 2.0**step))
            path = decompose_layer(scaled.make_layer(), rows)
            tried = zip(path.nus, path.leave_out(), strict=True)
            return find_best([Candidate.of(scaled.with_options(nu=nu), values, rows) for nu, values in tried])

        return climb(score, WIDTHS)

    kernels = list_kernels(rows)
    families = [family for family in FAMILIES if family[0] != 'nystrom' or family[1] in kernels]
    return map_in_threads(lambda family: search(*family), families)


def find_best(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate of the largest value, the first of equal ones."""
    return max(candidates, key=lambda candidate: candidate.value)


def climb(
    score: Callable[[int], Candidate],
    first: Sequence[int],
    max_steps: int = 6,
    n_neighbours: int = 1,
) -> Candidate:
    """Return the best candidate of whole numbers, which go on outwards while the best lies at an edge.

    first : the numbers to begin with, side by side. max_steps : the largest number. n_neighbours : of the best one,
    that are scored before the next step. Only the best one is kept in memory.
    """
    best, best_step, tried = score(first[0]), first[0], {first[0]}
    waiting = list(first[1:])
    while waiting:
        step = waiting.pop(0)
        candidate = score(step)
        tried.add(step)
        if candidate.value > best.value:
            best, best_step = candidate, step
        if not waiting:
            neighbours = (best_step - 1, best_step + 1)
            waiting = [k for k in neighbours if k not in tried and abs(k) <= max_steps][:n_neighbours]
    return best


def list_kernels(rows: SampleRows) -> list[str]:
    """Return the kernels of landmarks that are worth their time."""
    few = rows.X.shape[1] <= MAX_FEATURES
    return [kernel for kernel, kind in LANDMARK_NODES.items() if NODES[kind].norm == 2 or few]


def list_metrics(rows: SampleRows, max_full: int = MAX_FEATURES) -> list[str]:
    """Return the kinds of metric that are worth their time: none for a single feature, and for very many.

    max_full : the most features that a full metric is learned of.
    """
    d = rows.X.shape[1]
    if not 1 < d <= MAX_FEATURES:
        return []
    metrics = ['diagonal']
    if d <= max_full:
        metrics.append('full')
    return list(dict.fromkeys(choose_kind(name, d, hasattr(rows.X, 'toarray')) for name in metrics))


def median_scale(problem: NodeProblem, kernel: str) -> float:
    """Return the weight scale of a kernel that is as wide as the median distance of two landmarks."""
    problem = problem.with_options(map='nystrom', kernel=kernel, n_hidden=COMPARED_NODES)
    layer = problem.make_layer()
    norm = NODES[layer.kind].norm
    Z = sp.compact(layer.weights)
    if norm == 1:
        distances = linalg.pdist(Z, 'cityblock')
    else:
        squares = np.einsum('ij,ij->i', Z, Z)
        products = 2 * Z @ Z.T
        distances = np.sqrt(np.maximum(squares[:, None] + squares - products, 0))[np.triu_indices(len(Z), 1)]
    apart = distances[distances > 1e-7 * np.linalg.norm(Z, norm, axis=1).max()]
    if len(apart):
        return problem.moments.measure(norm) / float(np.median(apart))
    return 1.0


def round_scale(scale: float) -> float:
    """Round a weight scale to three digits, so that a user can type it."""
    return float(f'{scale:.3g}')


def decompose_layer(layer: HiddenLayer, rows: SampleRows) -> NuPath:
    """Return the NuPath of rows on a layer."""
    return decompose(expand(layer, rows.X), rows.T, NUS, rows.weights)


class MetricTrial(NamedTuple):
    """Name what every fold tries: kind of metric, number of steps, kernel and nu."""

    metric: str
    n_steps: int
    kernel: str
    nu: float


def choose_metric(problem: NodeProblem, rows: SampleRows, base: Candidate) -> Candidate | None:
    """Return the best machine of landmarks behind a learned metric, None where the rows are too few to learn one.

    base : a machine without a metric, whose kernel and width the metric is learned with.
    """
    if len(rows) < 50 or not list_metrics(rows):
        return None
    folds = fold_numbers(rows.X, N_FOLDS, problem.options.seed + METRIC_FOLD)
    values: dict[MetricTrial, Floats] = {}
    problems: dict[MetricTrial, NodeProblem] = {}
    for fold in np.unique(folds):
        if (folds == fold).all():
            return None
        for trial, behind, of_fold in try_metrics(problem, rows, base, folds == fold):
            values.setdefault(trial, np.zeros(rows.T.shape))[folds == fold] = of_fold
            problems.setdefault(trial, behind)
    if not values:
        return None
    tried = {trial: Candidate.of(problems[trial], values[trial], rows) for trial in values}
    trial, best = max(tried.items(), key=lambda each: each[1].value)
    layer = best.layer
    weights = decompose(expand(layer, rows.X), rows.T, [trial.nu], rows.weights).weights[:, 0]
    learned = LearnedMetric(layer.metric, trial.n_steps, importance=measure_importance(layer, rows, weights))
    return replace(best, problem=replace(best.problem, learned=learned))


def try_metrics(
    problem: NodeProblem, rows: SampleRows, base: Candidate, held: np.ndarray
) -> Iterator[tuple[MetricTrial, NodeProblem, Floats]]:
    """Yield (trial, its problem, decision values of the rows held out) of metrics learned from all other rows."""
    others, tested = rows.take(~held), rows.take(held)
    options = base.problem.options
    width = median_scale(problem, options.kernel) / options.weight_scale  # in median distances
    kernels = sorted(list_kernels(rows), key=lambda kernel: kernel != options.kernel)

    def place(behind: NodeProblem, kernel: str) -> NodeProblem:
        scale = round_scale(median_scale(behind, kernel) / width)
        return behind.with_options(map='nystrom', kernel=kernel, weight_scale=scale)

    plain = place(problem, kernels[0]).make_layer()
    plain_path = decompose_layer(plain, others)
    for kind in list_metrics(rows):
        layer, path = plain, plain_path
        for n_steps in (1, 2, 3):
            best = int(np.argmax([others.judge(values) for values in path.leave_out()]))
            metric = take_metric_step(layer, others, path.weights[:, best], kind == 'full')
            if metric is None:
                break
            behind = replace(problem, learned=LearnedMetric(metric, n_steps))
            for kernel in reversed(kernels):  # the next step is learned with the kernel of the base
                placed = place(behind, kernel)
                layer = placed.make_layer()
                path = decompose_layer(layer, others)
                for nu, values in zip(path.nus, path.predict(expand(layer, tested.X)), strict=True):
                    yield MetricTrial(kind, n_steps, kernel, nu), placed.with_options(nu=nu), values


def refine_candidate(candidate: Candidate, rows: SampleRows, n_hidden: int) -> Candidate:
    """Return a candidate with the width and the nu that suit a number of nodes, by leave-one-out.

    One with leaves stays, whose size is fixed and whose rows have taught its trees.
    """
    if candidate.forest is not None:
        return candidate
    start = candidate.problem.with_options(n_hidden=n_hidden)
    options = start.options

    def score_width(step: int) -> Candidate:
        scaled = start.with_options(weight_scale=round_scale(options.weight_scale * 2.0**step))
        regression = Regression.of(expand(scaled.make_layer(), rows.X), rows)

        def score_nu(power: int) -> Candidate:
            nu = options.nu * 10.0**power
            return Candidate.of(scaled.with_options(nu=nu), regression.leave_out(nu), rows)

        return climb(score_nu, (0, 1), 3)

    if options.map == 'nystrom':
        return climb(score_width, (0, 1))
    return score_width(0)


@record
class Regression:
    """Hold what a ridge regression needs for any nu.

    E : (n, m), rows times the roots (n, 1) of their weights. T : (n, K), likewise. gram, right : E'E and E'T.
    """

    E: Floats
    T: Floats
    roots: Floats
    gram: Floats
    right: Floats

    @classmethod
    def of(cls, E: Floats, rows: SampleRows) -> Regression:
        """Sum up the rows."""
        roots = np.sqrt(rows.row_weights)[:, None]
        E, T = E * roots, rows.T * roots
        return cls(E, T, roots, E.T @ E, E.T @ T)

    def leave_out(self, nu: float) -> Floats | None:
        """Return decision values of rows by machines that did not see them, (n, K); None where rounding would show."""
        factor = None
        if nu <= largest_nu(float(np.trace(self.gram))):
            factor = factor_ridge(self.gram, 1 / nu)
        if factor is None:
            return None
        values = self.E @ linalg.dpotrs(factor, self.right, lower=1)[0]
        half = linalg.solve_triangular(factor, self.E.T, lower=True, check_finite=False)
        slack = np.maximum(1 - np.einsum('ji,ji->i', half, half), MIN_LEVERAGE_GAP)
        return (self.T - (self.T - values) / slack[:, None]) / self.roots


def keep_members(candidates: Sequence[Candidate], rows: SampleRows) -> list[Candidate]:
    """Return the candidates to average, the best first: those that are not clearly worse than the best.

    A candidate is clearly worse when it labels fewer rows right, by more than two standard errors of the
    difference; for a regression, when its squared errors are larger by as much.
    """
    ordered = sorted(candidates, key=lambda candidate: -candidate.value)
    least, kept = rows.measure_losses(ordered[0].values), []
    for candidate in ordered:
        worse = rows.measure_losses(candidate.values) - least
        if worse.mean() <= 2 * worse.std() / np.sqrt(len(worse)):
            kept.append(candidate)
    return kept

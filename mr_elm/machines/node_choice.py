"""Choose hidden nodes by a sample of the rows in memory: kinds, widths and nu by leave-one-out, a few machines each.

One machine of each family is chosen: its width starts at the median distance of two rows and moves on while the best
one lies at an edge; leave-one-out scores choose width and nu. A further machine has a learned metric, see
`machines.metric_choice`. `keep_members` says which of the machines are worth averaging.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import Landmarks
from mr_elm.features.nodes import LANDMARK_NODES, NODES
from mr_elm.machines.metric import LearnedMetric, SampleRows, find_classes
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.solvers.folds import decompose
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats

Problem = TypeVar('Problem', bound=NodeProblem)
Scored = TypeVar('Scored', bound=Any)

FAMILIES = (
    ('nystrom', 'gaussian'),
    ('nystrom', 'laplacian'),
    ('nystrom', 'product-laplacian'),
    ('sigmoid', 'gaussian'),
)  # map, kernel of landmarks
MOST_MEMBERS = 4  # of an average
MOST_FEATURES = 500  # beyond it distances of norm 1, and metrics, cost more than the rest of the search
MANY_ROWS, FEWER_FEATURES = 5000, 100  # with more rows, beyond so many features distances of norm 1 cost several Grams
COMPARED_NODES = 500  # of a machine that is compared, at most
NUS = tuple(10.0**k for k in range(-2, 7))
WIDTHS = (0, -1, 1, -2, 2, -3, 3)  # doublings of a width that every search tries
REACH = 6  # steps away from the width that a search begins with
CLIP = 3.0  # decision values beyond it are as good, or as bad, as this one
MEDIAN_ROWS = 500  # whose distances say how wide a kernel may be


@dataclass(frozen=True, eq=False)  # two of them are the same one, or not
class Candidate:
    """Hold a machine that the sample judges.

    options : its map, kernel, weight scale and nu. layer : its nodes. value : how good it is, see `judge`.
    values : (n, K), decision values of the rows by machines that have not seen them. judged : (n,), which rows have
    some. learned : the metric that its nodes are behind, or None.
    """

    options: PESVMOptions
    layer: HiddenLayer
    value: float
    values: Floats
    judged: np.ndarray
    learned: LearnedMetric | None = None
    __repr__ = one_line

    def state(self, problem: Problem) -> Problem:
        """Return the problem of training this machine."""
        return replace(problem, options=self.options, learned=self.learned)


def prepare_problem(problem: Problem, rows: SampleRows, largest: int = COMPARED_NODES) -> Problem:
    """Return the problem of machines to compare: its landmarks are rows of the sample, those that all rows give."""
    landmarks = Landmarks(rows.X.shape[0], problem.options.seed)
    landmarks.add(rows.X)
    problem = replace(problem, summary=replace(problem.summary, landmarks=landmarks.rows))
    return problem.with_options(n_hidden=min(COMPARED_NODES, largest))


def choose_candidates(problem: NodeProblem, rows: SampleRows) -> list[Candidate]:
    """Return the best machine of each family. problem : with landmarks."""

    def search(map: str, kernel: str) -> Candidate:
        if map != 'nystrom':
            start = 1.0
        else:
            start = median_scale(problem, kernel)
        return climb(
            lambda k: score_scale(
                problem.with_options(map=map, kernel=kernel, weight_scale=round_scale(start * 2.0**k)), rows
            ),
            WIDTHS,
        )

    kernels = list_kernels(rows, problem.summary.n_rows)
    return [search(map, kernel) for map, kernel in FAMILIES if map != 'nystrom' or kernel in kernels]


def list_kernels(rows: SampleRows, n_rows: int) -> list[str]:
    """Return the kernels of landmarks that are worth their time. rows : the sample. n_rows : of all rows."""
    if n_rows <= MANY_ROWS:
        most = MOST_FEATURES
    else:
        most = FEWER_FEATURES
    return [kernel for kernel, kind in LANDMARK_NODES.items() if NODES[kind].norm == 2 or rows.X.shape[1] <= most]


def median_scale(problem: NodeProblem, kernel: str) -> float:
    """Return the weight scale of a kernel that is as wide as the median distance of two landmarks."""
    problem = problem.with_options(map='nystrom', kernel=kernel, n_hidden=MEDIAN_ROWS)
    layer = problem.make_layer()
    norm = NODES[layer.kind].norm
    landmarks = sp.compact(layer.weights)
    distances = measure_distances(landmarks, norm)
    apart = distances[distances > 1e-7 * np.linalg.norm(landmarks, norm, axis=1).max()]
    if len(apart):
        return problem.moments.measure(norm) / float(np.median(apart))
    return 1.0


def measure_distances(Z: Floats, norm: int) -> Floats:
    """Return the distances of all pairs of rows."""
    if norm == 1:
        return linalg.pdist(Z, 'cityblock')
    squares = np.einsum('ij,ij->i', Z, Z)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0))[np.triu_indices(len(Z), 1)]


def climb(
    score: Callable[[int], Scored], first: Sequence[int] = (0, -1, 1), reach: int = REACH, n_neighbours: int = 1
) -> Scored:
    """Return the best candidate of whole numbers, which go on outwards while the best lies at an edge.

    score : returns what has a value. first : the numbers to begin with, side by side. reach : the largest number.
    n_neighbours : of the best one, that are scored before the next step. Only the best one is kept in memory.
    """
    best, place, tried = score(first[0]), first[0], {first[0]}
    waiting = list(first[1:])
    while waiting:
        k = waiting.pop(0)
        found = score(k)
        tried.add(k)
        if found.value > best.value:
            best, place = found, k
        if not waiting:
            waiting = [k for k in (place - 1, place + 1) if k not in tried and abs(k) <= reach][:n_neighbours]
    return best


def round_scale(scale: float) -> float:
    """Round a weight scale to three digits, so that a user can type it."""
    return float(f'{scale:.3g}')


def score_scale(problem: NodeProblem, rows: SampleRows) -> Candidate:
    """Return the best candidate of all nu on the nodes of a problem."""
    layer = problem.make_layer()
    path = decompose(expand(layer, rows.X), rows.T, NUS, rows.weights)
    values = path.leave_out()
    worth = [judge(each, rows) for each in values]
    best = int(np.argmax(worth))
    return Candidate(
        replace(problem.options, nu=path.nus[best]), layer, worth[best], values[best], np.ones(len(rows), bool)
    )


def judge(values: Floats, rows: SampleRows) -> float:
    """Return how good decision values are, the larger the better: the accuracy minus half the error of a target.

    The error, a root mean square, tells machines apart that label the same rows right. Numbers have only the error.
    """
    error = float(np.sqrt(np.average(square_errors(values, rows), weights=rows.weights)))
    if rows.n_classes:
        return float(np.average(find_right(values, rows), weights=rows.weights)) - error / 2
    return -error


def square_errors(values: Floats, rows: SampleRows) -> Floats:
    """Return the mean squared error of the targets of each row, (n,)."""
    if rows.n_classes:
        bounded = np.clip(values, -CLIP, CLIP)
    else:
        bounded = values
    return ((bounded - rows.T) ** 2).mean(axis=1)


def find_right(values: Floats, rows: SampleRows) -> np.ndarray:
    """Tell which rows are labelled right, (n,) bool."""
    return find_classes(values) == find_classes(rows.T)


def keep_members(candidates: Sequence[Candidate], rows: SampleRows, tolerance: float = 2.0) -> list[Candidate]:
    """Return the candidates to average, the best first: those that are not clearly worse than the best.

    A candidate is clearly worse when it labels fewer rows right, by more than `tolerance` standard errors of the
    difference; for a regression, when its squared errors are larger by as much.
    """
    judged = np.all([each.judged for each in candidates], axis=0)
    common = rows.take(judged)
    loss = [measure_loss(each.values[judged], common) for each in candidates]
    order = sorted(range(len(candidates)), key=lambda k: -judge(candidates[k].values[judged], common))
    kept = []
    for k in order:
        worse = loss[k] - loss[order[0]]
        if worse.mean() <= tolerance * worse.std() / np.sqrt(len(worse)):
            kept.append(candidates[k])
    return kept


def measure_loss(values: Floats, rows: SampleRows) -> Floats:
    """Return the loss of each row, (n,): whether it is labelled wrong, or its squared error."""
    if rows.n_classes:
        return 1.0 - find_right(values, rows)
    return square_errors(values, rows)

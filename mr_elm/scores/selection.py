"""Choose parameters: lists of candidates, folds that depend on the rows alone, and the best of a table of scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mr_elm.features.kernels import KernelKind
from mr_elm.features.landmarks import hash_rows
from mr_elm.rows.blocks import take_weights
from mr_elm.solvers.multiclass import ONE_VS_ALL, class_numbers
from mr_elm.typing import Floats, Rows, RowWeights

# Bai et al., Sparse extreme learning machine for classification, 2014, section VI: for C and for sigma; degrees 1 to 5
PAPER = (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
GRIDS = ('coarse', 'paper')
# what the hash of a row decides: each adds a number of its own to the seed, so that none follows from another
SAMPLE, FOLD, METRIC_FOLD, SCORED_ROWS, MACHINE_FOLD, ORDER = 1, 3, 5, 7, 8, 11

# of the hashes that hold rows out of a training: no seed of samples and landmarks should be the same
HELD_OUT_KEY = 1_299_709
TARGET_TEST_SHARE = 0.2  # of the rows, which judge --target auto


@dataclass(frozen=True)
class Cell:
    """Hold what one fold says of one candidate.

    C : bound of the dual variables. fold : the fold held out.
    correct, total : weight of its rows that were labelled right, and of all, of each class.
    n_support : support vectors of the training. seconds : of processor time.
    n_iter : iterations as the solver counts them. converged : whether every machine reached eps.
    """

    C: float
    fold: int
    correct: list[float]
    total: list[float]
    n_support: int
    seconds: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Score:
    """Hold what rows that were left out say of one candidate: kernel parameters and C.

    accuracy : see `measure_accuracy`. rmse : of a regression. deviation : of the accuracy over the folds.
    n_support : the mean number of support vectors of a fold. n_iter, seconds : of all folds, iterations and processor
    time. n_unfinished : folds whose training stopped before it reached eps. None where nobody has counted.
    """

    parameters: dict
    C: float
    accuracy: float | None = None
    rmse: float | None = None
    deviation: float | None = None
    n_support: float | None = None
    n_iter: int | None = None
    n_unfinished: int | None = None
    seconds: float | None = None

    @classmethod
    def of_cells(cls, parameters: dict, C: float, cells: Sequence[Cell], balanced: bool = False) -> 'Score':
        """Join what all folds say of a candidate."""
        correct, total = np.sum([(cell.correct, cell.total) for cell in cells], axis=0).tolist()
        return cls(
            parameters,
            C,
            accuracy=measure_accuracy(correct, total, balanced),
            deviation=float(np.std([measure_accuracy(cell.correct, cell.total, balanced) for cell in cells])),
            n_support=float(np.mean([cell.n_support for cell in cells])),
            n_iter=sum(cell.n_iter for cell in cells),
            n_unfinished=sum(not cell.converged for cell in cells),
            seconds=sum(cell.seconds for cell in cells),
        )

    @property
    def value(self) -> float | None:
        """Return what is best when largest."""
        if self.rmse is None:
            return self.accuracy
        return -self.rmse


class NodeChoice(NamedTuple):
    """Name a kind of hidden nodes. kernel : of landmarks. metric : none, or the kind of metric that they are behind."""

    map: str
    weight_scale: float
    kernel: str = 'gaussian'
    metric: str = 'none'

    @property
    def family(self) -> str:
        """Return the options that stand for the kind, but for its weight scale."""
        kernel = metric = ''
        if self.kernel != 'gaussian':
            kernel = f' --kernel {self.kernel}'
        if self.metric != 'none':
            metric = f' --metric {self.metric}'
        return f'--map {self.map}{kernel}{metric}'

    def describe(self) -> str:
        """Return the options that stand for the kind."""
        return f'{self.family} --weight-scale {self.weight_scale:g}'


@dataclass(frozen=True)
class NodeScore:
    """Hold what cross-validation found for hidden nodes: their kind, nu, L, and a GridCell for each fold.

    accuracy : see `measure_accuracy`, of rows labelled by machines that had not seen them; None where nobody counted.
    """

    kind: NodeChoice
    nu: float
    n_hidden: int
    cells: tuple
    accuracy: float | None = None

    @property
    def error(self) -> float:
        """Return the mean squared error of a target."""
        return sum(cell.error for cell in self.cells) / sum(cell.weight for cell in self.cells)

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the error over the folds."""
        return float(np.std([cell.error / cell.weight for cell in self.cells]))

    @property
    def trusted(self) -> bool:
        """Tell whether rounding errors are out of sight in every fold."""
        return all(cell.trusted and np.isfinite(cell.error) for cell in self.cells)


def measure_accuracy(correct: Sequence[float], total: Sequence[float], balanced: bool) -> float:
    """Return the share of rows labelled right; balanced, the mean of this share over the classes that occur.

    correct, total : weight of the rows labelled right, and of all, of each class. Sums of weights are rounded to the
    digits that are the same for any splits.
    """
    correct, total = ([float(f'{weight:.12g}') for weight in of_classes] for of_classes in (correct, total))
    if balanced:
        return float(np.mean([right / n for right, n in zip(correct, total, strict=True) if n]))
    return sum(correct) / sum(total)


def best_nodes(scores: Sequence[NodeScore]) -> NodeScore:
    """Return the NodeScore that can be trusted with the highest accuracy, where rows were counted, or least error.

    Raises ValueError when none can be trusted.
    """
    trusted = [score for score in scores if score.trusted]
    if not trusted:
        raise ValueError('all values of nu are too large for the rounding errors of the sums: add smaller ones')
    counted = [score for score in trusted if score.accuracy is not None]
    if counted:
        return max(counted, key=lambda score: (score.accuracy, -score.error))
    return min(trusted, key=lambda score: score.error)


def finalists(scores: Sequence[NodeScore], n: int) -> list[NodeScore]:
    """Return the n NodeScores worth counting: the least error of each kind of nodes first, then the next of any."""
    ranked = sorted((score for score in scores if score.trusted), key=lambda score: score.error)
    first: dict[NodeChoice, NodeScore] = {}
    for score in ranked:
        first.setdefault(score.kind, score)
    leaders = list(first.values())
    return (leaders + [score for score in ranked if score not in leaders])[:n]


@dataclass(frozen=True)
class Tuned:
    """Hold the score of every candidate, a Score or NodeScore, and the best one.

    solver : the rule that solved, or ''. trained : the model of the best one and the accounts of a
    first pass, where it has been trained.
    """

    scores: list
    best: Any
    solver: str = ''
    trained: tuple = ()


def score_values(
    values: Floats, numbers: np.ndarray, weights: RowWeights, n_classes: int, balanced: bool = False
) -> dict[str, float]:
    """Score decision values (N, K) of all rows, weighted: {'accuracy': ...}, or {'rmse': ...} where n_classes is 0.

    numbers : (N,) class numbers, or targets.
    """
    if not n_classes:
        return {'rmse': float(np.sqrt(np.average((numbers - values[:, 0]) ** 2, weights=weights)))}
    codes, right = numbers.astype(int), class_numbers(values, n_classes, ONE_VS_ALL) == numbers
    total = np.bincount(codes, weights, n_classes).tolist()
    correct = np.bincount(codes[right], take_weights(weights, right), n_classes).tolist()
    return {'accuracy': measure_accuracy(correct, total, balanced)}


def fold_numbers(X: Rows, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, (n,): a keyed hash of the row modulo n_folds, so that equal rows share a fold."""
    return (hash_rows(X, seed) % np.uint64(n_folds)).astype(int)


def select_sample(X: Rows, share: float, seed: int) -> np.ndarray:
    """Tell which rows belong to a sample of about this share of all rows, by a keyed hash: a mask (n,)."""
    if share < 1:
        return hash_rows(X, seed) < np.uint64(share * 2.0**64)
    return np.ones(X.shape[0], bool)


def best_of(scores: Any) -> Any:
    """Return the Score of the largest value; of equal ones the smallest C, then the simplest kernel."""
    return max(
        scores,
        key=lambda score: (
            score.value,
            -score.C,
            score.parameters.get('sigma', 0),
            -score.parameters.get('degree', 0),
        ),
    )


def candidates(grid: str, kernel: KernelKind, variance: float) -> tuple[list[dict], list[float]]:
    """Return (list of kernel parameters, list of C) of a named grid, paper or coarse.

    kernel : KernelKind. variance : of the scaled rows, v, for widths relative to sqrt(v).
    """
    bounds = [0.1, 1.0, 10.0, 100.0, 1000.0]
    if grid == 'paper':
        bounds = list(PAPER)
    if 'sigma' in kernel.parameters:
        widths = [float(factor * np.sqrt(variance)) for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]
        if grid == 'paper':
            widths = list(PAPER)
        return [{'sigma': sigma} for sigma in widths], bounds
    if 'degree' in kernel.parameters:
        return [{'degree': degree} for degree in range(1, 6)], bounds
    return [{}], bounds

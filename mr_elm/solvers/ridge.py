"""Solve (I/nu + E'E) B = E'T, the finisher of every method that sums up a Gram.

    min_B  |E B - T|^2 + |B|^2 / nu

E (N, m) expanded rows, T (N, K) targets, nu > 0 the weight of the errors, B (m, K) the output weights, bias last. Or
with another penalty, of leaves and other nodes in one regression:

    min_B  |E B - T|^2 + mu |B_leaves|^2 + lam B_nodes' (K + JITTER I) B_nodes + BIAS_RIDGE b^2

E = [leaves | nodes | -1]. K (L, L) is the kernel between landmarks: the third term is the norm of their function in the
space of the kernel. For other nodes it is lam |B_nodes|^2. b is the bias.

    lam = 1 / nu,    mu = R / nu,    R the ridge of leaves

Source: Scholkopf, Smola, Learning with kernels, 2002, section 4.2 (the norm); leaves beside landmarks are ours.

Train the unified ELM: regularised least squares in closed form, all targets in one solve.

    min_B  1/2 |B|^2 + C/2 |H B - T|^2

H (N, L) node outputs, T (N, K) targets, B (L, K) output weights, C > 0 the weight of the errors: the problem above
without a bias, and with nu = C. Its kernel form is `solvers.kelm`.

    B = (I/C + H'H)^-1 H'T

Source: Huang et al., Extreme learning machine for regression and multiclass classification, 2012; Bai et al., 2014,
eqs. 9-11.

Train the extreme SVM: ridge regression of +-1 targets on random hidden nodes, from sums alone.

    min_{w, r}  nu/2 |T - (Phi(X) w - e r)|^2 + 1/2 (|w|^2 + r^2)

Phi(X) (N, L) hidden nodes, T (N, K) targets, r the regularised bias. Solution [w; r] = (I/nu + E'E)^-1 E'T with
E = [Phi(X), -e]; a row is of the positive class when Phi(x) w - r > 0, of several classes the largest wins.

    regression:  T = t - m,  f(x) = Phi(x) w - r + m,  m the weighted mean of the targets t

The sums are of t - m_0, with an m_0 that was chosen before. As the last column of E is -1, they tell the rest m - m_0
and centre themselves: sum(t - m_0) = -(last row of E'(t - m_0)), and E'1 = -(last column of E'E).

Source: He et al., A parallel incremental extreme SVM classifier, 2011, eqs. 3-7.
Ours: any number of classes over one Gram; regression, and its mean, which is not penalised; row weights; sums that do
not depend on their order.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mr_elm import linalg
from mr_elm.errors import AccountingError, NumericalWarning, one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.parallel import N_THREADS, map_in_threads
from mr_elm.rows.blocks import BLOCK_ROWS, Block, take_weights
from mr_elm.sums.exact_sum import add_pair
from mr_elm.sums.gram import SQUARES, TARGETS, GramSum, GridSteps, bound_targets, expand
from mr_elm.sums.statistics import Classes
from mr_elm.typing import Floats, Rows, RowWeights

STRIP_COLUMNS = 256  # columns, whose sizes need little memory


@dataclass(frozen=True)
class Penalty:
    """Hold what the output weights of leaves and other nodes cost.

    n_leaves : they come first. leaves : mu, of each. nodes : lam (K + JITTER I), or lam I, (L, L), symmetric.
    """

    n_leaves: int
    leaves: float
    nodes: Floats
    __repr__ = one_line

    def add_to(self, system: Floats) -> None:
        """Add it to a matrix (m, m)."""
        first, last = self.n_leaves, len(system) - 1
        diagonal = np.arange(len(system))
        system[diagonal[:first], diagonal[:first]] += self.leaves
        system[first:last, first:last] += self.nodes
        system[last, last] += BIAS_RIDGE

    def multiply(self, B: Floats) -> Floats:
        """Return the product with vectors (m, K)."""
        return np.concatenate(
            [self.leaves * B[: self.n_leaves], self.nodes @ B[self.n_leaves : -1], BIAS_RIDGE * B[-1:]]
        )


@dataclass(frozen=True)
class Solution:
    """Hold the output weights (m, K), the estimated condition number of I/nu + E'E, and the factorisation used."""

    output_weights: np.ndarray
    condition: float
    factorisation: str
    __repr__ = one_line


def solve_regularized(gram: Floats, right_side: Floats, nu: float, penalty: Penalty | None = None) -> Solution:
    """Solve (I/nu + G) B = R, or (P + G) B = R with the matrix P of a penalty.

    gram : (m, m), upper triangle filled.
    right_side : (m, K).
    nu : regularisation, > 0; small values shrink B.
    When the Cholesky factorisation fails, warns and uses the eigenvectors, those without a size left out. Raises
    ValueError when nu <= 0 or the sums are not finite.
    """
    if not nu > 0:
        raise ValueError(f'nu: expected a number above 0, found {nu}')
    if not (np.isfinite(gram).all() and np.isfinite(right_side).all()):
        raise ValueError('expected finite sums: hidden nodes overflowed on these rows (scale the features)')
    added = 1 / nu if penalty is None else penalty
    system = add_penalty(gram, added)
    norm = measure_norm(system)
    factor, failed = linalg.dpotrf(system, lower=1, overwrite_a=1, clean=0)
    if not failed:
        condition = 1 / max(linalg.dpocon(factor, norm, uplo='L')[0], np.finfo(float).tiny)
        return Solution(linalg.dpotrs(factor, right_side, lower=1)[0], float(condition), 'cholesky')
    warnings.warn(
        f"I/nu + E'E is not positive definite in floating point at row {failed} of {len(gram)}: its "
        'eigenvectors are used, which take several times as long; a smaller nu would be more accurate',
        NumericalWarning,
        stacklevel=2,
    )
    values, vectors = linalg.eigh(add_penalty(gram, added), lower=True)
    smallest = np.finfo(float).eps * len(values) * values[-1]
    inverse = np.where(values > smallest, 1 / np.maximum(values, smallest), 0.0)
    weights = vectors @ (inverse[:, None] * (vectors.T @ right_side))
    return Solution(weights, float(values[-1] / smallest), 'eigenvectors')


def add_penalty(gram: Floats, penalty: float | Penalty) -> Floats:
    """Return P + G, (m, m) with the lower triangle filled, of G whose upper triangle is: LAPACK overwrites it.

    penalty : P, or a number for that multiple of the identity.
    """
    system = gram.T.copy(order='F')
    if isinstance(penalty, Penalty):
        penalty.add_to(system)
    else:
        system[np.diag_indices_from(system)] += penalty
    return system


def factor_ridge(gram: Floats, penalty: float | Penalty) -> Floats | None:
    """Return the lower Cholesky factor of P + G, G with the upper triangle filled; None where it has none.

    penalty : see `add_penalty`. What is above the diagonal of the factor is arbitrary.
    """
    factor, failed = linalg.dpotrf(add_penalty(gram, penalty), lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    return factor


def measure_norm(system: Floats) -> float:
    """Return the 1-norm of a symmetric matrix whose lower triangle is filled, a strip of columns at a time."""
    sums = -np.abs(system.diagonal())
    for start in range(0, len(system), STRIP_COLUMNS):
        part = slice(start, start + STRIP_COLUMNS)
        sizes = np.abs(system[:, part])
        sums += sizes.sum(axis=1)
        sums[part] += sizes.sum(axis=0)
    return float(sums.max())


JITTER = 1e-3  # added to the kernel between landmarks, whose values are at most 1: copies of a landmark share weights
BIAS_RIDGE = 1e-6  # ridge of the bias, which is as good as free


def make_penalty(layer: HiddenLayer, mu: float, lam: float) -> Penalty:
    """Return the Penalty of the output weights of a layer with leaves."""
    return Penalty(layer.n_leaves, mu, lam * measure_nodes(layer))


def find_penalty(parameters: Mapping[str, Any], layer: HiddenLayer) -> Penalty | None:
    """Return the Penalty of a machine whose parameters name the ridge of its leaves, None for one without leaves."""
    if 'leaf_ridge' not in parameters:
        return None
    return make_penalty(layer, parameters['leaf_ridge'] / parameters['nu'], 1 / parameters['nu'])


def measure_nodes(layer: HiddenLayer) -> Floats:
    """Return K + JITTER I, (L, L), of the landmarks of a layer; I of other nodes."""
    if layer.kind not in LANDMARK_NODES.values():
        return np.eye(len(layer.biases))
    width = layer.weights.shape[1]
    placed = HiddenLayer(layer.kind, layer.weights, layer.biases, np.zeros(width), np.ones(width))
    K = placed.evaluate(layer.weights, np.empty((placed.n_hidden, placed.n_hidden)))
    return (K + K.T) / 2 + JITTER * np.eye(len(K))


MIN_LEVERAGE_GAP = 1e-9  # of 1 - h: what lies below is rounding


@dataclass(frozen=True)
class Sums:
    """Hold what the rows leave behind, as high and low parts.

    gram, gram_low : (m, m), upper triangle.
    class_sums, class_sums_low : (K, m), sums of rows of E per class, or per label of rows with several labels; for a
        regression of K targets T'E.
    counts, counts_low : (K,), rows a class or a label; for a regression the sums of the squares of each target.
    Targets of a regression are counted from the origin of the grid, see `GridSteps`.
    """

    gram: np.ndarray
    gram_low: np.ndarray
    class_sums: np.ndarray
    class_sums_low: np.ndarray
    counts: np.ndarray
    counts_low: np.ndarray
    __repr__ = one_line


def right_side(class_sums: Floats, numeric: bool) -> Floats:
    """Return E'T, (m, K'): one column of +-1 for two classes (the last is positive), else one a class.

    class_sums : (K, m), of `Sums`. numeric : T holds targets, or a 1 where a row has a label, instead of classes.
    """
    if numeric:
        return class_sums.T
    class_sums = np.ascontiguousarray(class_sums)  # numpy's order of addition follows the layout
    targets = 2 * class_sums - class_sums.sum(axis=0)
    if len(targets) == 2:
        return targets[-1:].T
    return targets.T


def find_mean(E1: Floats, ET: Floats) -> Floats:
    """Return the mean of targets, (K,), by the entries of E'1 () and E'T (K,) that belong to the last column of E, -1.

    It is 0 where nodes are so large that the grid of their sums has rounded the number of rows to 0.
    """
    if E1 < 0:
        return ET / E1
    return np.zeros(len(ET))


def center_sums(sums: Sums) -> tuple[Sums, Floats]:
    """Return the Sums of targets less their mean, and this mean, (K,), counted as the targets of the sums are."""
    E1, total = -sums.gram[:, -1], sums.gram[-1, -1]
    mean = find_mean(E1[-1], sums.class_sums[:, -1])
    class_sums = sums.class_sums - mean[:, None] * E1
    return replace(sums, class_sums=class_sums, counts=sums.counts - mean**2 * total), mean


def finish(
    sums: Sums, nu: float, numeric: bool, bias: bool = True, center: bool = False, penalty: Penalty | None = None
) -> Solution:
    """Solve for the output weights from Sums: a `Solution`. numeric : see `right_side`.

    penalty : of the weights of leaves and landmarks, instead of nu.

    bias : with False r is 0, which makes it the unified ELM with C = nu: B = (I/C + Phi'Phi)^-1 Phi'T.
    center : solve for targets less their mean, and put the mean into the last row of the output weights.
    """
    if center:
        centred, mean = center_sums(sums)
        solution = finish(centred, nu, numeric, bias, penalty=penalty)
        solution.output_weights[-1] -= mean
        return solution
    right = right_side(sums.class_sums, numeric)
    if bias:
        return solve_regularized(sums.gram, np.asfortranarray(right), nu, penalty)
    solution = solve_regularized(sums.gram[:-1, :-1], np.asfortranarray(right[:-1]), nu)
    return replace(solution, output_weights=np.pad(solution.output_weights, ((0, 1), (0, 0))))


def collect_sums(gram: Floats, gram_low: Floats, named_sums: Mapping[str, Any], classes: Classes | None = None) -> Sums:
    """Make `Sums` of what the tasks emitted; the sums of the labels are those of `collect_targets`."""
    return Sums(gram, gram_low, *collect_targets(named_sums, len(gram), classes))


def collect_targets(named_sums: Mapping[str, Any], m: int, classes: Classes | None = None) -> tuple[Floats, ...]:
    """Return the class sums and counts of `Sums`, and their low parts, from what the tasks emitted.

    named_sums : label -> [high, low] of (m + 1,), the rows counted last; for regression (classes None) the two
        sums TARGETS and SQUARES.
    Labels that are one class are added here. Raises AccountingError when a label belongs to no class.
    """
    if classes is None:
        (target, target_low), (squares, squares_low) = named_sums[TARGETS], named_sums[SQUARES]
        return target.reshape(-1, m), target_low.reshape(-1, m), squares, squares_low
    unknown = sorted(set(named_sums) - set(classes.index))
    if unknown:
        raise AccountingError(f'expected the same labels in every pass, found {unknown[:3]} only in the second')
    high, low = np.zeros((2, len(classes.names), m + 1))
    for name, pair in sorted(named_sums.items()):
        add_pair(high[classes.index[name]], low[classes.index[name]], *pair)
    return high[:, :-1], low[:, :-1], high[:, -1], low[:, -1]


def leading_sums(sums: Sums, n_hidden: int) -> Sums:
    """Return the Sums of the first n_hidden nodes: the rows and columns {1..n_hidden, bias} of those of all."""
    nodes = np.append(np.arange(n_hidden), len(sums.gram) - 1)
    square = np.ix_(nodes, nodes)
    return replace(
        sums,
        gram=sums.gram[square],
        gram_low=sums.gram_low[square],
        class_sums=sums.class_sums[:, nodes],
        class_sums_low=sums.class_sums_low[:, nodes],
    )


@dataclass(frozen=True)
class TrainingRows:
    """Hold labelled rows that fit in memory.

    X : (N, d) dense or CSR. y : (N,) class numbers; for a regression, where classes is None, targets, (N,) or (N, K).
    sample_weight : (N,), or None when all count once.
    """

    X: Rows
    y: np.ndarray
    classes: Classes | None = None
    sample_weight: RowWeights = None
    __repr__ = one_line

    @property
    def targets(self) -> tuple[Floats, Floats | None]:
        """Return the targets (n, K), and the weights, of the rows that count: those with a weight above 0."""
        y, weights = self.y.reshape(len(self.y), -1), self.sample_weight
        if weights is None or not (weights > 0).any():
            return y, weights
        return y[weights > 0], weights[weights > 0]

    def choose_steps(self, node_bound: float, origin: tuple[float, ...] = ()) -> GridSteps:
        """Choose the grids of the sums of these rows. node_bound : on |Phi(x)|. origin : of the targets."""
        target_bound = weight_bound = 1.0
        if self.classes is None:
            y = self.targets[0]
            target_bound = bound_targets(y.min(axis=0), y.max(axis=0), origin)
        if self.sample_weight is not None:
            weight_bound = float(self.sample_weight.max())
        return GridSteps.of(node_bound, target_bound, weight_bound, origin)

    def blocks(self, first: int = 0, step: int = 1) -> Iterator[tuple[Block, Floats | None]]:
        """Yield blocks of rows, and the weights of their rows: each, or every step-th from the first on."""
        for start in range(first * BLOCK_ROWS, self.X.shape[0], step * BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            if self.classes is None:
                block = Block(self.X[part], targets=self.y[part])
            else:
                block = Block(self.X[part], tuple(self.classes.names), self.y[part])
            yield block, take_weights(self.sample_weight, part)


def sum_up(
    layer: HiddenLayer,
    rows: TrainingRows,
    steps: GridSteps,
    count: Callable[[int], None] | None = None,
) -> Sums:
    """Sum up rows that fit in memory; each thread has sums of its own.

    count : is called with a number of rows that have been added.
    """

    def sum_part(number: int) -> GramSum:
        gram = GramSum(layer.n_hidden + 1, steps, rows.classes is None, n_leaves=layer.n_leaves)
        if rows.classes is None:
            n_targets = rows.y[:1].size
        else:
            n_targets = len(rows.classes.names)
        buffer = np.empty(min(BLOCK_ROWS, rows.X.shape[0]) * (layer.nodes.n_hidden + 1 + n_targets))
        for block, weights in rows.blocks(number, n_parts):
            ET = expand(layer.nodes, block.X, gram.n_targets(block), buffer)
            gram.add(ET, block, weights, layer.find_leaves(block.X))
            if count is not None:
                count(block.X.shape[0])
        return gram

    n_parts = min(N_THREADS.get() or 1, max(-(-rows.X.shape[0] // BLOCK_ROWS), 1))
    gram, *others = map_in_threads(sum_part, range(n_parts))
    for other in others:
        gram.merge(other)
    return collect_sums(gram.high, gram.low, gram.sums, rows.classes)

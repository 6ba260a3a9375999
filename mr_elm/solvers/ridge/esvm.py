"""Train the extreme SVM: ridge regression of +-1 targets on random hidden nodes, from sums alone.

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError, one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.parallel import map_in_threads
from mr_elm.rows.blocks import BLOCK_ROWS, Block
from mr_elm.solvers.ridge.regularized import Penalty, Solution, solve_regularized
from mr_elm.sums.exact_sum import add_pair
from mr_elm.sums.gram import SQUARES, TARGETS, GramSum, GridSteps, bound_targets, expand
from mr_elm.sums.statistics import Classes
from mr_elm.typing import Floats, Rows


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
    return targets[-1:].T if len(targets) == 2 else targets.T


def find_mean(E1: Floats, ET: Floats) -> Floats:
    """Return the mean of targets, (K,), by the entries of E'1 () and E'T (K,) that belong to the last column of E, -1.

    It is 0 where nodes are so large that the grid of their sums has rounded the number of rows to 0.
    """
    return ET / E1 if E1 < 0 else np.zeros(len(ET))


def center_sums(sums: Sums) -> tuple[Sums, Floats]:
    """Return the Sums of targets less their mean, and this mean, (K,), counted as the targets of the sums are."""
    E1, total = -sums.gram[:, -1], sums.gram[-1, -1]
    mean = find_mean(E1[-1], sums.class_sums[:, -1])
    class_sums = sums.class_sums - mean[:, None] * E1
    return replace(sums, class_sums=class_sums, counts=sums.counts - mean**2 * total), mean


def finish(sums: Sums, nu: float, numeric: bool, bias: bool = True, center: bool = False,
           penalty: Penalty | None = None) -> Solution:
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


def collect_sums(gram: Floats, gram_low: Floats, named_sums: Mapping[str, Any],
                 classes: Classes | None = None) -> Sums:
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
    kept = np.append(np.arange(n_hidden), len(sums.gram) - 1)
    square = np.ix_(kept, kept)
    return replace(sums, gram=sums.gram[square], gram_low=sums.gram_low[square], class_sums=sums.class_sums[:, kept],
                   class_sums_low=sums.class_sums_low[:, kept])


@dataclass(frozen=True)
class TrainingRows:
    """Hold labelled rows that fit in memory.

    X : (N, d) dense or CSR. y : (N,) class numbers; for a regression, where classes is None, targets, (N,) or (N, K).
    sample_weight : (N,), or None when all count once.
    """

    X: Rows
    y: np.ndarray
    classes: Classes | None = None
    sample_weight: Floats | None = None
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

    def blocks(self, first: int = 0, step: int = 1) -> Iterator[tuple[Any, Floats | None]]:
        """Yield blocks of rows, and the weights of their rows: each, or every step-th from the first on."""
        for start in range(first * BLOCK_ROWS, self.X.shape[0], step * BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            block = TargetBlock(self.X[part], self.y[part]) if self.classes is None else (
                Block(self.X[part], tuple(self.classes.names), self.y[part]))
            yield block, None if self.sample_weight is None else self.sample_weight[part]


def fit_esvm(layer: HiddenLayer, rows: TrainingRows, nu: float = 1.0, node_bound: float = 1.0) -> tuple[Sums, Solution]:
    """Train in this process on rows that fit in memory, of a regression without centring: (Sums, Solution).

    layer : HiddenLayer. rows : TrainingRows. nu : > 0, the weight of the errors.
    node_bound : bound on |Phi(x)|, from `layer.bound`, for nodes that are not bounded by 1.
    """
    sums = sum_up(layer, rows, rows.choose_steps(node_bound))
    return sums, finish(sums, nu, rows.classes is None)


def sum_up(layer: HiddenLayer, rows: TrainingRows, steps: GridSteps, n_threads: int | None = None) -> Sums:
    """Sum up rows that fit in memory. n_threads : see `map_in_threads`; each has sums of its own."""
    def sum_part(number: int) -> GramSum:
        gram = GramSum(layer.n_hidden + 1, steps, rows.classes is None, n_leaves=layer.n_leaves)
        n_targets = rows.y[:1].size if rows.classes is None else len(rows.classes.names)
        buffer = np.empty(min(BLOCK_ROWS, rows.X.shape[0]) * (layer.nodes.n_hidden + 1 + n_targets))
        for block, weights in rows.blocks(number, n_parts):
            ET = expand(layer.nodes, block.X, gram.n_targets(block), buffer)
            gram.add(ET, block, weights, layer.find_leaves(block.X))
        return gram

    n_parts = min(n_threads or 1, max(-(-rows.X.shape[0] // BLOCK_ROWS), 1))
    gram, *others = map_in_threads(sum_part, range(n_parts), n_threads)
    for other in others:
        gram.merge(other)
    return collect_sums(gram.high, gram.low, gram.sums, rows.classes)


@dataclass(frozen=True)
class TargetBlock:
    """Hold rows whose targets are numbers already, (n,) or (n, K)."""

    X: np.ndarray
    targets: np.ndarray
    __repr__ = one_line

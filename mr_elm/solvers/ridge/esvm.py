"""Train the extreme SVM: ridge regression of +-1 targets on random hidden nodes, from sums alone.

    min_{w, r}  nu/2 |T - (Phi(X) w - e r)|^2 + 1/2 (|w|^2 + r^2)

Phi(X) (N, L) hidden nodes, T (N, K) targets, r the regularised bias. Solution [w; r] = (I/nu + E'E)^-1 E'T with
E = [Phi(X), -e]; a row is of the positive class when Phi(x) w - r > 0, of several classes the largest wins.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, eqs. 3-7.
Ours: any number of classes over one Gram; regression; row weights; sums that do not depend on their order.
"""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError, one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.io.blocks import BLOCK_ROWS, Block
from mr_elm.parallel import map_in_threads
from mr_elm.solvers.ridge.regularized import Solution, solve_regularized
from mr_elm.sums.exact_sum import add_pair
from mr_elm.sums.gram import SQUARES, TARGETS, GramSum, GridSteps, expand
from mr_elm.sums.statistics import Classes
from mr_elm.typing import Floats, Rows


@dataclass(frozen=True)
class Sums:
    """Hold what the rows leave behind, as high and low parts.

    gram, gram_low : (m, m), upper triangle.
    class_sums, class_sums_low : (K, m), sums of rows of E per class, or per label of rows with several labels; for a
        regression of K targets T'E.
    counts, counts_low : (K,), rows a class or a label; for a regression the sums of the squares of each target.
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


def finish(sums: Sums, nu: float, numeric: bool, bias: bool = True) -> Solution:
    """Solve for the output weights from Sums: a `Solution`. numeric : see `right_side`.

    bias : with False r is 0, which makes it the unified ELM with C = nu: B = (I/C + Phi'Phi)^-1 Phi'T.
    """
    right = right_side(sums.class_sums, numeric)
    if bias:
        return solve_regularized(sums.gram, np.asfortranarray(right), nu)
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

    def bounds(self) -> tuple[float, float]:
        """Return bounds on targets and on the weights of rows, 1 where there are none."""
        targets = self.y if self.classes is None else None
        target, weight = (1.0 if values is None else float(np.abs(values).max())
                          for values in (targets, self.sample_weight))
        return target, weight

    def blocks(self, first: int = 0, step: int = 1) -> Iterator[tuple[Any, Floats | None]]:
        """Yield blocks of rows, and the weights of their rows: each, or every step-th from the first on."""
        for start in range(first * BLOCK_ROWS, self.X.shape[0], step * BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            block = TargetBlock(self.X[part], self.y[part]) if self.classes is None else (
                Block(self.X[part], tuple(self.classes.names), self.y[part]))
            yield block, None if self.sample_weight is None else self.sample_weight[part]


def fit_esvm(layer: HiddenLayer, rows: TrainingRows, nu: float = 1.0, node_bound: float = 1.0) -> tuple[Sums, Solution]:
    """Train in this process on rows that fit in memory: (Sums, Solution).

    layer : HiddenLayer. rows : TrainingRows. nu : > 0, the weight of the errors.
    node_bound : bound on |Phi(x)|, from `layer.bound`, for nodes that are not bounded by 1.
    """
    sums = sum_up(layer, rows, GridSteps.of(node_bound, *rows.bounds()))
    return sums, finish(sums, nu, rows.classes is None)


def sum_up(layer: HiddenLayer, rows: TrainingRows, steps: GridSteps, n_threads: int | None = None) -> Sums:
    """Sum up rows that fit in memory. n_threads : see `map_in_threads`; each has sums of its own."""
    def sum_part(number: int) -> GramSum:
        gram = GramSum(layer.n_hidden + 1, steps, rows.classes is None)
        n_targets = rows.y[:1].size if rows.classes is None else len(rows.classes.names)
        buffer = np.empty(min(BLOCK_ROWS, rows.X.shape[0]) * (layer.n_hidden + 1 + n_targets))
        for block, weights in rows.blocks(number, n_parts):
            gram.add(expand(layer, block.X, gram.n_targets(block), buffer), block, weights)
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

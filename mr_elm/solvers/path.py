"""Walk the box-constrained dual along a list of C over one kernel matrix, each begun where the last ended.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C w_i         symbols: box

Rows held out have the bound 0: they do not train, and the result's decision values are theirs too, at no price. So one
kernel matrix serves every C and every fold.
"""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mr_elm.features.kernel_rows import PrecomputedRows
from mr_elm.solvers.block_rule import solve_by_blocks
from mr_elm.solvers.box import TINY, BoxQP, Result, Settings
from mr_elm.solvers.loops import two_variables
from mr_elm.solvers.sphere import SphereProblem, solve_sphere
from mr_elm.typing import Floats


@dataclass(frozen=True)
class PathPoint:
    """Hold the result at one C; fold is the one held out, or None."""

    C: float
    fold: int | None
    result: Result


def ready_rows(source: Any, dtype: DTypeLike = np.float32) -> PrecomputedRows:
    """Compute the whole kernel matrix of a source of rows and return its PrecomputedRows."""
    n = source.n_samples
    matrix = np.empty((n, n), dtype)
    return PrecomputedRows(source.rows(np.arange(n), matrix.dtype, matrix), checked=True)


def walk_path(rows: Any, targets: Floats, bounds: Iterable[float], weights: Floats | None = None,
              settings: Settings | None = None, fold: int | None = None) -> Iterator[PathPoint]:
    """Yield a PathPoint for every C of bounds, in increasing order.

    rows : source of kernel rows, (N, N); best a ready one, see `ready_rows`.
    targets, weights : (N,) as in BoxQP; a weight of 0 holds a row out.
    """
    settings, last, result = settings or Settings(), None, None
    for C in sorted(bounds):
        problem = BoxQP(rows, targets, C, weights)
        alpha, decision = (None, None) if last is None or result is None else step_along(problem, result, last)
        result, last = solve_by_blocks(problem, settings, alpha, decision), problem
        yield PathPoint(C, fold, result)


def step_along(problem: BoxQP, result: Result, last: BoxQP) -> tuple[Floats, Floats]:
    """Return (alpha, decision values) to begin a problem with, from the result of the last one, of smaller bounds.

    It is the lowest point a + x d + y e with 0 <= x, y <= 1, where d takes what is at its bound to the new one, and e
    lets the free variables grow as much: d + e is a multiple of a, so that one product with K serves both.
    """
    a, t = result.alpha, problem.targets
    support = np.flatnonzero(a)
    if not len(support):
        return a, result.decision
    growth = problem.upper[support[0]] / last.upper[support[0]] - 1
    bound = a >= last.upper
    d, e = np.where(bound, problem.upper - a, 0), np.where(bound, 0, growth * a)
    few = d if np.count_nonzero(d) < np.count_nonzero(e) else e
    moved = np.flatnonzero(few)
    product = problem.rows.weighted_sum(moved, (few * t)[moved])
    other = growth * result.decision - product
    f_d, f_e = (product, other) if few is d else (other, product)
    g = t * result.decision - 1
    curvature = max(d @ (t * f_d), TINY), max(e @ (t * f_e), TINY), d @ (t * f_e)
    x, y = two_variables(*curvature, g @ d, g @ e, 0.0, 0.0, 1.0, 1.0)
    start = np.where(bound & (x == 1), problem.upper, a + x * d + y * e)
    return np.minimum(start, problem.upper), result.decision + x * f_d + y * f_e


def walk_folds(rows: Any, targets: Floats, bounds: Iterable[float], folds: np.ndarray, weights: Floats | None = None,
               settings: Settings | None = None) -> Iterator[PathPoint]:
    """Yield a PathPoint for every fold held out and every C.

    folds : (N,) fold numbers. `point.result.decision[folds == point.fold]` are decision values of rows that the
    machine has not seen.
    """
    weights = np.ones(len(folds)) if weights is None else np.asarray(weights, dtype=float)
    for fold in np.unique(folds):
        yield from walk_path(rows, targets, bounds, np.where(folds == fold, 0.0, weights), settings, int(fold))


def walk_sphere_path(rows: Any, targets: Floats, C_values: Iterable[float], weights: Floats | None = None,
                     settings: Settings | None = None, fold: int | None = None) -> Iterator[PathPoint]:
    """Yield a PathPoint for every C, in increasing order.

    rows, targets, weights, fold : as in `path.walk_path`.
    """
    start = None
    for C in sorted(C_values):
        result = solve_sphere(SphereProblem(rows, targets, C, weights), 'exact', settings or Settings(), start)
        yield PathPoint(C, fold, result)
        start = result.alpha

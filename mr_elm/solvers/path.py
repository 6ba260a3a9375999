"""Walk the box-constrained dual along a list of C over one kernel matrix, each begun where the last ended.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C w_i         symbols: box_qp

Rows held out have the bound 0: they do not train, and the result's decision values are theirs too, at no price. So one
kernel matrix serves every C and every fold.
"""
from dataclasses import dataclass

import numpy as np

from ..features.kernel_rows import PrecomputedRows
from .block_rule import solve_by_blocks
from .box_qp import BoxQP, Result, Settings


@dataclass(frozen=True)
class PathPoint:
    """Hold the result at one C; fold is the one held out, or None."""

    C: float
    fold: int | None
    result: Result


def ready_rows(source, dtype=np.float32):
    """Compute the whole kernel matrix of a source of rows and return its PrecomputedRows."""
    everything = np.arange(source.n_samples)
    return PrecomputedRows(source.rows(everything, np.dtype(dtype)), checked=True)


def walk_path(rows, targets, bounds, weights=None, settings=None, fold=None):
    """Yield a PathPoint for every C of bounds, in increasing order.

    rows : source of kernel rows, (N, N); best a ready one, see `ready_rows`.
    targets, weights : (N,) as in BoxQP; a weight of 0 holds a row out.
    """
    settings, start, result, last = settings or Settings(), None, None, None
    for C in sorted(bounds):
        problem = BoxQP(rows, targets, C, weights)
        if result is not None:  # what met its bound will mostly meet the next
            start = np.where(result.alpha >= last, problem.upper, result.alpha)
        result, last = solve_by_blocks(problem, settings, start, result), problem.upper
        yield PathPoint(C, fold, result)


def walk_folds(rows, targets, bounds, folds, weights=None, settings=None):
    """Yield a PathPoint for every fold held out and every C.

    folds : (N,) fold numbers. `point.result.decision[folds == point.fold]` are decision values of rows that the
    machine has not seen.
    """
    weights = np.ones(len(folds)) if weights is None else np.asarray(weights, dtype=float)
    for fold in np.unique(folds):
        yield from walk_path(rows, targets, bounds, np.where(folds == fold, 0.0, weights), settings, int(fold))

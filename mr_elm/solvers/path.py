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
from mr_elm.solvers.box import BoxQP, Result, Settings
from mr_elm.solvers.sphere import SphereProblem, solve_sphere
from mr_elm.typing import Floats, RowWeights


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


def walk_path(
    rows: Any,
    targets: Floats,
    bounds: Iterable[float],
    weights: RowWeights = None,
    settings: Settings | None = None,
    fold: int | None = None,
) -> Iterator[PathPoint]:
    """Yield a PathPoint for every C of bounds, in increasing order.

    rows : source of kernel rows, (N, N); best a ready one, see `ready_rows`.
    targets, weights : (N,) as in BoxQP; a weight of 0 holds a row out.
    """
    alpha = decision = None
    for C in sorted(bounds):
        result = solve_by_blocks(BoxQP(rows, targets, C, weights), settings or Settings(), alpha, decision)
        yield PathPoint(C, fold, result)
        alpha, decision = result.alpha, result.decision


def walk_sphere_path(
    rows: Any,
    targets: Floats,
    C_values: Iterable[float],
    weights: RowWeights = None,
    settings: Settings | None = None,
    fold: int | None = None,
) -> Iterator[PathPoint]:
    """Yield a PathPoint for every C, in increasing order.

    rows, targets, weights, fold : as in `walk_path`.
    """
    start = None
    for C in sorted(C_values):
        result = solve_sphere(SphereProblem(rows, targets, C, weights), 'exact', settings or Settings(), start)
        yield PathPoint(C, fold, result)
        start = result.alpha

"""Walk SphereSVM along a list of C over one kernel matrix, each begun where the last ended."""
from collections.abc import Iterable, Iterator
from typing import Any

from mr_elm.solvers.box.box_qp import Settings
from mr_elm.solvers.box.path import PathPoint
from mr_elm.solvers.sphere.sphere_svm import SphereProblem, solve_sphere
from mr_elm.typing import Floats


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

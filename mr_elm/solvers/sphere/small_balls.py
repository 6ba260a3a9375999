"""Solve the SphereSVMs of all pairs of classes that are small; symbols: `sphere_svm`."""
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.errors import one_line
from mr_elm.solvers.box.box_qp import Result, Settings
from mr_elm.solvers.box.pairs import SmallMachines, solve_small_machines
from mr_elm.solvers.sphere.sphere_svm import common_diagonal, invert, limit_violation
from mr_elm.typing import Floats


@dataclass
class SmallBalls(SmallMachines):
    """Hold the balls of all pairs: alpha is b, gradient k~b - 1, on the scale where b'k~b = sum b.

    violation : (P,), the gap |c|^2 - min c.x~_i as a share of |c|^2.
    """
    __repr__ = one_line

    def make_result(self, machine: int) -> Result:
        """Return the Result of a machine, its rows in increasing order; see `solve_sphere`."""
        place = self.place(machine)
        b, product, t = self.alpha[place], self.gradient[place] + 1, self.targets[place]
        gap, square = float(self.violation[machine]), 1 / float(b.sum())
        return Result(b, t * (product - b * self.ridge[place]), square, gap * square, gap, int(self.n_iter[machine]),
                      len(b), self.seconds / self.n_machines, gap <= self.eps, float(self.intercept[machine]))

    @cached_property
    def intercept(self) -> Floats:
        """Return the bias of each machine, (P,)."""
        return np.add.reduceat(self.alpha * self.targets, self.offsets[:-1])


def solve_small_balls(rows: Any, codes: np.ndarray, costs: Floats, settings: Settings) -> SmallBalls | None:
    """Find the points nearest to the origin of all pairs of classes that are small, to a relative gap of eps.

    Returns None where there are none.

    rows : source of rows of k, K(x, x) the same for all. codes : (N,) class numbers, each of which has a row.
    costs : (N,), C w_i; rows of 0 do not train.
    """
    common_diagonal(rows.diagonal())
    trains = costs > 0
    upper = np.where(trains, 2 * costs.max() * np.sqrt(len(codes)), 0)  # see `SphereProblem.box`
    found = solve_small_machines(rows, codes, upper, limit_violation(settings), invert(costs))
    if found is None:
        return None
    starts, product = found.offsets[:-1], found.gradient + 1
    sums, norms = (np.add.reduceat(values, starts) for values in (found.alpha, found.alpha * product))
    scale = np.divide(sums, norms, out=np.zeros(len(sums)), where=norms > 0)
    gap = 1 - scale * np.minimum.reduceat(np.where(found.upper > 0, product, np.finfo(float).max), starts)
    each = scale[found.machines]
    return SmallBalls(**{field.name: getattr(found, field.name) for field in fields(found)} | {
        'alpha': each * found.alpha, 'gradient': each * product - 1, 'violation': gap, 'eps': settings.eps})

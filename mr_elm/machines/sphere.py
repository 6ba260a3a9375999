"""Train one two-class SphereSVM on rows in memory, and walk along a list of C. Symbols: sphere_svm."""
from dataclasses import replace

from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.machines.dual import Machine
from mr_elm.solvers.box.box_qp import Settings
from mr_elm.solvers.box.path import PathPoint
from mr_elm.solvers.sphere.sphere_svm import SphereProblem, solve_sphere


class SphereMachine(Machine):
    """Say how a SphereSVM is trained: a Machine with a kernel; rule is one of `sphere_svm.RULES`."""

    def solve(self, Z, targets, weights, report=None):
        """Solve over placed rows Z; returns a Result, see `solve_sphere`."""
        problem = SphereProblem(kernel_rows(Z, self.kernel), targets, self.C, weights)
        return solve_sphere(problem, self.rule, replace(self.settings, report=report))

    def walk(self, *given):
        """Yield a PathPoint for every C of a list; see `walk_sphere_path`."""
        return walk_sphere_path(*given)

    def gap_over_all(self, certificate, loss, least):
        """Return |c|^2 - min c.x~_i over all rows; least : the smallest y f / |c|^2 of rows not trained on, or 1."""
        return max(certificate['gap'], certificate['objective'] * (1 - least))


def walk_sphere_path(rows, targets, bounds, weights=None, settings=None, fold=None):
    """Yield a PathPoint for every C of bounds, in increasing order, each begun where the last ended.

    rows, targets, weights, fold : as in `path.walk_path`.
    """
    start = None
    for C in sorted(bounds):
        result = solve_sphere(SphereProblem(rows, targets, C, weights), 'exact', settings or Settings(), start)
        yield PathPoint(C, fold, result)
        start = result.alpha

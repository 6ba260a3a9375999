"""Train one two-class machine on rows in memory: on the box-constrained dual, over a kernel or nodes, or as a ball.

f(x) = sum_i a_i t_i K(z_i, z)   or   f(x) = h(x) beta,  beta = sum_i a_i t_i h(x_i)          symbols: box
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mr_elm.features.kernel_rows import NodeRows
from mr_elm.solvers.box import BoxQP, Result, Settings, upper_bounds
from mr_elm.solvers.choose_solver import COORDINATE, solve_dual
from mr_elm.typing import Floats, RowWeights

if TYPE_CHECKING:  # compiled code, which is loaded when it is used
    from mr_elm.solvers.pairs import SmallMachines


@dataclass(frozen=True)
class BoxMachine:
    """Say how a two-class machine is trained on kernel rows.

    C : > 0. rule : one of the method's `METHOD_RULES`. settings : Settings.
    """

    C: float
    rule: str
    settings: Settings

    def solve(self, source: Any, targets: Floats, weights: RowWeights = None, before: Result | None = None) -> Result:
        """Train on a source of kernel rows; targets (n,) of +1 and -1, weights (n,) >= 0 or None.

        before : of the same rows at a smaller C, from which the rule `block` goes on.
        """
        problem = BoxQP(source, targets, self.C, weights)
        if before is None or self.rule != 'block':
            return solve_dual(problem, self.rule, self.settings)
        from mr_elm.solvers.sparse_elm_blocks import solve_by_blocks

        return solve_by_blocks(problem, self.settings, before.alpha, before.decision)

    def solve_alone(self, source: Any, targets: Floats, weights: RowWeights) -> Result:
        """Train one machine as `solve_pairs` trains it among those of other classes."""
        codes = (targets > 0).astype(int)
        small = None
        if np.ptp(codes):
            small = self.solve_pairs(source, codes, weights)
        if small is not None and not len(small.unsolved):
            result = small.make_result(0)
            if self.settings.report is not None:
                self.settings.report(result.n_iter, lambda: result.violation, self.settings.eps)
            return result
        return self.solve(source, targets, weights)

    def solve_pairs(self, source: Any, codes: np.ndarray, weights: RowWeights = None) -> 'SmallMachines | None':
        """Train the machines of all pairs of classes that are small, or return None: another rule, or K(x, x) < 0.

        codes : (n,) class numbers, each of which has a row.
        """
        diagonal = source.diagonal()
        if self.rule != 'block':
            return None
        if not ((diagonal >= 0) & (diagonal < np.inf)).all():
            return None
        from mr_elm.solvers.pairs import solve_small_machines

        return solve_small_machines(source, codes, upper_bounds(self.C, weights, len(codes)), self.settings)

    def solve_path(
        self, source: Any, targets: Floats, C_values: Iterable[float], weights: RowWeights
    ) -> Iterator[Result]:
        """Train for every C in increasing order and yield a Result for each.

        Rows of weight 0 are held out: they do not train, and the result's decision values are theirs too, at no price.
        So one kernel matrix serves every C and every fold.
        """
        result = None
        for C in sorted(C_values):
            result = replace(self, C=C).solve(source, targets, weights, result)
            yield result

    def compute_gap(self, certificate: dict, loss: float, least_margin: float) -> float:
        """Return the duality gap over all rows of a machine that was trained on some of them.

        certificate : objective, alpha_sum and gap of the training. loss : sum of C_i max(0, 1 - t_i f(x_i)) over all
        rows. least_margin : the smallest t f(x) of the rows that it was not trained on, at most 1.
        """
        return loss + 2 * certificate['objective'] + certificate['alpha_sum']


class NodeMachine(BoxMachine):
    """Train a machine on the outputs of hidden nodes: by coordinate descent, or by a rule of kernels on H H'."""

    def solve(self, source: Any, targets: Floats, weights: RowWeights = None, before: Result | None = None) -> Result:
        """Train on node outputs (n, L), or on NodeRows of them; returns a NodeResult. before : is not used."""
        from mr_elm.solvers.coordinate import solve_node_dual, solve_node_rows

        if isinstance(source, NodeRows):
            source = source.H
        if self.rule == COORDINATE:
            return solve_node_dual(source, targets, self.C, weights, self.settings)
        return solve_node_rows(source, targets, self.C, weights, self.settings, self.rule)

    def solve_pairs(self, source: Any, codes: np.ndarray, weights: RowWeights = None) -> None:
        """Return None: there are no kernel values to share."""


class SphereMachine(BoxMachine):
    """Train a SphereSVM on rows of a normalised kernel; symbols: sphere."""

    def solve_pairs(self, source: Any, codes: np.ndarray, weights: RowWeights = None) -> 'SmallMachines | None':
        """Train the machines of all pairs of classes that are small; see `solve_small_balls`."""
        if self.rule != 'exact':
            return None
        from mr_elm.solvers.sphere import solve_small_balls

        return solve_small_balls(source, codes, upper_bounds(self.C, weights, len(codes)), self.settings)

    def solve(self, source: Any, targets: Floats, weights: RowWeights = None, before: Result | None = None) -> Result:
        """Train on a source of kernel rows, see `solve_sphere`. before : at a smaller C, from which `exact` goes on."""
        from mr_elm.solvers.sphere import SphereProblem, solve_sphere

        start = None
        if before is not None and self.rule == 'exact':
            start = before.alpha
        return solve_sphere(SphereProblem(source, targets, self.C, weights), self.rule, self.settings, start)

    def compute_gap(self, certificate: dict, loss: float, least_margin: float) -> float:
        """Return |c|^2 - min c.x~_i over all rows; least_margin is the smallest y f / |c|^2."""
        return max(certificate['gap'], certificate['objective'] * (1 - least_margin))

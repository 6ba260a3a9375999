"""Choose width and nu of a machine again for as many nodes as it will have: more landmarks pay for narrower kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mr_elm import linalg
from mr_elm.errors import one_line
from mr_elm.machines.metric import SampleRows
from mr_elm.machines.node_choice import Candidate, climb, judge, round_scale
from mr_elm.machines.nodes import NodeProblem
from mr_elm.solvers.increment import largest_nu
from mr_elm.solvers.ridge import MIN_LEVERAGE_GAP, factor_ridge
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats


def refine_candidate(problem: NodeProblem, rows: SampleRows, candidate: Candidate) -> Candidate:
    """Return a candidate with the width and the nu that suit the number of nodes of a problem, by leave-one-out."""
    options = replace(candidate.options, n_hidden=problem.options.n_hidden)
    start = replace(candidate, options=options)

    def score(k: int) -> Candidate:
        scale = round_scale(options.weight_scale * 2.0**k)
        return score_nus(problem, rows, replace(start, options=replace(options, weight_scale=scale)))

    if options.map == 'nystrom':
        return climb(score, (0, 1))
    return score(0)


def score_nus(problem: NodeProblem, rows: SampleRows, candidate: Candidate) -> Candidate:
    """Return the candidate with the best nu around its own, for its weight scale."""
    layer = candidate.state(problem).make_layer()
    regression = Regression.of(expand(layer, rows.X), rows)

    def score(k: int) -> Candidate:
        nu = candidate.options.nu * 10.0**k
        values = regression.leave_out(nu)
        if values is None:
            worth = -np.inf
        else:
            worth = judge(values, rows)
        return replace(
            candidate,
            options=replace(candidate.options, nu=nu),
            layer=layer,
            value=worth,
            values=np.zeros(rows.T.shape) if values is None else values,
            judged=np.ones(len(rows), bool),
        )

    return climb(score, (0, 1), 3)


@dataclass(frozen=True)
class Regression:
    """Hold what a ridge regression needs for any nu.

    E : (n, m), rows times the roots (n, 1) of their weights. T : (n, K), likewise. gram, right : E'E and E'T.
    """

    E: Floats
    T: Floats
    roots: Floats
    gram: Floats
    right: Floats
    __repr__ = one_line

    @classmethod
    def of(cls, E: Floats, rows: SampleRows) -> Regression:
        """Sum up the rows."""
        if rows.weights is None:
            roots = np.ones((len(E), 1))
        else:
            roots = np.sqrt(rows.weights)[:, None]
        E, T = E * roots, rows.T * roots
        return cls(E, T, roots, E.T @ E, E.T @ T)

    def leave_out(self, nu: float) -> Floats | None:
        """Return decision values of rows by machines that did not see them, (n, K); None where rounding would show."""
        factor = None
        if nu <= largest_nu(float(np.trace(self.gram))):
            factor = factor_ridge(self.gram, 1 / nu)
        if factor is None:
            return None
        values = self.E @ linalg.dpotrs(factor, self.right, lower=1)[0]
        half = linalg.solve_triangular(factor, self.E.T, lower=True, check_finite=False)
        slack = np.maximum(1 - np.einsum('ji,ji->i', half, half), MIN_LEVERAGE_GAP)
        return (self.T - (self.T - values) / slack[:, None]) / self.roots

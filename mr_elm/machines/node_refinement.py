"""Choose width and nu of a machine again for as many nodes as it will have: more landmarks pay for narrower kernels.

Of few rows each is left out in turn; of many rows one fifth is held out. A keyed hash of each row and of its copy
number chooses that fifth: copies of a row are spread over both parts, as they are over training and later rows.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mr_elm import linalg
from mr_elm.errors import one_line
from mr_elm.features.landmarks import hash_rows, scramble
from mr_elm.machines.metric import SampleRows
from mr_elm.machines.node_choice import Candidate, climb, judge, round_scale, square_errors
from mr_elm.machines.nodes import NodeProblem
from mr_elm.solvers.ridge.elm import SMALLEST
from mr_elm.solvers.ridge.increment import largest_nu
from mr_elm.solvers.ridge.regularized import factor_ridge
from mr_elm.sums.gram import expand
from mr_elm.typing import Floats

FEW_ROWS = 1000  # up to which each row is left out
HALF = 0.5  # of a doubling of the width
HELD, HOLD_KEY = 5, 7  # one row of five, by a hash with a key of its own


def refine_candidate(problem: NodeProblem, rows: SampleRows, candidate: Candidate, step: float = 1.0) -> Candidate:
    """Return a candidate with the width and the nu that suit the number of nodes of a problem.

    step : between two widths that are tried, in doublings.
    """
    held = choose_held(problem, rows)
    options = replace(candidate.options, n_hidden=problem.options.n_hidden)
    start = replace(candidate, options=options)

    def score(k: int) -> Candidate:
        scale = round_scale(options.weight_scale * 2.0**(step * k))
        return score_nus(problem, rows, replace(start, options=replace(options, weight_scale=scale)), held)

    return climb(score, (0, 1)) if options.map == 'nystrom' else score(0)


def choose_held(problem: NodeProblem, rows: SampleRows) -> np.ndarray | None:
    """Tell which rows are held out, (n,) bool; None where each is left out in turn."""
    return None if len(rows) <= FEW_ROWS else hold_out(rows, problem.options.seed + HOLD_KEY)


def held_out_ratio(problem: NodeProblem, rows: SampleRows, candidate: Candidate) -> float:
    """Return the squared error of a candidate divided by that of its first half of nodes, both on rows held out."""
    held = choose_held(problem, rows)
    judged = slice(None) if held is None else held
    half = candidate.layer.take(max(1, candidate.layer.n_hidden // 2))
    found = [Regression.of(expand(layer, rows.X), rows, held).solve(candidate.options.nu)
             for layer in (candidate.layer, half)]
    errors = [np.inf if values is None else square_errors(values, rows)[judged].mean() for values in found]
    return float(errors[0] / errors[1]) if 0 < errors[1] < np.inf else 1.0


def hold_out(rows: SampleRows, seed: int) -> np.ndarray:
    """Tell which rows are held out, (n,) bool: whatever their order is, and copies of a row one by one."""
    hashes = hash_rows(rows.X, seed)
    order = np.lexsort((*rows.T.T, hashes))
    ordered = hashes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    copies = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    held = np.zeros(len(order), bool)
    held[order] = scramble(ordered + copies.astype(np.uint64)) % np.uint64(HELD) == 0
    return held


def score_nus(problem: NodeProblem, rows: SampleRows, candidate: Candidate, held: np.ndarray | None) -> Candidate:
    """Return the candidate with the best nu around its own, for its weight scale.

    held : (n,), the rows held out, or None to leave out each row in turn.
    """
    layer = candidate.state(problem).make_layer()
    regression = Regression.of(expand(layer, rows.X), rows, held)
    judged = np.ones(len(rows), bool) if held is None else held

    def score(k: int) -> Candidate:
        nu = candidate.options.nu * 10.0**k
        values = regression.solve(nu)
        worth = -np.inf if values is None else judge(values[judged], rows.take(judged))
        return replace(candidate, options=replace(candidate.options, nu=nu), layer=layer, value=worth,
                       values=np.zeros(rows.T.shape) if values is None else values, judged=judged)

    return climb(score, (0, 1), 3)


@dataclass(frozen=True)
class Regression:
    """Hold what a ridge regression needs for any nu.

    E : (n, m), all rows. T : (n, K). roots : (n, 1), of their weights. gram, right : of the rows to train on.
    held : as in `score_nus`.
    """

    E: Floats
    T: Floats
    roots: Floats
    gram: Floats
    right: Floats
    held: np.ndarray | None
    __repr__ = one_line

    @classmethod
    def of(cls, E: Floats, rows: SampleRows, held: np.ndarray | None) -> Regression:
        """Sum up the rows that are not held out."""
        roots = np.ones((len(E), 1)) if rows.weights is None else np.sqrt(rows.weights)[:, None]
        E, T = E * roots, rows.T * roots
        others, targets = (E, T) if held is None else (E[~held], T[~held])
        return cls(E, T, roots, others.T @ others, others.T @ targets, held)

    def solve(self, nu: float) -> Floats | None:
        """Return decision values of rows by machines that have not seen them, (n, K).

        None where rounding errors would show.
        """
        factor = factor_ridge(self.gram, 1 / nu) if nu <= largest_nu(float(np.trace(self.gram))) else None
        if factor is None:
            return None
        values = self.E @ linalg.dpotrs(factor, self.right, lower=1)[0]
        if self.held is None:
            half = linalg.solve_triangular(factor, self.E.T, lower=True, check_finite=False)
            slack = np.maximum(1 - np.einsum('ji,ji->i', half, half), SMALLEST)
            values = self.T - (self.T - values) / slack[:, None]
        return values / self.roots

"""Train the sparse ELM on explicit nodes: dual coordinate descent that keeps the output weights.

    min_a  1/2 |beta|^2 - e'a   s.t.  0 <= a_i <= C_i,   beta = sum_i a_i t_i h(x_i)

h(x) the outputs of L nodes, a row of H (N, L); f(x) = h(x) beta; g_i = t_i f(x_i) - 1; other symbols: box, K = HH'.
A step costs L and not N: HH' is never formed.

Source: Hsieh et al., A dual coordinate descent method for large-scale linear SVM, 2008, on the problem of Bai et al.,
eq. 17 with 24. Ours: every few passes a minimum over the free variables and the violators; their matrix has rank at
most L, and Newton steps with a ridge go along null directions until a bound stops them.
"""

import time
from dataclasses import dataclass

import numpy as np

from mr_elm.compiled import jit
from mr_elm.errors import one_line
from mr_elm.features.kernel_rows import NodeRows
from mr_elm.features.kernels import row_squares
from mr_elm.solvers.box import (
    MIN_CURVATURE,
    BoxBlock,
    BoxQP,
    Result,
    Settings,
    SolverWork,
    check_targets,
    conclude,
    free_variables,
    upper_bounds,
    violations,
)
from mr_elm.solvers.choose_solver import solve_dual
from mr_elm.solvers.sparse_elm_blocks import Effort, minimise_block
from mr_elm.typing import Floats, RowWeights

MAX_PASSES = 2000  # before giving up
FACE_PERIOD = 10  # passes
MAX_FACE = 2000  # variables, up to which solving for them together is worth its price
EFFORT = Effort(np.inf, 0.1, newton=5, pairs=1, after=2)


@dataclass(frozen=True, kw_only=True)
class NodeResult(Result):
    """Add the output weights: beta (L,), f(x) = h(x) beta."""

    beta: np.ndarray
    __repr__ = one_line


class NodePoint:
    """Hold alpha and beta, and step over the rows of H."""

    def __init__(self, H: Floats, targets: Floats, upper: Floats) -> None:
        self.H = np.ascontiguousarray(H, dtype=float)
        self.targets, self.upper, self.squares = targets, upper, row_squares(self.H)
        self.alpha, self.beta = np.zeros(len(targets)), np.zeros(H.shape[1])

    def sweep(self, order: np.ndarray) -> None:
        """Step over the rows in this order, each to its own minimiser."""
        sweep(self.H, order, self.targets, self.upper, self.squares, self.alpha, self.beta)

    def gradient(self) -> Floats:
        """Return g from beta computed anew, which takes the rounding of many steps out of it."""
        self.beta = (self.alpha * self.targets) @ self.H
        return self.targets * (self.H @ self.beta) - 1

    def solve_face(self, gradient: Floats, tolerance: float) -> None:
        """Minimise over the free variables and violators, if they are few enough."""
        face = np.flatnonzero(
            free_variables(self.alpha, self.upper) | (violations(self.alpha, gradient, self.upper) > 0)
        )
        if 0 < len(face) <= MAX_FACE:
            rows, t, alpha = self.H[face], self.targets[face], self.alpha[face]
            Q = rows @ rows.T * np.outer(t, t)
            curvature = np.maximum(Q.diagonal(), MIN_CURVATURE * self.squares.max())
            minimise_block(BoxBlock(Q, alpha, gradient[face], self.upper[face], curvature), tolerance, EFFORT)
            self.alpha[face] = alpha


def solve_node_dual(
    H: Floats, targets: Floats, C: float, weights: RowWeights = None, settings: Settings | None = None
) -> NodeResult:
    """Minimise the dual over explicit node outputs and return a NodeResult; `n_iter` counts passes over the rows.

    H : (N, L).
    targets : (N,) of +1 and -1.
    C, weights : > 0; (N,) >= 0 or None: C_i = C weights_i.
    """
    started, settings = time.process_time(), settings or Settings()
    point = NodePoint(H, check_targets(targets, H.shape[0]), upper_bounds(C, weights, H.shape[0]))
    rng, limit = np.random.default_rng(settings.seed), settings.max_iter or MAX_PASSES
    active, n_iter, worst = np.arange(H.shape[0]), 0, np.inf
    while worst > settings.eps and n_iter < limit:
        n_iter += 1
        point.sweep(rng.permutation(active))
        gradient = point.gradient()
        if n_iter % FACE_PERIOD == 0:
            point.solve_face(gradient, 0.1 * settings.eps)
            gradient = point.gradient()
        worst = violations(point.alpha, gradient, point.upper).max()
        active = find_moving(point.alpha, gradient, point.upper, worst)
        settings.tell(n_iter, point.alpha, gradient, point.upper)
    result = conclude(point, point.alpha, gradient, SolverWork(n_iter, 0, started), settings)
    return NodeResult(**vars(result), beta=point.beta)


def solve_node_rows(
    H: Floats,
    targets: Floats,
    C: float,
    weights: RowWeights = None,
    settings: Settings | None = None,
    rule: str = 'block',
) -> NodeResult:
    """Minimise the same by a rule of `choose_solver.RULES`, which asks for rows of HH', for all where there are few.

    H : (N, L). rule : counts `n_iter` as it does on a kernel. Other arguments as in `solve_node_dual`.
    """
    problem = BoxQP(NodeRows(H), targets, C, weights)
    result = solve_dual(problem, rule, settings)
    return NodeResult(**vars(result), beta=(result.alpha * problem.targets) @ problem.rows.H)


def find_moving(alpha: Floats, gradient: Floats, upper: Floats, worst: float) -> np.ndarray:
    """Leave out variables that rest on a bound by more than the worst violation: the next pass may spare them."""
    resting = ((alpha <= 0) & (gradient > worst)) | ((alpha >= upper) & (gradient < -worst))
    return np.flatnonzero(~resting)


fast = jit(fastmath=True)


@fast
def _change(score: float, t: float, alpha: float, upper: float, square: float) -> float:
    """Return the clipped one-variable step from f(x_i) = score."""
    g = t * score - 1.0
    if square <= 0.0:  # f is 0 on this row whatever beta is: the more the better
        return upper - alpha
    return min(max(alpha - g / square, 0.0), upper) - alpha


@fast
def sweep(
    H: np.ndarray, order: np.ndarray, t: Floats, upper: Floats, squares: Floats, alpha: Floats, beta: Floats
) -> None:
    """Step over the rows of H in this order; alpha and beta change in place."""
    L = len(beta)
    for i in order:
        row, score = H[i], 0.0
        for j in range(L):
            score += row[j] * beta[j]
        s = _change(score, t[i], alpha[i], upper[i], squares[i])
        if s != 0.0:
            alpha[i] += s
            s *= t[i]
            for j in range(L):
                beta[j] += s * row[j]

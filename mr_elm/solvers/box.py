"""State the box-constrained dual, as a problem without a method.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           Q_ij = t_i t_j K(x_i, x_j)

a (N,) dual variables, t targets of +1 and -1, C_i = C times the weight of row i, g = Qa - e the gradient.
f(x) = sum_i a_i t_i K(x, x_i), so that g_i = t_i f(x_i) - 1. Optimal: g >= 0 at 0, g <= 0 at C_i, g = 0 between.
Duality gap: primal - dual = a'g + sum_i C_i max(0, -g_i).

Source: Bai et al., Sparse extreme learning machine for classification, 2014, eq. 17; Zhao et al., An
efficient active set method for optimization extreme learning machines, eq. 2. Neither has a bias, so there
is no sum constraint. Ours: a bound for each row (weights; a row of bound 0 is left out); the certificate, which is of
the whole problem and in float64.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mr_elm.errors import ConvergenceWarning, NumericalWarning, one_line, write_value
from mr_elm.typing import Floats, RowWeights

SUBSET, ATTEMPTS = 59, 20  # N_r: with 95 % one of 59 rows is among the worst 5 %; N_a
EXACT_ROWS, EXACT_EPS = 100, 1e-11  # problems of so few rows are solved to rounding: it costs nothing
MIN_CURVATURE = 1e-12  # of the largest K(x, x): a diagonal below this counts as this


@dataclass(frozen=True)
class Settings:
    """Hold how to solve: where to stop and what may be used.

    eps : largest violation of the optimality conditions allowed at the end.
    max_iter : bound on the solver's iterations, or None for its own.
    cache_bytes : memory for kernel rows.
    dtype : of kernel rows, float32, float64 or None, which takes float32 where its rounding cannot spoil eps.
    seed : of the order in which equal candidates are visited.
    subset, attempts : N_r and N_a of Algorithm 1 of SphereSVM, both at least 1.
    report : function (iterations, violation, eps) that is called now and then, so that a long run can show how far it
        is; violation : function that computes the largest violation so far, which falls to eps.
    """

    eps: float = 1e-3
    max_iter: int | None = None
    cache_bytes: int = 1_000_000_000
    dtype: str | None = None
    seed: int = 0
    report: Callable | None = None
    subset: int = SUBSET
    attempts: int = ATTEMPTS

    def __post_init__(self) -> None:
        if not self.eps > 0:
            raise ValueError(f'eps: expected a number above 0, found {self.eps}')
        if self.max_iter is not None and self.max_iter < 1:
            raise ValueError(f'max_iter: expected a number of at least 1, found {self.max_iter}')
        if min(self.subset, self.attempts) < 1:
            raise ValueError(
                f'subset, attempts: expected numbers of at least 1, found {self.subset} and {self.attempts}'
            )
        if self.dtype not in (None, 'float32', 'float64'):
            raise ValueError(f'dtype: expected float32, float64 or None, found {write_value(self.dtype)}')

    def tell(self, n_iter: int, alpha: Floats, gradient: Floats, upper: Floats) -> None:
        """Report the iterations so far and the largest violation by the running gradient."""
        if self.report is not None:
            self.report(n_iter, lambda: float(violations(alpha, gradient, upper).max(initial=0.0)), self.eps)


def describe_iteration(n_iter: int, compute_violation: Callable[[], float], eps: float) -> str:
    """Write what `Settings.report` was called with for people."""
    return f'iteration {n_iter:,}, largest violation {compute_violation():.2g} (stops at {eps:.2g})'


@dataclass(frozen=True)
class Result:
    """Hold what a solver found.

    alpha : (N,), the dual variables.
    decision : (N,), f(x_i) of every row, those of bound 0 included.
    objective : 1/2 a'Qa - e'a.
    gap, violation : duality gap and largest violation of the optimality conditions, from float64 kernel rows.
    n_iter : iterations as the solver counts them.
    n_kernel_rows : rows of the kernel matrix computed, the certificate's included.
    seconds : of this process's processor time.
    converged : whether violation <= eps.
    intercept : the bias; 0 for machines without one.
    steps : of the active set rules, how many steps of each kind.
    """

    alpha: np.ndarray
    decision: np.ndarray
    objective: float
    gap: float
    violation: float
    n_iter: int
    n_kernel_rows: int
    seconds: float
    converged: bool
    intercept: float = 0.0
    steps: dict[str, int] = field(default_factory=dict)
    __repr__ = one_line


class SolverWork(NamedTuple):
    """Say what a solver did: its iterations, kernel rows computed, and time.process_time() when it began."""

    n_iter: int
    n_kernel_rows: int
    started: float

    @property
    def seconds(self) -> float:
        """Return the processor time since it began."""
        return time.process_time() - self.started


class BoxQP:
    """Join kernel rows, targets and bounds into one problem.

    rows : a source of kernel rows, see `features.kernel_rows`.
    targets : (N,) of +1 and -1.
    C : bound, > 0.
    weights : (N,) >= 0, or None when every row counts once: C_i = C weights_i.
    Raises ValueError when they do not fit; warns of a kernel that is negative on the diagonal.
    """

    def __init__(self, rows: Any, targets: Floats, C: float, weights: RowWeights = None) -> None:
        self.rows, self.n_samples = rows, rows.n_samples
        self.targets = check_targets(targets, self.n_samples)
        self.upper = upper_bounds(C, weights, self.n_samples)
        self.diagonal = rows.diagonal()
        if not np.isfinite(self.diagonal).all():
            raise ValueError('expected finite kernel values: the kernel overflowed on these rows (scale the features)')
        if self.diagonal.min(initial=0.0) < 0:
            warnings.warn(
                'the kernel is not positive on these rows, K(x, x) < 0 for some: the dual is not convex, and '
                'what is found need not be its minimum',
                NumericalWarning,
                stacklevel=2,
            )

    @cached_property
    def curvature(self) -> Floats:
        """Return Q_ii, (N,), at least so large that 1/Q_ii is finite and a step of it ends on a bound."""
        largest = self.diagonal.max()
        return np.maximum(self.diagonal, MIN_CURVATURE * largest if largest > 0 else MIN_CURVATURE)

    def is_large(self, eps: float) -> bool:
        """Tell whether the rounding of float32 makes more than eps of a single kernel value."""
        return bool(0.5 * np.finfo(np.float32).eps * self.diagonal.max(initial=0.0) > eps)

    def gradient(self, alpha: Floats) -> tuple[Floats, int]:
        """Return Qa - e in float64, and how many kernel rows were computed for it."""
        support, t = np.flatnonzero(alpha), self.targets
        return t * self.rows.weighted_sum(support, (alpha * t)[support]) - 1, len(support)

    def block(self, indices: np.ndarray) -> Floats:
        """Return Q[indices, indices] in float64, made of these rows alone."""
        t = self.targets[indices]
        return self.rows.take(indices).rows(np.arange(len(indices))) * np.outer(t, t)


class BoxBlock(NamedTuple):
    """Hold a block of n variables, whose a and g change in place: Q (n, n); a, g, upper, diagonal (n,)."""

    Q: np.ndarray
    a: Floats
    g: Floats
    upper: Floats
    diagonal: Floats


def check_targets(targets: Floats, n: int) -> Floats:
    """Return targets as floats. Raises ValueError when they are not n values of +1 and -1."""
    targets = np.asarray(targets, dtype=float)
    if targets.shape != (n,) or not (np.abs(targets) == 1).all():
        raise ValueError(f'targets: expected {n} values of +1 or -1, found others')
    return targets


def upper_bounds(C: float, weights: RowWeights, n: int) -> Floats:
    """Return C_i, (n,). Raises ValueError when C or the weights are out of range."""
    if not (C > 0 and np.isfinite(C)):
        raise ValueError(f'C: expected a finite number above 0, found {C}')
    if weights is None:
        return np.full(n, float(C))
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f'weights: expected {n} finite numbers of at least 0')
    return C * weights


def violations(alpha: Floats, gradient: Floats, upper: Floats) -> Floats:
    """Return how far each variable is from its optimality condition, (N,): 0 where it holds."""
    wants_up = np.where(alpha < upper, -gradient, 0)
    wants_down = np.where(alpha > 0, gradient, 0)
    return np.maximum(np.maximum(wants_up, wants_down), 0)


def objective_of(alpha: Floats, gradient: Floats) -> float:
    """Return 1/2 a'Qa - e'a. gradient : Qa - e."""
    return 0.5 * float(alpha @ (gradient - 1))


def duality_gap(alpha: Floats, gradient: Floats, upper: Floats) -> float:
    """Return primal - dual."""
    return float(alpha @ gradient + upper @ np.maximum(-gradient, 0))


def free_variables(alpha: Floats, upper: Floats) -> np.ndarray:
    """Tell which variables are strictly between their bounds, (N,) bool."""
    return (alpha > 0) & (alpha < upper)


def conclude(problem: Any, alpha: Floats, gradient: Floats, work: SolverWork, settings: Settings) -> Result:
    """Return the Result for alpha with its float64 gradient, and warn when it is not within eps.

    problem : has targets and upper, as a BoxQP.
    """
    worst = float(violations(alpha, gradient, problem.upper).max(initial=0.0))
    objective, gap = objective_of(alpha, gradient), duality_gap(alpha, gradient, problem.upper)
    if worst > settings.eps:
        warnings.warn(
            f'stopped after {work.n_iter} iterations at a violation of {worst:.3g}, expected at most '
            f'{settings.eps:g}; the duality gap is {gap:.3g} at objective {objective:.6g}: raise max_iter, '
            'scale the features or lower C',
            ConvergenceWarning,
            stacklevel=3,
        )
    return Result(
        alpha,
        problem.targets * (gradient + 1),
        objective,
        gap,
        worst,
        work.n_iter,
        work.n_kernel_rows,
        work.seconds,
        worst <= settings.eps,
    )

"""Train SphereSVM: the L2 support vector machine as a ball around its rows, or as the point of a hull nearest to 0.

    min  1/2 |w|^2 + 1/2 b^2 - rho + C/2 sum_i xi_i^2   s.t.  y_i (w.phi(x_i) + b) >= rho - xi_i            (paper, 1-2)

The Lagrangian gives w = sum a_i y_i phi(x_i), b = sum a_i y_i, xi_i = a_i / C, sum a_i = 1, a >= 0; left is

    min_a |c|^2,  c = sum_i a_i x~_i,  a on the simplex      x~_i.x~_j = k~_ij = y_i y_j (k_ij + 1) + delta_ij / C   (5)

For a normalised kernel, k_ii = tau, all x~_i lie at the distance R, R^2 = tau + 1 + 1/C, from the origin. Then
|c - x~_i|^2 = |c|^2 - 2 c.x~_i + R^2, the minimal enclosing ball (3-4) has the same centre c, and f(x) = w.phi(x) + b.

`paper`, Algorithm 1: a_0 = 1, e = 1/2. Of up to N_a + 1 random subsets of N_r rows take the first with a row outside
of (1 + e) R; v is the farthest row of it, u the support vector nearest to c. With V = |x~_v - c|^2, U = |x~_u - c|^2,
D = |x~_v - x~_u|^2, the centre c + beta (x~_v - x~_u) has x~_v on its sphere of radius R where
D beta^2 - 2 p beta + V - R^2 = 0, p = (x~_v - x~_u).(x~_v - c) = (V + D - U) / 2. The smaller root, with rho = p / D
and q = (V - R^2) / D, is rho - sqrt(rho^2 - q), taken as q / (rho + sqrt(rho^2 - q)), which does not cancel. It is real
and |c| does not rise: the squared distances of support vectors have the mean sum a_i |x~_i - c|^2 = R^2 - |c|^2, so
U <= R^2, hence p^2 - (V - R^2) D >= (V - U - D)^2 / 4 and beta D <= min(V - U, D), while |c|^2 changes by
beta (beta D - (V - U)). beta is cut at a_u. No such subset: e <- max(e / 2, eps), and at e = eps a pass over all rows
ends it or finds the next v. What it ends at is *an* enclosing ball: inside of (1 + eps) R says
c.x~_i >= |c|^2 / 2 - (2 eps + eps^2) R^2 / 2, which even for eps -> 0 only gives |c|^2 <= 4 |c*|^2.

`exact` (ours): the nearest point itself, until min_i c.x~_i >= (1 - gap) |c|^2, and so |c| <= |c*| / (1 - gap). With
b = a / |c|^2 it is the box-constrained dual of `box` on k~ without a bound: min 1/2 b'k~b - e'b, b >= 0, whose
optimum has k~b = 1 where b > 0, b'k~b = sum b = 1 / |c|^2; `sparse_elm_blocks` solves it.

Both return b, so that f is divided by |c|^2: it is about 1 on the margin, to be compared and summed between machines.
A weight w_i of a row stands for w_i rows: C w_i in the place of C.

Source: Strack et al., Sphere support vector machines for large classification tasks, 2013, Algorithm 1,
whose printed text breaks off behind line 20.
"""

import time
import warnings
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mr_elm.compiled import jit
from mr_elm.errors import ConvergenceWarning, demand_choice, one_line
from mr_elm.solvers.box import BoxQP, Result, Settings, SolverWork, check_targets, upper_bounds
from mr_elm.solvers.pairs import SmallMachines, solve_small_machines
from mr_elm.solvers.row_cache import RowCache
from mr_elm.solvers.sparse_elm_blocks import solve_by_blocks
from mr_elm.typing import Floats, RowWeights

RULES = ('exact', 'paper')
EVEN_SHARE = 1e-5  # of the largest K(x, x): differences below this are rounding, of float32 too
DRAWN_SUBSETS = 512  # subsets drawn at a time
STEPS_A_ROW, MIN_STEPS = 100, 1_000_000  # after which `paper` gives up


class SphereProblem:
    """Join kernel rows, targets, C and weights into one problem.

    rows : a source of rows of k, see `features.kernel_rows`; K(x, x) must be the same for all of them.
    targets : (N,) of +1 and -1.
    C : > 0. weights : (N,) >= 0, or None; a row of weight 0 does not train.
    Raises ValueError when they do not fit.
    """

    def __init__(self, rows: Any, targets: Floats, C: float, weights: RowWeights = None) -> None:
        self.rows, self.n_samples = rows, rows.n_samples
        self.targets = check_targets(targets, self.n_samples)
        self.costs = upper_bounds(C, weights, self.n_samples)
        self.trains = self.costs > 0
        self.tau = common_diagonal(rows.diagonal())

    @property
    def ridge(self) -> Floats:
        """Return 1 / (C w_i), (N,), and 0 for rows that do not train."""
        return invert(self.costs)

    def products(self, b: Floats) -> tuple[Floats, Floats, int]:
        """Return (f, k~b) for weights b, float64, and the number of kernel rows that took."""
        support = np.flatnonzero(b)
        signed = (b * self.targets)[support]
        decision = self.rows.weighted_sum(support, signed) + signed.sum()
        return decision, self.targets * decision + b * self.ridge, len(support)

    def box(self) -> BoxQP:
        """Return the box-constrained dual over k~; its bound is one that no solution reaches.

        |b|^2 / C <= b'k~b = sum b <= sqrt(N) |b| at the optimum.
        """
        largest = 2 * self.costs.max() * np.sqrt(self.n_samples)
        return BoxQP(BallRows(self.rows, self.ridge), self.targets, largest, self.trains.astype(float))


class BallRows:
    """Serve rows of k + 1 + delta / C, which is k~ without its signs.

    rows : source of rows of k. ridge : (n,), 1 / C of each row.
    """

    def __init__(self, rows: Any, ridge: Floats) -> None:
        self.base, self.ridge, self.n_samples = rows, ridge, rows.n_samples

    def take(self, subset: np.ndarray, growth: float = 1) -> 'BallRows':
        """Return the same of a part of the data, with a C that is `growth` times as large."""
        return BallRows(self.base.take(subset), self.ridge[subset] / growth)

    def factor(self) -> None:
        """Return None: no thin Z has ZZ' = k + 1 + delta / C."""

    def diagonal(self) -> Floats:
        """Return k~_ii, (n,)."""
        return self.base.diagonal() + 1 + self.ridge

    def rows(self, indices: np.ndarray, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> np.ndarray:
        """Return the rows of these indices, written into `out` when given."""
        out = self.base.rows(indices, dtype, out)
        out += 1
        out[np.arange(len(indices)), indices] += self.ridge[indices].astype(out.dtype)
        return out

    def weighted_sum(self, indices: np.ndarray, weights: Floats) -> Floats:
        """Return the sum of the columns of these indices, weighted, (n,) float64."""
        total = self.base.weighted_sum(indices, weights) + weights.sum()
        total[indices] += self.ridge[indices] * weights
        return total


def invert(costs: Floats) -> Floats:
    """Return 1 / C_i, (N,), and 0 for rows that do not train."""
    return np.divide(1.0, costs, out=np.zeros(len(costs)), where=costs > 0)


def common_diagonal(diagonal: Floats) -> float:
    """Return tau = K(x, x). Raises ValueError when it is not the same for all rows."""
    least, largest = float(diagonal.min()), float(diagonal.max())
    if not (largest > 0 and largest - least <= EVEN_SHARE * largest):
        raise ValueError(
            'expected a normalised kernel, whose K(x, x) > 0 is the same for all rows; here it goes from '
            f'{least:.6g} to {largest:.6g} (use --normalise, which divides K(u, v) by '
            'the root of K(u, u) K(v, v))'
        )
    return largest


def solve_sphere(
    problem: SphereProblem, rule: str = 'exact', settings: Settings | None = None, start: Floats | None = None
) -> Result:
    """Solve a SphereProblem by a rule: a Result.

    Of the Result, alpha is b = a / |c|^2 (a = alpha / alpha.sum()), decision f / |c|^2 with its bias, intercept the
    bias, objective |c|^2, gap |c|^2 - min c.x~_i, and violation what the rule stops by: the gap's share of |c|^2, or
    how far outside of R the farthest row is, as a share of R.

    settings : Settings, its eps the largest gap allowed for `exact`, the eps of Algorithm 1 for `paper`.
    start : alpha for `exact` to begin with, or None.
    """
    settings = settings or Settings()
    demand_choice('rule', rule, RULES)
    if rule == 'paper':
        return solve_by_paper(problem, settings)
    return solve_exact(problem, settings, start)


def limit_violation(settings: Settings) -> Settings:
    """Return the settings of a box-constrained dual whose solution has a gap of eps.

    k~b within 1 +- eps' gives the gap 1 - (1 - eps') / (1 + eps').
    """
    return replace(settings, eps=settings.eps / (2 - min(settings.eps, 1)))


def solve_exact(problem: SphereProblem, settings: Settings, start: Floats | None = None) -> Result:
    """Find the point nearest to the origin, to a relative gap of eps; `n_iter` counts blocks of variables."""
    started = time.process_time()
    within = limit_violation(settings)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)  # its words are of another gap
        result = solve_by_blocks(problem.box(), within, start)
    b, product = result.alpha, problem.targets * result.decision
    work = SolverWork(result.n_iter, result.n_kernel_rows, started)
    return conclude(problem, settings, (b, product), work)


def conclude(
    problem: SphereProblem,
    settings: Settings,
    point: tuple[Floats, Floats],
    work: SolverWork,
    violation: float | None = None,
) -> Result:
    """Return the Result for weights b and k~b in float64, on the scale where b'k~b = sum b; warn when not within eps.

    violation : what the rule stops by, or None for the gap.
    """
    b, product = point
    scale = b.sum() / (b @ product)
    b, product = scale * b, scale * product
    gap = float(1 - product[problem.trains].min())  # relative to |c|^2
    if violation is None:
        violation = gap
    if violation > settings.eps:
        warnings.warn(
            f'stopped after {work.n_iter} iterations at {violation:.3g}, expected at most {settings.eps:g}; '
            f'the relative gap is {gap:.3g}: raise max_iter or lower C',
            ConvergenceWarning,
            stacklevel=4,
        )
    targets = problem.targets
    return Result(
        b,
        targets * (product - b * problem.ridge),
        1 / float(b.sum()),
        gap / float(b.sum()),
        violation,
        work.n_iter,
        work.n_kernel_rows,
        work.seconds,
        violation <= settings.eps,
        float(b @ targets),
    )


def solve_by_paper(problem: SphereProblem, settings: Settings) -> Result:
    """Find an enclosing ball by Algorithm 1 on float64 kernel rows; `n_iter` counts its updates of two weights.

    settings : its subset is N_r, rows drawn at a time, with repetition; of no more rows than that, all are looked at.
    Its attempts are N_a. Raises ValueError when rows that train have different weights: they are not on one sphere.
    """
    if np.ptp(problem.costs[problem.trains]) > 0:
        raise ValueError('rule: expected exact for rows of different weights, found paper')
    started = time.process_time()
    search = SubsetSearch(problem, settings)
    search.run(settings.max_iter or max(MIN_STEPS, STEPS_A_ROW * problem.n_samples))
    _, product, n_rows = problem.products(search.a)
    farthest = product[problem.trains].min()
    outside = np.sqrt(search.a @ product - 2 * farthest + search.radius**2) / search.radius - 1
    work = SolverWork(search.steps, search.cache.n_computed + n_rows, started)
    return conclude(problem, settings, (search.a, product), work, max(float(outside), 0.0))


class SubsetSearch:
    """Hold a run of Algorithm 1: weights a, p_i = c.x~_i for all rows, and the subsets to look at next."""

    def __init__(self, problem: SphereProblem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.trains = np.flatnonzero(problem.trains)
        self.cache = RowCache(problem.rows, np.float64, settings.cache_bytes)
        self.ridge = float(problem.ridge[self.trains[0]])
        self.radius = float(np.sqrt(problem.tau + 1 + self.ridge))
        self.random = np.random.default_rng(settings.seed)
        self.a, self.steps = np.zeros(problem.n_samples), 0
        self.a[self.trains[0]] = 1.0
        self.p = problem.products(self.a)[1]
        self.state = np.array([self.p[self.trains[0]], max(0.5, settings.eps), 0.0])  # |c|^2, e, attempts made

    def draw(self) -> np.ndarray:
        """Return subsets of row numbers, one a line."""
        n, subset = len(self.trains), self.settings.subset
        if n <= subset:
            return np.tile(self.trains, (DRAWN_SUBSETS, 1))
        return self.trains[self.random.integers(0, n, (DRAWN_SUBSETS, subset))]

    def run(self, limit: int) -> None:
        """Step until a pass over all rows finds none outside of (1 + eps) R, or the limit is reached."""
        attempts, everything = self.settings.attempts, self.trains[None]
        while self.steps < limit:
            if self.try_subsets(self.draw(), attempts, limit) and self.try_subsets(everything, 0, limit):
                return

    def try_subsets(self, draws: np.ndarray, attempts: int, limit: int) -> bool:
        """Step for the subsets in turn; tell whether more than `attempts` of them had no row outside at e = eps."""
        p, at, outcome = self.problem, 0, MISSING
        while outcome == MISSING:
            at, self.steps, outcome, missing = two_weight_steps(
                self.cache.slab,
                self.cache.slot_of,
                p.targets,
                self.ridge,
                self.radius**2,
                self.a,
                self.p,
                self.state,
                self.settings.eps,
                draws,
                at,
                attempts,
                self.steps,
                limit,
            )
            if outcome == MISSING:
                self.cache.ensure(np.unique(missing))
        if self.settings.report is not None:
            self.settings.report(self.steps, lambda: self.state[1], self.settings.eps)
        return outcome == EXHAUSTED


strict = jit()
DONE, EXHAUSTED, MISSING = 0, 1, 2


@strict
def two_weight_steps(
    slab: np.ndarray,
    slot_of: np.ndarray,
    t: Floats,
    ridge: float,
    square: float,
    a: Floats,
    p: Floats,
    state: Floats,
    eps: float,
    draws: np.ndarray,
    at: int,
    attempts: int,
    steps: int,
    limit: int,
) -> tuple[int, int, int, np.ndarray]:
    """Go through subsets of rows from number `at` on, a step for each with a row outside of (1 + e) R, in place.

    state : |c|^2, e, subsets in a row without a step. square : R^2.
    Returns (at, steps, DONE | EXHAUSTED | MISSING, rows wanted in the slab).
    """
    n, pair = len(a), np.zeros(2, np.int64)
    while at < len(draws) and steps < limit:
        v = draws[at, 0]
        for i in draws[at]:
            if p[i] < p[v]:
                v = i
        if state[0] - 2 * p[v] + square <= (1 + state[1]) ** 2 * square:
            at += 1
            state[2] += 1
            if state[2] > attempts:
                state[2] = 0
                if state[1] <= eps:
                    return at, steps, EXHAUSTED, pair
                state[1] = max(state[1] / 2, eps)
            continue
        u = -1
        for i in range(n):
            if a[i] > 0 and (u < 0 or p[i] > p[u]):
                u = i
        pair[0], pair[1] = u, v
        if slot_of[u] < 0 or slot_of[v] < 0:
            return at, steps, MISSING, pair
        _move(slab[slot_of[u]], slab[slot_of[v]], u, v, t, ridge, square, a, p, state)
        at, state[2] = at + 1, 0
        steps += 1
    return at, steps, DONE, pair


@strict
def _move(
    row_u: np.ndarray,
    row_v: np.ndarray,
    u: int,
    v: int,
    t: Floats,
    ridge: float,
    square: float,
    a: Floats,
    p: Floats,
    state: Floats,
) -> None:
    """Move weight from u to v until x~_v is on the sphere or u has none left."""
    between = t[u] * t[v] * (row_u[v] + 1)
    V, U = state[0] - 2 * p[v] + square, state[0] - 2 * p[u] + square
    D = 2 * (square - between)
    rho, q = (V + D - U) / (2 * D), (V - square) / D
    beta = min(q / (rho + np.sqrt(max(rho * rho - q, 0.0))), a[u])
    if beta < a[u]:
        a[u] = a[u] - beta
    else:
        a[u] = 0.0
    a[v] += beta
    state[0] += beta * (2 * (p[v] - p[u]) + beta * D)
    bv, bu = beta * t[v], beta * t[u]
    for j in range(len(p)):
        p[j] += t[j] * (bv * (row_v[j] + 1) - bu * (row_u[j] + 1))
    p[v] += beta * ridge
    p[u] -= beta * ridge


@dataclass
class SmallBalls(SmallMachines):
    """Hold the balls of all pairs: alpha is b, gradient k~b - 1, on the scale where b'k~b = sum b.

    violation : (P,), the gap |c|^2 - min c.x~_i as a share of |c|^2.
    """

    __repr__ = one_line

    def make_result(self, machine: int) -> Result:
        """Return the Result of a machine, its rows in increasing order; see `solve_sphere`."""
        part = self.place(machine)
        b, product, t = self.alpha[part], self.gradient[part] + 1, self.targets[part]
        gap, square = float(self.violation[machine]), 1 / float(b.sum())
        return Result(
            b,
            t * (product - b * self.ridge[part]),
            square,
            gap * square,
            gap,
            int(self.n_iter[machine]),
            len(b),
            self.seconds / self.n_machines,
            gap <= self.eps,
            float(self.intercept[machine]),
        )

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
    machines = solve_small_machines(rows, codes, upper, limit_violation(settings), invert(costs))
    if machines is None:
        return None
    starts, product = machines.offsets[:-1], machines.gradient + 1
    sums, norms = (np.add.reduceat(values, starts) for values in (machines.alpha, machines.alpha * product))
    scale = np.divide(sums, norms, out=np.zeros(len(sums)), where=norms > 0)
    gap = 1 - scale * np.minimum.reduceat(np.where(machines.upper > 0, product, np.finfo(float).max), starts)
    each = scale[machines.machines]
    return SmallBalls(
        **{field.name: getattr(machines, field.name) for field in fields(machines)}
        | {'alpha': each * machines.alpha, 'gradient': each * product - 1, 'violation': gap, 'eps': settings.eps}
    )

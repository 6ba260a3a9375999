"""Train the optimization ELM by active sets.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box

L = {a_i = 0}, U = {a_i = C_i}, S the rest, free. Optimal: g = 0 on S, g >= 0 on L, g <= 0 on U.

BAS, the basic algorithm (section 2): Newton's step on S, d = -Q_SS^-1 g_S, as far as all of S stays feasible. One
constraint joins or leaves in an iteration.

`oelm`, the proposed one (section 3): all violators are released at once, and a := P(a + mu d), P clipping to the box,
goes to the first minimiser of the piecewise quadratic, break point by break point, so that many constraints change at
once. First along the steepest descent, which finds the face, then, on the free variables, along Newton's direction.
Value reassignment between the two: released variables, and no others, go to their own one-variable minimisers in turn
until they are settled; those that would go straight back to their bound are then there before Newton's step.

`newton` (ours): the reassignment takes pairs of variables, free ones too, as many pairs as there are variables. It
needs fewer Newton systems, and less time.

Source: Zhao et al., An efficient active set method for optimization extreme learning machines, of which we have
the text up to section 3.1; the reassignment is our reading of what it announces. Ours: the whole projected step
where it falls lower than the first minimiser does; a ridge of 1e-12 on Q_SS, whose rank random nodes bound by L.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mr_elm import linalg
from mr_elm.compiled import inline, jit
from mr_elm.solvers import loops
from mr_elm.solvers.box import (
    MIN_CURVATURE,
    BoxBlock,
    BoxQP,
    Result,
    Settings,
    free_variables,
)
from mr_elm.solvers.interior import is_small
from mr_elm.solvers.row_cache import RowCache
from mr_elm.solvers.search import Search
from mr_elm.typing import Floats

MAX_FACE = 4000  # most variables released at once
NEWTON_STEPS = 500  # Newton systems before `newton` gives up
OELM_STEPS_A_ROW = 5  # the same for `oelm`
BAS_STEPS_A_ROW = 50  # the same for `bas`, which changes one constraint in each
SOLVED_SHARE = 0.1  # of eps: what is below needs no further step
# Newton systems before `newton` tries another way; and after it, where rounding may hide the end.
SLOW_STEPS, LATE_STEPS = 50, 20
STALLED_STEPS = 20  # Newton systems without less violation, after which the objective is looked at
MAX_SWEEPS = 50  # over the released variables, before Newton's step comes whether they are settled or not
STEPS = ('newton', 'gradient_path', 'one_variable', 'two_variables')  # kinds that are counted


class ActiveSetSearch(Search):
    """Hold a point and its gradient."""

    def __init__(self, problem: BoxQP, settings: Settings) -> None:
        super().__init__(problem, settings, STALLED_STEPS)
        self.cache = RowCache(problem.rows, np.float64, settings.cache_bytes)
        self.ridge = MIN_CURVATURE * problem.curvature.max()  # grows tenfold whenever Q_SS does not factorise
        self.steps = dict.fromkeys(STEPS, 0)

    def block(self, indices: np.ndarray) -> Floats:
        """Return Q[indices, indices], of cached rows where the cache has room for all of them."""
        if len(indices) > self.cache.capacity:
            return self.problem.block(indices)
        self.cache.ensure(indices)
        return self.cache.block(indices, self.problem.targets)

    def find_direction(self, free: np.ndarray) -> tuple[Floats, Floats]:
        """Return Q_SS and Newton's direction -(Q_SS + ridge I)^-1 g_S, improved once by the residual of Q_SS itself."""
        Q, g = self.block(free), self.gradient[free]
        while True:
            try:
                lifted = Q + self.ridge * np.eye(len(free))
                factor = linalg.cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                self.ridge *= 10
        solution = linalg.cho_solve(factor, g, check_finite=False)
        return Q, -(solution + linalg.cho_solve(factor, g - Q @ solution, check_finite=False))

    def move(self, indices: np.ndarray, values: Floats) -> None:
        """Set alpha[indices] and bring the gradient along."""
        change = values - self.alpha[indices]
        self.alpha[indices] = values
        self.cache.move(indices, change, self.problem.targets, self.gradient)
        self.certified = False

    def is_finished(self) -> bool:
        """Tell whether eps is reached by a gradient computed anew."""
        if self.violations().max() <= self.settings.eps:
            self.certify()
        return self.violations().max() <= self.settings.eps

    def has_stalled(self) -> bool:
        """Tell whether rounding has ended the search."""
        if not self.waits(float(self.violations().max())):
            return False
        self.certify()
        return not self.look()

    def count_iteration(self) -> None:
        """Count an iteration, and report it."""
        self.n_iter += 1
        self.steps['newton'] = self.n_iter
        self.tell()

    def conclude(self) -> Result:
        """Return the Result."""
        return replace(super().conclude(), steps=self.steps)


def solve_oelm(problem: BoxQP, settings: Settings) -> Result:
    """Minimise a BoxQP by the proposed active set method; `n_iter` counts Newton systems."""
    return release_and_step(problem, settings, OELM_STEPS_A_ROW * problem.n_samples, reassign_released)


def solve_newton(problem: BoxQP, settings: Settings) -> Result:
    """Minimise a BoxQP by the same with a reassignment in pairs; `n_iter` counts Newton systems."""
    return release_and_step(problem, settings, NEWTON_STEPS, reassign_pairs, SLOW_STEPS)


def release_and_step(problem: BoxQP, settings: Settings, limit: int, reassign: Callable, slow: int = 0) -> Result:
    """Release the violators, reassign values, and take Newton's step, until eps is reached.

    slow : after so many steps the search goes to where an interior point method ends; 0 for never.
    """
    search, limit = ActiveSetSearch(problem, settings), settings.max_iter or limit
    while search.n_iter < limit and not search.is_finished() and not search.has_stalled():
        if search.n_iter == slow and slow:
            search.jump()
            if is_small(problem) and problem.is_large(settings.eps):
                limit = min(limit, slow + LATE_STEPS)
        release_violators(search, reassign)
        step_by_newton(search)
        search.count_iteration()
    return search.conclude()


def release_violators(search: ActiveSetSearch, reassign: Callable) -> None:
    """Release all violators: the projected gradient path first, then the reassignment of values."""
    face = choose_face(search)
    alpha, g, upper = search.alpha[face], search.gradient[face], search.problem.upper[face]
    Q = search.block(face)
    values = choose_lower_end(Q, -g, alpha, g, upper)
    search.steps['gradient_path'] += 1
    block = BoxBlock(Q, values, g + Q @ (values - alpha), upper, search.problem.curvature[face])
    reassign(search, block, ~free_variables(alpha, upper))
    search.move(face, values)


def reassign_released(search: ActiveSetSearch, block: BoxBlock, released: np.ndarray) -> None:
    """Move the released variables to their one-variable minimisers in turn until they are settled, in place."""
    Q, a, g, upper, diagonal = (part[released] for part in block)
    Q = np.ascontiguousarray(Q[:, released])
    search.steps['one_variable'] += loops.sweeps(
        Q, a, g, upper, diagonal, SOLVED_SHARE * search.settings.eps, MAX_SWEEPS
    )
    block.a[released] = a


def reassign_pairs(search: ActiveSetSearch, block: BoxBlock, released: np.ndarray) -> None:
    """Step two variables at a time over the whole face, free ones too, in place."""
    steps, _ = loops.step_pairs(*block, SOLVED_SHARE * search.settings.eps, len(block.a))
    search.steps['two_variables'] += steps


def step_by_newton(search: ActiveSetSearch) -> None:
    """Go along the projected path of Newton's direction on the free variables."""
    free = np.flatnonzero(free_variables(search.alpha, search.problem.upper))
    if len(free):
        Q, direction = search.find_direction(free)
        alpha, g = search.alpha[free], search.gradient[free]
        search.move(free, choose_lower_end(Q, direction, alpha, g, search.problem.upper[free]))


def choose_face(search: ActiveSetSearch) -> np.ndarray:
    """Return the free variables and the violators, at most the worst MAX_FACE of them, in increasing order."""
    misfit = search.violations()
    free = free_variables(search.alpha, search.problem.upper)
    face = np.flatnonzero(free | (misfit > SOLVED_SHARE * search.settings.eps))
    most = min(MAX_FACE, search.cache.capacity)
    if len(face) <= most:
        return face
    return np.sort(face[np.argsort(-misfit[face], kind='stable')[:most]])


def solve_bas(problem: BoxQP, settings: Settings) -> Result:
    """Minimise a BoxQP by the basic active set algorithm; `n_iter` counts Newton systems."""
    search, free = ActiveSetSearch(problem, settings), np.empty(0, np.int64)
    limit = settings.max_iter or BAS_STEPS_A_ROW * problem.n_samples
    while search.n_iter < limit:
        if not len(free) or np.abs(search.gradient[free]).max() <= SOLVED_SHARE * settings.eps:
            if search.is_finished():
                break
            misfit = search.violations()
            misfit[free] = 0
            free = np.append(free, misfit.argmax())
        free = step_within_bounds(search, free, search.find_direction(free)[1])
        search.count_iteration()
    return search.conclude()


def step_within_bounds(search: ActiveSetSearch, free: np.ndarray, direction: Floats) -> np.ndarray:
    """Go along direction until the first variable meets a bound, at most the whole step; return those still free."""
    alpha, upper = search.alpha[free], search.problem.upper[free]
    with np.errstate(divide='ignore', invalid='ignore'):
        room = np.where(direction > 0, upper - alpha, -alpha)
        reach = np.where(direction != 0, room / direction, np.inf)
    first = int(reach.argmin())
    step = min(1.0, max(reach[first], 0.0))
    values = np.clip(alpha + step * direction, 0, upper)
    if step < 1:
        if direction[first] > 0:
            values[first] = upper[first]
        else:
            values[first] = 0.0
    search.move(free, values)
    if step < 1:
        return np.delete(free, first)
    return free


with_infinities = jit(fastmath={'reassoc', 'contract', 'nsz'})


def choose_lower_end(Q: np.ndarray, direction: Floats, start: Floats, g: Floats, upper: Floats) -> Floats:
    """Return the first minimiser of the projected path from start, or the end of the whole step where that is lower."""
    first = start.copy()
    fallen = descend_path(Q, direction, first, g, upper)
    end = np.clip(start + direction, 0, upper)
    step = end - start
    if -(g @ step + 0.5 * step @ (Q @ step.astype(Q.dtype))) > fallen:
        return end
    return first


@inline
def stop_at_bounds(p: Floats, a: Floats, upper: Floats) -> Floats:
    """Return how far along p each variable meets its bound, or inf; p becomes 0 where a variable is there already."""
    reach = np.empty(len(a))
    for i in range(len(a)):
        reach[i] = np.inf
        if p[i] > 0:
            reach[i] = (upper[i] - a[i]) / p[i]
        elif p[i] < 0:
            reach[i] = -a[i] / p[i]
        if reach[i] <= 0:
            p[i] = 0.0
            reach[i] = np.inf
    return reach


@inline
def multiply(Q: np.ndarray, p: Floats) -> Floats:
    """Return Q p for a symmetric Q, from its rows where p is not 0."""
    n = len(p)
    Qp = np.empty(n)
    for i in range(n):
        Qp[i] = 0.0
    for i in range(n):
        if p[i] != 0:
            for j in range(n):
                Qp[j] += p[i] * Q[i, j]
    return Qp


@with_infinities
def descend_path(Q: np.ndarray, d: Floats, a: Floats, g: Floats, upper: Floats) -> float:
    """Move a to the first minimiser on the path, break point by break point, and return the decrease.

    Q, d, a, g, upper are of the same variables; a changes in place, g does not. A variable that meets its bound stays
    there; slope, curvature and Q p lose its share: one row of Q a break point.
    """
    n = len(a)
    p, slopes = d.copy(), g.copy()
    reach = stop_at_bounds(p, a, upper)
    Qp = multiply(Q, p)
    decrease, mu = 0.0, 0.0
    for _ in range(n):
        k = np.argmin(reach)  # who meets its bound first
        slope, curvature = 0.0, 0.0
        for i in range(n):
            slope += slopes[i] * p[i]
            curvature += Qp[i] * p[i]
        if slope >= 0:
            break
        stretch = reach[k] - mu
        inside = curvature > 0 and -slope / curvature <= stretch
        if inside:
            stretch = -slope / curvature
        elif stretch == np.inf:
            break
        decrease -= stretch * (slope + 0.5 * stretch * curvature)
        for i in range(n):
            a[i] += stretch * p[i]
            slopes[i] += stretch * Qp[i]
        if inside:
            break
        mu = reach[k]
        if p[k] > 0:
            a[k] = upper[k]
        else:
            a[k] = 0.0
        for i in range(n):
            Qp[i] -= p[k] * Q[k, i]
        p[k], reach[k] = 0.0, np.inf
    for i in range(n):  # rounding must not leave the box
        a[i] = min(max(a[i], 0.0), upper[i])
    return decrease

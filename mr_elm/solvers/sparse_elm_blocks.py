"""Train the sparse ELM by blocks of variables: the fast way to the minimum of the box-constrained dual.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box; g = Qa - e

    repeat until no variable violates its optimality condition by more than eps:
      1  block: the free variables, the worst violators whose kernel rows are there, and some of the worst others
      2  minimise over the block on its own matrix: steps of two variables, then Newton steps on the free ones, along
         the projected path of `active_set`
      3  g <- g + Q (change of a)
      4  where g says that eps is reached, compute it anew in float64; where that says no, go on from there

Half of the violators push f up and half down; where one side has few, the next to violate join in: a one-sided block
of a smooth kernel undoes the other side. Kernel values
are float32; where their rounding would hide the end (large C, large kernel values), the face is solved in float64.
Where blocks are slow, an interior point method says about where the minimum is (`interior`); where neither violation
nor objective fall any more, the search ends. Of a ready matrix g is exact.

Source: ours, on the problem of Bai et al., Sparse extreme learning machine for classification, 2014; the projected
path is that of Zhao et al.
"""

from typing import NamedTuple

import numpy as np

from mr_elm import linalg
from mr_elm.features.fused import add_rows
from mr_elm.solvers import loops
from mr_elm.solvers.active_set import choose_lower_end
from mr_elm.solvers.box import (
    EXACT_EPS,
    EXACT_ROWS,
    BoxBlock,
    BoxQP,
    Result,
    Settings,
    free_variables,
    violations,
)
from mr_elm.solvers.interior import is_small
from mr_elm.solvers.row_cache import RowCache
from mr_elm.solvers.search import Search
from mr_elm.typing import Floats

MAX_BLOCK = 2048  # most variables in a block, whose matrix then takes 17 MB in float32
NEW_SHARE, MIN_NEW, MAX_NEW = 0.25, 128, 512  # new variables of a block: share of the support vectors, and bounds
OPPOSITE_SHARE = 0.1  # of the violators that push f one way: so many that push it the other way join a block
MOVING_SHARE = 0.1  # share of a block; where fewer variables change, the next block is half as large: rows are alike
WHOLE_ROWS = 1000  # rows, up to which a problem is one block
MAX_BLOCKS = 1000  # before giving up
STALLED_BLOCKS = 10  # blocks without less violation, after which the objective is looked at
SLOW_BLOCKS, SLOW_WHOLE_BLOCKS = 50, 10  # blocks, after which another way is tried; of a problem that is one block
# Blocks more, after the other way and without one, where rounding may hide the end.
LATE_BLOCKS, LONG_LATE_BLOCKS = 20, 300
FLOAT64_EPS = 1e-4  # eps under which rounded kernel values are not good enough
NOISE_SHARE = 0.1  # of eps; where rounding makes more of the gradient, the end is solved in float64
VARIABLES_A_PAIR = 150  # variables: for each so many of a block, a pair step a variable is cheap beside a factorisation


class Effort(NamedTuple):
    """Say how well to solve a block while the violation is below a value.

    share : of the violation, to be reached; newton : most Newton steps; pairs, after : pair steps a variable before
    and after each of them.
    """

    below: float
    share: float
    newton: int
    pairs: int
    after: int


WHOLE, POLISH = Effort(np.inf, 0.0, 20, 2, 2), Effort(np.inf, 0.0, 20, 1, 2)
EFFORTS = Effort(0.1, 0.02, 20, 1, 2), Effort(1.0, 0.3, 5, 8, 4), Effort(np.inf, 0.3, 1, 8, 4)


def solve_by_blocks(
    problem: BoxQP, settings: Settings, start: Floats | None = None, decision: Floats | None = None
) -> Result:
    """Minimise a BoxQP and return its Result; `n_iter` counts blocks.

    start : alpha to begin with, (N,); clipped to the box. From 0 when None.
    decision : (N,), decision values at `start`, which lies in the box; computed when None.
    """
    search = BlockSearch(problem, settings)
    if start is not None:
        search.begin_at(start, decision)
    return search.run()


class BlockSearch(Search):
    """Hold one run of the rule."""

    def __init__(self, problem: BoxQP, settings: Settings) -> None:
        super().__init__(problem, settings, STALLED_BLOCKS)
        n = problem.n_samples
        if n <= EXACT_ROWS:
            self.eps = min(settings.eps, EXACT_EPS)
        else:
            self.eps = settings.eps
        takes_double = self.eps < FLOAT64_EPS or problem.is_large(settings.eps)
        self.use(settings.dtype or ('float64' if takes_double else 'float32'))
        self.limit, self.room, self.has_jumped = settings.max_iter or MAX_BLOCKS, MAX_BLOCK, False
        self.whole = n <= min(WHOLE_ROWS, self.cache.capacity)
        self.certified = self.cache.is_matrix

    def use(self, dtype: str) -> None:
        """Keep kernel rows of a type from now on."""
        self.cache = RowCache(self.problem.rows, dtype, self.settings.cache_bytes)
        self.matrix = np.empty(0, self.cache.slab.dtype)  # room for the matrix of a block, which grows with these
        # of a kernel value; a ready matrix is what it is
        if self.cache.is_matrix:
            self.rounding = 0.0
        else:
            self.rounding = 0.5 * float(np.finfo(self.cache.slab.dtype).eps)

    def begin_at(self, start: Floats, decision: Floats | None) -> None:
        """Go to a given point."""
        self.alpha = np.clip(start, 0, self.problem.upper)
        if decision is None:
            self.cache.move(np.arange(len(start)), self.alpha, self.problem.targets, self.gradient)
        else:
            self.gradient = self.problem.targets * decision - 1

    def run(self) -> Result:
        """Solve blocks until the certificate confirms eps."""
        goal = self.eps
        while self.n_iter < self.limit:
            worst = float(self.violations().max())
            if not self.has_jumped and self.n_iter >= (SLOW_WHOLE_BLOCKS if self.whole else SLOW_BLOCKS):
                self.take_short_cut()
                continue
            if self.has_stalled(worst):
                break
            noise = self.rounding * float(np.linalg.norm(self.alpha))  # what rounding makes of the running gradient
            if noise <= NOISE_SHARE * self.eps:
                noise = 0.0
            if worst <= max(goal, 2 * noise):
                self.certify()
                if noise:
                    self.polish()
                if self.violations().max() <= self.eps:
                    break
                goal = max(0.5 * goal, 0.1 * self.eps)
                continue
            if self.whole:
                effort = WHOLE
            else:
                effort = next(effort for effort in EFFORTS if worst < effort.below)
            tolerance = max(effort.share * worst, 0.3 * goal, noise)
            if self.whole:
                block = np.arange(len(self.alpha))
            else:
                block = self.choose_block(goal)
            self.solve_block(block, tolerance, effort)
        result = self.conclude()
        self.cache.give_back()
        return result

    def choose_block(self, goal: float) -> np.ndarray:
        """Return the variables of the next block, rising. goal : violation to be reached."""
        capacity = self.cache.capacity
        met, free = self.cache.slot_of >= 0, free_variables(self.alpha, self.problem.upper)
        # 1a  violators whose rows are new, few of them, so that a block fetches few kernel rows
        n_new = int(min(max(NEW_SHARE * np.count_nonzero(self.alpha), MIN_NEW), MAX_NEW, capacity))
        new = self.take_both_sides(~met, 0.5 * goal, n_new, 0.0)
        # 1b  free variables
        old = take_largest(np.flatnonzero(met & free), self.violations(), capacity - len(new))
        # 1c  violators at their bounds whose rows are there
        n_free = min(max(self.room - len(old), self.room // 2), capacity - len(old)) - len(new)
        others = self.take_both_sides(met & ~free, 0.1 * goal, max(n_free, 0), OPPOSITE_SHARE)
        return np.unique(np.concatenate([new, old, others]))

    def take_both_sides(self, mask: np.ndarray, least: float, count: int, opposite_share: float) -> np.ndarray:
        """Return the worst violators, by more than least: half of them push f up, half push it down.

        opposite_share : of the violators of the larger side; so many of the other side come, violators or not.
        """
        alpha, upper, positive = self.alpha, self.problem.upper, self.problem.targets > 0
        gain, grows, shrinks = -self.problem.targets * self.gradient, alpha < upper, alpha > 0
        up = np.flatnonzero(mask & np.where(positive, grows, shrinks))
        down = np.flatnonzero(mask & np.where(positive, shrinks, grows))
        n_up, n_down = int((gain[up] > least).sum()), int((gain[down] < -least).sum())
        fewest, half = int(opposite_share * max(n_up, n_down)), count // 2
        return np.concatenate(
            [
                take_largest(up, gain, min(max(n_up, fewest), half)),
                take_largest(down, -gain, min(max(n_down, fewest), half)),
            ]
        )

    def solve_block(self, block: np.ndarray, tolerance: float, effort: Effort) -> None:
        """Minimise over the block on cached rows and bring the gradient along."""
        targets = self.problem.targets
        self.cache.ensure(block)
        size = len(block) ** 2
        if len(self.matrix) < size:
            self.matrix = np.empty(max(size, min(2 * size, (2 * MAX_BLOCK) ** 2)), self.matrix.dtype)
        change = self.minimise(block, self.cache.block(block, targets, self.matrix), tolerance, effort)
        idle = np.count_nonzero(change) < MOVING_SHARE * len(block)
        if idle:
            self.room = max(self.room // 2, MAX_BLOCK // 8)
        else:
            self.room = min(2 * self.room, MAX_BLOCK)
        self.cache.move(block, change, targets, self.gradient)
        self.tell()

    def minimise(self, block: np.ndarray, Q: np.ndarray, tolerance: float, effort: Effort) -> Floats:
        """Minimise over a block of variables; returns how much they changed. The gradient is left behind."""
        p, before = self.problem, self.alpha[block]
        sub = BoxBlock(Q, before.copy(), self.gradient[block], p.upper[block], p.curvature[block])
        minimise_block(sub, tolerance, effort)
        self.alpha[block] = sub.a
        self.certified = self.cache.is_matrix
        self.n_iter += 1
        return sub.a - before

    def polish(self) -> None:
        """Solve the face in float64, for as long as it does not grow too large, until eps is reached."""
        p = self.problem
        while self.n_iter < self.limit and self.violations().max() > self.eps:
            misfit = self.violations()
            if self.waits(float(misfit.max())) and not self.look():
                return
            face = np.flatnonzero(free_variables(self.alpha, p.upper) | (misfit > 0.1 * self.eps))
            if 8 * len(face) ** 2 > self.settings.cache_bytes:
                return
            self.n_certified += len(face)
            self.minimise(face, p.block(face), 0.8 * self.eps, POLISH)
            self.certify()
            self.tell()

    def take_short_cut(self) -> None:
        """Go to about where the minimum is, where that takes but seconds; limit the blocks that follow."""
        self.has_jumped, small = True, is_small(self.problem)
        if self.problem.is_large(self.settings.eps):
            self.limit = min(self.limit, self.n_iter + (LATE_BLOCKS if small else LONG_LATE_BLOCKS))
        if small:
            self.jump()

    def has_stalled(self, worst: float) -> bool:
        """Tell whether rounding has ended the search; where that of float32 has, it goes on in float64.

        worst : the largest violation.
        """
        if not self.waits(worst) or self.look():
            return False
        if self.cache.is_matrix or self.cache.slab.dtype == np.float64:
            return True
        if self.lowest is not None:
            self.alpha, self.gradient = self.lowest
        self.forget_progress()
        self.use('float64')
        return False


def take_largest(some: np.ndarray, score: Floats, count: int) -> np.ndarray:
    """Return the variables of the largest scores, at most count of them."""
    if len(some) <= count:
        return some
    return some[np.argpartition(-score[some], count)[:count]]


def minimise_block(block: BoxBlock, tolerance: float, effort: Effort) -> None:
    """Minimise to a violation of tolerance, in place: pair steps, and Newton steps where pairs are slow."""
    Q, a, g, upper, diagonal = block
    most = max(effort.pairs, len(a) // VARIABLES_A_PAIR) * len(a)
    if loops.step_pairs(*block, tolerance, most)[1] == loops.SETTLED:
        return
    for _ in range(effort.newton):
        misfit = violations(a, g, upper)
        if misfit.max() <= tolerance:
            return
        face = np.flatnonzero(free_variables(a, upper) | (misfit > tolerance))
        inside = BoxBlock(Q[face][:, face], a[face], g[face], upper[face], diagonal[face])
        step_by_newton(inside)
        loops.step_pairs(*inside, tolerance, effort.after * len(face))
        change, before = np.zeros(len(a)), g.copy()
        change[face] = inside.a - a[face]
        a[face] = inside.a
        g += multiply(Q, change)
        if not change @ (before + g) < 0:
            return  # the objective has not fallen: that is rounding


def step_by_newton(block: BoxBlock) -> None:
    """Move along the projected path of Newton's direction, all variables taken as free, in place."""
    Q, a, g, upper, _ = block
    reached = choose_lower_end(Q, -solve_positive(Q, g), a, g, upper)
    g += multiply(Q, reached - a)
    a[...] = reached


def multiply(Q: np.ndarray, x: Floats) -> Floats:
    """Return Q x, in float64 for a symmetric Q of any type."""
    total = np.zeros(len(x))
    moved = np.flatnonzero(x)
    add_rows(Q, moved, x[moved], total)
    return total


def solve_positive(matrix: np.ndarray, right: Floats) -> Floats:
    """Solve a positive semidefinite system by Cholesky, with the smallest ridge that lets it through.

    A float32 matrix is factorised as it is where it is well enough conditioned, else in float64. One refinement.
    """
    largest = max(float(matrix.diagonal().max()), np.finfo(float).tiny)
    ridge = 10 * np.finfo(matrix.dtype).eps * np.sqrt(len(matrix)) * largest
    for work in (matrix.dtype, *[np.dtype(np.float64)] * 10):
        potrf, potrs = linalg.get_lapack_funcs(('potrf', 'potrs'), dtype=work)
        lifted = matrix.astype(work)
        lifted.flat[:: len(matrix) + 1] += ridge
        factor, failed = potrf(lifted.T, lower=1, overwrite_a=1, clean=0)
        if not failed:
            solution = potrs(factor, right, lower=1)[0]
            rest = right - matrix @ solution.astype(matrix.dtype)
            return solution + potrs(factor, rest, lower=1)[0].astype(float)
        if work == np.float32:
            ridge *= 1
        else:
            ridge *= 10
    return right / largest

"""Train the sparse ELM by blocks of variables: the fast way to the minimum of the box-constrained dual.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box_qp

A block holds the free variables and the worst violators, see `block_choice`.
Inside a block pairs of variables step on the block's own matrix; where that is slow, Newton steps follow on the free
variables, along the projected path (`block_step`). When the running gradient reaches eps it is computed again from
float64 rows; where these do not confirm eps, they replace it and the search goes on, in float64 where rounded kernel
values would hide the end (large C, large kernel values). Where that is slow, an interior point method says about where
the minimum is (`interior`); where neither violation nor objective fall any more, the search ends. Of a ready matrix the
running gradient is exact and needs neither.

Source: ours, on the problem of Bai et al., Sparse extreme learning machine for classification, 2014; the projected
path is that of Zhao et al.
"""
import time
from math import sqrt

import numpy as np

from mr_elm.solvers.box.block_choice import BlockChoice, Point, survey
from mr_elm.solvers.box.block_step import BoxBlock, Effort, minimise_block
from mr_elm.solvers.box.box_qp import (
    BoxQP,
    Progress,
    Result,
    Settings,
    SolverWork,
    conclude,
    free_variables,
    violations,
)
from mr_elm.solvers.box.interior import find_lower_point, is_small
from mr_elm.solvers.shared import loops
from mr_elm.solvers.shared.kept_block import KeptBlock
from mr_elm.solvers.shared.row_cache import RowCache
from mr_elm.solvers.shared.workspace import borrowed
from mr_elm.typing import Floats

BLOCK = 2048          # most variables in a block, whose matrix then takes 17 MB in float32
MOVING = 0.1          # share of a block; where fewer variables change, the next block is half as large: rows are alike
ROUNDS = 1000         # blocks before giving up
PATIENCE = 10         # blocks without less violation, after which the objective is looked at
SLOW, SLOW_WHOLE = 50, 10  # blocks, after which another way is tried; of a problem that is one block
AFTER, LONG_AFTER = 20, 300  # blocks more, after the other way and without one, where rounding may hide the end
NEW_SHARE, LEAST_NEW, MOST_NEW = 0.25, 128, 512  # new variables of a block: share of the support vectors, bounds
NOISE = 0.1  # of eps; where rounding makes more of the gradient, the end is solved in float64
EXACT_UP_TO, EXACT = 100, 1e-11  # problems of so few rows are solved to rounding: it costs nothing
FLOAT64_BELOW = 1e-4  # eps under which rounded kernel values are not good enough
PART = 0.8     # of the rows: so many unproven ones take as long as all
SMALL = 1000  # rows, up to which a problem is one block
WHOLE, POLISH = Effort(np.inf, 0.0, 20, 2, 2), Effort(np.inf, 0.0, 20, 1, 2)
EFFORTS = Effort(0.1, 0.02, 20, 1, 2), Effort(1.0, 0.3, 5, 8, 4), Effort(np.inf, 0.3, 1, 8, 4)


def solve_by_blocks(problem: BoxQP, settings: Settings, start: Floats | None = None, decision: Floats | None = None,
                    kept: KeptBlock | None = None) -> Result:
    """Minimise a BoxQP and return its Result; `n_iter` counts blocks.

    start : alpha to begin with, (N,); clipped to the box. From 0 when None.
    decision : (N,), decision values at `start`, which lies in the box; computed when None.
    kept : KeptBlock of another problem with the same rows and targets, or None.
    """
    if kept is None:
        with borrowed() as space:
            return solve_by_blocks(problem, settings, start, decision, KeptBlock(space))
    search = BlockSearch(problem, settings, kept)
    if start is not None:
        search.begin_at(start, decision)
    return search.run()


class BlockSearch:
    """Hold one run: the point, its running gradient, and the rows met so far."""

    def __init__(self, problem: BoxQP, settings: Settings, kept: KeptBlock) -> None:
        self.started = time.process_time()
        self.problem, self.settings, self.kept = problem, settings, kept
        n = problem.n_samples
        self.eps = min(settings.eps, EXACT) if n <= EXACT_UP_TO else settings.eps
        self.alpha, self.gradient = np.zeros(n), -np.ones(n)
        takes_double = self.eps < FLOAT64_BELOW or problem.is_large(settings.eps)
        self.use(settings.dtype or ('float64' if takes_double else 'float32'))
        self.progress, self.has_jumped = Progress(PATIENCE), False
        self.limit = settings.max_iter or ROUNDS
        self.choice = BlockChoice(n)
        self.whole = n <= min(SMALL, self.cache.capacity)
        self.n_iter, self.n_certified, self.n_support, self.room = 0, 0, 0, BLOCK
        self.certified = self.cache.is_matrix
        # sums of all changes of alpha, and of alpha when it was certified: the error of float32 rows goes with them
        self.moved = self.before = 0.0

    def use(self, dtype: str) -> None:
        """Keep kernel rows of a type from now on."""
        self.cache = self.open_cache(dtype)
        # of a kernel value; a ready matrix is what it is
        self.rounding = 0.0 if self.cache.is_matrix else 0.5 * float(np.finfo(self.cache.slab.dtype).eps)

    def open_cache(self, dtype: str) -> RowCache:
        """Return the cache of kernel rows of this type."""
        return RowCache(self.problem.rows, dtype, self.settings.cache_bytes, self.is_free, self.kept.space)

    def is_free(self) -> np.ndarray:
        """Tell which variables are free."""
        return free_variables(self.alpha, self.problem.upper)

    def begin_at(self, start: Floats, decision: Floats | None) -> None:
        """Go to a given point."""
        self.alpha = np.clip(start, 0, self.problem.upper)
        self.moved = float(self.alpha.sum())
        if decision is not None:
            self.moved = self.before = np.inf  # how the values were computed is not known
            self.gradient = self.problem.targets * decision - 1
            return
        moved = np.flatnonzero(self.alpha)
        self.cache.move(moved, self.alpha[moved], self.problem.targets, self.gradient)

    def run(self) -> Result:
        """Solve blocks until the certificate confirms eps."""
        goal = self.eps
        while self.n_iter < self.limit:
            worst, square, self.n_support = survey(self.alpha, self.gradient, self.problem.upper)
            if not self.has_jumped and self.n_iter >= (SLOW_WHOLE if self.whole else SLOW):
                self.take_short_cut()
                continue
            if self.has_stalled(worst):
                break
            noise = self.rounding_noise(square)
            if worst <= max(goal, 2 * noise):
                self.certify()
                if noise:
                    self.polish()
                if self.worst_violation() <= self.eps:
                    break
                goal = max(0.5 * goal, 0.1 * self.eps)
                continue
            effort = WHOLE if self.whole else next(effort for effort in EFFORTS if worst < effort.below)
            tolerance = max(effort.share * worst, 0.3 * goal, noise)
            self.solve_block(self.choose_block(goal), tolerance, effort)
        self.certify()
        if self.worst_violation() > self.settings.eps:
            self.alpha, self.gradient = self.progress.choose_lowest(self.alpha, self.gradient)
        work = SolverWork(self.n_iter, self.cache.n_computed + self.n_certified, self.started)
        return conclude(self.problem, self.alpha, self.gradient, work, self.settings)

    def take_short_cut(self) -> None:
        """Go to about where the minimum is, if it can be found and is lower than where the search is."""
        self.has_jumped = True
        if self.problem.is_large(self.settings.eps):
            self.limit = min(self.limit, self.n_iter + (AFTER if is_small(self.problem) else LONG_AFTER))
        if not is_small(self.problem):
            return
        self.certified = self.cache.is_matrix
        self.certify()
        self.progress.look(self.alpha, self.gradient)
        found = find_lower_point(self.problem, self.progress.objective)
        if found is not None:
            self.alpha, self.gradient, n_rows = found
            self.n_certified, self.certified = self.n_certified + n_rows, True
            self.moved = self.before = np.inf  # the running gradient may begin anywhere
            self.progress = Progress(PATIENCE)

    def has_stalled(self, worst: float) -> bool:
        """Tell whether rounding has ended the search; where that of float32 has, it goes on in float64.

        worst : the largest violation.
        """
        if not self.progress.waits(worst):
            return False
        self.certified = self.cache.is_matrix
        self.certify()
        if self.progress.look(self.alpha, self.gradient):
            return False
        if self.cache.is_matrix or self.cache.slab.dtype == np.float64:
            return True
        self.alpha, self.gradient = (part.copy() for part in self.progress.lowest or (self.alpha, self.gradient))
        self.progress = Progress(PATIENCE)
        self.kept = KeptBlock(self.kept.space)
        self.use('float64')
        return False

    def violations(self) -> Floats:
        """Return the violations."""
        return violations(self.alpha, self.gradient, self.problem.upper)

    def worst_violation(self) -> float:
        """Return the largest violation."""
        return survey(self.alpha, self.gradient, self.problem.upper)[0]

    def rounding_noise(self, square: float) -> float:
        """Return about what the rounding of kernel values makes of the running gradient, 0 where it does not matter.

        square : |alpha|^2.
        """
        noise = self.rounding * sqrt(square)
        return noise if noise > NOISE * self.eps else 0.0

    def certify(self) -> None:
        """Replace the running gradient by that of float64 rows, where it may violate."""
        if not self.certified:
            part = self.choose_unproven()
            if len(part) > PART * len(self.alpha):
                self.gradient, n_rows = self.problem.gradient(self.alpha)
            else:
                self.gradient[part], n_rows = self.problem.gradient(self.alpha, part)
            self.n_certified += n_rows
            self.certified, self.before = True, float(self.alpha.sum())

    def choose_unproven(self) -> np.ndarray:
        """Return the variables that the running gradient does not prove to be at 0 rightly, whatever its rounding."""
        if self.whole or self.cache.slab.dtype == np.float64:
            return np.arange(len(self.alpha))
        change = min(self.alpha.sum() + self.before, self.moved) if self.cache.computed_once else self.moved
        error = self.problem.rows.rounding() * change + self.eps
        return np.flatnonzero((self.alpha > 0) | (self.gradient < error))

    def polish(self) -> None:
        """Solve the face in float64, for as long as it does not grow too large, until eps is reached."""
        p = self.problem
        while self.n_iter < self.limit and self.worst_violation() > self.eps:
            if self.progress.waits(self.worst_violation()) and not self.progress.look(self.alpha, self.gradient):
                return
            face = np.flatnonzero(self.is_free() | (self.violations() > 0.1 * self.eps))
            if 8 * len(face)**2 > self.settings.cache_bytes:
                return
            self.n_certified += len(face)
            self.minimise(face, p.block(face), 0.8 * self.eps, POLISH)
            self.certify()
            self.report()

    def minimise(self, block: np.ndarray, Q: np.ndarray, tolerance: float, effort: Effort) -> Floats:
        """Minimise over a block of variables; returns how much they changed. The gradient is left behind."""
        p = self.problem
        here = BoxBlock(Q, *loops.take_variables(block, self.alpha, self.gradient, p.upper, p.curvature))
        minimise_block(here, tolerance, effort, self.kept.space)
        change, size = loops.put_variables(block, here.a, self.alpha)
        self.certified = self.cache.is_matrix
        self.n_iter += 1
        self.moved += size
        return change

    def report(self) -> None:
        """Report how far the search is."""
        self.settings.tell(self.n_iter, self.alpha, self.gradient, self.problem.upper)

    def count_new(self) -> int:
        """Return how many variables of the next block may be new."""
        return int(min(max(NEW_SHARE * self.n_support, LEAST_NEW), MOST_NEW))

    def choose_block(self, goal: float) -> np.ndarray:
        """Return the free variables, violators met before, and some of the worst violators whose rows are new."""
        if self.whole:
            return np.arange(self.problem.n_samples)
        p = self.problem
        point = Point(self.alpha, self.gradient, p.upper, p.targets, self.cache.slot_of)
        return self.choice.choose(point, goal, self.count_new(), self.room, self.cache.capacity)

    def solve_block(self, block: np.ndarray, tolerance: float, effort: Effort) -> None:
        """Minimise over the block on cached rows and bring the gradient along."""
        targets = self.problem.targets
        self.cache.ensure(block)
        block, Q = self.kept.bring(block, self.cache, targets)
        change = self.minimise(block, Q, tolerance, effort)
        idle = np.count_nonzero(change) < MOVING * len(block)
        self.room = max(self.room // 2, BLOCK // 8) if idle else min(2 * self.room, BLOCK)
        self.cache.move(block, change, targets, self.gradient)
        self.report()

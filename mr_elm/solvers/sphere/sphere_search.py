"""Search for the point nearest to the origin, with hardly a kernel value more than its proof needs.

The proof is the product of k~ with b, N values for each support vector. So rows are computed once, as accurate as
the proof needs them (`split_cache`), and for variables that stay above 0, as far as that can be known before:

* The search begins at the nearest point of an eighth of the rows, found in the same way. There C is 8 times as large,
  so that the fewer rows weigh as much as all would: most of its support vectors are ones of the whole problem.
* While rows were computed in vain for more than a share of the support vectors, a block is solved before the rows of
  its new variables are there. Its matrix takes their columns of rows that are, and a small square of kernel values
  between themselves. Then rows are computed for those that the block left above 0.

Where few variables stay above 0 and rounding cannot hide which, float32 rows are computed, which are quicker, and
float64 ones prove the end only where it is in doubt, as in `block_rule`.

Source: ours; the blocks are those of `block_rule`.
"""
from dataclasses import replace

import numpy as np

from mr_elm.solvers.box.block_rule import SMALL, BlockSearch, Pace, solve_by_blocks
from mr_elm.solvers.box.block_step import Effort
from mr_elm.solvers.box.box_qp import BoxQP, Result, Settings
from mr_elm.solvers.shared.kept_block import KeptBlock
from mr_elm.solvers.shared.row_cache import RowCache
from mr_elm.solvers.shared.split_cache import SplitCache, error_of_sum
from mr_elm.solvers.shared.workspace import borrowed
from mr_elm.typing import Floats

# there is no bound that half of the support vectors meet early, so blocks take in new rows faster; the certificate
# corrects what rounding makes of the gradient, except where it would hide the end
PACE = Pace(16, 1024, 0.5, 10.0)
PART, LOOSE = 8, 0.05  # the search begins on 1 / PART of the rows, solved to LOOSE
FEW = 500              # rows of a part that are one block
PLAIN_UP_TO = 6000     # rows, where a second pass over some of them takes less time than sparing it
IN_VAIN = 0.1, 0.05    # of the support vectors: rows computed for variables that are 0, split ones and single ones
SQUARE = 0.01          # of the values of all support vectors' rows, those between the new variables of one block
NEGLIGIBLE = 0.05      # of eps: what the rounding of rows makes of the proof at most
# Measured on the 14 data sets of more than 6,000 rows at C 1, 10 and 100: below both, float32 rows are 1.3 to 1.6 times
# as fast as split ones; above, they need far more kernel values, and at C 100 more time
FEW_SUPPORT = 0.25     # of the rows seen
SURE = 0.01            # of the margin: what the rounding of float32 rows makes of decision values at most


def solve_ball(problem: BoxQP, settings: Settings, start: Floats | None = None) -> tuple[Result, float]:
    """Minimise the BoxQP of a SphereProblem: (Result, how far off its k~b may be).

    start : alpha to begin with, (N,), or None.
    """
    if problem.n_samples <= PLAIN_UP_TO:
        return solve_by_blocks(problem, settings, start, pace=PACE._replace(least=512)), 0.0
    return search_ball(problem, settings, start, False)


def search_ball(problem: BoxQP, settings: Settings, start: Floats | None, is_part: bool) -> tuple[Result, float]:
    """Search over all rows, or over those of a part, from a part of them where they are many."""
    n_values, seen = 0, problem.n_samples
    if start is None and problem.n_samples > SMALL:
        start, n_values = solve_part(problem, settings)
        seen = problem.n_samples // PART
    with borrowed() as space:
        splits = not is_part and (start is None or not suits_single_rows(problem, start, seen))
        search = SphereSearch(problem, settings, KeptBlock(space, grows=True), is_part, splits)
        search.n_values = n_values
        if start is not None:
            search.begin_at(start, None)
        return search.run(), search.product_error()


def solve_part(problem: BoxQP, settings: Settings) -> tuple[Floats, int]:
    """Return (alpha, (N,), of the nearest point of some of the rows, the kernel values that took)."""
    n = problem.n_samples
    part = np.sort(np.random.default_rng(settings.seed).permutation(n)[:n // PART])
    trains = (problem.upper[part] > 0).astype(float)
    smaller = BoxQP(problem.rows.take(part, PART), problem.targets[part], PART * problem.upper.max(), trains)
    found, _ = search_ball(smaller, replace(settings, eps=max(settings.eps, LOOSE), report=None), None, True)
    start = np.zeros(n)
    start[part] = found.alpha
    return start, found.n_kernel_rows * len(part)


def suits_single_rows(problem: BoxQP, start: Floats, seen: int) -> bool:
    """Tell from alpha of a solution, found on so many rows, whether float32 rows leave little to prove."""
    few = int(np.count_nonzero(start)) <= FEW_SUPPORT * seen
    return few and problem.rows.rounding() * float(start.sum()) <= SURE


class SphereSearch(BlockSearch):
    """Hold one run of `BlockSearch`, which computes few rows in vain.

    splits : whether rows are split, so that none is computed twice.
    """

    def __init__(self, problem: BoxQP, settings: Settings, kept: KeptBlock, is_part: bool, splits: bool) -> None:
        self.splits = splits
        super().__init__(problem, settings, kept, PACE)
        self.n_values, self.whole = 0, is_part and problem.n_samples <= FEW

    def open_cache(self, dtype: str) -> RowCache:
        """Return a SplitCache where rows are split, unless all is in float64."""
        if dtype == 'float64' or not self.splits:
            return super().open_cache(dtype)
        return SplitCache(self.problem.rows, self.settings.cache_bytes, self.is_free, self.kept.space)

    def run(self) -> Result:
        """Solve blocks until eps is proven; kernel values that are no rows of the cache count as rows too."""
        found = super().run()
        return replace(found, n_kernel_rows=found.n_kernel_rows - (-self.n_values // self.problem.n_samples))

    def product_error(self) -> float:
        """Return how far off k~b of the cached rows may be, as |k~_ij| <= k~_jj, or 0 where they prove nothing."""
        bound = error_of_sum(int(np.count_nonzero(self.alpha))) * float(self.alpha @ self.problem.diagonal)
        return bound if isinstance(self.cache, SplitCache) and bound <= NEGLIGIBLE * self.eps else 0.0

    def certify(self) -> None:
        """Replace the running gradient by that of the accurate rows."""
        if self.certified or not isinstance(self.cache, SplitCache) or not self.product_error():
            super().certify()
            return
        support, t = np.flatnonzero(self.alpha), self.problem.targets
        self.gradient = t * self.cache.weighted_sum(support, (self.alpha * t)[support]) - 1
        self.certified = True

    def wastes_rows(self) -> bool:
        """Tell whether too many rows were computed in vain."""
        most = IN_VAIN[0] if self.splits else IN_VAIN[1]
        return self.cache.n_computed > (1 + most) * self.n_support

    def count_new(self) -> int:
        """Return how many new variables the next block may have."""
        if not self.wastes_rows():
            return super().count_new()
        n_values = self.problem.n_samples * self.n_support
        return max(int((SQUARE * n_values)**0.5), self.pace.least)

    def solve_block(self, block: np.ndarray, tolerance: float, effort: Effort) -> None:
        """Minimise over the block, where rows are wasted before those of its new variables are there."""
        if self.whole or not self.wastes_rows():
            super().solve_block(block, tolerance, effort)
            return
        slot_of, targets = self.cache.slot_of, self.problem.targets
        block, Q = self.kept.bring(block, self.cache, targets, self.compute_square)
        change = self.minimise(block, Q, tolerance, effort)
        self.cache.ensure(np.sort(block[(slot_of[block] >= 0) | (self.alpha[block] > 0)]))
        self.cache.move(block, change, targets, self.gradient)
        self.report()

    def compute_square(self, indices: np.ndarray) -> np.ndarray:
        """Return K between some variables."""
        self.n_values += len(indices)**2
        return self.problem.rows.take(indices).rows(np.arange(len(indices)), self.cache.slab.dtype)

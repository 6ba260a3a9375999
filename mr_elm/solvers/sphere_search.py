"""Search for the nearest point with every kernel value computed once."""
import numpy as np

from .block_rule import Search
from .kept_block import KeptBlock
from .row_cache import RowCache
from .split_cache import ERROR, SplitCache
from .workspace import borrowed
LOG = []

SQUARE = 0.02
LEAST = 64
MOST=2000
WASTE=0.1
BIG=0.5
class SphereSearch(Search):
    def open_cache(self, dtype):
        if dtype == 'float64':
            return super().open_cache(dtype)
        return SplitCache(self.problem.rows, self.settings.cache_bytes, self.free, self.kept.space)

    def certify(self):
        if self.certified or not isinstance(self.cache, SplitCache):
            return super().certify()
        support = np.flatnonzero(self.alpha)
        t = self.problem.targets
        self.gradient = t * self.cache.weighted_sum(support, (self.alpha * t)[support]) - 1
        self.certified = True

    def choose_block(self, goal):
        n, s = self.problem.n_samples, np.count_nonzero(self.alpha)
        few = int(min(max((SQUARE * n * s)**0.5, LEAST), MOST))
        if self.cache.n_computed <= (1+WASTE) * s:
            few=int(min(max(BIG*s,LEAST),1024))
        self.pace = self.pace._replace(least=few, most=few)
        return super().choose_block(goal)

    def solve_block(self, block, tolerance, effort):
        """Minimise over the block before the rows of its new variables are there, then fetch those that it keeps."""
        if self.whole or self.cache.n_computed <= (1+WASTE) * np.count_nonzero(self.alpha):
            absent = block[self.cache.slot_of[block] < 0]
            super().solve_block(block, tolerance, effort)
            LOG.append(('direct',len(block), len(absent), np.count_nonzero(self.alpha[absent]), np.count_nonzero(self.alpha), len(self.problem.targets)))
            return
        t, cache = self.problem.targets, self.cache
        absent = block[cache.slot_of[block] < 0]
        block, Q = self.kept.bring(block, cache, t, self.square)
        change = self.minimise(block, Q, tolerance, effort)
        LOG.append((len(block), len(absent), np.count_nonzero(self.alpha[absent]), np.count_nonzero(self.alpha), len(self.problem.targets)))
        kept = block[(cache.slot_of[block] >= 0) | (self.alpha[block] > 0)]
        cache.ensure(np.sort(kept))
        self.cache.move(block, change, t, self.gradient)
        self.tell()

    def square(self, indices):
        self.n_certified += int(np.ceil(len(indices)**2 / self.problem.n_samples))
        return self.problem.rows.take(indices).rows(np.arange(len(indices)), np.float32)


SHARE, SOME = 8, 300

def solve_once(problem, settings, start, pace):
    if start is None and problem.n_samples >= SHARE * SOME:
        start, extra = small_start(problem, settings, pace)
    else:
        extra = 0
    with borrowed() as space:
        search = SphereSearch(problem, settings, KeptBlock(space, problem.n_samples if problem.n_samples<=15000 else 0), pace)
        if start is not None:
            search.begin_at(start, None)
        if extra: LOG.append(('start', np.count_nonzero(start), extra))
        search.n_certified += extra
        return search.run()


def small_start(problem, settings, pace):
    from dataclasses import replace
    from .box_qp import BoxQP
    from .sphere_svm import BallRows
    n = problem.n_samples
    part = np.sort(np.random.default_rng(settings.seed).permutation(n)[:n // SHARE])
    rows = BallRows(problem.rows.base.take(part), problem.rows.ridge[part] / SHARE)
    sub = BoxQP(rows, problem.targets[part], SHARE * problem.upper.max(), (problem.upper[part] > 0).astype(float))
    found = solve_once(sub, replace(settings, eps=max(settings.eps, 0.05)), None, pace)
    start = np.zeros(n)
    start[part] = found.alpha
    return start, -(-found.n_kernel_rows * len(part) // n)

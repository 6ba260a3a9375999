"""Train the sparse ELM as its paper does: one variable at a time.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box

    a = 0, g = -e
    d_i = 1 where a_i = 0, -1 where a_i = C_i, -sign(g_i) between;  J_i = g_i d_i;  c = argmin J
    stop when J_c > -eps
    a_c <- clip(a_c - g_c / Q_cc, 0, C_c)    (to the bound where Q_cc = 0);    g <- g + (change of a_c) Q_c

The objective falls at every step. With large C it can take millions of steps: `sparse_elm_blocks` takes far fewer.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, Algorithm 1. Ours: the bound
on the steps, and the certificate.
"""

import time

import numpy as np

from mr_elm.solvers.box import BoxQP, Result, Settings, SolverWork, conclude
from mr_elm.solvers.loops import OUT_OF_STEPS, SETTLED, clipped_step, fast, find_largest, inner, violation
from mr_elm.solvers.row_cache import RowCache
from mr_elm.typing import Floats

MIN_STEPS, STEPS_A_ROW = 1_000_000, 100  # after which the rule gives up
REPORT_OPERATIONS = 2e9  # operations between two reports


def solve_by_paper(problem: BoxQP, settings: Settings) -> Result:
    """Minimise a BoxQP by Algorithm 1 on float64 kernel rows; `n_iter` counts its steps."""
    started, n = time.process_time(), problem.n_samples
    max_steps = settings.max_iter or max(MIN_STEPS, STEPS_A_ROW * n)
    cache = RowCache(problem.rows, np.float64, settings.cache_bytes)
    alpha, gradient = np.zeros(n), -np.ones(n)
    inverse, steps, at_once = 1 / problem.curvature, 0, int(REPORT_OPERATIONS / n) + 1
    while steps < max_steps:
        done, missing = paper_steps(
            cache.slab,
            cache.slot_of,
            problem.targets,
            alpha,
            gradient,
            problem.upper,
            inverse,
            settings.eps,
            min(at_once, max_steps - steps),
        )
        steps += done
        settings.tell(steps, alpha, gradient, problem.upper)
        if missing == SETTLED:
            break
        if missing != OUT_OF_STEPS:
            cache.ensure(np.array([missing]))
    gradient, n_rows = problem.gradient(alpha)
    return conclude(problem, alpha, gradient, SolverWork(steps, cache.n_computed + n_rows, started), settings)


@fast
def paper_steps(
    slab: np.ndarray,
    slot_of: np.ndarray,
    t: Floats,
    a: Floats,
    g: Floats,
    upper: Floats,
    inverse: Floats,
    tolerance: float,
    max_steps: int,
) -> tuple[int, int]:
    """Step one variable at a time, the worst violator of all, as Bai et al. do.

    Returns (steps made, i): i is a variable whose row is not in the slab, or SETTLED, or OUT_OF_STEPS.
    """
    n = len(a)
    misfit = np.empty(n)
    bits = misfit.view(np.int64)
    for step in range(max_steps):
        worst, i = _worst_violator(a, g, upper, misfit, bits)
        if worst <= tolerance:
            return step, SETTLED
        if slot_of[i] < 0:
            return step, i
        s = clipped_step(a[i], g[i], upper[i], inverse[i])
        a[i] += s
        row, st = slab[slot_of[i]], s * t[i]
        for j in range(n):
            g[j] += st * t[j] * row[j]
    return max_steps, OUT_OF_STEPS


@inner
def _worst_violator(a: Floats, g: Floats, upper: Floats, misfit: Floats, bits: np.ndarray) -> tuple[float, int]:
    """Fill in the violation of each variable; return (the largest, whose it is)."""
    for j in range(len(a)):
        misfit[j] = max(violation(a[j], g[j], upper[j]), 0.0)
    i = find_largest(bits)
    return misfit[i], i

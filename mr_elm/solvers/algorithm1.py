"""Train the sparse ELM as its paper does: one variable at a time.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i           symbols: box

    a = 0, g = -e
    d_i = 1 where a_i = 0, -1 where a_i = C_i, -sign(g_i) between;  J_i = g_i d_i;  c = argmin J
    stop when J_c > -eps
    a_c <- clip(a_c - g_c / Q_cc, 0, C_c)    (to the bound where Q_cc = 0);    g <- g + (change of a_c) Q_c

The objective falls at every step. With large C it can take millions of steps: `block_rule` takes far fewer.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, Algorithm 1. Ours: the bound
on the steps, and the certificate.
"""

import time

import numpy as np

from mr_elm.solvers import loops
from mr_elm.solvers.box import BoxQP, Result, Settings, SolverWork, conclude
from mr_elm.solvers.row_cache import RowCache

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
        done, missing = loops.paper_steps(
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
        if missing == loops.SETTLED:
            break
        if missing != loops.OUT_OF_STEPS:
            cache.ensure(np.array([missing]))
    gradient, n_rows = problem.gradient(alpha)
    return conclude(problem, alpha, gradient, SolverWork(steps, cache.n_computed + n_rows, started), settings)

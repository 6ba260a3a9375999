"""Compile the loops of all solvers by solving small problems: python -m mr_elm.solvers.warm

The machine code stays beside the sources, so that tasks which run from there load it and compile nothing.
"""

import sys
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.compiled import LOOPS
from mr_elm.features.kernel_rows import kernel_rows, ready_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers import sphere
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import RULES, solve_dual
from mr_elm.solvers.coordinate import solve_node_dual
from mr_elm.solvers.pairs import solve_small_machines
from mr_elm.typing import Floats

N, NARROW, WIDE = 90, 3, 60


def small_problems() -> Iterator[tuple[Any, Floats]]:
    """Yield (rows, targets): narrow, wide, sparse."""
    rng = np.random.default_rng(0)
    for X in (
        rng.normal(size=(N, NARROW)),
        rng.normal(size=(N, WIDE)),
        sp.random(N, WIDE, 0.1, 'csr', random_state=0),
    ):
        score = X @ rng.normal(size=X.shape[1]) + rng.normal(size=N)
        yield X, np.where(score > np.median(score), 1.0, -1.0)


def warm() -> None:
    """Solve small problems by every rule, over every kind of rows, in both precisions."""
    kernel = make_kernel('gaussian', NARROW)
    for X, targets in small_problems():
        rows = kernel_rows(X, kernel)
        sources = rows, ready_rows(rows), ready_rows(rows, np.float64)
        for source, rule, dtype in product(sources, RULES, ('float32', 'float64')):
            solve_dual(BoxQP(source, targets, 1.0), rule, Settings(dtype=dtype, max_iter=20))
        for source, rule in product(sources, sphere.RULES):
            sphere.solve_sphere(sphere.SphereProblem(source, targets, 1.0), rule, Settings(max_iter=20))
        solve_small_machines(rows, np.arange(N) % 3, np.full(N, 1e4), Settings())
        solve_node_dual(sp.expand(X), targets, 1.0, settings=Settings(max_iter=20))


def main() -> None:
    """Warm up, and say how much had to be compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of solvers that are stopped early
        warm()
    loaded, compiled = (
        sum(sum(getattr(loop.stats, name).values()) for loop in LOOPS) for name in ('cache_hits', 'cache_misses')
    )
    print(f'loops loaded: {loaded}, compiled: {compiled}', file=sys.stderr)


if __name__ == '__main__':
    main()

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
from mr_elm.features import fused
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel, row_squares
from mr_elm.solvers import sphere
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import RULES, solve_dual
from mr_elm.solvers.coordinate import solve_node_dual
from mr_elm.solvers.multiclass import vote
from mr_elm.solvers.pairs import solve_small_machines
from mr_elm.solvers.path import ready_rows, walk_folds
from mr_elm.typing import Floats

N, NARROW, WIDE = 90, 3, 60


def small_problems() -> Iterator[tuple[Any, Floats]]:
    """Yield (rows, targets): narrow, wide, of whole numbers, sparse."""
    rng = np.random.default_rng(0)
    for X in (
        rng.normal(size=(N, NARROW)),
        rng.normal(size=(N, WIDE)),
        rng.integers(0, 3, (N, WIDE)).astype(float),
        sp.random(N, WIDE, 0.1, 'csr', random_state=0),
    ):
        score = X @ rng.normal(size=X.shape[1]) + rng.normal(size=N)
        yield X, np.where(score > np.median(score), 1.0, -1.0)


def warm() -> None:
    """Solve small problems by every rule, over every kind of rows, in both precisions."""
    for X, targets in small_problems():
        kernels = [make_kernel('gaussian', X.shape[1]), make_kernel('laplacian', X.shape[1]), make_kernel('linear')]
        for kernel, rule, dtype in product(kernels, RULES, ('float32', 'float64')):
            settings = Settings(dtype=dtype, max_iter=20)
            solve_dual(BoxQP(kernel_rows(X, kernel), targets, 1.0), rule, settings)
        ready = ready_rows(kernel_rows(X, kernels[0]))
        list(walk_folds(ready, targets, [1.0, 10.0], np.arange(N) % 2))
        for rule in RULES:
            solve_dual(BoxQP(ready, targets, 1.0), rule, Settings(max_iter=20))
        small = solve_small_machines(kernel_rows(X, kernels[0]), np.arange(N) % 3, np.full(N, 1e4), Settings())
        if small is not None:
            small.join()
            vote(np.zeros((N, 3)), 3)
        solve_node_dual(X, targets, 1.0, settings=Settings(max_iter=20))
        for rule in sphere.RULES:
            for rows in (ready, kernel_rows(X, kernels[0])):
                problem = sphere.SphereProblem(rows, targets, 1.0)
                sphere.solve_sphere(problem, rule, Settings(max_iter=20))
        if sp.issparse(X):
            dense = X.toarray()
        else:
            dense = X
        squares = (row_squares(dense),) * 2
        for products in (dense @ dense.T, (dense @ dense.T).astype(np.float32)):
            fused.fill_kernel_tile(products, squares, (0.1, False), np.empty((N, N)), 0)


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

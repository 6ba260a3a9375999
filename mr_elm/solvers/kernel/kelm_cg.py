"""Solve (I/C + Omega) A = T without Omega: preconditioned block conjugate gradients, all targets at once.

    each pass:  Omega S for the current directions S (N, k), from a function that recomputes Omega tile by tile

Source: `solvers.shared.block_cg` for the iteration, `nystrom` for the preconditioner. Not in Zhao et al., 2015.
"""
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mr_elm.errors import ConvergenceWarning
from mr_elm.solvers.kernel.kelm import KernelSolution, demand_C
from mr_elm.solvers.kernel.nystrom import Preconditioner
from mr_elm.solvers.shared.block_cg import LIMITS, Approximation, LateProduct, PassLimits, solve_positive
from mr_elm.typing import Floats

SHARE = 0.5  # of the tolerance, that rough products may take

Product = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RoughProduct:
    """Hold a function V (N, k) -> Omega V whose result is off by about `error` |V|."""

    multiply: Product
    error: float


def solve_cg(multiply: Product, T: Floats, C: float, preconditioner: Preconditioner, limits: PassLimits = LIMITS,
             rough: RoughProduct | None = None) -> tuple[KernelSolution, int, float]:
    """Return (KernelSolution, passes, relative residual), the largest of any target, computed anew at the end.

    multiply : function V (N, k) -> Omega V, one pass. rough : the same, taken once its errors no longer matter: a step
    is at most C times as long as the residual. Warns when `limits.max_passes` do not suffice.
    """
    demand_C(C)
    T = np.array(T, dtype=float)
    late = None if rough is None else LateProduct(lambda V: rough.multiply(V) + V / C,
                                                  SHARE * limits.tolerance / (rough.error * C))
    found, passes = solve_positive(lambda V: multiply(V) + V / C,
                                   lambda A: Approximation.of(A, T, multiply(A) + A / C),
                                   Approximation.of(np.zeros(T.shape), T), preconditioner.apply, limits, late=late)
    residual = found.residual
    if residual > limits.tolerance:
        warnings.warn(f'conjugate gradients stopped after {passes} passes with a relative residual of '
                      f'{residual:.1e}, expected at most {limits.tolerance:g}: raise --rank, lower C, or allow more '
                      'passes',
                      ConvergenceWarning, stacklevel=2)
    return KernelSolution(found.X), passes, residual

"""Solve A X = T for a positive definite A by preconditioned block conjugate gradients, all targets at once.

    each pass:  A S for the current directions S (n, k), from a function

The directions of all targets share one Krylov space, so that several targets take fewer passes than one. Residuals R
are kept as Q rho with Q' M^-1 Q = I; directions in which they vanish are dropped, which keeps the small systems sound.

Source: O'Leary, The block conjugate gradient algorithm, 1980; Dubrulle, Retooling the method of block conjugate
gradients, 2001 (BCGrQ).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mr_elm import linalg
from mr_elm.errors import one_line
from mr_elm.typing import Floats

VANISHED_SHARE = 1e-14  # of the largest squared residual: a direction with no more is dropped


@dataclass(frozen=True)
class PassLimits:
    """Say when conjugate gradients stop: at a relative residual of `tolerance`, or after `max_passes`.

    report : function (passes, residual) that is called after each pass.
    """

    tolerance: float = 1e-8
    max_passes: int = 200
    report: Callable[[int, float], None] | None = None


LIMITS = PassLimits()


def measure_sizes(T: Floats) -> Floats:
    """Return what the rest of each target is judged by, (K,): |T_k|, or the largest of them for a target of 0."""
    sizes = np.linalg.norm(T, axis=0)
    return np.where(sizes > 0, sizes, max(sizes.max(initial=0.0), np.finfo(float).tiny))


@dataclass(frozen=True)
class Approximation:
    """Hold X (n, K), the rest T - A X, and the sizes of the targets, (K,), see `measure_sizes`."""

    X: Floats
    rest: Floats
    sizes: Floats
    __repr__ = one_line

    @classmethod
    def of(cls, X: Floats, T: Floats, AX: Floats | float = 0.0) -> 'Approximation':
        """Return the Approximation X of targets T, by its product A X."""
        return cls(X, T - AX, measure_sizes(T))

    @property
    def residual(self) -> float:
        """Return the largest relative residual of any target."""
        return float((np.linalg.norm(self.rest, axis=0) / self.sizes).max())


class CountedProduct:
    """Multiply a matrix with vectors, count the passes that takes, and report each; `most` of them are allowed."""

    def __init__(
        self,
        multiply: Callable[[Floats], Floats],
        most: int,
        report: Callable[[int, float], None] | None = None,
    ) -> None:
        self.multiply, self.most, self.report, self.count = multiply, most, report, 0

    def __call__(self, V: Floats) -> Floats:
        self.count += 1
        return self.multiply(V)

    def tell(self, residual: float) -> None:
        """Report a pass."""
        if self.report is not None:
            self.report(self.count, residual)


def solve_positive(
    multiply: Callable[[Floats], Floats],
    measure: Callable[[Floats], Approximation],
    start: Approximation,
    precondition: Callable[[Floats], Floats],
    limits: PassLimits = LIMITS,
) -> tuple[Approximation, int]:
    """Return (Approximation as `measure` returns it at the end, passes).

    multiply : function V (n, k) -> A V, one pass. measure : function X (n, K) -> Approximation, one pass.
    start : where to begin. precondition : function R -> M^-1 R.
    """
    product = CountedProduct(multiply, limits.max_passes - 1, limits.report)  # one is for the end
    solution = start
    while solution.residual > limits.tolerance and product.count < limits.max_passes:
        solution = measure(solution.X + iterate(product, solution.rest, solution.sizes, precondition, limits.tolerance))
        product.count += 1
        product.tell(solution.residual)
    return solution, product.count


def iterate(
    product: CountedProduct, T: Floats, sizes: Floats, precondition: Callable[[Floats], Floats], tolerance: float
) -> Floats:
    """Return the X with A X ~ T that block conjugate gradients find in the passes that `product` is allowed."""
    X, R, Z = np.zeros(T.shape), T, precondition(T)
    Q, Z, rho = orthonormalise(R, Z)
    S, C = Z, rho
    while len(rho) and product.count < product.most:
        AS = product(S)
        step = np.linalg.inv(symmetrise(S.T @ AS))
        X = X + S @ (step @ C)
        R = Q - AS @ step
        Q, Z, rho = orthonormalise(R, precondition(R))
        C = rho @ C
        size = float((np.linalg.norm(Q @ C, axis=0) / sizes).max())
        product.tell(size)
        if size <= tolerance:
            break
        S = Z + S @ rho.T
    return X


def symmetrise(G: Floats) -> Floats:
    """Return the symmetric part."""
    return (G + G.T) / 2


def orthonormalise(R: Floats, Z: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (Q, M^-1 Q, rho) with R = Q rho and Q' M^-1 Q = I, given Z = M^-1 R; vanished directions are dropped."""
    values, vectors = linalg.eigh(symmetrise(R.T @ Z))
    significant = values > VANISHED_SHARE * max(values[-1], np.finfo(float).tiny)
    roots, vectors = np.sqrt(values[significant]), vectors[:, significant]
    return R @ (vectors / roots), Z @ (vectors / roots), roots[:, None] * vectors.T

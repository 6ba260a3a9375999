"""Solve A X = T for a positive definite A by preconditioned block conjugate gradients, all targets at once.

    each pass:  A S for the current directions S (n, k), from a function

The directions of all targets share one Krylov space, so that several targets take fewer passes than one. Residuals R
are kept as Q rho with Q' M^-1 Q = I; directions in which they vanish are dropped, which keeps the small systems sound.

Source: O'Leary, The block conjugate gradient algorithm, 1980; Dubrulle, Retooling the method of block conjugate
gradients, 2001 (BCGrQ).
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from mr_elm.typing import Floats

VANISHED = 1e-14  # of the largest squared residual: a direction with no more is dropped
ROUGH = 1e-4  # of a residual: what iterations by a rough product are asked to leave of it
ENOUGH = 0.9  # of the tolerance: what they are asked for at most, so that the true residual meets it too
GAIN = 10  # times that a residual must fall, for a rough product to be used again


@dataclass(frozen=True)
class PassLimits:
    """Say when conjugate gradients stop: at a relative residual of `tolerance`, or after `max_passes`.

    report : function (passes, residual) that is called after each pass.
    """

    tolerance: float = 1e-8
    max_passes: int = 200
    report: Callable[[int, float], None] | None = None


LIMITS = PassLimits()


class CountedProduct:
    """Multiply a matrix with vectors, count the passes that takes, and report each; `most` of them are allowed."""

    def __init__(self, multiply: Callable[[Floats], Floats], most: int,
                 report: Callable[[int, float], None] | None = None) -> None:
        self.multiply, self.most, self.report, self.count = multiply, most, report, 0

    def __call__(self, V: Floats) -> Floats:
        self.count += 1
        return self.multiply(V)

    @contextmanager
    def using(self, multiply: Callable[[Floats], Floats]) -> Iterator[None]:
        """Multiply by another function while the context lasts."""
        self.multiply, own = multiply, self.multiply
        yield
        self.multiply = own

    def tell(self, residual: float) -> None:
        """Report a pass."""
        if self.report is not None:
            self.report(self.count, residual)


def solve_positive(multiply: Callable[[Floats], Floats], T: Floats, precondition: Callable[[Floats], Floats],
                   limits: PassLimits = LIMITS, start: Floats | None = None,
                   rough: Callable[[Floats], Floats] | None = None) -> tuple[Floats, int, float]:
    """Return (X, passes, relative residual), the largest of any target, computed anew at the end.

    multiply : function V (n, k) -> A V, one pass. precondition : function R -> M^-1 R. start : X to begin with, or
    None for 0. rough : the same as multiply, faster and less accurate: iterations take it as long as the residual,
    which `multiply` measures, falls by them.
    """
    sizes = np.maximum(np.linalg.norm(T, axis=0), np.finfo(float).tiny)
    product = CountedProduct(multiply, limits.max_passes - 1, limits.report)  # one is for the end
    X, rest, residual = np.zeros(T.shape), np.array(T, dtype=float), 1.0
    if start is not None:
        X, rest, residual = measure(product, start, T, sizes)
    while residual > limits.tolerance and product.count < limits.max_passes:
        before, wanted = residual, limits.tolerance
        if rough is not None:
            wanted = max(ENOUGH * wanted, ROUGH * residual)
        with product.using(rough or multiply):
            X = X + iterate(product, rest, sizes, precondition, wanted)
        X, rest, residual = measure(product, X, T, sizes)
        rough = rough if residual * GAIN <= before else None
    return X, product.count, residual


def measure(product: CountedProduct, X: Floats, T: Floats, sizes: Floats) -> tuple[Floats, Floats, float]:
    """Return (X, T - A X, the largest relative residual of any target)."""
    rest = T - product(X)
    residual = float((np.linalg.norm(rest, axis=0) / sizes).max())
    product.tell(residual)
    return X, rest, residual


def iterate(product: CountedProduct, T: Floats, sizes: Floats, precondition: Callable[[Floats], Floats],
            tolerance: float) -> Floats:
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
    values, vectors = eigh(symmetrise(R.T @ Z))
    kept = values > VANISHED * max(values[-1], np.finfo(float).tiny)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return R @ (vectors / roots), Z @ (vectors / roots), roots[:, None] * vectors.T

"""Cross-validate ESVM over all (nu, L') from the sums of the folds alone, without looking at a row again.

    B = (I/nu + G)^-1 R,  G = sum of the other folds' E'E,  R = of their E'T
    |E_f B - T_f|^2 = T_f'T_f - 2 B'E_f'T_f + B'E_f'E_f B        squared error on the fold f held out

Targets of a regression are centred by the rows that B is trained on, as in `ridge`.

The nodes nest: with the bias gathered first, the leading L' + 1 rows and columns of a Gram are the Gram of the first
L' nodes, and the leading block of its Cholesky factor is their factor. So one factor serves every L'.

Source: He et al., 2011, eq. 7; the scheme is ours.

Solve a ridge regression for many nu by one eigendecomposition, and leave out each row in turn by a formula.

    B(nu) = (I/nu + E'E)^-1 E'T,    f_-i(x_i) = t_i - (t_i - f(x_i)) / (1 - h_i),    h_i = E_i (I/nu + E'E)^-1 E_i'

With E'E = V diag(l) V', or EE' where rows are fewer than columns, a further nu costs a product. Rows of weight w count
as E and T multiplied by sqrt(w).

Source: Allen, The relationship between variable selection and data augmentation, 1974 (the formula).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from mr_elm import linalg
from mr_elm.errors import one_line
from mr_elm.rows.blocks import fill_weights
from mr_elm.solvers.increment import add_sums, largest_nu
from mr_elm.solvers.ridge import MIN_LEVERAGE_GAP, Sums, factor_ridge, find_mean, right_side
from mr_elm.sums.gram import mirror_upper
from mr_elm.typing import Floats, RowWeights


@dataclass(frozen=True)
class GridCell:
    """Hold what one fold says of (nu, L').

    error : squared error on the fold, summed over its rows and targets. weight : rows times targets there.
    trusted : whether nu is small enough for the rounding errors of the sums (see `largest_nu`).
    """

    nu: float
    n_hidden: int
    fold: int
    error: float
    weight: float
    trusted: bool


@dataclass(frozen=True)
class Ordered:
    """Hold sums with the bias first: gram (m, m) whole, right (m, K), and squares (K,), the diagonal of T'T."""

    gram: np.ndarray
    right: np.ndarray
    squares: np.ndarray
    __repr__ = one_line

    @classmethod
    def of(cls, sums: Sums, numeric: bool) -> Ordered:
        """Gather the bias first."""
        order = np.roll(np.arange(len(sums.gram)), 1)
        whole = mirror_upper(sums.gram)
        right = right_side(sums.class_sums, numeric)
        if numeric:
            squares = sums.counts
        else:
            squares = np.full(right.shape[1], sums.gram[-1, -1])
        return cls(whole[np.ix_(order, order)], right[order], squares)

    def center(self) -> tuple[Ordered, Floats]:
        """Return the sums of targets less their mean, and this mean, (K,); see `center_sums`."""
        mean = find_mean(-self.gram[0, 0], self.right[0])
        return replace(
            self, right=self.right + self.gram[:, :1] * mean, squares=self.squares - mean**2 * self.gram[0, 0]
        ), mean

    def without(self, other: Ordered) -> Ordered:
        """Return the sums of the rows that are not in another."""
        return Ordered(self.gram - other.gram, self.right - other.right, self.squares - other.squares)

    def __add__(self, other: Ordered) -> Ordered:
        return Ordered(self.gram + other.gram, self.right + other.right, self.squares + other.squares)


def total_of(folds: Sequence[Sums]) -> Sums:
    """Return the Sums of all folds together."""
    return reduce(add_sums, folds)


class FoldGrid:
    """Score cells, and train, from the sums of the folds.

    folds : list of Sums. numeric : whether they are of a regression. center : whether its targets are centred.
    Sums are taken apart in plain float64: what that loses, a block's product has lost before.
    """

    def __init__(self, folds: Sequence[Sums], numeric: bool, center: bool = False) -> None:
        self.center = center
        self.folds = [Ordered.of(sums, numeric) for sums in folds]
        self.total = reduce(Ordered.__add__, self.folds)

    def score(self, nus: Sequence[float], sizes: Sequence[int]) -> list[GridCell]:
        """Return a GridCell for every nu, L' and fold held out. nus, sizes : lists of nu and of L'."""
        cells = []
        for fold, held in enumerate(self.folds):
            rest = self.total.without(held)
            weights = {nu: solve_nested(rest, nu, sizes, self.center) for nu in nus}
            for number, size in enumerate(sizes):
                errors = squared_errors(held, [weights[nu][number] for nu in nus])
                bound = largest_nu(rest.gram.diagonal()[: size + 1].sum())
                cells += [
                    GridCell(nu, size, fold, error, float(held.gram[0, 0] * len(held.squares)), nu <= bound)
                    for nu, error in zip(nus, errors, strict=True)
                ]
        return cells

    def weights(self, fold: int, cells: Iterable[tuple[float, int]]) -> list[Floats]:
        """Return the output weights (L' + 1, K), bias last, of each (nu, L') of a list, trained without a fold."""
        rest = self.total.without(self.folds[fold])
        return [np.roll(solve_nested(rest, nu, [size], self.center)[0], -1, axis=0) for nu, size in cells]


def solve_nested(sums: Ordered, nu: float, sizes: Sequence[int], center: bool = False) -> list[Any]:
    """Return the output weights (L' + 1, K), bias first, for each L', or None where I/nu + G is not positive.

    One factor and one forward substitution serve all sizes. center : as in `ridge.finish`.
    """
    if center:
        centred, mean = sums.center()
        solutions = solve_nested(centred, nu, sizes)
        for B in solutions:
            if B is not None:
                B[0] -= mean
        return solutions
    m = max(sizes) + 1
    factor = factor_ridge(sums.gram[:m, :m], 1 / nu)
    if factor is None:
        return [None] * len(sizes)
    half = linalg.solve_triangular(factor, sums.right[:m], lower=True, check_finite=False)
    return [
        linalg.solve_triangular(
            factor[: size + 1, : size + 1], half[: size + 1], lower=True, trans=1, check_finite=False
        )
        for size in sizes
    ]


def squared_errors(held: Ordered, weights: list[Any]) -> list[float]:
    """Return the squared error on held-out rows of each of several output weights of one size; NaN for None."""
    solved = [B for B in weights if B is not None]
    if not solved:
        return [np.nan] * len(weights)
    m = len(solved[0])
    images = iter(np.split(held.gram[:m, :m] @ np.hstack(solved), len(solved), axis=1))
    return [
        np.nan if B is None else float(held.squares.sum() + (B * (next(images) - 2 * held.right[:m])).sum())
        for B in weights
    ]


@dataclass(frozen=True)
class NuPath:
    """Hold a decomposed regression: see `decompose`.

    E, T : (n, m) and (n, K), multiplied by the roots of the weights of the rows. nus : those that can be trusted.
    leverages : (n, n_nu). weights : (m, n_nu, K), the output weights. roots : (n, 1).
    """

    E: Floats
    T: Floats
    nus: tuple[float, ...]
    leverages: Floats
    weights: Floats
    roots: Floats
    __repr__ = one_line

    def leave_out(self) -> Floats:
        """Return the values that each row has by a machine of all other rows, (n_nu, n, K)."""
        fitted = np.einsum('nqk->qnk', np.tensordot(self.E, self.weights, 1))
        slack = np.maximum(1 - self.leverages.T, MIN_LEVERAGE_GAP)[:, :, None]
        return (self.T - (self.T - fitted) / slack) / self.roots

    def predict(self, E: Floats) -> Floats:
        """Return the values of other rows, given their expansions, (n_nu, n, K)."""
        return np.einsum('nqk->qnk', np.tensordot(E, self.weights, 1))


def decompose(E: Floats, T: Floats, nus: Sequence[float], row_weights: RowWeights = None) -> NuPath:
    """Return the NuPath of expanded rows E (n, m), targets T (n, K) and the nu that rounding errors allow.

    row_weights : (n,), 1 by default.
    """
    roots = np.sqrt(fill_weights(row_weights, len(E)))[:, None]
    E, T = E * roots, T * roots
    trusted = tuple(nu for nu in nus if nu <= largest_nu(float((E**2).sum()))) or (min(nus),)
    values, vectors = linalg.eigh(E @ E.T.copy() if len(E) <= E.shape[1] else E.T @ E, driver='evd')
    values = np.maximum(values, 0.0)
    inverses = 1 / (values[:, None] + 1 / np.array(trusted))  # (r, n_nu)
    if len(E) <= E.shape[1]:
        leverages = vectors**2 @ (values[:, None] * inverses)
        coefficients, basis = vectors.T @ T, E.T @ vectors
    else:
        scores = E @ vectors
        leverages, coefficients, basis = scores**2 @ inverses, scores.T @ T, vectors
    return NuPath(E, T, trusted, leverages, np.tensordot(basis, inverses[:, :, None] * coefficients[:, None], 1), roots)

"""Solve a ridge regression for many nu by one eigendecomposition, and leave out each row in turn by a formula.

    B(nu) = (I/nu + E'E)^-1 E'T,    f_-i(x_i) = t_i - (t_i - f(x_i)) / (1 - h_i),    h_i = E_i (I/nu + E'E)^-1 E_i'

With E'E = V diag(l) V', or EE' where rows are fewer than columns, a further nu costs a product. Rows of weight w count
as E and T multiplied by sqrt(w).

Source: Allen, The relationship between variable selection and data augmentation, 1974 (the formula).
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mr_elm import linalg
from mr_elm.errors import one_line
from mr_elm.solvers.ridge.elm import SMALLEST
from mr_elm.solvers.ridge.increment import largest_nu
from mr_elm.typing import Floats


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
        slack = np.maximum(1 - self.leverages.T, SMALLEST)[:, :, None]
        return (self.T - (self.T - fitted) / slack) / self.roots

    def predict(self, E: Floats) -> Floats:
        """Return the values of other rows, given their expansions, (n_nu, n, K)."""
        return np.einsum('nqk->qnk', np.tensordot(E, self.weights, 1))


def decompose(E: Floats, T: Floats, nus: Sequence[float], row_weights: Floats | None = None) -> NuPath:
    """Return the NuPath of expanded rows E (n, m), targets T (n, K) and the nu that rounding errors allow.

    row_weights : (n,), 1 by default.
    """
    roots = np.ones((len(E), 1)) if row_weights is None else np.sqrt(row_weights)[:, None]
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

"""Compute kernels K(u, v): one entry of KERNELS each, and the tiles K(A, B) they make.

A kernel here is a function of the squared distance |u - v|^2 or of the inner product u.v, so that a tile is one matrix
product and one pass over it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import demand_choice
from mr_elm.typing import Floats, Rows

ROUNDING = 1e-14  # of |u|^2 + |v|^2: a squared distance below this is 0


def exponentiate(D: np.ndarray) -> None:
    """Turn D into exp(D), in place, and into 0 where that is less than the least normal number, as `fused` does."""
    np.exp(D, out=D)
    D[np.finfo(D.dtype).tiny > D] = 0


def finish_distances(tile: np.ndarray, a_squares: Floats, b_squares: Floats, takes_root: bool) -> None:
    """Turn -2 times inner products (m, n) into |a - b|^2, in place, given |a|^2 (m,) and |b|^2 (n,).

    Where a square overflows, the distance is infinite. takes_root : a root follows, which would make 1e-8 of the
    rounding between equal rows.
    """
    tile += a_squares[:, None]
    tile += b_squares
    np.maximum(tile, 0, out=tile)
    if takes_root:
        tile[tile <= ROUNDING * np.add.outer(a_squares, b_squares)] = 0
    tile[np.isinf(a_squares)] = np.inf
    tile[:, np.isinf(b_squares)] = np.inf


def gaussian(D: np.ndarray, gamma: float) -> None:
    """exp(-gamma |u - v|^2), gamma = 1/(2 sigma^2)."""
    D *= D.dtype.type(-gamma)
    exponentiate(D)


def laplacian(D: np.ndarray, gamma: float) -> None:
    """exp(-gamma |u - v|), gamma = 1/sigma, with the Euclidean norm."""
    np.sqrt(D, out=D)
    gaussian(D, gamma)


def polynomial(P: np.ndarray, degree: int) -> None:
    """(1 + u.v)^degree."""
    P += 1
    np.power(P, degree, out=P)


def linear(P: np.ndarray, _: float) -> None:
    """u.v: the product is the kernel."""


def choose_gamma(parameters: dict[str, float]) -> float:
    """Read gamma from gamma or sigma."""
    if 'gamma' in parameters:
        return parameters['gamma']
    return 0.5 / parameters['sigma'] ** 2


@dataclass(frozen=True)
class KernelKind:
    """Say what a kernel is a function of, and how a tile becomes kernel values.

    of_distance : it takes squared distances, else inner products.
    transform : function (tile, factor), in place, float32 or float64.
    factor : function of the parameters, the number that `transform` takes.
    parameters : the names a caller may give, one of them at a time.
    exponent : p of exp(-factor |u - v|^p), for which `fused.py` has compiled loops; None for other kernels.
    """

    of_distance: bool
    transform: Callable
    factor: Callable
    parameters: tuple = ()
    exponent: int | None = None


KERNELS = {
    'gaussian': KernelKind(True, gaussian, choose_gamma, ('sigma', 'gamma'), exponent=2),
    'laplacian': KernelKind(True, laplacian, lambda given: 1 / given['sigma'], ('sigma',), exponent=1),
    'polynomial': KernelKind(False, polynomial, lambda given: given['degree'], ('degree',)),
    'linear': KernelKind(False, linear, lambda given: 1),
}


@dataclass(frozen=True)
class Kernel:
    """Hold a kernel: its name, a key of KERNELS, and its checked parameters; `make_kernel` makes one.

    normalised : it is K(u, v) / root of K(u, u) K(v, v), and 0 where that root is 0.
    """

    name: str
    parameters: dict
    normalised: bool = False

    @cached_property
    def kind(self) -> KernelKind:
        """Return the KernelKind."""
        return KERNELS[self.name]

    @cached_property
    def factor(self) -> float:
        """Return the number the transform takes: gamma of an exponential, the degree of a polynomial."""
        return self.kind.factor(self.parameters)

    @property
    def power(self) -> int:
        """Return which power of a feature its values, or for a kernel of inner products their squares, grow with."""
        if self.kind.of_distance:
            return 2
        return 4 * int(self.factor)

    @property
    def takes_root(self) -> bool:
        """Tell whether the exponential is of the distance, not of its square."""
        return self.kind.exponent == 1

    @property
    def exponential(self) -> tuple[float, bool]:
        """Return (gamma, takes_root), as the loops of `fused.py` take them."""
        return self.factor, self.takes_root

    def finish(self, tile: np.ndarray, a_squares: Floats, b_squares: Floats) -> np.ndarray:
        """Turn inner products (m, n) into values of a kernel of them, in place, given |a|^2 (m,) and |b|^2 (n,)."""
        self.kind.transform(tile, self.factor)
        if self.normalised:
            tile *= invert_root(self._own(a_squares))[:, None]
            tile *= invert_root(self._own(b_squares))
        return tile

    def diagonal(self, squares: Floats) -> Floats:
        """Return K(x, x), (n,), of rows with these squared norms."""
        if self.kind.exponent:
            return np.ones(len(squares))
        values = self._own(squares)
        if self.normalised:
            return np.where(values > 0, 1.0, 0.0)
        return values

    def _own(self, squares: Floats) -> Floats:
        """Return K(x, x) of a kernel of inner products before it is normalised."""
        values = np.array(squares, dtype=float)
        self.kind.transform(values, self.factor)
        return values


def invert_root(values: Floats) -> Floats:
    """Return 1 / sqrt(values), and 0 where they are not above 0."""
    return np.divide(1, np.sqrt(np.maximum(values, 0)), out=np.zeros(len(values)), where=values > 0)


def make_kernel(name: str, variance: float | None = None, normalised: bool = False, **values: float | None) -> Kernel:
    """Check a kernel's parameters and return a Kernel.

    name : a key of KERNELS.
    variance : of the rows, summed over the features, for the default width sigma = sqrt(variance).
    normalised : see Kernel.
    values : sigma, gamma or degree; None counts as absent. The degree is 3 by default.
    Raises ValueError for an unknown kernel, a parameter of another kernel, or a value out of range.
    """
    demand_choice('kernel', name, KERNELS)
    allowed = KERNELS[name].parameters
    values = {key: value for key, value in values.items() if value is not None}
    if set(values) - set(allowed):
        raise ValueError(
            f'expected {", ".join(allowed) or "no parameter"} with the {name} kernel, found {", ".join(sorted(values))}'
        )
    if len(values) > 1:
        raise ValueError('expected sigma or gamma = 1/(2 sigma^2), found both')
    if not values and 'sigma' in allowed:
        values = {'sigma': variance and variance**0.5}
    elif not values and 'degree' in allowed:
        values = {'degree': 3}
    kernel = Kernel(name, {key: check_parameter(key, value) for key, value in values.items()}, bool(normalised))
    demand_factor(kernel)
    return kernel


def demand_factor(kernel: Kernel) -> None:
    """Raise ValueError when a kernel's parameter is so large or so small that its square is no number."""
    try:
        fine = 0 < kernel.factor < np.inf
    except ArithmeticError:
        fine = False
    if not fine:
        ((name, value),) = kernel.parameters.items()
        raise ValueError(
            f'{name}: expected a number whose square and its inverse are in the range of float64, found {value}'
        )


def check_parameter(name: str, value: float | None) -> float:
    """Return a kernel's parameter as a number, or raise ValueError."""
    if value is None or not (value > 0 and isfinite(value)):
        raise ValueError(f'{name}: expected a finite number above 0, found {value}')
    if name == 'degree' and value != int(value):
        raise ValueError(f'degree: expected a whole number, found {value}')
    if name == 'degree':
        return int(value)
    return float(value)


def multiply_transposed(A: Rows, B: Rows) -> np.ndarray:
    """Return A B' as a dense array; either factor may be sparse."""
    if type(A) is np.ndarray and type(B) is np.ndarray:  # asked first: to ask scipy takes as long as a small product
        return A @ B.T
    if not sp.issparse(A):
        return np.ascontiguousarray((B @ A.T).T)
    value = A @ B.T
    if sp.issparse(value):
        return value.toarray()
    return value


def row_squares(A: Rows) -> Floats:
    """Return the squared norms of the rows, (m,) float64."""
    if type(A) is not np.ndarray and sp.issparse(A):
        with np.errstate(over='ignore'):
            return sum_rows(A, np.square(A.data))
    return np.einsum('ij,ij->i', A, A, dtype=float)


def sum_rows(A: Rows, values: Floats) -> Floats:
    """Return the sums (m,) of numbers that stand where those of the CSR rows A stand."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return np.bincount(rows, values, A.shape[0]).astype(float, copy=False)

"""Approximate a kernel matrix by its columns at landmarks, and make a preconditioner of it.

    Omega ~ B B' = F (R'R)^-1 F',   F = K(Z, landmarks),   R'R = K(landmarks, landmarks): the Nystrom approximation
    M = B B' + tau I,   M^-1 = (I - B (B'B + tau I)^-1 B') / tau,   tau = 1/C

B is a partial Cholesky factor of Omega: further landmarks add columns to it, and change none.

Source: Frangella, Tropp, Udell, Randomized Nystrom preconditioning, 2023, here by Woodbury's formula instead of
eigenvectors, which take most of the time. Not in Zhao et al., 2015.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.features.kernel_tiles import compute_kernel
from mr_elm.features.kernels import Kernel, row_squares
from mr_elm.features.landmarks import hash_rows
from mr_elm.parallel import map_in_threads, sum_in_threads
from mr_elm.solvers.cholesky import WIDTH, divide_columns, factor_upper
from mr_elm.solvers.kelm import inverse_diagonal
from mr_elm.solvers.passes import CountedProduct, iterate
from mr_elm.typing import Floats, Rows

FLAT = 1e-12  # of the sum of eigenvalues: a tau below it would be rounding
FIRST_RANK, ENOUGH = 500, 2  # the rank to begin with, and how many times d_eff is enough
DIGITS = 6  # of scaled features, that tell rows apart
SAMPLE = 1000  # rows on which the approximation is judged
AT_ONCE = 4096  # rows of Z, or columns of B', that are worked on together
TILE, FEWEST = 1 << 21, 256  # numbers of B' that a thread computes together, and columns at least
SHARE = 0.01  # of tau: how far float32 may move eigenvalues; a large share costs passes
SMALL_PIVOT = 10  # times the rounding of float32 on the trace: divided by a smaller one, float32 loses its digits
TRIES, MORE = 6, 4  # of a larger multiple of I, each ten times the last; and more where float32 has rounded before
NOT_POSITIVE = ('expected a positive kernel, found one that is not positive on landmarks: use another kernel, or scale '
                'the features, whose size may hide how rows differ')

Part = tuple[slice, np.ndarray]


@dataclass(frozen=True)
class Preconditioner:
    """Hold M = B B' + tau I ~ Omega + I/C, and estimated eigenvalues of what B B' misses of Omega.

    parts : of B', (r, N), some rows each, with the slice of their numbers.
    upper : U with U'U = B'B + tau I, (r, r). tau : 1/C, or more where that would be rounding.
    missed : (m,), each standing for (N - r)/m of all. n_threads : see `map_in_threads`; no bit depends on it.
    """

    parts: list[Part]
    upper: np.ndarray
    tau: float
    missed: np.ndarray
    n_threads: int | None = None
    __repr__ = one_line

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.upper)

    def apply(self, R: Floats) -> Floats:
        """Return M^-1 R, (N, k)."""
        columns = cut_columns(len(R))
        right = sum_in_threads(
            lambda some: np.concatenate([part[:, some] @ R[some].astype(part.dtype, copy=False)
                                         for _, part in self.parts], dtype=float), columns, self.n_threads)
        inner = linalg.cho_solve((self.upper, False), right)
        product = map_in_threads(
            lambda some: sum(part[:, some].T @ inner[rows].astype(part.dtype, copy=False)
                             for rows, part in self.parts),
            columns, self.n_threads)
        return (R - np.concatenate(product)) / self.tau

    @cached_property
    def effective_dimension(self) -> float:
        """Return d_eff = sum l / (l + tau) over the eigenvalues l of Omega, estimated."""
        captured = self.rank - self.tau * inverse_diagonal(self.upper.copy(order='F')).sum()
        return float(captured + (self.missed / (self.missed + self.tau)).sum())

    def expected_passes(self, tolerance: float, n_targets: int = 1, most: int = 1000) -> int:
        """Return about how many passes will do, mostly fewer: those of random targets on the estimated spectrum.

        The spectrum is that of M^-1 (Omega + tau I); eigenvectors make no difference.
        """
        spectrum = np.append((self.missed + self.tau) / self.tau, 1.0)
        each = (self.parts[0][1].shape[1] - self.rank) / len(self.missed)
        squares = np.append(np.full(len(self.missed), each), self.rank)
        T = np.random.default_rng(0).standard_normal((len(spectrum), n_targets)) * np.sqrt(squares)[:, None]
        product = CountedProduct(lambda S: spectrum[:, None] * S, most)
        iterate(product, T, np.linalg.norm(T, axis=0), lambda R: R, tolerance)
        return product.count


class NystromFactor:
    """Hold B', (r, N), of s K(Z, Z) s, and B'B, for s K s + I/C; both grow with the number of landmarks.

    most : landmarks, at most. scale : s, (N,), or None for 1. n_threads : see `map_in_threads`; no bit depends on it.
    parts : rows of B' that came together, with the slice of their numbers; float32 where that will do.
    gram : (r, r), upper triangle of B'B.
    """

    def __init__(self, Z: Rows, kernel: Kernel, C: float, most: int, scale: Floats | None = None, seed: int = 0,
                 n_threads: int | None = None) -> None:
        self.Z, self.kernel, self.C, self.scale, self.n_threads = Z, kernel, C, scale, n_threads
        trained = np.arange(Z.shape[0]) if scale is None else np.flatnonzero(scale)
        self.order, self.n_trained = choose_landmarks(Z, most + SAMPLE, seed, trained), len(trained)
        self.most, self.trace = min(most, len(self.order)), 0.0
        self.parts: list[Part] = []
        self.gram = np.zeros((0, 0), order='F')

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.gram)

    def extend(self, rank: int) -> None:
        """Go on to this rank. Raises ValueError when the kernel is not positive."""
        old, rank, n = self.rank, min(rank, self.most), self.Z.shape[0]
        new, core = self.order[old:rank], np.empty((rank - old, rank - old), order='F')
        shared = self.columns(new).T.copy()
        self.fill_tile(new, new, core)
        self.trace += float(np.trace(core))
        core -= shared @ shared.T
        upper = self.factor_core(core, rank)
        if self.takes_single(upper):
            upper = upper.astype(np.float32)
        shared, tile = shared.astype(upper.dtype, copy=False), np.empty((rank - old, n), upper.dtype)

        def fill(some: slice) -> None:
            self.fill_tile(new, np.arange(n)[some], tile[:, some])
            for rows, part in self.parts[:-1]:
                tile[:, some] -= shared[:, rows] @ part[:, some]
            divide_columns(tile[:, some], upper)

        def multiply(left: int) -> None:
            right = min(left + WIDTH, rank)
            strip = tile[left - old:right - old]
            for rows, part in self.parts:
                above = part[:right - rows.start]
                target = gram[rows.start:rows.start + len(above), left:right]
                for some in cut_columns(n):  # of a float32 part beside one of float64 no more is converted
                    target += above[:, some] @ strip[:, some].T

        gram = np.zeros((rank, rank), order='F')
        gram[:old, :old], self.gram = self.gram, gram
        self.parts.append((slice(old, rank), tile))
        map_in_threads(fill, cut_columns(n, max(FEWEST, TILE // rank)), self.n_threads)
        map_in_threads(multiply, reversed(range(old, rank, WIDTH)), self.n_threads)  # the longest first

    def columns(self, numbers: np.ndarray) -> Floats:
        """Return some columns of B'."""
        return np.concatenate([np.empty((0, len(numbers))), *(part[:, numbers] for _, part in self.parts)])

    def fill_tile(self, rows: np.ndarray, columns: np.ndarray, out: Floats) -> None:
        """Write s K s of some rows and columns into out."""
        compute_kernel(self.Z[rows], self.Z[columns], self.kernel, out)
        if self.scale is not None:
            out *= self.scale[rows, None]
            out *= self.scale[columns]

    def factor_core(self, core: Floats, rank: int) -> Floats:
        """Return U, U'U = core + a multiple of I, upper triangle: as small a one as rounding lets through.

        Raises ValueError when that is not small.
        """
        smallest = np.sqrt(rank) * np.finfo(float).eps * self.trace
        tries = TRIES + (MORE if any(part.dtype == np.float32 for _, part in self.parts) else 0)
        for jitter in smallest * 10.0**np.arange(tries):
            upper = core.copy(order='F')
            upper[np.diag_indices_from(upper)] += jitter
            if not factor_upper(upper, self.n_threads):
                return upper
        raise ValueError(NOT_POSITIVE)

    def takes_single(self, upper: Floats) -> bool:
        """Tell whether float32 will do to divide by U."""
        rounding, pivots = np.finfo(np.float32).eps, np.diagonal(upper)**2
        return bool(rounding * self.size * self.C <= SHARE and pivots.min() >= SMALL_PIVOT * rounding * self.trace)

    @cached_property
    def size(self) -> float:
        """Return the sum of the eigenvalues of s K(Z, Z) s."""
        diagonal = self.kernel.diagonal(row_squares(self.Z))
        return float(diagonal.sum() if self.scale is None else diagonal @ self.scale**2)

    def precondition(self) -> Preconditioner:
        """Return the Preconditioner, which shares B'. Raises ValueError when it is not positive."""
        upper = self.gram.copy(order='F')
        tau = max(1 / self.C, FLAT * np.trace(upper))
        upper[np.diag_indices_from(upper)] += tau
        if factor_upper(upper, self.n_threads):
            raise ValueError(NOT_POSITIVE)
        sample = self.order[self.rank:][:SAMPLE] if len(self.order) > self.rank else self.order[:SAMPLE]
        found, missed = self.columns(sample), np.empty((len(sample), len(sample)))
        self.fill_tile(sample, sample, missed)
        eigenvalues = np.linalg.eigvalsh(missed - found.T @ found)
        share = (self.n_trained - self.rank) / len(sample)  # nothing is missed at the landmarks
        return Preconditioner(list(self.parts), upper, tau, np.maximum(eigenvalues, 0.0) * share, self.n_threads)


def cut_columns(n: int, width: int = AT_ONCE) -> list[slice]:
    """Return slices of n columns."""
    return [slice(start, min(start + width, n)) for start in range(0, n, width)]


def precondition_well(factor: NystromFactor, first: int = FIRST_RANK) -> Preconditioner:
    """Return the Preconditioner of a rank of at least 2 d_eff, or of the largest rank allowed where that is less.

    first : the rank to begin with.
    """
    factor.extend(first)
    while True:
        found = factor.precondition()
        wanted = int(np.ceil(ENOUGH * found.effective_dimension))
        if factor.rank >= min(wanted, factor.most):
            return found
        factor.extend(int(1.1 * wanted))


def choose_landmarks(Z: Rows, n: int, seed: int = 0, among: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers of the n distinct rows with the smallest keyed hashes: the same for any order of the rows.

    among : numbers of the rows to choose from, None for all.
    """
    numbers = np.arange(Z.shape[0]) if among is None else among
    return numbers[np.unique(hash_rounded(Z, seed)[numbers], return_index=True)[1][:n]]


def hash_rounded(Z: Rows, seed: int) -> np.ndarray:
    """Return a keyed hash of each row, (N,) uint64.

    The last digits do not count: of rows of text, scaled, they depend on the splits.
    """
    return np.concatenate([hash_rows(round_values(Z[start:start + AT_ONCE]), seed)
                           for start in range(0, Z.shape[0], AT_ONCE)])


def round_values(Z: Rows) -> Rows:
    """Return rows with their features rounded."""
    rounded = Z.copy()
    values = rounded.data if sp.issparse(rounded) else rounded
    np.round(values, DIGITS, out=values)
    return rounded

"""Approximate a kernel matrix by its columns at landmarks, and make a preconditioner of it.

    Omega ~ B B' = F (R'R)^-1 F',   F = K(Z, landmarks),   R'R = K(landmarks, landmarks): the Nystrom approximation
    M = B B' + tau I,   M^-1 = (I - B (B'B + tau I)^-1 B') / tau,   tau = 1/C

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
from mr_elm.features.kernels import Kernel
from mr_elm.features.landmarks import hash_rows
from mr_elm.parallel import map_in_threads, sum_in_threads
from mr_elm.solvers.cholesky import add_gram, divide, factor_upper
from mr_elm.solvers.kelm import inverse_diagonal
from mr_elm.typing import Floats, Rows

FLAT_SPECTRUM = 1e-12  # of the sum of eigenvalues: a tau below it would be rounding
FIRST_RANK, RANK_FACTOR = 500, 2  # the rank to begin with, and how many times d_eff is enough
ROUNDED_DIGITS = 6  # of scaled features, that tell rows apart
SAMPLE_ROWS = 1000  # rows on which the approximation is judged
STRIP_ROWS = 4096  # rows of Z, or columns of B', that are worked on together
RIDGE_TRIALS = 6  # of a larger multiple of I, each ten times the last
NOT_POSITIVE = (
    'expected a positive kernel, found one that is not positive on landmarks: use another kernel, or scale '
    'the features, whose size may hide how rows differ'
)


@dataclass(frozen=True)
class Preconditioner:
    """Hold M = B B' + tau I ~ Omega + I/C, and estimated eigenvalues of what B B' misses of Omega.

    B : B', (r, N). upper : U with U'U = B'B + tau I, (r, r). tau : 1/C, or more where that would be rounding.
    missed : (m,), each standing for (N - r)/m of all.
    """

    B: Floats
    upper: Floats
    tau: float
    missed: Floats
    __repr__ = one_line

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.upper)

    def apply(self, R: Floats) -> Floats:
        """Return M^-1 R, (N, k)."""
        columns = cut_columns(len(R))
        right = sum_in_threads(lambda some: self.B[:, some] @ R[some], columns)
        inner = linalg.cho_solve((self.upper, False), right)
        product = map_in_threads(lambda some: self.B[:, some].T @ inner, columns)
        return (R - np.concatenate(product)) / self.tau

    @cached_property
    def effective_dimension(self) -> float:
        """Return d_eff = sum l / (l + tau) over the eigenvalues l of Omega, estimated."""
        captured = self.rank - self.tau * inverse_diagonal(self.upper.copy(order='F')).sum()
        return float(captured + (self.missed / (self.missed + self.tau)).sum())


def precondition_well(
    Z: Rows,
    kernel: Kernel,
    C: float,
    most: int,
    scale: Floats | None = None,
    seed: int = 0,
    first: int = FIRST_RANK,
) -> Preconditioner:
    """Return the Preconditioner of s K(Z, Z) s + I/C of a rank of at least 2 d_eff, or of `most` where that is less.

    scale : s, (N,), or None for 1; rows of 0 are no landmarks. first : the rank to begin with.
    """
    most, rank = min(most, Z.shape[0] if scale is None else int((scale != 0).sum())), first
    while True:
        preconditioner = precondition(Z, kernel, C, min(rank, most), scale, seed)
        needed_rank = int(np.ceil(RANK_FACTOR * preconditioner.effective_dimension))
        if preconditioner.rank >= min(needed_rank, most) or preconditioner.rank < min(
            rank, most
        ):  # there may be fewer landmarks
            return preconditioner
        rank = int(1.1 * needed_rank)


def precondition(
    Z: Rows,
    kernel: Kernel,
    C: float,
    rank: int,
    scale: Floats | None = None,
    seed: int = 0,
) -> Preconditioner:
    """Return the Preconditioner of a rank, or of that of all distinct rows. Raises ValueError: kernel not positive."""

    def fill_tile(rows: np.ndarray, columns: np.ndarray, out: Floats) -> Floats:
        compute_kernel(Z[rows], Z[columns], kernel, out)
        if scale is not None:
            out *= scale[rows, None]
            out *= scale[columns]
        return out

    # 1  landmarks, and a sample to judge by, that is not among them where there are others
    n = Z.shape[0]
    if scale is None:
        trained = np.arange(Z.shape[0])
    else:
        trained = np.flatnonzero(scale)
    order = choose_landmarks(Z, rank + SAMPLE_ROWS, seed, trained)
    landmarks = order[:rank]
    if len(order) > rank:
        sample = order[rank:]
    else:
        sample = order[:SAMPLE_ROWS]
    rank = len(landmarks)
    # 2  U'U = K(landmarks, landmarks), B' = U'^-1 K(landmarks, Z)
    upper = factor_core(fill_tile(landmarks, landmarks, np.empty((rank, rank))))
    B = np.empty((rank, n))

    def fill(some: slice) -> None:
        tile = fill_tile(landmarks, np.arange(n)[some], np.empty((rank, some.stop - some.start)))
        B[:, some] = divide(tile, upper)

    map_in_threads(fill, cut_columns(n))
    # 3  the factor of B'B + tau I
    gram = np.zeros((rank, rank), order='F')
    for some in cut_columns(n):
        add_gram(gram, B[:, some].T, 1.0)
    tau = max(1 / C, FLAT_SPECTRUM * float(np.trace(gram)))
    gram[np.diag_indices_from(gram)] += tau
    if factor_upper(gram):
        raise ValueError(NOT_POSITIVE)
    # 4  what is missed, which is nothing at the landmarks
    found = B[:, sample]
    rest = fill_tile(sample, sample, np.empty((len(sample), len(sample)))) - found.T @ found
    missed = np.maximum(np.linalg.eigvalsh(rest), 0.0) * ((len(trained) - rank) / len(sample))
    return Preconditioner(B, gram, tau, missed)


def factor_core(core: Floats) -> Floats:
    """Return U, U'U = core + a multiple of I: as small a one as rounding lets through.

    Raises ValueError when that is not small.
    """
    smallest = np.sqrt(len(core)) * np.finfo(float).eps * np.trace(core)
    for jitter in smallest * 10.0 ** np.arange(RIDGE_TRIALS):
        upper = core.copy(order='F')
        upper[np.diag_indices_from(upper)] += jitter
        if not factor_upper(upper):
            return upper
    raise ValueError(NOT_POSITIVE)


def cut_columns(n: int) -> list[slice]:
    """Return slices of n columns."""
    return [slice(start, min(start + STRIP_ROWS, n)) for start in range(0, n, STRIP_ROWS)]


def choose_landmarks(Z: Rows, n: int, seed: int = 0, among: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers of the n distinct rows with the smallest keyed hashes: the same for any order of the rows.

    among : numbers of the rows to choose from, None for all.
    """
    if among is None:
        numbers = np.arange(Z.shape[0])
    else:
        numbers = among
    return numbers[np.unique(hash_rounded(Z, seed)[numbers], return_index=True)[1][:n]]


def hash_rounded(Z: Rows, seed: int) -> np.ndarray:
    """Return a keyed hash of each row, (N,) uint64.

    The last digits do not count: of rows of text, scaled, they depend on the splits.
    """
    return np.concatenate(
        [hash_rows(round_values(Z[start : start + STRIP_ROWS]), seed) for start in range(0, Z.shape[0], STRIP_ROWS)]
    )


def round_values(Z: Rows) -> Rows:
    """Return rows with their features rounded."""
    rounded = Z.copy()
    if sp.issparse(rounded):
        values = rounded.data
    else:
        values = rounded
    np.round(values, ROUNDED_DIGITS, out=values)
    return rounded

"""Precondition I/nu + E'WE by the same matrix of a sample of the rows, M = I/nu + c E_s'W_s E_s.

c is the number of all rows over that of the sample. With the weighted mean e of the rows of E_s, and their weight w,

    c E_s'W_s E_s = c (E_s - 1 e')'W_s (E_s - 1 e') + v v'        v = sqrt(c w) e

The factor is that of I/nu and the first term; v, whose eigenvalue is thousands of times the next one, follows by
Sherman and Morrison's formula. So float32 is accurate enough: M^-1 only guides conjugate gradients, and begins them.

Source: Rudi et al., FALKON: an optimal large scale kernel method, 2017; ours: any nodes, any sample, row weights, the
rows centred.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from mr_elm import linalg
from mr_elm.errors import NumericalWarning, one_line
from mr_elm.features.hidden import HiddenLayer
from mr_elm.solvers.cholesky import STRIP_WIDTH, add_gram, factor_upper
from mr_elm.solvers.ridge import Penalty
from mr_elm.sums.product import expand_slices
from mr_elm.typing import Floats, Rows

JITTERS = (0.125, 2.0, 2e3, 2e6)  # times the rounding error of the trace: what is added to the diagonal, in turn
USUAL_SCALE = 2.0  # the largest of them that hardly costs passes
TRACE_ROWS = 1000  # rows that tell the trace well enough


@dataclass(frozen=True)
class SampleFactor:
    """Hold the factor U (m, m) of M - v v', in Fortran order, v (m, 1), and (M - v v')^-1 v."""

    U: Floats
    v: Floats
    solved: Floats
    __repr__ = one_line

    @classmethod
    def of(cls, U: Floats, v: Floats) -> 'SampleFactor':
        """Return the SampleFactor of U'U + v v'."""
        return cls(U, v, solve(U, v))

    def apply(self, R: Floats) -> Floats:
        """Return M^-1 R, (m, K)."""
        Y = solve(self.U, R)
        return Y - self.solved @ (self.v.T @ Y / (1 + self.v.T @ self.solved))


def solve(U: Floats, R: Floats) -> Floats:
    """Return (U'U)^-1 R, (m, K)."""
    trsm = linalg.get_blas_funcs('trsm', [U])
    half = trsm(1.0, U, np.asarray(R, U.dtype, order='F'), trans_a=1)
    return trsm(1.0, U, half, overwrite_b=1).astype(float)


@dataclass(frozen=True)
class Sample:
    """Hold the rows of a sample.

    X : (s, d) dense or CSR. T : (s, K), targets, or a 1 where a row has a label. weights : (s,). share : of all rows,
    that these are.
    """

    X: Rows
    T: Floats
    weights: Floats
    share: float
    __repr__ = one_line


def measure_rounding(layer: HiddenLayer, sample: Sample) -> float:
    """Return about what float32 adds to the diagonal of c (E_s - 1 e')'W_s (E_s - 1 e'), by the first rows of a sample.

    Rows whose weights are 0 count as others do: the order of magnitude is enough.
    """
    variances = sum(E.var(axis=0).sum() * len(E) for _, E in expand_slices(layer, sample.X[:TRACE_ROWS]))
    trace = variances / min(TRACE_ROWS, len(sample.weights)) * sample.weights.sum() / sample.share
    return JITTERS[0] * float(np.finfo(np.float32).eps * trace)


@dataclass(frozen=True)
class SampleGram:
    """Hold c (E_s - 1 e')'W_s (E_s - 1 e'), (m, m), and factor I/nu and it for one nu after another, in its place.

    M : in Fortran order; the blocks below the diagonal stay as they are, the others take the factor. diagonal : the
    blocks there. v : (m, 1), see above. ET : c E_s'W_s T, (m, K).
    """

    M: Floats
    diagonal: list[Floats]
    v: Floats
    ET: Floats
    __repr__ = one_line

    @classmethod
    def sum_up(
        cls,
        layer: HiddenLayer,
        sample: Sample,
        bias: bool = True,
        dtype: type = np.float64,
        penalty: Penalty | None = None,
    ) -> 'SampleGram':
        """Return the SampleGram.

        bias : whether the last column of E belongs to the system. penalty : of leaves and other nodes, which is added
        to the matrix once, instead of I/nu.
        """
        m, c, total = layer.n_hidden + bias, 1 / sample.share, sample.weights.sum()
        M: Floats = np.zeros((m, m), dtype, order='F')
        mean, ET = np.zeros(m), np.zeros((m, sample.T.shape[1]))
        for rows, E in expand_slices(layer, sample.X):
            mean += sample.weights[rows] @ E[:, :m] / total
            ET += c * (E[:, :m].T @ (sample.weights[rows, None] * sample.T[rows]))
        for rows, E in expand_slices(layer, sample.X):
            centred = E[:, :m] - mean
            centred *= np.sqrt(sample.weights[rows])[:, None]
            add_gram(M, centred.astype(dtype, copy=False), c)
        if penalty is not None:
            penalty.add_to(M)
            M[-1, -1] += 1.0  # the bias, centred, is 0 in all rows: its 1 is little beside v v'
        for here, right in cut_blocks(m):
            M[right, here] = M[here, right].T
        return cls(M, [M[here, here].copy() for here, _ in cut_blocks(m)], np.sqrt(c * total) * mean[:, None], ET)

    def factor(self, nu: float) -> SampleFactor:
        """Return the SampleFactor of I/nu and this matrix; it lasts until the next one is asked for.

        Warns, and adds to the diagonal, where their sum is not positive in floating point.
        """
        for jitter in JITTERS:
            self.restore()
            diagonal = np.diag_indices_from(self.M)
            self.M[diagonal] += 1 / nu + jitter * np.finfo(self.M.dtype).eps * self.M[diagonal].sum(dtype=float)
            if not factor_upper(self.M):
                return SampleFactor.of(self.M, self.v)
            if jitter >= USUAL_SCALE:
                warnings.warn(
                    'the Gram of the sample is not positive definite in floating point: more is added to its '
                    'diagonal, which costs passes; a smaller nu would be more accurate',
                    NumericalWarning,
                    stacklevel=2,
                )
        raise ValueError("expected a smaller nu: I/nu + E'E of a sample is not positive definite in floating point")

    def restore(self) -> None:
        """Put the matrix in the place of the factor."""
        for (here, right), block in zip(cut_blocks(len(self.M)), self.diagonal, strict=True):
            self.M[here, here] = block
            self.M[here, right] = self.M[right, here].T


def cut_blocks(m: int) -> list[tuple[slice, slice]]:
    """Return (slice of each block on the diagonal, slice of all behind it) of a matrix that `factor_upper` factors."""
    return [
        (slice(start, min(start + STRIP_WIDTH, m)), slice(min(start + STRIP_WIDTH, m), m))
        for start in range(0, m, STRIP_WIDTH)
    ]

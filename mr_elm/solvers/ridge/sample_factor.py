"""Precondition I/nu + E'WE by the same matrix of a sample of the rows, M = I/nu + c E_s'W_s E_s = U'U.

c is the number of all rows over that of the sample. The matrix, (m, m), is the only large one of a training by passes;
it may be of float32, because M^-1 only guides conjugate gradients.

Source: Rudi et al., FALKON: an optimal large scale kernel method, 2017; ours: any nodes, any sample, row weights.
"""
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from mr_elm.errors import NumericalWarning
from mr_elm.features.hidden import HiddenLayer
from mr_elm.solvers.shared.tile_cholesky import WIDTH, add_gram, factor_upper
from mr_elm.sums.product import expand_slices
from mr_elm.typing import Floats, Rows

JITTERS = (2.0, 2e3, 2e6)  # times the rounding error of the largest eigenvalue: what is added to the diagonal, in turn


@dataclass(frozen=True)
class SampleFactor:
    """Hold the factor U (m, m) of M, in Fortran order."""

    U: Floats

    def apply(self, R: Floats) -> Floats:
        """Return M^-1 R, (m, K)."""
        solve = get_blas_funcs('trsm', [self.U])
        half = solve(1.0, self.U, np.asarray(R, self.U.dtype, order='F'), trans_a=1)
        return solve(1.0, self.U, half, overwrite_b=1).astype(float)


@dataclass(frozen=True)
class Sample:
    """Hold the rows of a sample.

    X : (s, d) dense or CSR. weights : (s,). share : of all rows, that these are.
    """

    X: Rows
    weights: Floats
    share: float


@dataclass(frozen=True)
class SampleGram:
    """Hold c E_s'W_s E_s, (m, m) in Fortran order, and factor I/nu and it for one nu after another, in its place.

    M : the blocks below the diagonal stay as they are, the others take the factor. diagonal : the blocks there.
    """

    M: Floats
    diagonal: list[Floats]
    n_threads: int = 1

    @classmethod
    def sum_up(cls, layer: HiddenLayer, sample: Sample, bias: bool = True, dtype: type = np.float64,
               n_threads: int = 1) -> 'SampleGram':
        """Return the SampleGram. The number of threads changes no bit.

        bias : whether the last column of E belongs to the system.
        """
        m = layer.n_hidden + bias
        M: Floats = np.zeros((m, m), dtype, order='F')
        for rows, E in expand_slices(layer, sample.X):
            E *= np.sqrt(sample.weights[rows])[:, None]
            add_gram(M, np.ascontiguousarray(E[:, :m], dtype), 1 / sample.share, n_threads)
        for here, right in cut_blocks(m):
            M[right, here] = M[here, right].T
        return cls(M, [M[here, here].copy() for here, _ in cut_blocks(m)], n_threads)

    def factor(self, nu: float) -> SampleFactor:
        """Return the SampleFactor of I/nu and this matrix; it lasts until the next one is asked for.

        Warns, and adds to the diagonal, where their sum is not positive in floating point.
        """
        for jitter in JITTERS:
            self.restore()
            diagonal = np.diag_indices_from(self.M)
            self.M[diagonal] += 1 / nu + jitter * np.finfo(self.M.dtype).eps * self.M[diagonal].sum(dtype=float)
            if not factor_upper(self.M, self.n_threads):
                return SampleFactor(self.M)
            warnings.warn('the Gram of the sample is not positive definite in floating point: more is added to its '
                          'diagonal, which costs passes; a smaller nu would be more accurate', NumericalWarning,
                          stacklevel=2)
        raise ValueError("expected a smaller nu: I/nu + E'E of a sample is not positive definite in floating point")

    def restore(self) -> None:
        """Put the matrix in the place of the factor."""
        for (here, right), block in zip(cut_blocks(len(self.M)), self.diagonal, strict=True):
            self.M[here, here] = block
            self.M[here, right] = self.M[right, here].T


def cut_blocks(m: int) -> list[tuple[slice, slice]]:
    """Return (slice of each block on the diagonal, slice of all behind it) of a matrix that `factor_upper` factors."""
    return [(slice(start, min(start + WIDTH, m)), slice(min(start + WIDTH, m), m)) for start in range(0, m, WIDTH)]

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
from mr_elm.solvers.shared.tile_cholesky import add_gram, factor_upper
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


def factor_sample(layer: HiddenLayer, sample: Sample, nu: float, bias: bool = True, dtype: type = np.float64,
                  n_threads: int = 1) -> SampleFactor:
    """Return the SampleFactor. The number of threads changes no bit.

    bias : whether the last column of E belongs to the system. Warns, and adds to the diagonal, where M is not positive
    in floating point.
    """
    for jitter in JITTERS:
        M = sum_up_sample(layer, sample, bias, dtype, n_threads)
        diagonal = np.diag_indices_from(M)
        M[diagonal] += 1 / nu + jitter * np.finfo(dtype).eps * M[diagonal].sum(dtype=float)
        if not factor_upper(M, n_threads):
            return SampleFactor(M)
        warnings.warn('the Gram of the sample is not positive definite in floating point: more is added to its '
                      'diagonal, which costs passes; a smaller nu would be more accurate', NumericalWarning,
                      stacklevel=2)
    raise ValueError("expected a smaller nu: I/nu + E'E of a sample is not positive definite in floating point")


def sum_up_sample(layer: HiddenLayer, sample: Sample, bias: bool, dtype: type, n_threads: int) -> Floats:
    """Return c E_s'W_s E_s, (m, m) in Fortran order with the upper triangle filled."""
    m = layer.n_hidden + bias
    M: Floats = np.zeros((m, m), dtype, order='F')
    for rows, E in expand_slices(layer, sample.X):
        E *= np.sqrt(sample.weights[rows])[:, None]
        add_gram(M, np.ascontiguousarray(E[:, :m], dtype), 1 / sample.share, n_threads)
    return M

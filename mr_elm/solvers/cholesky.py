"""Sum up a Gram and factor a positive matrix A = U'U in its place, block row by block row, in threads.

    U_kk'U_kk = A_kk        U_kj = U_kk'^-1 A_kj        A_ij <- A_ij - U_ki'U_kj,  k < i <= j

The products, which take the time, are shared by strips of columns that do not depend on the number of threads.
"""

from mr_elm import linalg
from mr_elm.parallel import map_in_threads, one_blas_thread
from mr_elm.typing import Floats

STRIP_WIDTH = (
    256  # of a block row and of a strip: large enough for a fast product, small enough to share the work evenly
)


def factor_upper(A: Floats) -> int:
    """Put U into the upper triangle of A (N, N), Fortran order; returns 0, or the row where A is not positive.

    A : float64 or float32.
    """
    n = len(A)
    (potrf,) = linalg.get_lapack_funcs(('potrf',), (A,))
    for start in range(0, n, STRIP_WIDTH):
        stop = min(start + STRIP_WIDTH, n)
        with one_blas_thread():
            U, failed = potrf(A[start:stop, start:stop], lower=0, clean=1)
            if failed:
                return start + failed
            A[start:stop, start:stop] = U
            A[start:stop, stop:] = divide(A[start:stop, stop:], U)
        add_strips(A, A[start:stop], -1.0, stop)
    return 0


def divide(F: Floats, U: Floats) -> Floats:
    """Return U'^-1 F for an upper triangle U."""
    trsm = linalg.get_blas_funcs('trsm', (U,))
    return trsm(1.0, U, F, trans_a=1)


def add_gram(A: Floats, E: Floats, factor: float) -> None:
    """Add factor E'E to the upper triangle of A (N, N); E (n, N) of the same type."""
    add_strips(A, E, factor, 0)


def add_strips(A: Floats, E: Floats, factor: float, first: int) -> None:
    """Add factor E'E to the rows and columns of A from the first on, the upper triangle of it."""

    def add_strip(left: int) -> None:
        right = min(left + STRIP_WIDTH, len(A))
        A[first:right, left:right] += factor * (E[:, first:right].T @ E[:, left:right])

    map_in_threads(add_strip, reversed(range(first, len(A), STRIP_WIDTH)))  # the longest first

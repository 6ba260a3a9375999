"""Sum up a Gram, factor a positive matrix A = U'U in its place, block row by block row, and divide by U, in threads.

    U_kk'U_kk = A_kk        U_kj = U_kk'^-1 A_kj        A_ij <- A_ij - U_ki'U_kj,  k < i <= j

Columns are cut into strips that do not depend on the number of threads.
"""
from functools import partial

from mr_elm.parallel import map_in_threads, one_blas_thread
from mr_elm.solvers.shared.unlocked import call, factor_positive
from mr_elm.typing import Floats

WIDTH = 256  # of a block row and of a strip: large enough for a fast product, small enough to share the work evenly


def factor_upper(A: Floats, n_threads: int | None) -> int:
    """Put U into the upper triangle of A (N, N), Fortran order; returns 0, or the row where A is not positive.

    A : float64 or float32.
    """
    n = len(A)
    failed = factor_diagonal(A, 0, min(WIDTH, n))
    for start in range(0, n, WIDTH):
        if failed:
            return failed
        stop = min(start + WIDTH, n)
        strips = [(left, min(left + WIDTH, n)) for left in range(stop, n, WIDTH)][::-1]  # the longest first
        map_in_threads(partial(solve_strip, A, start, stop), strips, n_threads)
        strips = strips[-1:] + strips[:-1]  # the one with the next block on the diagonal first
        failed = sum(map_in_threads(partial(update_strip, A, start, stop), strips, n_threads))
    return failed


def factor_diagonal(A: Floats, start: int, stop: int) -> int:
    """Put U_kk in the place of A_kk, of the rows start to stop; returns 0, or the row where A is not positive."""
    with one_blas_thread():
        failed = factor_positive(A[start:stop, start:stop], b'U')
    return start + failed if failed > 0 else 0


def solve_strip(A: Floats, start: int, stop: int, strip: tuple[int, int]) -> None:
    """Turn A_kj into U_kj; k are the rows start to stop, j the columns of the strip."""
    (left, right), n = strip, len(A)
    call('trsm', b'L', b'U', b'T', b'N', stop - start, right - left, 1.0, A[start:, start:], n, A[start:, left:], n)


def update_strip(A: Floats, start: int, stop: int, strip: tuple[int, int]) -> int:
    """Subtract U_ki'U_kj from A_ij for all i up to j, and factor the next block on the diagonal, if it is in the strip.

    Other threads update other strips meanwhile. Returns 0, or the row where A is not positive.
    """
    (left, right), n = strip, len(A)
    call('gemm', b'T', b'N', right - stop, right - left, stop - start, -1.0, A[start:, stop:], n, A[start:, left:], n,
         1.0, A[stop:, left:], n)
    return factor_diagonal(A, left, right) if left == stop else 0


def divide_columns(F: Floats, U: Floats) -> None:
    """Put U'^-1 F in the place of F (N, m), some columns of an array row by row; U (N, N), Fortran order, upper."""
    n, m = F.shape
    call('trsm', b'R', b'U', b'N', b'N', m, n, 1.0, U, n, F, F.strides[0] // F.itemsize)


def add_gram(A: Floats, E: Floats, factor: float, n_threads: int) -> None:
    """Add factor E'E to the upper triangle of A (N, N), Fortran order; E (n, N) of the same type, row by row."""
    n = len(A)
    strips = [(left, min(left + WIDTH, n)) for left in range(0, n, WIDTH)][::-1]  # the longest first
    map_in_threads(partial(add_strip, A, E, factor), strips, n_threads)


def add_strip(A: Floats, E: Floats, factor: float, strip: tuple[int, int]) -> None:
    """Add factor E'E to the columns of a strip of A, down to the diagonal."""
    (left, right), n = strip, len(A)
    call('gemm', b'N', b'T', right, right - left, len(E), factor, E, n, E[:, left:], n, 1.0, A[:, left:], n)

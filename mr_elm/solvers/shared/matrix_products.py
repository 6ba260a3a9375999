"""Compute what one row of U or V gives in Algorithm 2: A = (V S^-1) (U'T), whose products are sums over entries.

    printed (line 11):  V: Z[i] T[i]       U, fed rows of U: Z[i] T[i] under the key (U, row)
    corrected:          V: Z[i] / S[i]     U, fed rows of U': Z[i] T[i] under the key (U, row)

A row of U' is a column of U; with rows of U itself the pair is (U, i): Z[i] T[row] instead. S, the singular values of
I/C + Omega, and T come from the distributed cache.

Source: Zhao et al., Kernelized extreme learning machine in distributed environment, 2015, Algorithm 2.
"""
from collections.abc import Iterator

from mr_elm.typing import Floats

U, V = 'U', 'V'
Entry = tuple[str, int, int]  # matrix, row, column of the product


def multiply_entries(matrix: str, row: int, Z: Floats, S: Floats, T: Floats) -> Iterator[tuple[Entry, float]]:
    """Yield ((matrix, row, column), value) for one row Z of U' or of V, entry by entry.

    S (n,) and T (N, K) as in the module; Z (N,) of U', (n,) of V.
    """
    for i, z in enumerate(Z):
        if matrix == V:
            yield (V, row, i), z / S[i]
        else:
            for k in range(T.shape[1]):
                yield (U, row, k), z * T[i, k]


def multiply_block(matrix: str, Z: Floats, S: Floats, T: Floats) -> Floats:
    """Return what some rows Z of U' or of V give, as one array: U'T, (m, K), or V S^-1, (m, n)."""
    return Z @ T if matrix == U else Z / S

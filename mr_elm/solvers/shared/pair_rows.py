"""Serve rows of Q of two classes from kernel values that pairs share: a row is copied when a step first needs it.

Few rows of a machine are ever needed. To copy them all takes longer than to solve an easy machine.
"""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from mr_elm.compiled import jit
from mr_elm.typing import Floats

fast = jit(fastmath=True)


class PairRows(NamedTuple):
    """Hold the kernel values of m rows of one class, whose targets are -1, and of n of another.

    Q : (m + n, m + n), to be filled. ready : (m + n,) bool, which rows of Q are filled.
    own : (m, m), other : (n, n), cross : (m, n), values of K. shift : what is added to them.
    ridge : (m + n,), what is added to the diagonal.
    """

    Q: np.ndarray
    ready: np.ndarray
    own: np.ndarray
    other: np.ndarray
    cross: np.ndarray
    shift: float
    ridge: Floats


@fast
def fetch_row(rows: PairRows, i: int) -> np.ndarray:
    """Return row i of Q."""
    out, m = rows.Q[i], len(rows.own)
    if rows.ready[i]:
        return out
    own, cross, other, shift = rows.own, rows.cross, rows.other, rows.shift
    for c in range(m):
        out[c] = own[i, c] + shift if i < m else -(cross[c, i - m] + shift)
    for c in range(len(other)):
        out[m + c] = -(cross[i, c] + shift) if i < m else other[i - m, c] + shift
    out[i] += rows.ridge[i]
    rows.ready[i] = True
    return out


def take_row(Q: Any, i: int) -> np.ndarray:
    """Return row i of a matrix, an array or PairRows."""
    return Q[i] if isinstance(Q, np.ndarray) else fetch_row(Q, i)


@overload(take_row, strict=False)  # annotations differ
def _compile_take_row(Q: Any, i: int) -> Callable:
    if isinstance(Q, types.Array):
        return lambda Q, i: Q[i]
    return lambda Q, i: fetch_row(Q, i)

"""Serve rows of Q of two classes from kernel values that pairs share: a row is copied when a step first needs it.

Few rows of a machine are ever needed. To copy them all takes longer than to solve an easy machine.
"""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from mr_elm.compiled import INNER, jit
from mr_elm.typing import Floats

inner = jit(fastmath=True, **INNER)


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


@inner
def fill_row(rows: PairRows, i: int) -> None:
    """Fill row i of Q."""
    out, m, shift = rows.Q[i], len(rows.own), rows.shift
    if i < m:
        own, cross = rows.own[i], rows.cross[i]
        for c in range(m):
            out[c] = own[c] + shift
        for c in range(len(cross)):
            out[m + c] = -(cross[c] + shift)
    else:
        other = rows.other[i - m]
        for c in range(m):
            out[c] = -(rows.cross[c, i - m] + shift)
        for c in range(len(other)):
            out[m + c] = other[c] + shift
    out[i] += rows.ridge[i]
    rows.ready[i] = True


def take_row(Q: Any, i: int) -> np.ndarray:
    """Return row i of a matrix, an array or PairRows."""
    raise NotImplementedError('compiled code only')


@overload(take_row, inline='always', strict=False)  # annotations differ
def _compile_take_row(Q: Any, i: int) -> Callable:
    if isinstance(Q, types.Array):
        return lambda Q, i: Q[i]

    def take(Q: PairRows, i: int) -> np.ndarray:
        if not Q.ready[i]:
            fill_row(Q, i)
        return Q.Q[i]
    return take

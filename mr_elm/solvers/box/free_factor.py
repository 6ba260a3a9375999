"""Keep a Cholesky factor of Q_SS while S changes: a variable in or out costs |S|^2, not |S|^3 / 3."""
from collections.abc import Callable

import numpy as np

from mr_elm import linalg
from mr_elm.compiled import jit
from mr_elm.typing import Floats

strict = jit()
REBUILD_SHARE = 0.1  # with more than this share of S changed, a new factorisation is cheaper


@strict
def _forward(L: Floats, n: int, right: Floats) -> Floats:
    """Return y with L y = right, from the leading n rows."""
    y = np.empty(n)
    for i in range(n):
        y[i] = (right[i] - np.dot(L[i, :i], y[:i])) / L[i, i]
    return y


@strict
def _drop_row(L: Floats, n: int, k: int) -> None:
    """Delete row k of the leading n x n factor: what is below moves up and takes in the column that leaves."""
    m = n - 1 - k
    gone = np.empty(m)
    for i in range(k + 1, n):  # number by number: slices take seconds to compile
        gone[i - k - 1] = L[i, k]
        for j in range(k):
            L[i - 1, j] = L[i, j]
        for j in range(k + 1, i + 1):
            L[i - 1, j - 1] = L[i, j]
    for j in range(m):
        d, x = L[k + j, k + j], gone[j]
        r = np.sqrt(d * d + x * x)
        c, s = r / d, x / d
        L[k + j, k + j] = r
        for i in range(j + 1, m):
            L[k + i, k + j] = (L[k + i, k + j] + s * gone[i]) / c
            gone[i] = c * gone[i] - s * L[k + i, k + j]


class FreeFactor:
    """Hold the members of S, in the factor's order, and L with L L' = Q_SS + ridge I.

    block : function of indices, returns Q[indices, indices] in float64.
    ridge : first value; raised tenfold whenever Q_SS does not factorise.
    """

    def __init__(self, block: Callable[[np.ndarray], Floats], ridge: float) -> None:
        self.block, self.ridge = block, ridge
        self.members = np.empty(0, np.int64)
        self.matrix = np.empty((0, 0))
        self._L = np.empty((0, 0))

    def follow(self, wanted: np.ndarray) -> None:
        """Make S the indices wanted, by updates when few change and anew when many do."""
        leaving = np.flatnonzero(~np.isin(self.members, wanted))
        entering = wanted[~np.isin(wanted, self.members)]
        if len(leaving) + len(entering) > 1 + REBUILD_SHARE * len(wanted):
            return self._rebuild(wanted)
        for k in leaving[::-1]:
            _drop_row(self._L, len(self.members), k)
            self.members = np.delete(self.members, k)
        for i in entering:
            if not self._enter(i):
                return self._rebuild(np.append(self.members, entering[np.flatnonzero(entering == i)[0]:]))
        self.matrix = self.block(self.members)

    def _enter(self, i: int) -> bool:
        n = len(self.members)
        members = np.append(self.members, i)
        column = self.block(members)[-1]
        if n == len(self._L):
            grown = np.zeros((2 * n + 16, 2 * n + 16))
            grown[:n, :n] = self._L[:n, :n]
            self._L = grown
        y = _forward(self._L, n, column[:n])
        left = column[n] + self.ridge - y @ y
        if left <= 0.5 * self.ridge:
            return False
        self._L[n, :n], self._L[n, n] = y, np.sqrt(left)
        self.members = members
        return True

    def _rebuild(self, wanted: np.ndarray) -> None:
        self.members, self.matrix = wanted, self.block(wanted)
        while True:
            try:
                lifted = self.matrix + self.ridge * np.eye(len(wanted))
                self._L = np.ascontiguousarray(linalg.cholesky(lifted, lower=True, check_finite=False))
                return
            except np.linalg.LinAlgError:
                self.ridge *= 10

    def solve(self, right: Floats) -> Floats:
        """Return (Q_SS + ridge I)^-1 right, improved once by the residual of Q_SS itself."""
        n = len(self.members)
        factor = self._L[:n, :n], True
        solution = linalg.cho_solve(factor, right, check_finite=False)
        return solution + linalg.cho_solve(factor, right - self.matrix @ solution, check_finite=False)

"""Bound what a training that chooses its own nodes may cost."""
import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from mr_elm.arithmetic import one_thread

SHARE = 0.4  # of a budget of seconds, for the sums of all rows and what they are solved for
SOLVES = 4  # factors of L^3 / 3, and shuffling the sums, in L^3


@dataclass(frozen=True)
class Budget:
    """Bound a training: at most so many nodes, and about so many seconds of one core where that is said."""

    nodes: int = 3000
    seconds: float | None = None

    def largest(self, n_rows: int) -> int:
        """Return the largest L: not above the rows, and what it costs must fit into the seconds on this machine."""
        sizes = np.arange(50, max(51, min(self.nodes, n_rows) + 1))
        if self.seconds is None:
            return min(self.nodes, int(sizes[-1]))
        seconds = sizes**2 * (n_rows + SOLVES * sizes) / measure_speed()
        return min(self.nodes, int(sizes[max(int(np.searchsorted(seconds, SHARE * self.seconds)) - 1, 0)]))


def measure_speed() -> float:
    """Return the multiplications a second of this machine's symmetric update, on one thread."""
    E = np.ones((2000, 500), order='F')
    with one_thread():
        dsyrk(1.0, E[:100].T.copy(order='F'))
        start = time.perf_counter()
        dsyrk(1.0, E, trans=1)
        return E.size * E.shape[1] / (time.perf_counter() - start)

"""Bound what a training that chooses its own nodes may cost."""
from dataclasses import dataclass

import numpy as np

SPEED = 1e10  # multiplications a second of a core: a reference, so that a model does not depend on the machine
SHARE = 0.4  # of a budget of seconds, for the sums of all rows and what they are solved for
SOLVES = 4  # factors of L^3 / 3, and shuffling the sums, in L^3


@dataclass(frozen=True)
class Budget:
    """Bound a training: at most so many nodes, and about so many seconds of one core where that is said."""

    nodes: int = 3000
    seconds: float | None = None

    def largest(self, n_rows: int, n_machines: int = 1) -> int:
        """Return the largest L of each machine: what all of them cost must fit into the seconds."""
        if self.seconds is None:
            return self.nodes
        sizes = np.arange(50, max(51, self.nodes + 1))
        seconds = n_machines * sizes**2 * (n_rows + SOLVES * sizes) / SPEED
        return min(self.nodes, int(sizes[max(int(np.searchsorted(seconds, SHARE * self.seconds)) - 1, 0)]))

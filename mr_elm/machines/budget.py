"""Bound what a training that chooses its own nodes may cost."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mr_elm.features.single import FEWEST_NODES
from mr_elm.machines.passes import SAMPLE
from mr_elm.typing import Floats

SPEED = 1e10  # multiplications a second of a core: a reference, so that a model does not depend on the machine
SHARE = 0.4  # of a budget of seconds, for the sums of all rows and what they are solved for
SOLVES = 4  # factors of L^3 / 3, and shuffling the sums, in L^3
MOST_BY_GRAM, MOST_BY_PASSES = 5000, 20000  # nodes
MOST_SUMS = 5e7  # L^2 of all machines by a Gram: the model keeps them
PASSES = 15  # which a training on landmarks is expected to take at most; the last one is of float64
EXPONENTIAL = 20  # multiplications that take as long as one value of a kernel
# How long a multiplication takes, in those of a Gram, L^2 for each row. Measured in one run on 8,000 landmarks.
SINGLE, DOUBLE = 1.4, 4.0  # in a pass of float32, and of float64
SAMPLED, FACTORED = 0.5, 0.7  # in the Gram of a sample, L^2 for each row, and in its factor, L^3 / 3


@dataclass(frozen=True)
class Budget:
    """Bound a training: at most so many nodes, or about so many seconds of one core. None where nobody has said."""

    nodes: int | None = None
    seconds: float | None = None

    @property
    def said(self) -> bool:
        """Tell whether a user has said what the training may cost."""
        return self.nodes is not None or self.seconds is not None

    def largest(self, n_rows: int, n_machines: int = 1) -> int:
        """Return the largest L of each machine by a Gram: what all of them cost must fit into the seconds."""
        most = min(MOST_BY_GRAM, int(np.sqrt(MOST_SUMS / n_machines)))
        return self._fit(min(self.nodes or most, most), lambda L: n_machines * L**2 * (n_rows + SOLVES * L))

    def largest_by_passes(self, n_rows: int, width: int, n_machines: int = 1) -> int:
        """Return the largest L of each machine on landmarks by passes.

        width : multiplications of a row and a landmark in a pass, for the distance and the products with vectors.
        """
        def count(L: Floats) -> Floats:
            rough = np.where(L < FEWEST_NODES, DOUBLE, SINGLE)
            passes = n_rows * (width + EXPONENTIAL) * ((PASSES - 1) * rough + DOUBLE)
            return n_machines * L * (passes + (SAMPLED * SAMPLE['nystrom'] + FACTORED / 3) * L**2)

        return self._fit(min(self.nodes or MOST_BY_PASSES, MOST_BY_PASSES), count)

    def _fit(self, most: int, count: Callable[[Floats], Floats]) -> int:
        """Return the largest L up to `most` that the seconds allow. count : multiplications for some L."""
        if self.seconds is None:
            return most
        sizes = np.arange(50, max(51, most + 1))
        return min(most, int(sizes[count(sizes.astype(float)) <= SHARE * self.seconds * SPEED].max(initial=50)))

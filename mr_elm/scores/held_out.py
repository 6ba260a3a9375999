"""Score decision values of held-out rows by sums that do not depend on the order of the rows."""

from dataclasses import dataclass

import numpy as np

from mr_elm.rows.blocks import fill_weights
from mr_elm.solvers.multiclass import ONE_VS_ALL, class_numbers, class_targets
from mr_elm.sums.exact_sum import STEP_BITS, add_values, choose_step
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats, RowWeights


@dataclass(frozen=True)
class HeldOutScore:
    """Hold what held-out rows say of a machine.

    error : squared error, summed over rows and targets. weight : of the rows. correct : how many rows are labelled
    right, 0 for a regression. total : how many there are.
    """

    error: float
    weight: float
    correct: float
    total: float


class HeldOutSums:
    """Accumulate one task's part of a HeldOutScore.

    B : (m, K), output weights. n_classes : 0 for a regression. steps : GridSteps of the sums of these rows, which bound
    |E| and targets, and have the origin of these. pair : (2, 4), the high and low part of the four numbers.
    """

    def __init__(self, B: Floats, n_classes: int, steps: GridSteps) -> None:
        self.B, self.n_classes, self.grid, self.pair = B, n_classes, steps, np.zeros((2, 4))
        squares, weights = (2.0**STEP_BITS * step for step in (steps.square, steps.gram))  # bounds; |E| may be 1
        errors = 2 * B.shape[1] * (squares + weights * float(np.abs(B).sum(axis=0).max()) ** 2)
        self.steps = np.array([choose_step(errors), choose_step(weights), 1.0, 1.0])

    def add(self, E: Floats, numbers: np.ndarray, weights: RowWeights = None) -> None:
        """Add rows of E, (n, m), with class numbers or targets (n,), and weights (n,)."""
        values, weights = E @ self.B, fill_weights(weights, len(E))
        T = self.grid.shift(class_targets(numbers, self.n_classes))
        errors = ((values - T) ** 2).sum(axis=1)
        correct = 0
        if self.n_classes:
            correct = (class_numbers(values, self.n_classes, ONE_VS_ALL) == numbers).sum()
        add_values(self.pair[0], self.pair[1], np.array([weights @ errors, weights.sum(), correct, len(E)]), self.steps)

"""Multiply E'E with vectors without ever forming it, E'(E D), block by block and exactly: a pass of a solver.

E = [Phi(X), -e] has m = L + 1 columns. Rows are expanded a few at a time, so that memory is bounded whatever L is.
"""

from collections.abc import Iterator

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.rows.blocks import Block, take_rows, take_weights, widen
from mr_elm.sums.exact_sum import STEP_BITS, add_values, choose_step
from mr_elm.sums.gram import GridSteps, TargetSums, expand
from mr_elm.typing import Floats, Rows, RowWeights

EXPANDED_NUMBERS = 1 << 22  # numbers of E in memory together: a few rows, however many nodes there are


def expand_slices(layer: HiddenLayer, X: Rows) -> Iterator[tuple[slice, Floats]]:
    """Yield (slice of the rows, E of these rows), each in the same memory: 32 MB, or one row."""
    step = max(1, EXPANDED_NUMBERS // (layer.n_hidden + 1))
    buffer = np.empty(min(step, X.shape[0]) * (layer.n_hidden + 1))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows, expand(layer, X[rows], buffer=buffer)


class ProductSum:
    """Accumulate one task's part of E'W E D; W holds the weights of the rows.

    D : (m, K). steps : GridSteps of the sums of these rows, which bound |E|.
    high, low : (m, K), the parts of the exact sum.
    """

    def __init__(self, D: Floats, steps: GridSteps) -> None:
        self.D, self.step = D, choose_step(steps.gram * 2.0**STEP_BITS * float(np.abs(D).sum(axis=0).max(initial=0)))
        self.high, self.low = np.zeros((2, *D.shape))
        self.n_rows = 0

    def add(self, E: Floats, row_weights: RowWeights = None) -> None:
        """Add rows of E, (n, m)."""
        product = E @ self.D
        if row_weights is not None:
            product *= row_weights[:, None]
        add_values(self.high, self.low, E.T @ product, self.step)
        self.n_rows += len(E)


class PassSums:
    """Accumulate what a task finds in one pass: E'W E D, and E'T where it is wanted.

    layer : HiddenLayer. D : (m, K). steps : GridSteps. targets : TargetSums for E'T, or None.
    """

    def __init__(self, layer: HiddenLayer, D: Floats, steps: GridSteps, targets: TargetSums | None) -> None:
        self.layer, self.product, self.targets = layer, ProductSum(D, steps), targets

    def expand(self, block: Block, weights: RowWeights) -> Iterator[tuple[Floats, Block, Floats | None]]:
        """Yield (rows of E, the same rows of a block, their weights), a few rows at a time."""
        for rows, E in expand_slices(self.layer, widen(block.X, self.layer.n_features)):
            yield E, take_rows(block, rows), take_weights(weights, rows)

    def add(self, block: Block, weights: RowWeights = None) -> None:
        """Add rows. weights : (n,), or None when all count once."""
        for E, part, part_weights in self.expand(block, weights):
            self.product.add(E, part_weights)
            if self.targets is not None:
                self.targets.add_targets(E, part, part_weights)

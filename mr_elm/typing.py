"""Name the types of the public interface."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
RowWeights = Floats | None  # (n,), None where every row counts once
Rows = Any  # (n, d): an array, a data frame or a CSR matrix
Labels = Any  # (n,): an array, a list or a column
Weights = ArrayLike | None
ClassWeight = dict | str | None  # what a class weighs, or balanced

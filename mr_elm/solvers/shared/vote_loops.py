"""Count the votes of pairs of classes, compiled; see `multiclass`."""
import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

ROWS_AT_ONCE = 128  # whose votes and sums of 100 classes stay in the second cache


@jit()
def add_votes(columns: Floats, votes: np.ndarray, sums: Floats, found: np.ndarray) -> None:
    """Add the votes of each class, and its decision values, to those given; fill in the class of each row.

    columns : decision values of pairs, (P, n). votes, sums : (K, n). found : (n,), of most votes, then the largest sum,
    then the first.
    """
    n = len(found)
    for start in range(0, n, ROWS_AT_ONCE):
        stop, p = min(start + ROWS_AT_ONCE, n), 0
        for i in range(len(votes)):
            for j in range(i + 1, len(votes)):
                values, first, second = columns[p, start:stop], sums[i, start:stop], sums[j, start:stop]
                for r in range(stop - start):
                    first[r] -= values[r]
                    second[r] += values[r]
                first, second = votes[i, start:stop], votes[j, start:stop]
                for r in range(stop - start):
                    won = 1.0 if values[r] > 0 else 0.0
                    first[r] += 1.0 - won
                    second[r] += won
                p += 1
        for r in range(start, stop):
            best = 0
            for k in range(1, len(votes)):
                if votes[k, r] > votes[best, r] or (votes[k, r] == votes[best, r] and sums[k, r] > sums[best, r]):
                    best = k
            found[r] = best

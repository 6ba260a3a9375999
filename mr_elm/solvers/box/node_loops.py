"""Pass over explicit node outputs by dual coordinate descent, compiled; letters as in `node_dual`."""
import numpy as np

from mr_elm.compiled import jit
from mr_elm.typing import Floats

fast = jit(fastmath=True)


@fast
def _change(score: float, t: float, alpha: float, upper: float, square: float) -> float:
    """Return the clipped one-variable step from f(x_i) = score."""
    g = t * score - 1.0
    if square <= 0.0:  # f is 0 on this row whatever beta is: the more the better
        return upper - alpha
    return min(max(alpha - g / square, 0.0), upper) - alpha


@fast
def dense_sweep(H: np.ndarray, order: np.ndarray, t: Floats, upper: Floats, squares: Floats, alpha: Floats,
                beta: Floats) -> None:
    """Step over the rows of a dense H in this order; alpha and beta change in place."""
    L = len(beta)
    for i in order:
        row, score = H[i], 0.0
        for j in range(L):
            score += row[j] * beta[j]
        s = _change(score, t[i], alpha[i], upper[i], squares[i])
        if s != 0.0:
            alpha[i] += s
            s *= t[i]
            for j in range(L):
                beta[j] += s * row[j]


@fast
def sparse_sweep(data: Floats, columns: np.ndarray, starts: np.ndarray, order: np.ndarray, t: Floats, upper: Floats,
                 squares: Floats, alpha: Floats, beta: Floats) -> None:
    """Step over the rows of a CSR H in this order; alpha and beta change in place."""
    for i in order:
        score = 0.0
        for k in range(starts[i], starts[i + 1]):
            score += data[k] * beta[columns[k]]
        s = _change(score, t[i], alpha[i], upper[i], squares[i])
        if s != 0.0:
            alpha[i] += s
            s *= t[i]
            for k in range(starts[i], starts[i + 1]):
                beta[columns[k]] += s * data[k]

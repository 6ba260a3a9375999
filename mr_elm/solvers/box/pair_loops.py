"""Solve the machines of all pairs of classes, compiled; letters as in `box_qp`.

Rows are in class order: class i has the rows starts[i] to starts[i + 1]. The machine of a pair sees the rows of i,
whose targets are -1, then those of j > i; in flat arrays, what is machine p's begins at offsets[p].
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import jit
from mr_elm.solvers.box.whole_loops import minimise
from mr_elm.solvers.shared.pair_rows import PairRows, fetch_row
from mr_elm.typing import Floats

fast = jit(fastmath=True)
EXACT_UP_TO, EXACT = 100, 1e-11  # machines of so few rows are solved to rounding: it costs nothing
COPIED = 256  # rows, up to which all rows of Q are copied at once: glass takes 0.8 ms so, and 1.9 ms row by row
SHARE = 0.3  # of eps, to which the others are solved


class PairProblem(NamedTuple):
    """State the machines: Q_ij = t_i t_j (K_ij + shift) + delta_ij ridge_i, 0 <= a_i <= upper_i.

    starts : (K + 1,). offsets : (P + 1,). upper, ridge : flat.
    most_rows : machines of more rows are left out. eps, limit : where to stop, and after how many rounds at the latest.
    """

    starts: np.ndarray
    offsets: np.ndarray
    upper: Floats
    ridge: Floats
    shift: float
    most_rows: int
    eps: float
    limit: int


@fast
def machine_number(i: int, j: int, n_classes: int) -> int:
    """Return the number of the machine of classes i < j."""
    return i * n_classes - i * (i + 1) // 2 + j - i - 1


@fast
def list_members(starts: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, Floats]:
    """Return (rows, targets) of all variables, flat."""
    members, targets = np.empty(offsets[-1], np.int64), np.empty(offsets[-1])
    n_classes, at = len(starts) - 1, 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            for r in range(starts[i], starts[i + 1]):
                members[at], targets[at] = r, -1.0
                at += 1
            for r in range(starts[j], starts[j + 1]):
                members[at], targets[at] = r, 1.0
                at += 1
    return members, targets


@fast
def solve_pairs(tile: np.ndarray, places: tuple, squares: tuple, problem: PairProblem, found: tuple,
                buffers: tuple) -> None:
    """Solve the machines of one tile of K: classes i of its rows with classes j > i of its columns.

    places : (first, last) class of the rows, then of the columns; `last` is not in the tile.
    squares : the tile of each class with itself, flat, and where each begins.
    found : alpha and gradient, flat, violation and rounds, (P,), to be filled in.
    buffers : two arrays of most_rows^2 values.
    """
    (i_first, i_last), (j_first, j_last) = places
    (blocks, begins), (alpha, gradient, violation, rounds) = squares, found
    starts, n_classes = problem.starts, len(problem.starts) - 1
    top, left = starts[i_first], starts[j_first]
    for i in range(i_first, i_last):
        for j in range(max(i + 1, j_first), j_last):
            m, n = starts[i + 1] - starts[i], starts[j + 1] - starts[j]
            p, size = machine_number(i, j, n_classes), m + n
            if size > problem.most_rows:
                continue
            Q, o = buffers[0][:size * size].reshape(size, size), problem.offsets[p]
            own = blocks[begins[i]:begins[i + 1]].reshape(m, m)
            other = blocks[begins[j]:begins[j + 1]].reshape(n, n)
            cross = tile[starts[i] - top:starts[i + 1] - top, starts[j] - left:starts[j + 1] - left]
            ridge = problem.ridge[o:o + size]
            rows = PairRows(Q, np.zeros(size, np.bool_), own, other, cross, problem.shift, ridge)
            diagonal = np.concatenate((np.diag(own), np.diag(other))) + problem.shift + ridge
            tolerance = min(problem.eps, EXACT) if size <= EXACT_UP_TO else SHARE * problem.eps
            state = alpha[o:o + size], gradient[o:o + size], problem.upper[o:o + size]
            if size <= COPIED:
                for k in range(size):
                    fetch_row(rows, k)
                rounds[p], violation[p] = minimise(Q, diagonal, *state, tolerance, problem.limit, buffers[1])
            else:
                rounds[p], violation[p] = minimise(rows, diagonal, *state, tolerance, problem.limit, buffers[1])

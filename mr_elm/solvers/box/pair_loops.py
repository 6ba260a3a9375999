"""Solve the machines of all pairs of classes, compiled; letters as in `box_qp`.

Rows are in class order. The machine of a pair sees the rows of class i, whose targets are -1, then those of j > i.
Each loop is called at one place, in few layers, or is written into it by `inline`: LLVM compiles a loop anew for every
layer above it.
"""
from typing import NamedTuple

import numpy as np

from mr_elm.compiled import inline, jit
from mr_elm.solvers.box.whole_loops import (
    DIAGONAL,
    INVERSE,
    UPPER,
    A,
    G,
    PairRows,
    count_free,
    fill_row,
    fill_square,
    find_face,
    move,
    step_by_newton,
    take_face,
)
from mr_elm.solvers.shared.loops import OUT_OF_STEPS, SETTLED, make_chooser, pair_steps, round_variables
from mr_elm.typing import Floats

fast = jit(fastmath=True)
# Measured in processor seconds on one thread, as the geometric mean over the settings of gamma and C of `benchmarks`.
EXACT_UP_TO, EXACT = 100, 1e-11  # machines of so few rows are solved to rounding, as by `block_rule`
SHARE = 0.3   # of eps, to which the others are solved: the new gradient must not be above eps
FEW = 128     # variables, over all of which steps are so cheap that to choose between them does not pay. They begin
# with one pair step a variable: 4 take a fifth longer, a half 2 % longer (10 sets of machines of 30 to 180 rows)
FIRST = 4     # where variables are more, the first step for each so many of them shows which matter
SWEEPS = 2    # pair steps a variable after each Newton step; 4 take 2 % longer (the same sets)
WORTH = 50    # variables: for each so many, one more pair step a variable is cheap beside Newton's factorisation
MOST_FACE = 600   # free variables; beyond, `block_rule` and its LAPACK in float32 is faster (wine-quality-white)
LARGE, MANY = 1200, 2 * MOST_FACE // 3  # a machine of more rows is left as soon as so many variables are free
ROUNDING = 4e-16  # of the sum of a: what rounding makes of a gradient


class PairProblem(NamedTuple):
    """State the machines: Q_ij = t_i t_j (K_ij + shift) + delta_ij ridge_i, 0 <= a_i <= upper_i.

    squares : the kernel values of each class with itself, flat; those of two classes are Q of their machine.
    features, known, targets, exponential : of machines whose kernel values are computed from features, see `PairRows`.
    ridge : of all variables of all machines, flat. eps, limit : where to stop, and after how many rounds at the latest.
    """

    squares: Floats
    features: np.ndarray
    known: np.ndarray
    targets: Floats
    exponential: tuple[float, bool]
    ridge: Floats
    shift: float
    eps: float
    limit: int


@inline
def view_rows(tile: np.ndarray, task: np.ndarray, problem: PairProblem, values: Floats, ready: np.ndarray) -> PairRows:
    """Return the rows of a machine, to be filled; values : room for them.

    ready : room for as many; of a single machine, which rows of Q are in values already.
    """
    size, m, n, o, first, second, top, left = (
        task[1] + task[2], task[1], task[2], task[3], task[4], task[5], task[6], task[7])
    if len(problem.targets):
        m, n = 0, 0
    else:
        ready[:size] = False
    return PairRows(values[:size**2].reshape(size, size), ready[:size],
                    problem.squares[first:first + m * m].reshape(m, m),
                    problem.squares[second:second + n * n].reshape(n, n), tile[top:top + m, left:left + n],
                    problem.features, problem.known, top, left, problem.targets, problem.exponential, problem.shift,
                    problem.ridge[o:o + size])


@inline
def certify(Q: np.ndarray, a: Floats, g: Floats, upper: Floats, face: np.ndarray) -> float:
    """Compute the gradient anew; return the largest violation."""
    for i in range(len(a)):
        g[i] = -1.0
    for i in range(len(a)):
        row, s = Q[i], a[i]
        if s != 0:
            for j in range(len(g)):
                g[j] += s * row[j]
    return find_face(a, g, upper, 0.0, face)[1]


@fast
def solve_pairs(tile: np.ndarray, tasks: np.ndarray, problem: PairProblem, state: Floats, found: tuple,
                buffers: tuple, fresh: np.ndarray) -> None:
    """Solve some machines, in place: pair steps over all variables show which matter; then steps over the face alone.

    tile : values of K. tasks : as `PairPlan.list_tasks` says. state : (5, all variables), see `whole_loops`.
    found : (violation, of a new gradient, rounds), (P,) each.
    buffers : three arrays, (most rows^2,), of the largest machine. fresh : (2, most rows) of True; for a single machine
        the first line says which rows of Q are in its buffer already.
    """
    n = fresh.shape[1]
    part, face, chooser = np.empty((10, n)), np.empty(n, np.int64), make_chooser(n)
    for task in range(len(tasks)):
        p, o, size = tasks[task, 0], tasks[task, 3], tasks[task, 1] + tasks[task, 2]
        rows = view_rows(tile, tasks[task], problem, buffers[0], fresh[0])
        a, g, upper = state[A, o:o + size], state[G, o:o + size], state[UPPER, o:o + size]
        tolerance = min(problem.eps, EXACT) if size <= EXACT_UP_TO else SHARE * problem.eps
        block, ready, here, first, last = rows.Q, rows.ready, state, o, o + size
        width, whole, newton, made, most = size, True, size <= FEW, 0, size if size <= FEW else size // FIRST
        filled, wanted, said = 0, 0, OUT_OF_STEPS
        if not len(problem.features):
            fill_square(rows)
        while True:
            for r in range(wanted):
                if not rows.ready[face[r]]:
                    fill_row(rows, face[r])
            if not whole:
                block, ready, here = buffers[1][:width * width].reshape(width, width), fresh[1], part
                first, last = 0, width
                take_face(rows.Q, face[:width], state, o, block, part)
            x, slope, top = here[A, first:last], here[G, first:last], here[UPPER, first:last]
            if newton and not whole:
                step_by_newton(block, x, slope, top, buffers[2][:width * width].reshape(width, width), part[5:])
            diagonal, inverse = here[DIAGONAL, first:last], here[INVERSE, first:last]
            if said < 0:  # else a row was missing: the steps go on where they were
                round_variables(chooser, x, slope, top, diagonal, inverse)
            steps, said = pair_steps(block, ready, x, slope, top, diagonal, inverse, chooser, tolerance, most)
            made, most = made + steps, most - steps
            if said >= 0:
                filled += 1
                if size > LARGE and filled > MANY and count_free(a, upper) > MANY:
                    break
                face[0], wanted = said, 1
                continue
            newton = newton if whole else said != SETTLED
            if not whole:
                move(rows.Q, face[:width], x, a, g)
            width, worst, total = find_face(a, g, upper, tolerance, face)
            ended = said == SETTLED if whole else worst <= max(tolerance, ROUNDING * total)
            whole = whole and size > FEW and made < max(2, size // WORTH) * size and 2 * width > size
            most, found[1][p] = size // FIRST if whole else max(SWEEPS, width // WORTH) * width, found[1][p] + 1
            if ended or found[1][p] >= problem.limit or (width > MOST_FACE and not whole):
                break
            wanted = 0 if whole else width
        found[0][p] = certify(rows.Q, a, g, upper, face)

"""Minimise over one block of variables on the block's own matrix: pair steps, then Newton steps on the free ones.

    min  1/2 a'Qa + linear terms   s.t.  0 <= a_i <= C_i    over the block; g is the gradient at a, all change in place
"""
from typing import NamedTuple

import numpy as np

from mr_elm.features.fused import add_rows
from mr_elm.solvers.box.box_qp import free_variables, violations
from mr_elm.solvers.box.projected_path import descend_path
from mr_elm.solvers.shared import loops, slab_loops
from mr_elm.solvers.shared.unlocked import factor_positive, solve_factored
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats

WORTH = 150  # variables: for each so many of a block, a pair step a variable is cheap beside Newton's factorisation


class Effort(NamedTuple):
    """Say how well to solve a block while the violation is below a value.

    share : of the violation, to be reached; newton : most Newton steps; pairs, after : pair steps a variable before
    and after each of them.
    """

    below: float
    share: float
    newton: int
    pairs: int
    after: int


class BoxBlock(NamedTuple):
    """Hold a block of n variables, whose a and g change in place.

    Q : (m, m), m >= n, its first n rows and columns count. a, g, upper, diagonal : (n,).
    """

    Q: np.ndarray
    a: Floats
    g: Floats
    upper: Floats
    diagonal: Floats


def minimise_block(block: BoxBlock, tolerance: float, effort: Effort, space: Workspace) -> None:
    """Minimise to a violation of tolerance, in place: pair steps, and Newton steps where pairs are slow."""
    Q, a, g, upper, diagonal = block
    most = max(effort.pairs, len(a) // WORTH) * len(a)
    if step_pairs(block, tolerance, most)[1] == loops.SETTLED:
        return
    for _ in range(effort.newton):
        if violations(a, g, upper).max() <= tolerance:
            return
        face = np.flatnonzero(free_variables(a, upper) | (violations(a, g, upper) > tolerance))
        inside, here, slope = gather_face(Q, face, space), a[face], g[face]
        step_by_newton(inside, here, slope, upper[face], space)
        step_pairs(BoxBlock(inside, here, slope, upper[face], diagonal[face]), tolerance, effort.after * len(face))
        change, before = np.zeros(len(a)), g.copy()
        change[face] = here - a[face]
        a[face] = here
        g += multiply(Q, change)
        if not change @ (before + g) < 0:
            return  # the objective has not fallen: that is rounding


def step_pairs(block: BoxBlock, tolerance: float, most: int) -> tuple[int, int]:
    """Step two variables at a time, in place; see `loops.step_pairs`."""
    return loops.step_pairs(*block, tolerance, most)


def step_by_newton(Q: np.ndarray, a: Floats, g: Floats, upper: Floats, space: Workspace) -> None:
    """Move along the projected path of Newton's direction, all variables taken as free, in place."""
    direction = -solve_positive(Q, g, space)
    reached = choose_lower_end(Q, direction, a, g, upper)
    g += multiply(Q, reached - a)
    a[...] = reached


def choose_lower_end(Q: np.ndarray, direction: Floats, start: Floats, g: Floats, upper: Floats) -> Floats:
    """Return the first minimiser of the projected path from start, or the end of the whole step where that is lower."""
    first = start.copy()
    fallen = descend_path(Q, direction, first, g, upper)
    end = np.clip(start + direction, 0, upper)
    step = end - start
    return end if -(g @ step + 0.5 * step @ (Q @ step.astype(Q.dtype))) > fallen else first


def multiply(Q: np.ndarray, x: Floats) -> Floats:
    """Return Q x, in float64 for a symmetric Q of any type."""
    total = np.zeros(len(x))
    moved = np.flatnonzero(x)
    add_rows(Q, moved, x[moved], total)
    return total


def gather_face(Q: np.ndarray, face: np.ndarray, space: Workspace) -> np.ndarray:
    """Return Q[face, face] in the workspace."""
    inside = space.array('face', (len(face), len(face)), Q.dtype)
    slab_loops.gather_block(Q, np.arange(len(Q)), np.ones(len(Q)), face, inside)
    return inside


def solve_positive(matrix: np.ndarray, right: Floats, space: Workspace) -> Floats:
    """Solve a positive semidefinite system by Cholesky, with the smallest ridge that lets it through.

    A float32 matrix is factorised as it is where it is well enough conditioned, else in float64. One refinement.
    """
    largest = max(float(matrix.diagonal().max()), np.finfo(float).tiny)
    ridge = 10 * np.finfo(matrix.dtype).eps * np.sqrt(len(matrix)) * largest
    for work in (matrix.dtype, *[np.dtype(np.float64)] * 10):
        lifted = space.array('factor', matrix.shape, work)
        lifted[...] = matrix
        lifted.flat[::len(matrix) + 1] += ridge
        if not factor_positive(lifted.T, b'L'):
            solution = right.astype(work)
            solve_factored(lifted.T, b'L', solution)
            more = (right - matrix @ solution.astype(matrix.dtype)).astype(work)
            solve_factored(lifted.T, b'L', more)
            return solution + more
        ridge *= 1 if work == np.float32 else 10
    return right / largest

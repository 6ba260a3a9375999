"""Solve the small machines of all pairs of classes, whose whole kernel matrix is computed, on values that pairs share.

    min_a  1/2 a'Qa - e'a   s.t.  0 <= a_i <= C_i       for each pair of classes; symbols: box; g = Qa - e
    Q_ij = t_i t_j (K_ij + shift) + delta_ij ridge_i    shift and ridge are 0, but for the balls of `sphere`

    1  rows are put in class order, the tile of each class with itself is computed
    2  for each class, its panel: its kernel values with the rows of all later classes. Then for each machine:
       3  steps of two variables over all of them (`loops.pair_steps`), which show which matter
       4  then over the face: the free variables and those that violate. Newton's step, cut at the bounds, and steps of
          two variables, until no variable of the machine violates
       5  g is computed anew, in float64: the certificate

So each kernel value is computed once, and only the tiles of step 1 are kept. Where features are few beside rows, steps
1 and 2 compute nothing: a row of Q is computed from features when a step first needs it, and few ever are. That is 1.4
to 1.9 times as fast on segment, letter and optdigits.

A machine of more than MAX_ROWS rows, or not solved after MAX_ROUNDS rounds, or whose face is large, is left to
`sparse_elm_blocks`.

Source: ours, on the problem of Bai et al., Sparse extreme learning machine for classification, 2014; one against one:
their section VI.
"""

import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mr_elm.compiled import INNER, inline, jit
from mr_elm.errors import one_line
from mr_elm.parallel import N_THREADS, map_in_threads
from mr_elm.solvers.box import EXACT_EPS, EXACT_ROWS, MIN_CURVATURE, Result, Settings, duality_gap, objective_of
from mr_elm.solvers.loops import (
    SETTLED,
    SignedRows,
    bring_row,
    hold_all,
    make_chooser,
    pair_steps,
    round_variables,
    violation,
)
from mr_elm.typing import Floats

MAX_ROWS = 1200  # of a small machine; at about so many `sparse_elm_blocks` was as fast on 22 sets, with more rows kept
ROWS_A_FEATURE = 3  # of a machine, in the mean, from which rows on demand pay
MAX_ROUNDS = 50  # after which a machine is left to blocks
EPS_SHARE = 0.3  # of eps, to which the others are solved: the new gradient must not be above eps
CYCLIC_ROWS = 128  # variables, over all of which steps are so cheap that to choose between them does not pay
ROWS_A_FIRST_STEP = 4  # where variables are more, the first step for each so many of them shows which matter
NEWTON_SWEEPS = 2  # pair steps a variable after each Newton step
VARIABLES_A_SWEEP = (
    50  # variables: for each so many, one more pair step a variable is cheap beside Newton's factorisation
)
MAX_FACE = 600  # variables of a face; beyond, `sparse_elm_blocks` and its LAPACK in float32 is faster
ROUNDING = 4e-16  # of the sum of a: what rounding makes of a gradient
RIDGE = 1e-14  # of the largest diagonal value, the smallest that a factorisation begins with
RIDGE_TRIALS = 12  # that are tried, each 10 times as large as the one before
MAX_HALVINGS = 6  # of a step of Newton
A, G, UPPER, DIAGONAL, INVERSE = range(5)  # lines of what is known of variables, a state (5, n)
fast, inner = jit(fastmath=True), jit(fastmath=True, **INNER)


@dataclass
class SmallMachines:
    """Hold the machines of all pairs; flat arrays hold what is machine p's at offsets[p] to offsets[p + 1].

    offsets : (P + 1,). members : flat, the row of each variable, rows of the first class first. targets : flat, +-1.
    upper, ridge : flat, bounds, and what is added to the diagonal of Q.
    alpha, gradient : flat, the dual variables and Q alpha - e.
    violation : (P,), from float64 kernel values. n_iter : (P,), rounds, 0 where a machine was left out.
    eps : largest violation allowed. seconds : processor time of all machines.
    """

    offsets: np.ndarray
    members: np.ndarray
    targets: Floats
    upper: Floats
    ridge: Floats
    alpha: Floats
    gradient: Floats
    violation: Floats
    n_iter: np.ndarray
    eps: float
    seconds: float = 0.0
    __repr__ = one_line

    @property
    def n_machines(self) -> int:
        """Return P."""
        return len(self.n_iter)

    @property
    def unsolved(self) -> np.ndarray:
        """Return the numbers of the machines that are left to another solver."""
        return ((self.n_iter == 0) | self.given_up).nonzero()[0]

    @property
    def given_up(self) -> np.ndarray:
        """Tell which machines were begun and not solved, (P,) bool: begun again, they would end there again."""
        return ~(self.violation <= self.eps)

    def join(self) -> tuple[np.ndarray, Floats]:
        """Return the rows that any machine uses, in increasing order, and t_i alpha_i of each machine, (n_sv, P)."""
        used = np.flatnonzero(self.alpha)
        support = np.flatnonzero(np.bincount(self.members[used]))
        dual_coef = np.zeros((len(support), self.n_machines))
        column = np.searchsorted(support, self.members[used])
        dual_coef[column, self.machines[used]] = (self.alpha * self.targets)[used]
        return support, dual_coef

    @cached_property
    def machines(self) -> np.ndarray:
        """Return the machine of each variable, flat."""
        return np.repeat(np.arange(self.n_machines), np.diff(self.offsets))

    def place(self, machine: int) -> np.ndarray:
        """Return where the variables of a machine are, its rows in increasing order."""
        start, stop = self.offsets[machine : machine + 2]
        return start + np.argsort(self.members[start:stop])

    def make_result(self, machine: int) -> Result:
        """Return the Result of a machine, its rows in increasing order."""
        part = self.place(machine)
        a, g, upper, t = self.alpha[part], self.gradient[part], self.upper[part], self.targets[part]
        violation = float(self.violation[machine])
        return Result(
            a,
            t * (g + 1),
            objective_of(a, g),
            duality_gap(a, g, upper),
            violation,
            int(self.n_iter[machine]),
            len(a),
            self.seconds / self.n_machines,
            violation <= self.eps,
        )

    @cached_property
    def intercept(self) -> Floats:
        """Return the bias of each machine, (P,)."""
        return np.zeros(self.n_machines)


def solve_small_machines(
    rows: Any, codes: np.ndarray, upper: Floats, settings: Settings, ridge: Floats | None = None
) -> SmallMachines | None:
    """Solve the machines of all pairs of classes that are small; None where there are none.

    rows : source of kernel rows, (N, N). codes : (N,) class numbers, each of which has a row.
    upper : (N,), the largest alpha of each row. ridge : (N,), of the machines of balls: K + 1 + ridge; None for K.
    """
    started = time.process_time()
    counts = np.bincount(codes)
    n_classes, ends = len(counts), np.cumsum(counts)
    sizes = counts[:, None] + counts
    most = min(MAX_ROWS, int(sqrt(settings.cache_bytes / 32)))  # two squares of a machine take half of the cache
    small = np.triu(sizes <= most, 1)
    if not small.any() or 16 * (counts[small.any(0) | small.any(1)] ** 2).sum() > settings.cache_bytes:
        return None
    # 1 rows in class order
    order, diagonal, shift = codes.argsort(kind='stable'), rows.diagonal(), 0.0
    if ridge is None:
        ridge = np.zeros(len(codes))
    else:
        shift, diagonal = 1.0, diagonal + 1.0 + ridge
    classes = np.split(order, ends[:-1])
    pairs = np.argwhere(np.triu(np.ones_like(sizes), 1))
    members = np.concatenate([classes[k] for pair in pairs for k in pair])
    targets = np.repeat(np.tile([-1.0, 1.0], len(pairs)), counts[pairs].ravel())
    offsets = np.append(0, np.cumsum(sizes[pairs[:, 0], pairs[:, 1]]))
    diagonal = np.maximum(diagonal, MIN_CURVATURE * max(float(diagonal.max()), 1e-300))[members]
    state = np.array([np.zeros(len(members)), np.full(len(members), -1.0), upper[members], diagonal, 1 / diagonal])
    violation, n_iter = np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
    machines = SmallMachines(
        offsets, members, targets, state[UPPER], ridge[members], state[A], state[G], violation, n_iter, settings.eps
    )
    features, computed = rows.features(), np.zeros(len(codes), bool)
    on_demand = N_THREADS.get() is None and computes_on_demand(features, len(members) / len(pairs))
    if on_demand:
        X, exponential = np.ascontiguousarray(features[0][:, order]), features[1]
        squares = [np.empty((len(group),) * 2) for group in classes]
    else:
        X, exponential = np.empty((0, 0)), (0.0, False)
        squares = [rows.tile(group, group) for group in classes]
    starts, limit = ends - counts, min(settings.max_iter or MAX_ROUNDS, MAX_ROUNDS)

    # 2 the machines of a class with the later ones
    def solve_class(i: int) -> None:
        later = np.flatnonzero(small[i])
        if not len(later):
            return
        panel = np.empty((0, 0))
        if not on_demand:
            panel = rows.tile(classes[i], np.concatenate([classes[j] for j in later]))
        buffers, left = np.empty((3, int(sizes[i, later].max()) ** 2)), 0
        first = i * (2 * n_classes - i - 1) // 2 - i - 1  # the machine of (i, j) is number first + j
        for j in later:
            p = first + j
            part = slice(offsets[p], offsets[p + 1])
            Q = buffers[0, : sizes[i, j] ** 2].reshape(sizes[i, j], sizes[i, j])
            source = SignedRows(
                Q,
                np.zeros(sizes[i, j], bool),
                squares[i],
                squares[j],
                panel,
                left,
                X,
                exponential,
                computed,
                starts[i],
                starts[j],
                shift,
                machines.ridge[part],
            )
            machines.n_iter[p], machines.violation[p] = solve_machine(
                source, state[:, part], settings.eps, limit, buffers
            )
            left += counts[j]

    map_in_threads(solve_class, range(n_classes - 1))
    machines.seconds = time.process_time() - started
    return machines


def computes_on_demand(features: tuple | None, n_rows: float) -> bool:
    """Tell whether kernel rows of machines of n_rows, in the mean, are best computed when a step needs them."""
    return features is not None and n_rows >= ROWS_A_FEATURE * len(features[0])


@fast
def solve_machine(rows: SignedRows, state: Floats, eps: float, limit: int, buffers: Floats) -> tuple[int, float]:
    """Solve a machine in place of its a and g; return (rounds, the largest violation of a new gradient).

    state : (5, n), see A to INVERSE. limit : of rounds. buffers : (3, at least n^2).
    """
    n, settled, n_steps, rounds, width = len(rows.Q), False, 0, 0, len(rows.Q)
    a, g, upper, diagonal, inverse = state[A], state[G], state[UPPER], state[DIAGONAL], state[INVERSE]
    part, face, chooser = np.empty((10, n)), np.empty(n, np.int64), make_chooser(n)
    if n <= EXACT_ROWS:
        tolerance = min(eps, EXACT_EPS)
    else:
        tolerance = EPS_SHARE * eps
    # 3  steps over all variables
    whole, newton = True, n <= CYCLIC_ROWS
    if n <= CYCLIC_ROWS:
        most = n
    else:
        most = n // ROWS_A_FIRST_STEP
    while whole:
        round_variables(chooser, a, g, upper, diagonal, inverse)
        steps, outcome = pair_steps(rows, a, g, upper, diagonal, inverse, chooser, tolerance, most)
        settled, n_steps, rounds = outcome == SETTLED, n_steps + steps, rounds + 1
        width, worst, total = find_face(a, g, upper, tolerance, face)
        whole = (
            not settled
            and rounds < limit
            and n > CYCLIC_ROWS
            and n_steps < max(2, n // VARIABLES_A_SWEEP) * n
            and 2 * width > n
        )
    # 4  steps over the face
    while not settled and rounds < limit and width <= MAX_FACE:
        inside = buffers[1, : width * width].reshape(width, width)
        for r in range(width):
            take_face(bring_row(rows, face[r]), r, face[:width], state, inside, part)
        face_a, face_g, face_upper = part[A, :width], part[G, :width], part[UPPER, :width]
        face_diagonal, face_inverse = part[DIAGONAL, :width], part[INVERSE, :width]
        if newton:
            step_by_newton(
                inside, face_a, face_g, face_upper, buffers[2, : width * width].reshape(width, width), part[5:]
            )
        round_variables(chooser, face_a, face_g, face_upper, face_diagonal, face_inverse)
        steps, outcome = pair_steps(
            hold_all(inside),
            face_a,
            face_g,
            face_upper,
            face_diagonal,
            face_inverse,
            chooser,
            tolerance,
            max(NEWTON_SWEEPS, width // VARIABLES_A_SWEEP) * width,
        )
        newton, rounds = outcome != SETTLED, rounds + 1
        for r in range(width):
            i = face[r]
            add_row(rows.Q[i], face_a[r] - a[i], g)
            a[i] = face_a[r]
        width, worst, total = find_face(a, g, upper, tolerance, face)
        settled = worst <= max(tolerance, ROUNDING * total)
    # 5  the certificate
    g[:] = -1.0
    for i in range(n):
        add_row(rows.Q[i], a[i], g)
    return rounds, find_face(a, g, upper, 0.0, face)[1]


@inline
def add_row(row: Floats, factor: float, total: Floats) -> None:
    """Add factor times a row to total."""
    if factor != 0:
        for j in range(len(total)):
            total[j] += factor * row[j]


@inner
def find_face(a: Floats, g: Floats, upper: Floats, tolerance: float, face: np.ndarray) -> tuple[int, float, float]:
    """Fill in the face; return how many variables it has, the largest violation, and the sum of a."""
    m, worst, total = 0, 0.0, 0.0
    for i in range(len(a)):
        misfit = violation(a[i], g[i], upper[i])
        worst = max(worst, misfit)
        total += a[i]
        if 0 < a[i] < upper[i] or misfit > tolerance:
            face[m] = i
            m += 1
    return m, worst, total


@inline
def take_face(row: Floats, r: int, face: np.ndarray, state: Floats, inside: np.ndarray, part: Floats) -> None:
    """Fill in the matrix of a face in its row r, and what is known of its variable."""
    for c in range(len(face)):
        inside[r, c] = row[face[c]]
    for k in range(5):
        part[k, r] = state[k, face[r]]


@inner
def step_by_newton(Q: np.ndarray, a: Floats, g: Floats, upper: Floats, L: np.ndarray, room: Floats) -> None:
    """Move along Newton's direction, cut at the bounds: by the whole of it, a half, a quarter, ..., while it pays.

    L : room for the factor, (n, n). room : (5, n) for vectors.
    """
    n, size, lowest, cut = len(a), 1.0, 0.0, True
    direction, step, change, best, best_change = room[0], room[1], room[2], room[3], room[4]
    best[:], best_change[:] = 0.0, 0.0
    find_direction(Q, g, L, direction)
    for _ in range(MAX_HALVINGS):
        rise, cut = 0.0, False
        change[:] = 0.0
        for i in range(n):
            moved = size * direction[i]
            step[i] = min(max(moved, -a[i]), upper[i] - a[i])
            cut |= step[i] != moved
        for i in range(n):
            add_row(Q[i], step[i], change[:n])
        for i in range(n):
            rise += step[i] * (g[i] + 0.5 * change[i])
        if rise < lowest:
            lowest = rise
            for i in range(n):
                best[i], best_change[i] = step[i], change[i]
        elif lowest < 0:
            break
        if not cut:
            break
        size *= 0.5
    for i in range(n):
        a[i] = min(max(a[i] + best[i], 0.0), upper[i])
        g[i] += best_change[i]


@inline
def find_direction(Q: np.ndarray, g: Floats, L: np.ndarray, x: Floats) -> None:
    """Fill in x = -Q^-1 g, with the smallest ridge that lets Q through; L : (n, n), of any values."""
    n, largest, attempt = len(g), 0.0, 0
    for i in range(n):
        largest = max(largest, Q[i, i])
        x[i] = -g[i]
    ridge = RIDGE * np.sqrt(n) * largest
    while attempt < RIDGE_TRIALS and not factorise(Q, ridge, L):
        ridge *= 10
        attempt += 1
    if attempt == RIDGE_TRIALS:
        return
    for i in range(n):
        row, s = L[i], x[i]
        for k in range(i):
            s -= row[k] * x[k]
        x[i] = s * row[i]
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        add_row(L[i], -x[i], x[:i])


@inner
def factorise(Q: np.ndarray, ridge: float, L: np.ndarray) -> bool:
    """Put the Cholesky factor of Q + ridge I into the lower triangle of L; tell whether Q is positive enough.

    The diagonal of the factor is kept as its inverse.
    """
    for i in range(len(Q)):
        values, row, pivot = Q[i], L[i], Q[i, i] + ridge
        for j in range(i):
            other, s = L[j], values[j]
            for k in range(j):
                s -= row[k] * other[k]
            row[j] = s * other[j]
        for k in range(i):
            pivot -= row[k] * row[k]
        if not pivot > 0.5 * ridge:
            return False
        row[i] = 1 / np.sqrt(pivot)
    return True

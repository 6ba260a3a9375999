"""Solve the small machines of all pairs of classes in one compiled loop, on kernel values that pairs share.

Rows are put in class order. Few rows of K are ever needed: they are computed from features when a step first needs
them, and what a row has within its class serves all machines of this class.

Where features are many beside rows, or kernel values come from elsewhere, a product computes tiles of K: the tile of
two classes serves one machine, the tile of a class with itself all machines of this class. So half of the kernel matrix
is computed, each value once, and only the tiles on the diagonal are kept. Small classes share a tile: Python is called
once a tile, not once a pair.

Machines that are too large (`plan_pairs`) or not solved after ROUNDS are left to `block_rule`.
"""
import time
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mr_elm.errors import one_line
from mr_elm.parallel import map_in_threads
from mr_elm.solvers.box.box_qp import TINY, Result, Settings, duality_gap, objective_of
from mr_elm.solvers.box.pair_loops import PairProblem, solve_pairs
from mr_elm.solvers.box.pair_plan import Group, PairPlan, begin_machines, join_machines
from mr_elm.solvers.box.whole_loops import DIAGONAL, INVERSE, UPPER, A, G, finish_square
from mr_elm.typing import Floats

TILE = 512   # rows, up to which small classes share a tile: its values take 2 MB, as much as the second cache holds
WORTH_THREADS = 5000  # rows of all machines of a tile, from which threads save more than starting them takes
ROUNDS = 50  # steps of Newton, after which a machine is left to blocks
# Measured at gamma 0.3/d C 1, 1/d C 10, 3/d C 100 and 1/d C 1000, in processor seconds on one thread. With rows of K on
# demand, on 22 sets of 3 to 26 classes and on 16 sets of two: machines of up to 2,500 rows gain, of 4,500 they lose.
MOST_ROWS = 1200        # of a small machine
MOST_OF_FEW = 2500, 24  # rows where features are few, and how many are few: with 40, `block_rule` is a third faster
ROWS_A_FEATURE = 3      # of a machine, in the mean, from which rows on demand pay; tiles where a machine has fewer
FEW_ALONE = 52          # features of the machine of two classes, up to which rows on demand pay
# With tiles, a machine is small up to ROWS_A_CLASS rows for each other class of the problem, as the machines of a class
# share its kernel values: solved together, machines of two equal classes of pendigits, optdigits, yeast, covtype and
# wine-quality-white take as long as one by one at about 350 rows with 3 classes, 1,000 with 5 and 1,200 with 8.
ROWS_A_CLASS = 180
FLAT, SQUARE, NONE = np.empty(0), np.empty((0, 0)), np.empty(0, bool)  # for what a machine has not


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
        """Return the rows that any machine uses, in increasing order, and t_i alpha_i of each machine, (n_support, P).
        """
        if self.n_machines == 1:
            used = self.alpha.nonzero()[0]
            return used, (self.alpha * self.targets)[used, None]
        return join_machines(self.alpha, self.targets, self.members, self.offsets)

    @cached_property
    def machines(self) -> np.ndarray:
        """Return the machine of each variable, flat."""
        return np.repeat(np.arange(self.n_machines), np.diff(self.offsets))

    def place(self, machine: int) -> np.ndarray:
        """Return where the variables of a machine are, its rows in increasing order."""
        start, stop = self.offsets[machine:machine + 2]
        return start + np.argsort(self.members[start:stop])

    def make_result(self, machine: int) -> Result:
        """Return the Result of a machine, its rows in increasing order."""
        place = self.place(machine)
        a, g, upper, t = self.alpha[place], self.gradient[place], self.upper[place], self.targets[place]
        violation = float(self.violation[machine])
        return Result(a, t * (g + 1), objective_of(a, g), duality_gap(a, g, upper), violation,
                      int(self.n_iter[machine]), len(a), self.seconds / self.n_machines, violation <= self.eps)

    @cached_property
    def intercept(self) -> Floats:
        """Return the bias of each machine, (P,)."""
        return np.zeros(self.n_machines)


def solve_small_machines(rows: Any, codes: np.ndarray, upper: Floats, settings: Settings,
                         ridge: Floats | None = None, n_classes: int = 0) -> SmallMachines | None:
    """Solve the machines of all pairs of classes that are small; None where there are none.

    rows : source of kernel rows, (N, N). codes : (N,) class numbers, each of which has a row.
    upper : (N,), the largest alpha of each row. ridge : (N,), of the machines of balls: K + 1 + ridge; None for K.
    n_classes : of the whole problem, where codes are of two of them.
    """
    started = time.process_time()
    if max(n_classes, codes.max() + 1) == 2:
        return solve_single_machine(rows, codes, upper, settings, ridge)
    features = rows.features()
    plan = plan_pairs(np.bincount(codes), settings, n_classes, features)
    if not len(plan.tasks):
        return None
    order, diagonal, shift = codes.argsort(kind='stable'), rows.diagonal(), 0.0
    if ridge is not None:
        shift = 1.0
        diagonal = diagonal + shift + ridge
    members, targets, extra, state = begin_machines(
        plan.counts, order, diagonal, upper, np.zeros(len(codes)) if ridge is None else ridge, least_diagonal(diagonal))
    n_machines = len(plan.offsets) - 1
    found = SmallMachines(plan.offsets, members, targets, state[UPPER], extra, state[A], state[G],
                          np.zeros(n_machines), np.zeros(n_machines, np.int64), settings.eps)
    problem = PairProblem(FLAT, SQUARE, NONE, FLAT, (0.0, False), extra, shift, settings.eps, limit(settings))
    machines = problem, state, (found.violation, found.n_iter)
    if features is not None and plan.mean_rows >= ROWS_A_FEATURE * len(features[0]):
        solve_on_demand(features, order, plan, machines, settings.n_threads)
    else:
        solve_tiles(rows, order, plan, machines, settings.n_threads)
    found.seconds = time.process_time() - started
    return found


def begin(diagonal: Floats, upper: Floats) -> Floats:
    """Return what is known of variables that are 0, see `whole_loops`; diagonal : of Q."""
    state = np.empty((5, len(upper)))
    state[A], state[G], state[UPPER] = 0, -1, upper
    state[DIAGONAL] = np.maximum(diagonal, least_diagonal(diagonal))
    state[INVERSE] = 1 / state[DIAGONAL]
    return state


def least_diagonal(diagonal: Floats) -> float:
    """Return what a diagonal value counts as at least."""
    return TINY * max(float(diagonal.max()), 1e-300)


def limit(settings: Settings) -> int:
    """Return after how many rounds a machine is left to blocks."""
    return min(settings.max_iter or ROUNDS, ROUNDS)


def solve_single_machine(rows: Any, codes: np.ndarray, upper: Floats, settings: Settings,
                         ridge: Floats | None) -> SmallMachines | None:
    """Do what `solve_small_machines` does for two classes, where there is nothing to share."""
    n, started, features = len(codes), time.process_time(), rows.features()
    if n > limit_rows(features) or 32 * n**2 > settings.cache_bytes:
        return None
    t, shift = 2.0 * codes - 1, 0.0 if ridge is None else 1.0
    extra = np.zeros(n) if ridge is None else ridge
    state = begin(rows.diagonal() + shift + extra, upper)
    found = SmallMachines(np.array([0, n]), np.arange(n), t, state[UPPER], extra, state[A], state[G], np.zeros(1),
                          np.zeros(1, np.int64), settings.eps)
    buffers, ready = tuple(np.empty((3, n**2))), np.ones((2, n), bool)
    if features is not None and len(features[0]) <= FEW_ALONE:
        columns, exponential = features
        ready[0] = False
    else:
        columns, exponential = SQUARE, (0.0, False)
        Q = buffers[0].reshape(n, n)
        K = rows.square(Q)
        if K is not Q:
            Q[...] = K
        finish_square(Q, t, shift, extra)
    problem = PairProblem(FLAT, columns, NONE, t, exponential, extra, shift, settings.eps, limit(settings))
    solve_pairs(SQUARE, np.array([[0, n, 0, 0, 0, 0, 0, 0]]), problem, state, (found.violation, found.n_iter),
                buffers, ready)
    found.seconds = time.process_time() - started
    return found


def limit_rows(features: tuple | None) -> int:
    """Return up to how many rows a machine is small whose rows of K may be computed on demand; see `rows.features`."""
    return MOST_OF_FEW[0] if features is not None and len(features[0]) <= MOST_OF_FEW[1] else MOST_ROWS


def plan_pairs(counts: np.ndarray, settings: Settings, n_classes: int = 0, features: tuple | None = None) -> PairPlan:
    """Choose up to how many rows a machine is small, so that what is kept fits into the cache.

    counts : rows of each class. n_classes : of the whole problem. features : see `limit_rows`.
    """
    most = limit_rows(features)
    if features is None:
        most = min(ROWS_A_CLASS * (max(n_classes, len(counts)) - 1), most)
    most = int(min(most, sqrt(settings.cache_bytes / 32)))  # two squares of a machine take half of the cache
    plan = PairPlan(counts, most, TILE)
    return plan if 8 * plan.squares[-1] <= settings.cache_bytes / 2 else PairPlan(counts, 0, TILE)


def solve_tiles(rows: Any, order: np.ndarray, plan: PairPlan, machines: tuple, n_threads: int | None) -> None:
    """Compute the kernel values of one tile after another and solve the machines in it, in place.

    order : rows in class order. machines : problem, state and found, as `solve_pairs` takes them.
    n_threads : see `map_in_threads`; each has buffers of its own.
    """
    problem, state, found = machines
    most, n_parts = plan.most_rows, n_threads or 1
    problem = problem._replace(squares=np.empty((plan.squares[-1],)))
    buffers = np.empty((n_parts, 3, most**2))

    def solve(number: int) -> None:
        part = np.ascontiguousarray(tasks[number::n_tasks])
        solve_pairs(tile, part, problem, state, found, tuple(buffers[number]), np.ones((2, most), bool))

    for one, other, tasks in plan.list_tasks():
        here, there = (order[plan.starts[first]:plan.starts[last]] for first, last in (one, other))
        tile = rows.tile(here, there, np.empty((len(here), len(there))))
        if one == other:
            keep_squares(tile, one, plan, problem.squares)
        n_tasks = count_parts(tasks, n_threads)
        map_in_threads(solve, range(min(n_tasks, len(tasks))), n_threads if n_tasks > 1 else None)


def solve_on_demand(features: tuple[Floats, tuple[float, bool]], order: np.ndarray, plan: PairPlan, machines: tuple,
                    n_threads: int | None) -> None:
    """Solve the machines, in place, on rows of K that are computed when a step first needs them.

    What a row has within its class is computed once for all machines of the class; a thread shares with no other.
    features : see `rows.features`. Other parameters as of `solve_tiles`.
    """
    (columns, exponential), (problem, state, found) = features, machines
    most, n_tasks = plan.most_rows, count_parts(plan.tasks, n_threads)
    problem = problem._replace(features=np.ascontiguousarray(columns[:, order]), exponential=exponential)
    squares = np.empty((n_tasks, plan.squares[-1]))
    buffers = np.empty((n_tasks, 3, most**2))

    def solve(number: int) -> None:
        mine = problem._replace(squares=squares[number], known=np.zeros(len(order), bool))
        solve_pairs(SQUARE, np.ascontiguousarray(plan.tasks[number::n_tasks]), mine, state, found,
                    tuple(buffers[number]), np.ones((2, most), bool))

    map_in_threads(solve, range(n_tasks), n_threads if n_tasks > 1 else None)


def count_parts(tasks: np.ndarray, n_threads: int | None) -> int:
    """Return into how many parts, one a thread, the tasks of machines are divided."""
    return min(n_threads, len(tasks)) if n_threads and tasks[:, 1:3].sum() >= WORTH_THREADS else 1


def keep_squares(tile: Floats, group: Group, plan: PairPlan, squares: Floats) -> None:
    """Keep the tile of each class of a group with itself."""
    here, start = slice(*group), 0
    for size, place in zip(plan.counts[here].tolist(), plan.squares[here].tolist(), strict=True):
        inside = slice(start, start + size)
        squares[place:place + size**2].reshape(size, size)[...] = tile[inside, inside]
        start += size

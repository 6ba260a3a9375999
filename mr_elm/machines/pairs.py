"""Make a machine of several classes from two-class ones: one against one, or one against all.

Rows that any machine uses are kept once. `solvers.multiclass` turns the decision values into classes.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI: one against one. Ours: one
against all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mr_elm.errors import record, write_value
from mr_elm.features.kernel_rows import NodeRows
from mr_elm.machines.dual import BoxMachine
from mr_elm.parallel import map_in_threads
from mr_elm.scores.selection import Cell
from mr_elm.solvers.box import Result
from mr_elm.solvers.multiclass import (
    ONE_VS_ALL,
    ONE_VS_ONE,
    SCHEMES,
    class_numbers,
    class_pairs,
    machine_count,
)
from mr_elm.typing import Floats

if TYPE_CHECKING:  # compiled code, which is loaded when it is used
    from mr_elm.solvers.pairs import SmallMachines


@dataclass(frozen=True)
class ClassScheme:
    """Say which two-class machines there are, which rows each of them sees, and which of these are positive.

    n_classes : at least 2. name : one-vs-one or one-vs-all.
    Pairs run i < j in class order, j positive; two classes have one machine, the last class positive.
    """

    n_classes: int
    name: str = ONE_VS_ONE

    def __post_init__(self) -> None:
        if self.name not in SCHEMES:
            raise ValueError(f'multiclass: expected {" or ".join(SCHEMES)}, found {write_value(self.name)}')
        if self.n_classes < 2:
            raise ValueError('expected rows of two classes, all are of one class')

    @property
    def one_vs_all(self) -> bool:
        """Tell whether a machine is a class against all others, and not a pair of classes."""
        return self.n_classes > 2 and self.name == ONE_VS_ALL

    @property
    def n_machines(self) -> int:
        """Return how many two-class machines there are."""
        return machine_count(self.n_classes, self.name)

    def select_rows(self, machine: int, numbers: np.ndarray) -> np.ndarray:
        """Tell which rows, by their class numbers, a machine trains on: a mask (n,)."""
        if self.one_vs_all:
            return np.ones(len(numbers), bool)
        first, second = class_pairs(self.n_classes)[machine]
        return (numbers == first) | (numbers == second)

    def make_targets(self, machine: int, numbers: np.ndarray) -> Floats:
        """Return +1 for rows of the machine's positive class and -1 for others, (n,)."""
        if self.one_vs_all:
            positive = machine
        else:
            positive = class_pairs(self.n_classes)[machine][1]
        return np.where(numbers == positive, 1.0, -1.0)

    def list_machines(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray, Floats]]:
        """Yield (row numbers, targets) for every machine; codes (N,) are class numbers."""
        for machine in range(self.n_machines):
            rows = np.flatnonzero(self.select_rows(machine, codes))
            yield rows, self.make_targets(machine, codes[rows])

    def count_rows(self, counts: Sequence[int]) -> int:
        """Return how many rows the largest machine sees; counts : rows of each class."""
        if self.one_vs_all or self.n_classes == 2:
            return sum(counts)
        return max(counts[i] + counts[j] for i, j in class_pairs(self.n_classes))

    def describe_machine(self, machine: int, names: Sequence[str]) -> str:
        """Name a machine by the names of its classes."""
        if self.one_vs_all:
            return f'class {names[machine]} against all'
        i, j = class_pairs(self.n_classes)[machine]
        return f'classes {names[i]} and {names[j]}'


@record
class JoinedMachines:
    """Hold what the machines of all classes found over one set of rows.

    support : numbers of the rows that any machine uses, in increasing order.
    dual_coef : (n_support, P), t_i alpha_i of each machine. intercept : (P,), their biases.
    n_iter : the most iterations of a machine. results : P of `Result`.
    """

    support: np.ndarray
    dual_coef: Floats
    intercept: Floats
    n_iter: int
    results: Sequence[Any]

    @property
    def beta(self) -> Floats:
        """Return the output weights, (L, P), of machines over nodes."""
        return np.column_stack([result.beta for result in self.results])


def fit_machines(
    codes: np.ndarray, scheme: ClassScheme, solve: Callable[[np.ndarray, Floats], Result]
) -> JoinedMachines:
    """Train every machine and join them.

    codes : (N,) class numbers. solve : function (row numbers, targets) -> Result over these rows.
    """
    machines = list(scheme.list_machines(codes))
    results = map_in_threads(lambda machine: solve(*machine), machines)
    columns = []
    for (rows, targets), result in zip(machines, results, strict=True):
        used = result.alpha != 0
        columns.append((rows[used], (result.alpha * targets)[used]))
    intercept, n_iter = np.array([result.intercept for result in results]), max(result.n_iter for result in results)
    return JoinedMachines(*join_columns(columns), intercept, n_iter, results)


def fit_pairs(small: 'SmallMachines', solve: Callable[[np.ndarray, Floats, bool], Result]) -> JoinedMachines:
    """Train the machines of all pairs that are left, and join all.

    small : SmallMachines, whose alpha and intercept are filled in.
    solve : function (row numbers, targets, whether the machine was given up as a small one) -> Result over these rows.
    """
    unsolved, given_up = small.unsolved.tolist(), small.given_up.tolist()
    places = list(map(small.place, unsolved))
    machines = [
        (small.members[place], small.targets[place], given_up[machine])
        for machine, place in zip(unsolved, places, strict=True)
    ]
    results = map_in_threads(lambda machine: solve(*machine), machines)
    for machine, place, result in zip(unsolved, places, results, strict=True):
        small.alpha[place] = result.alpha
        small.intercept[machine], small.n_iter[machine] = result.intercept, result.n_iter
    others = dict(zip(unsolved, results, strict=True))
    every = [others.get(machine) or small.make_result(machine) for machine in range(small.n_machines)]
    return JoinedMachines(*small.join(), small.intercept, int(small.n_iter.max()), every)


def join_columns(columns: Sequence[tuple[np.ndarray, Floats]]) -> tuple[np.ndarray, Floats]:
    """Join (row numbers, coefficients) of every machine: row numbers that any uses, and the matrix of coefficients."""
    support = np.flatnonzero(np.bincount(np.concatenate([rows for rows, _ in columns])))
    dual_coef = np.zeros((len(support), len(columns)))
    for p, (rows, values) in enumerate(columns):
        dual_coef[np.searchsorted(support, rows), p] = values
    return support, dual_coef


def cross_validate(
    source: Any,
    codes: np.ndarray,
    weights: Floats,
    scheme: ClassScheme,
    machine: BoxMachine,
    C_values: Sequence[float],
    folds: np.ndarray,
) -> Iterator[Cell]:
    """Yield a Cell for every fold, which is held out, and every C.

    source : PrecomputedRows of a ready kernel matrix, or NodeRows of node outputs. codes, weights, folds : (N,), class
    number, weight and fold of each row.
    """
    machines = []
    for rows, targets in scheme.list_machines(codes):
        part = source
        if len(rows) < len(codes):
            part = source.take(rows)
        machines.append((rows, targets, part))
    for fold in np.unique(folds):
        held = np.flatnonzero(folds == fold)
        if len(held) == len(folds):
            continue
        decisions = np.zeros((len(C_values), len(held), scheme.n_machines))
        used = np.zeros((len(C_values), len(folds)), bool)
        trained: list[list[Result]] = [[] for _ in C_values]
        for column, (rows, targets, part) in enumerate(machines):
            kept = np.where(folds[rows] == fold, 0.0, weights[rows])
            path = machine.solve_path(part, targets, C_values, kept) if kept.any() else ()
            for number, result in enumerate(path):
                decisions[number, :, column] = decide(result, source, part, rows, targets, held)
                used[number, rows[result.alpha > 0]] = True
                trained[number].append(result)
        for number, C in enumerate(sorted(C_values)):
            predicted = class_numbers(decisions[number], scheme.n_classes, scheme.name)
            right = predicted == codes[held]
            results = trained[number]
            yield Cell(
                C,
                int(fold),
                np.bincount(codes[held], weights[held] * right, scheme.n_classes).tolist(),
                np.bincount(codes[held], weights[held], scheme.n_classes).tolist(),
                int(used[number].sum()),
                float(sum(result.seconds for result in results)),
                sum(result.n_iter for result in results),
                all(result.converged for result in results),
            )


def decide(result: Result, source: Any, part: Any, rows: np.ndarray, targets: Floats, held: np.ndarray) -> Floats:
    """Return the decision values of the rows held out, which the machine need not have seen at all."""
    if part is source:
        return result.decision[held]
    if isinstance(source, NodeRows):
        return source.H[held] @ getattr(result, 'beta')  # noqa: B009 - of a NodeResult
    support = np.flatnonzero(result.alpha)
    return source.matrix[np.ix_(held, rows[support])] @ (result.alpha * targets)[support] + result.intercept

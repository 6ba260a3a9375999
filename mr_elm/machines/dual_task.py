"""Describe a dual training to its tasks: one file with the classes, the kernel or nodes, the scaling and the solver."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.errors import ConvergenceWarning, record
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_rows import NodeRows, kernel_rows, ready_rows
from mr_elm.features.kernels import KERNELS, Kernel
from mr_elm.features.landmarks import hash_rows
from mr_elm.machines.dual import BoxMachine, NodeMachine, SphereMachine
from mr_elm.machines.gathering import GatheredRows, read_piece
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import DualOptions, PESVMOptions
from mr_elm.machines.pairs import (
    ClassScheme,
    JoinedMachines,
    cross_validate,
    fit_machines,
    fit_pairs,
    join_columns,
)
from mr_elm.machines.rows_task import KernelsTask, RowsTask, choose_kernel
from mr_elm.model.header import ModelHeader
from mr_elm.model.parts import kernel_arrays, kernel_of, layer_arrays, layer_of, node_arrays, scaling_arrays
from mr_elm.rows.blocks import take_weights
from mr_elm.scores.selection import FOLD, SAMPLE, fold_numbers
from mr_elm.solvers.box import ATTEMPTS, SUBSET, Result, Settings
from mr_elm.sums.statistics import Classes, class_weights
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows, RowWeights

CERTIFICATE = ('objective', 'gap', 'violation', 'n_iter', 'n_kernel_rows', 'seconds', 'converged', 'intercept')
STEPS = 'steps'  # of rules that count them


@record
class TrainedMachine:
    """Hold what training one machine gave.

    certificate : what the Result says of itself, and the warnings that came with it; fit for JSON.
    support : rows with alpha > 0, as they were read. coefficients : (n_support,), t_i alpha_i.
    beta : (L,) output weights of explicit nodes, else None.
    """

    certificate: dict[str, Any]
    support: GatheredRows
    coefficients: Floats
    beta: Floats | None

    @classmethod
    def read(cls, records: dict[str, list]) -> 'TrainedMachine':
        """Put the records of one machine together: kind of record -> values, as mr_dual wrote them."""
        pieces = records['support']
        rows = GatheredRows.join([read_piece(piece[1:]) for piece in pieces])
        order = np.lexsort(rows.places.T[::-1])
        coefficients = np.concatenate([piece[0] for piece in pieces])
        beta = None
        if 'beta' in records:
            beta = records['beta'][0][0]
        return cls(records['machine'][0], rows.take(order), coefficients[order], beta)


@record(kw_only=True)
class DualTask(RowsTask):
    """Know which machines there are, which rows each sees, and how it is trained.

    method : sparse-elm, oelm or sphere-svm. multiclass : one-vs-one or one-vs-all.
    features : kernel, normalised and the kernel's parameters; or map, n_hidden, weight_scale and weights of nodes.
    C, rule, eps, max_iter, cache_bytes, seed : see BoxMachine and Settings.
    subset, attempts : of Algorithm 1 of SphereSVM, see Settings.
    row_numbers : how many numbers a row of the dual has, sparse ones on average.
    partitions : how many parts the rows of a machine are cut into.
    arrays : those of RowsTask, and of hidden nodes where there are some.
    """

    method: str
    multiclass: str
    features: dict[str, Any]
    C: float
    rule: str
    eps: float
    max_iter: int | None
    cache_bytes: int
    row_numbers: int
    partitions: int = 1
    subset: int = SUBSET
    attempts: int = ATTEMPTS

    @cached_property
    def scheme(self) -> ClassScheme:
        """Return the ClassScheme: which machines there are."""
        return ClassScheme(self.n_classes, self.multiclass)

    @cached_property
    def kernel(self) -> Kernel | None:
        """Return the Kernel on scaled rows, or None where there are nodes."""
        if 'kernel' not in self.features:
            return None
        return kernel_of(self.features)

    @cached_property
    def layer(self) -> HiddenLayer:
        """Return the hidden nodes, where there is no kernel."""
        return layer_of(self.features, self.arrays, self.n_features)

    @cached_property
    def machine(self) -> BoxMachine:
        """Return how each machine is trained."""
        settings = Settings(
            self.eps, self.max_iter, self.cache_bytes, seed=self.seed, subset=self.subset, attempts=self.attempts
        )
        kind = BoxMachine
        if self.kernel is None:
            kind = NodeMachine
        elif self.method == 'sphere-svm':
            kind = SphereMachine
        return kind(self.C, self.rule, settings)

    @property
    def room(self) -> int:
        """Return how many rows fit into the memory beside the cache, which is as large."""
        n_copies = 3  # of a row: as it comes, as the dual sees it, and as the solver keeps it
        return int(self.cache_bytes / (n_copies * 8 * self.row_numbers))

    def prepare_rows(self, X: Rows) -> Any:
        """Return what a machine is trained over: the kernel rows of X, or its node outputs (n, L)."""
        if self.kernel:
            return kernel_rows(self.scale(X), self.kernel)
        return self.layer.evaluate(X, np.empty((X.shape[0], self.layer.n_hidden)))

    def divide(self, rows: GatheredRows) -> Iterator[tuple[int, GatheredRows]]:
        """Yield (part, the rows that it trains on): a keyed hash of a row says its part."""
        if self.partitions == 1:
            yield 0, rows
            return
        parts = hash_rows(rows.X, self.seed) % np.uint64(self.partitions)
        for part in range(self.partitions):
            yield part, rows.take(parts == part)

    def route(self, rows: GatheredRows) -> Iterator[tuple[tuple[int, ...], GatheredRows]]:
        """Yield ((machine, part), the rows that it trains on)."""
        for part, some in self.divide(rows):
            for machine in range(self.scheme.n_machines):
                yield (machine, part), some.take(self.scheme.select_rows(machine, some.numbers))

    def train(self, number: int, rows: GatheredRows, report: Callable | None = None) -> TrainedMachine:
        """Train a machine on rows, all of which it sees. report : see Settings."""
        targets = self.scheme.make_targets(number, rows.numbers)
        machine = replace(self.machine, settings=replace(self.machine.settings, report=report))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            result = machine.solve_alone(self.prepare_rows(rows.X), targets, rows.weights)
        used = np.flatnonzero(result.alpha)
        facts = {name: np.asarray(getattr(result, name)).item() for name in CERTIFICATE}
        if result.steps:
            facts[STEPS] = result.steps
        facts |= {
            'n_rows': len(rows),
            'n_support': len(used),
            'alpha_sum': float(result.alpha.sum()),
            'warnings': [[warning.category.__name__, str(warning.message)] for warning in caught],
        }
        return TrainedMachine(facts, rows.take(used), (result.alpha * targets)[used], getattr(result, 'beta', None))

    def model_arrays(self, machines: Sequence[TrainedMachine]) -> dict[str, Floats]:
        """Name the arrays of the model: support vectors that any machine uses, each once, or the weights of nodes."""
        if not self.kernel:
            weights = [machine.beta for machine in machines if machine.beta is not None]
            return node_arrays(self.layer, np.column_stack(weights))
        rows = GatheredRows.join([machine.support for machine in machines])
        _, first, numbers = np.unique(rows.places, axis=0, return_index=True, return_inverse=True)
        ends = np.cumsum([len(machine.support) for machine in machines])[:-1]
        columns = zip(np.split(numbers.ravel(), ends), [machine.coefficients for machine in machines], strict=True)
        _, dual_coef = join_columns(list(columns))
        intercept = np.array([machine.certificate['intercept'] for machine in machines])
        return kernel_arrays(self.arrays, self.scale(rows.X[first]), dual_coef, intercept)

    def fit(self, X: Rows, codes: np.ndarray, weights: RowWeights) -> JoinedMachines:
        """Train all machines on rows in memory. codes : (N,) class numbers."""
        machine, source = self.machine, self.prepare_rows(X)

        def solve(rows: np.ndarray, targets: Floats, given_up: bool = False) -> Result:
            part = source
            if len(rows) < len(codes) and self.kernel:  # as a task that has these rows alone: so both round alike
                part = self.prepare_rows(X[rows])
            elif len(rows) < len(codes):
                part = source[rows]
            if given_up or self.scheme.n_classes == 2:
                return machine.solve(part, targets, take_weights(weights, rows))
            return machine.solve_alone(part, targets, take_weights(weights, rows))

        small = None
        if not self.scheme.one_vs_all:
            small = machine.solve_pairs(source, codes, weights)
        if small is None:
            return fit_machines(codes, self.scheme, solve)
        return fit_pairs(small, solve)

    def name_arrays(self, machines: JoinedMachines, X: Rows) -> dict[str, Floats]:
        """Name the arrays of the model of machines that `fit` has trained on the rows X."""
        if self.kernel is None:
            return node_arrays(self.layer, machines.beta)
        return kernel_arrays(self.arrays, self.scale(X[machines.support]), machines.dual_coef, machines.intercept)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return what a header says of the machines."""
        parameters = {name: getattr(self, name) for name in ('C', 'eps', 'max_iter', 'seed', 'multiclass')}
        if (self.method, self.rule) == ('sphere-svm', 'paper'):
            parameters |= {'subset': self.subset, 'attempts': self.attempts}
        return {**parameters, **self.features, 'solver': self.rule}

    def model_header(self, classes: list[str]) -> ModelHeader:
        """Make what a header needs for the model to predict; classes : their names."""
        return ModelHeader(self.method, 'classification', classes, self.n_features, self.parameters)


def state_task(options: DualOptions, summary: Summary, classes: Classes) -> DualTask:
    """Put classes, scaling, kernel or nodes and solver into a DualTask."""
    if options.kernel in KERNELS:
        kernel, (offset, scale) = choose_kernel(options, summary, options.normalise)
        row_numbers = summary.count_numbers(offset, scale)
        features = {'kernel': kernel.name, 'normalised': kernel.normalised, **kernel.parameters}
        arrays = scaling_arrays(offset, scale)
    else:
        row_numbers = options.n_hidden
        features = {
            'map': options.kernel,
            'n_hidden': options.n_hidden,
            'weight_scale': options.weight_scale,
            'weights': options.weights,
        }
        nodes = PESVMOptions(scale=options.scale, seed=options.seed, **features)
        arrays = layer_arrays(NodeProblem(nodes, summary, classes).make_layer())
    return DualTask.of(
        classes,
        method=options.method,
        class_weights=class_weights(options.class_weight, classes),
        seed=options.seed,
        n_features=summary.columns.n_features,
        arrays=arrays,
        row_numbers=row_numbers,
        multiclass=options.multiclass,
        features=features,
        C=options.C,
        rule=options.chosen_rule,
        eps=options.eps,
        max_iter=options.max_iter,
        cache_bytes=int(options.memory * 1e6 / 2),
        partitions=options.partitions,
        subset=options.subset or SUBSET,
        attempts=options.attempts or ATTEMPTS,
    )


@record(kw_only=True)
class KernelGridTask(KernelsTask, DualTask):
    """Know which candidates to cross-validate. n_folds : of the cross-validation."""

    n_folds: int

    @property
    def sample_seed(self) -> int:
        """Return the key of the hashes that choose the sample."""
        return self.seed + SAMPLE

    def choose(self, number: int) -> 'KernelGridTask':
        """Return the task of one candidate."""
        return replace(self, features={**self.features, **self.kernels[number]})

    def score(self, number: int, rows: GatheredRows) -> dict[str, list]:
        """Cross-validate one candidate: its cells, and the texts of what numbers made doubtful, each once."""
        problem = self.choose(number)
        folds = fold_numbers(rows.X, self.n_folds, self.seed + FOLD)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            source = problem.prepare_rows(rows.X)
            if problem.kernel:
                source = ready_rows(source)
            else:
                source = NodeRows(source)
            codes = rows.numbers.astype(int)
            trained = cross_validate(source, codes, rows.weights, problem.scheme, problem.machine, self.C_values, folds)
            cells = list(map(asdict, trained))  # here, where their warnings are caught
        texts = {str(warning.message) for warning in caught if warning.category is not ConvergenceWarning}
        return {'cells': cells, 'warnings': sorted(texts)}

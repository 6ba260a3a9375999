"""Solve for the output weights of a machine of nodes by passes over its rows: conjugate gradients, a pass a step.

A factor from a sample of the rows preconditions. Who knows the rows runs the passes: a job, or a loop in memory.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

import numpy as np

from mr_elm.errors import ConvergenceWarning, record
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.calibrating import keep_held_out
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.nodes import NodeProblem, describe_leaves
from mr_elm.machines.options import PASSES
from mr_elm.machines.passes import TOLERANCES, choose_type
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import layer_arrays
from mr_elm.solvers.centred import choose_units
from mr_elm.solvers.passes import Approximation, PassLimits, solve_positive
from mr_elm.solvers.ridge import Penalty, collect_targets, find_mean, find_penalty, right_side
from mr_elm.solvers.sample_factor import Sample, SampleFactor, SampleGram, measure_rounding
from mr_elm.sums.gram import ONES, GridSteps
from mr_elm.typing import Floats, Rows

Kind = TypeVar('Kind', bound='PassProblem')


@record
class PassSolution:
    """Hold the output weights B, (L + 1, K), the passes that they took, and their relative residual.

    B is for targets that are counted from their origin, see `GridSteps`; it holds the rest of their mean.
    """

    B: Floats
    n_passes: int
    residual: float


@record
class PassResult:
    """Hold what a pass has found: E'E D, (L + 1, K), and the sums that E'T follows from, by label."""

    product: Floats
    sums: Mapping[str, Any]


@record(frozen=False)
class PassProblem:
    """Solve for output weights by passes over the rows.

    inputs : what is known of the rows. layer : HiddenLayer. steps : GridSteps.
    gram : SampleGram, of n_sample rows.
    penalty : of leaves and other nodes, None for I/nu.
    folds : the rows that are looked at, and those that are held out; None for all and none.

    The system is solved for targets of a regression less their mean, in units of their spread, so that all of them
    count alike: X = (B + mean in the last row) / units.
    """

    inputs: NodeProblem
    layer: HiddenLayer
    steps: GridSteps
    gram: SampleGram
    n_sample: int
    penalty: Penalty | None = None
    folds: Folds | None = None
    T: Floats | None = field(default=None, init=False)  # E'T, (m, K)
    mean: Floats | float = field(default=0.0, init=False)  # (K,), of the targets counted from their origin
    E1: Floats | float = field(default=0.0, init=False)  # E'1, (L + 1, 1), where targets are centred

    @classmethod
    def of_sample(
        cls: type[Kind],
        inputs: NodeProblem,
        layer: HiddenLayer,
        steps: GridSteps,
        sample: Sample,
        say: Callable[[str], None] = lambda line: None,
        **others: Any,
    ) -> Kind:
        """Sum up a sample of the rows. say : is told what is done."""
        options = inputs.options
        dtype = choose_type(options.memory, layer.n_hidden, options.nu * measure_rounding(layer, sample))
        say(f'preconditioner: {layer.n_hidden:,} nodes on {len(sample.weights):,} rows, in {dtype.__name__}')
        penalty = find_penalty({'nu': options.nu, **describe_leaves(options)}, layer)
        gram = SampleGram.sum_up(layer, sample, options.bias, dtype, penalty)
        return cls(inputs, layer, steps, gram, len(sample.weights), penalty, **others)

    @property
    def tolerance(self) -> float:
        """Return the relative residual at which to stop."""
        return self.inputs.options.tolerance or TOLERANCES[self.inputs.options.task]

    def run(self, D: Floats, *, targets: bool = False) -> PassResult:
        """Run a pass over D, (L + 1, K). targets : whether E'T is wanted."""
        raise NotImplementedError

    def hold_out(self: Kind, folds: Folds) -> Kind:
        """Return the same problem without the rows that are held out."""
        raise NotImplementedError

    def report(self) -> Callable[[int, float], None]:
        """Return what is told the number of passes so far, and the residual that they left."""
        return lambda n, residual: None

    def check_counts(self, counts: Floats) -> None:
        """Raise where a pass has seen other labels than the one before. counts : (K,), rows of each class."""

    @property
    def units(self) -> Floats | float:
        """Return the unit of each target, (K,): a power of two, which rounds nothing; 1 for classes."""
        target = self.inputs.summary.target
        if target is None:
            return 1.0
        return choose_units(target.deviation)

    def train(
        self,
        make_header: Callable[[], ModelHeader],
        start: Floats | None,
        fit: Callable[[HiddenNodeModel], HiddenNodeModel] | None,
    ) -> HiddenNodeModel:
        """Solve for the output weights: the model, which has no sums.

        make_header : makes that of a machine of this layer and nu, once rows have been read. start : output weights
        (L + 1, K) of a model to begin with, None for those of the sample. fit : gives a model probabilities or
        intervals by the rows of the first of FOLDS folds, which it has not seen; None where neither is wanted.
        """
        if start is not None and self.steps.centres:
            start = start + np.outer(np.arange(len(start)) == len(start) - 1, self.steps.origin)
        if fit is None:
            return self.describe(self.solve(start), make_header())
        inputs = self.inputs
        folds = Folds(FOLDS, 1, 1.0, inputs.options.seed, inputs.weights, inputs.class_numbers)
        first = self.hold_out(folds).solve(start)
        scored = fit(self.describe(first, make_header()))
        return keep_held_out(scored, self.describe(self.solve(first.B), make_header()))

    def solve(self, start: Floats | None = None) -> PassSolution:
        """Solve (I/nu + E'E) B = E'T by conjugate gradients, or (P + E'E) B = E'T with another penalty.

        start : output weights (L + 1, K) to begin with, as of a PassSolution; None for those of the sample. Warns when
        the passes allowed do not suffice.
        """
        report, nu, max_passes = self.report(), self.inputs.options.nu, self.inputs.options.max_passes
        if self.penalty is not None:
            M = self.gram.factor(np.inf)
        elif self.folds is not None:
            M = self.gram.factor(nu * self.folds.share_trained)  # a multiple of M is as good
        else:
            M = self.gram.factor(nu)
        start_point = self.measure(self.choose_start(M, start))
        report(1, start_point.residual)
        limits = PassLimits(self.tolerance, max_passes - 1, lambda n, residual: report(1 + n, residual))
        solution, n_passes = solve_positive(
            lambda D: self.multiply(D) + self.weigh(D),
            lambda X: self.measure(self.add_mean(X)),
            start_point,
            M.apply,
            limits,
        )
        n_passes, residual = 1 + n_passes, solution.residual
        if residual > self.tolerance:
            warnings.warn(
                f'stopped after {n_passes} passes with a relative residual of {residual:.1e}, expected at '
                f'most {self.tolerance:g}: lower --nu, or allow more '
                '--max-passes',
                ConvergenceWarning,
                stacklevel=2,
            )
        return PassSolution(self.add_mean(solution.X), n_passes, residual)

    def choose_start(self, M: SampleFactor, start: Floats | None) -> Floats:
        """Return output weights to begin with, (L + 1, K): those given where they fit, else those of the sample.

        Where rows are held out the sample may have some of them: 0 then.
        """
        shape = self.gram.ET.shape
        if start is not None and start.shape[1:] == shape[1:]:
            return start
        if self.folds is not None:
            return self.pad(np.zeros(shape))
        return self.pad(M.apply(self.gram.ET))

    def measure(self, B: Floats) -> Approximation:
        """Run a pass over output weights B, (L + 1, K): the Approximation by them. The first pass sums up E'T too."""
        result = self.run(B, targets=self.T is None)
        if self.T is None:
            self.T = self.read_targets(result.sums)
        X, product = self.take_mean(B, result.product)
        return Approximation.of(X, self.T, product + self.weigh(X))

    def weigh(self, D: Floats) -> Floats:
        """Return the product of the penalty, I/nu where there is no other, with vectors (m, K)."""
        if self.penalty is None:
            return D / self.inputs.options.nu
        return self.penalty.multiply(D)

    def multiply(self, D: Floats) -> Floats:
        """Run a pass: E'E D, (m, K)."""
        return self.run(self.pad(D)).product[: len(D)]

    def add_mean(self, X: Floats) -> Floats:
        """Return the output weights B, (L + 1, K), of a solution X, (m, K)."""
        B = self.pad(X * self.units)
        B[-1] -= self.mean
        return B

    def take_mean(self, B: Floats, product: Floats) -> tuple[Floats, Floats]:
        """Return X, (m, K), of output weights B, and E'E X, of the product E'E B, (L + 1, K)."""
        X = B.copy()
        X[-1] += self.mean
        m = len(self.gram.M)
        return X[:m] / self.units, (product - self.mean * self.E1)[:m] / self.units

    def read_targets(self, sums: Mapping[str, Any]) -> Floats:
        """Return E'T, (m, K), of the sums of a pass, which must have seen the rows that the first one saw."""
        inputs = self.inputs
        class_sums, _, counts, _ = collect_targets(dict(sums), self.layer.n_hidden + 1, inputs.classes)
        if self.steps.centres:
            E1 = np.add(*sums[ONES])
            self.E1, self.mean = E1[:, None], find_mean(E1[-1], class_sums[:, -1])
            class_sums = class_sums - np.outer(self.mean, E1)
        self.check_counts(counts)
        return right_side(class_sums, has_targets(inputs))[: len(self.gram.M)] / self.units

    def pad(self, D: Floats) -> Floats:
        """Return vectors with a row for the bias, which is 0 where there is none: (L + 1, K)."""
        return np.pad(D, ((0, self.layer.n_hidden + 1 - len(D)), (0, 0)))

    def describe(self, solution: PassSolution, header: ModelHeader) -> HiddenNodeModel:
        """Make the model of a solution; see `train`."""
        parameters = {
            **{name: value for name, value in header.parameters.items() if name not in ('condition', 'peak')},
            'solver': PASSES,
            'passes': solution.n_passes,
            'residual': solution.residual,
            'tolerance': self.tolerance,
            'precondition_rows': self.n_sample,
        }
        weights = solution.B.copy()
        if self.steps.centres:
            weights[-1] -= self.steps.origin
        return HiddenNodeModel(
            replace(header, parameters=parameters), {**layer_arrays(self.layer), 'output_weights': weights}
        )


def has_targets(inputs: NodeProblem) -> bool:
    """Tell whether T holds targets, or a 1 where a row has a label, and no coding of classes."""
    return inputs.classes is None or inputs.summary.separator is not None


def make_sample(inputs: NodeProblem, X: Rows, numbers: np.ndarray, weights: Floats, steps: GridSteps) -> Sample:
    """Return the Sample of rows of a training. numbers : (n,) or (n, K). steps : has the origin of the targets."""
    T, classes = steps.shift(numbers.reshape(len(numbers), -1)), inputs.classes
    if classes is not None and not has_targets(inputs):
        T = right_side(np.eye(len(classes.names))[numbers.astype(int)].T, numeric=False)
    return Sample(X, T, weights, len(numbers) / inputs.summary.n_rows)

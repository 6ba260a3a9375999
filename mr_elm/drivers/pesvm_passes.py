"""Train PESVM by passes: a factor from a sample of the rows, then conjugate gradients, one job a step."""
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.calibrate import fit_held_out
from mr_elm.drivers.gram_job import check_counts, write_layer
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pass_report import PassReport
from mr_elm.drivers.sample import gather_sample
from mr_elm.errors import ConvergenceWarning
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.single import takes_single
from mr_elm.json_file import write_json
from mr_elm.machines.calibrating import demand_every_class, keep_held_out
from mr_elm.machines.constant_check import choose_rows, note_rows
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.nodes import describe_leaves
from mr_elm.machines.options import PASSES, PESVMOptions
from mr_elm.machines.passes import Passes, choose_type
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import layer_arrays
from mr_elm.scores.held_out import HeldOutScore
from mr_elm.solvers.ridge.esvm import collect_targets, find_mean, right_side
from mr_elm.solvers.ridge.penalty import Penalty, find_penalty
from mr_elm.solvers.ridge.sample_factor import Sample, SampleFactor, SampleGram, measure_rounding
from mr_elm.solvers.shared.block_cg import Approximation, PassLimits, solve_positive
from mr_elm.solvers.shared.centred import choose_units
from mr_elm.store import save_arrays
from mr_elm.streaming.mr_pass import MRPass, read_held_out, read_product, read_targets
from mr_elm.sums.gram import ONES, GridSteps
from mr_elm.typing import Floats


@dataclass(frozen=True)
class PassSolution:
    """Hold the output weights B, (L + 1, K), for a nu, the passes that they took, and their relative residual.

    B is for targets that are counted from their origin, see `GridSteps`; it holds the rest of their mean.
    score : HeldOutScore of B, None where no rows are held out.
    """

    nu: float
    B: Floats
    n_passes: int
    residual: float
    score: HeldOutScore | None


@dataclass
class PassProblem:
    """Solve for output weights by jobs over the rows, for one nu after another.

    inputs : the rows. layer : HiddenLayer. steps : GridSteps. passes : Passes. gram : SampleGram, of n_sample rows.
    few : some of these rows, by which the machine is looked at.
    folder : for files of tasks. files : the options that name those of layer and sums, see `write_layer`.
    folds : the rows that are looked at, and those that are held out; None for all and none.
    penalty : of leaves and other nodes, None for I/nu.

    The system is solved for targets of a regression less their mean, in units of their spread, so that all of them
    count alike: X = (B + mean in the last row) / units.
    """

    inputs: NodeInputs
    layer: HiddenLayer
    steps: GridSteps
    passes: Passes
    gram: SampleGram
    n_sample: int
    few: GatheredRows
    folder: str
    files: list[str]
    folds: Folds | None = None
    penalty: Penalty | None = None
    T: Floats | None = field(default=None, init=False)  # E'T, (m, K), as a float64 pass has summed it up
    mean: Floats | float = field(default=0.0, init=False)  # (K,), of the targets counted from their origin
    E1: Floats | float = field(default=0.0, init=False)  # E'1, (L + 1, 1), where targets are centred
    last: tuple = field(default=(), init=False)  # B, X, E'E X and score of the last float64 pass over weights

    @property
    def units(self) -> Floats | float:
        """Return the unit of each target, (K,): a power of two, which rounds nothing; 1 for classes."""
        target = self.inputs.summary.target
        return 1.0 if target is None else choose_units(target.deviation)

    def hold_out(self, folds: Folds) -> 'PassProblem':
        """Return the same problem on some of the rows, and with others held out."""
        path = write_json(os.path.join(self.folder, 'folds.json'), asdict(folds))
        return replace(self, files=[*self.files, '--folds', path], folds=folds)

    def solve(self, nu: float, start: Floats | None = None) -> PassSolution:
        """Solve (I/nu + E'E) B = E'T by conjugate gradients.

        start : output weights (L + 1, K) to begin with, as of a PassSolution; None for those of the sample. Warns when
        the passes allowed do not suffice.
        """
        passes = self.passes
        report = PassReport(self.inputs.data.engine.reporter, 'passes', passes.tolerance, passes.max_passes)
        if self.penalty is None:
            M = self.gram.factor(nu * (self.folds.share_trained if self.folds else 1))  # a multiple of M is as good
        else:
            M = self.gram.factor(np.inf)
        found, n_begun = self.begin(nu, self.choose_start(M, start))
        if n_begun:
            report(n_begun, found.residual)
        limits = PassLimits(passes.tolerance, passes.max_passes - n_begun, report.after(n_begun))
        rough = (lambda D: self.multiply(D, single=True) + self.weigh(D, nu)) if takes_single(self.layer) else None
        found, n_passes = solve_positive(lambda D: self.multiply(D) + self.weigh(D, nu),
                                         lambda B: self.measure(B, nu), found, M.apply, limits, rough)
        n_passes, residual = n_begun + n_passes, found.residual
        if residual > passes.tolerance:
            warnings.warn(f'stopped after {n_passes} passes with a relative residual of {residual:.1e}, expected at '
                          f'most {passes.tolerance:g}: raise --precondition-rows, lower --nu, or allow more '
                          '--max-passes', ConvergenceWarning, stacklevel=2)
        return PassSolution(nu, self.add_mean(found.X), n_passes, residual, self.last[-1])

    def choose_start(self, M: SampleFactor, start: Floats | None) -> Floats:
        """Return output weights to begin with, (L + 1, K): those given where they fit, else those of the sample.

        Where rows are held out the sample may have some of them: 0 then.
        """
        shape = self.gram.ET.shape
        if start is not None and start.shape[1:] == shape[1:]:
            return start
        return self.pad(M.apply(self.gram.ET) if self.folds is None else np.zeros(shape))

    def begin(self, nu: float, B: Floats) -> tuple[Approximation, int]:
        """Return the Approximation by output weights B, (L + 1, K), and the passes that it took: E'E B may be known.

        It may be of float32.
        """
        if self.T is not None and self.last and np.array_equal(B, self.last[0]):
            _, X, product, _ = self.last
            return Approximation.of(X, self.T, product + self.weigh(X, nu)), 0
        single, known = takes_single(self.layer), bool(B.any())
        product, pairs = self._pass(B if known else B[:, :0], targets=True, single=single)
        T = self.read_targets(pairs)
        if not single:
            self.T = T
        X, product = self.take_mean(B, product if known else B)
        return Approximation.of(X, T, product + self.weigh(X, nu)), 1

    def measure(self, X: Floats, nu: float) -> Approximation:
        """Run a pass in float64 over the output weights of X, (m, K); the first one sums up E'T too."""
        B = self.add_mean(X)
        product, pairs = self._pass(B, weights=True, targets=self.T is None)
        if self.T is None:
            self.T = self.read_targets(pairs)
        product = self.take_mean(B, product)[1]
        self.last = B, X, product, read_held_out(pairs)
        return Approximation.of(X, self.T, product + self.weigh(X, nu))

    def weigh(self, D: Floats, nu: float) -> Floats:
        """Return the product of the penalty, I/nu where there is no other, with vectors (m, K)."""
        return D / nu if self.penalty is None else self.penalty.multiply(D)

    def multiply(self, D: Floats, single: bool = False) -> Floats:
        """Run a pass: E'E D, (m, K). single : in float32."""
        return self._pass(self.pad(D), single=single)[0][:len(D)]

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

    def read_targets(self, pairs: list) -> Floats:
        """Return E'T, (m, K), of the output of a pass, which must have seen the rows that the first one saw."""
        inputs, sums = self.inputs, read_targets(pairs)
        class_sums, _, counts, _ = collect_targets(sums, self.layer.n_hidden + 1, inputs.classes)
        if self.steps.centres:
            E1 = np.add(*sums[ONES])
            self.E1, self.mean = E1[:, None], find_mean(E1[-1], class_sums[:, -1])
            class_sums = class_sums - np.outer(self.mean, E1)
        if self.folds is None:
            check_counts(inputs.plan, inputs.classes, counts)
        elif inputs.classes and inputs.options.probabilities:
            demand_every_class(inputs.classes.names, counts, f'of {inputs.plan.name} outside the fold that is held out')
        return right_side(class_sums, has_targets(inputs))[:len(self.gram.M)] / self.units

    def pad(self, D: Floats) -> Floats:
        """Return vectors with a row for the bias, which is 0 where there is none: (L + 1, K)."""
        return np.pad(D, ((0, self.layer.n_hidden + 1 - len(D)), (0, 0)))

    def describe(self, found: PassSolution) -> HiddenNodeModel:
        """Make the model of a solution, which has no sums."""
        inputs = self.inputs.with_options(nu=found.nu)
        header = inputs.describe(self.layer, self.steps, inputs.data.blas)
        known = {name: value for name, value in header.parameters.items() if name not in ('condition', 'peak')}
        parameters = {**known, 'solver': PASSES, 'passes': found.n_passes, 'residual': found.residual,
                      'tolerance': self.passes.tolerance, 'precondition_rows': self.n_sample}
        weights = found.B.copy()
        if self.steps.centres:
            weights[-1] -= self.steps.origin
        return HiddenNodeModel(replace(header, parameters=parameters),
                               {**layer_arrays(self.layer), 'output_weights': weights})

    def check(self, model: HiddenNodeModel) -> HiddenNodeModel:
        """Return a model; warn, and say so in its header, if it says the same of all rows that are looked at."""
        return note_rows(model, self.few.X, self.few.numbers)

    def _pass(self, D: Floats, *, weights: bool = False, targets: bool = False,
              single: bool = False) -> tuple[Floats, list]:
        """Run a pass over D, (L + 1, K): E'E D, and the pairs that it has written.

        The options go to the header of D, see `MRPass`.
        """
        path = os.path.join(self.folder, 'vectors.npz')
        save_arrays(path, {'weights': weights, 'targets': targets, 'single': single}, {'vectors': D})
        pairs = list(self.inputs.data.run(MRPass, [*self.files, '--vectors', path], 'pass'))
        return read_product(pairs, D.shape), pairs


def has_targets(inputs: NodeInputs) -> bool:
    """Tell whether T holds targets, or a 1 where a row has a label, and no coding of classes."""
    return inputs.options.numeric or inputs.summary.separator is not None


def make_sample(inputs: NodeInputs, rows: GatheredRows, steps: GridSteps) -> Sample:
    """Return the Sample of rows of a training. steps : whose origin targets are counted from."""
    T, classes = steps.shift(rows.numbers.reshape(len(rows), -1)), inputs.classes
    if classes is not None and not has_targets(inputs):
        T = right_side(np.eye(len(classes.names))[rows.numbers.astype(int)].T, numeric=False)
    return Sample(rows.X, T, rows.weights, len(rows) / inputs.summary.n_rows)


@contextmanager
def open_problem(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps,
                 largest_nu: float | None = None) -> Iterator[PassProblem]:
    """Gather and sum up the sample; the context's value is the PassProblem of all rows.

    largest_nu : of those that will be solved for; None for that of the options.
    """
    options, reporter = inputs.options, inputs.data.engine.reporter
    passes = Passes.of_options(options, layer.n_hidden)
    inputs.data.fix_width(layer.n_features)
    with one_thread(), tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        files = write_layer(folder, inputs, layer, steps)
        rows = gather_sample(inputs, passes.n_sample)
        sample = make_sample(inputs, rows, steps)
        nu = options.nu if largest_nu is None else largest_nu
        dtype = choose_type(options.memory, layer.n_hidden, nu * measure_rounding(layer, sample))
        reporter.say(f'preconditioner: {layer.n_hidden:,} nodes on {len(rows):,} rows, in {dtype.__name__}')
        penalty = find_penalty({'nu': options.nu, **describe_leaves(options)}, layer)
        gram = SampleGram.sum_up(layer, sample, options.bias, dtype, inputs.data.engine.n_threads, penalty)
        yield PassProblem(inputs, layer, steps, passes, gram, len(rows),
                          rows.take(choose_rows(rows.numbers, options.numeric)), folder, files, penalty=penalty)


def train(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, start: Floats | None = None) -> HiddenNodeModel:
    """Solve for the output weights by passes: the model, which has no sums.

    start : output weights (L + 1, K) of a model to begin with, None for those of the sample. Warns when the passes
    allowed do not suffice. Raises DataFormatError when a class has no row to fit probabilities to.
    """
    options = inputs.options
    if start is not None and steps.centres:
        start = start + np.outer(np.arange(len(start)) == len(start) - 1, steps.origin)
    with open_problem(inputs, layer, steps) as problem:
        if not options.holds_out:
            return problem.check(problem.describe(problem.solve(options.nu, start)))
        return train_on_all(problem, hold_out_fold(problem, options).solve(options.nu, start), FOLDS)


def hold_out_fold(problem: PassProblem, options: PESVMOptions) -> PassProblem:
    """Return the same problem without one of FOLDS folds, and say what it is for. options : what it is for."""
    inputs = problem.inputs
    inputs.data.engine.reporter.say(f'{options.holds_out}: solving without one of {FOLDS} folds of the rows')
    return problem.hold_out(Folds(FOLDS, 1, 1.0, options.seed, inputs.weights, inputs.class_numbers))


def train_on_all(problem: PassProblem, found: PassSolution, n_folds: int) -> HiddenNodeModel:
    """Solve on all rows from a solution without the first of n_folds folds: the model.

    The rows of that fold give the probabilities or the intervals that options ask for.
    """
    inputs = problem.inputs
    scored = fit_held_out(inputs.data, problem.describe(found), inputs.options, inputs.weights, n_folds)
    return problem.check(keep_held_out(scored, problem.describe(problem.solve(found.nu, found.B))))

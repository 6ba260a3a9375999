"""Train PESVM by passes: a factor from a sample of the rows, then conjugate gradients, one job a step."""
import os
import tempfile
import warnings
from dataclasses import dataclass, replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import check_counts, write_layer
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pass_report import PassReport
from mr_elm.drivers.sample import gather_sample
from mr_elm.errors import ConvergenceWarning
from mr_elm.features.hidden import HiddenLayer
from mr_elm.header import ModelHeader
from mr_elm.io.store import save_arrays
from mr_elm.io.wire import split_key
from mr_elm.machines.options import PASSES
from mr_elm.machines.passes import Passes
from mr_elm.model_parts import layer_arrays
from mr_elm.solvers.ridge.esvm import collect_targets, right_side
from mr_elm.solvers.ridge.sample_factor import Sample, SampleFactor, factor_sample
from mr_elm.solvers.shared.block_cg import PassLimits, solve_positive
from mr_elm.streaming.mr_pass import MRPass, read_product
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats


@dataclass(frozen=True)
class PassProblem:
    """Hold what the jobs of a training by passes share.

    inputs : the rows. layer : HiddenLayer. folder : for files of tasks. files : the options that name those of layer
    and sums, see `write_layer`.
    """

    inputs: NodeInputs
    layer: HiddenLayer
    folder: str
    files: list[str]

    @property
    def n_columns(self) -> int:
        """Return the number of unknowns for each target: L, and 1 where there is a bias."""
        return self.layer.n_hidden + self.inputs.options.bias

    def sum_up_targets(self) -> Floats:
        """Run the first pass: E'T, (n_columns, K)."""
        inputs = self.inputs
        sums = {split_key(key)[1][0]: pair for key, pair in self._run([], 'targets')}
        class_sums, _, counts, _ = collect_targets(sums, self.layer.n_hidden + 1, inputs.classes)
        check_counts(inputs.plan, inputs.classes, counts)
        has_targets = inputs.options.numeric or inputs.summary.separator is not None
        return right_side(class_sums, has_targets)[:self.n_columns]

    def multiply(self, D: Floats) -> Floats:
        """Run a pass: (I/nu + E'E) D, (n_columns, K)."""
        padded = np.pad(D, ((0, self.layer.n_hidden + 1 - len(D)), (0, 0)))
        path = os.path.join(self.folder, 'vectors.npz')
        save_arrays(path, {}, {'vectors': padded})
        product = read_product(self._run(['--vectors', path], 'pass'), padded.shape)
        return product[:len(D)] + D / self.inputs.options.nu

    def _run(self, vectors: list[str], stage: str) -> list:
        return list(self.inputs.data.run(MRPass, [*self.files, *vectors], stage))


def train(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, start: Floats | None = None) -> tuple:
    """Solve for the output weights by passes: (header, arrays) of the model, which has no sums.

    start : output weights (L + 1, K) to begin with, None for zeros. Warns when the passes allowed do not suffice.
    """
    passes = Passes.of_options(inputs.options, layer.n_hidden)
    inputs.data.fix_width(layer.n_features)
    with one_thread(), tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        problem = PassProblem(inputs, layer, folder, write_layer(folder, inputs, layer, steps))
        M, n_sample = make_factor(inputs, layer, passes)
        T = problem.sum_up_targets()
        report = PassReport(inputs.data.engine.reporter, 'passes', passes.tolerance, passes.max_passes)
        limits = PassLimits(passes.tolerance, passes.max_passes, report)
        known = None if start is None or start.shape[1:] != T.shape[1:] else start[:len(T)]
        B, n_passes, residual = solve_positive(problem.multiply, T, M.apply, limits, known)
    if residual > passes.tolerance:
        warnings.warn(f'stopped after {n_passes} passes with a relative residual of {residual:.1e}, expected at most '
                      f'{passes.tolerance:g}: raise --precondition-rows, lower --nu, or allow more --max-passes',
                      ConvergenceWarning, stacklevel=2)
    header = describe(inputs, layer, steps, passes=n_passes, residual=residual, tolerance=passes.tolerance,
                      precondition_rows=n_sample)
    B = np.pad(B, ((0, layer.n_hidden + 1 - len(B)), (0, 0)))
    return header, {**layer_arrays(layer), 'output_weights': B}


def make_factor(inputs: NodeInputs, layer: HiddenLayer, passes: Passes) -> tuple[SampleFactor, int]:
    """Return the preconditioner, and the number of rows that made it."""
    options, reporter, n_rows = inputs.options, inputs.data.engine.reporter, inputs.summary.n_rows
    rows = gather_sample(inputs, passes.n_sample)
    reporter.say(f'preconditioner: {layer.n_hidden:,} nodes on {len(rows):,} rows, in {passes.dtype.__name__}')
    sample = Sample(rows.X, rows.weights, len(rows) / n_rows)
    n_threads = min(inputs.data.engine.n_maps, os.cpu_count() or 1)
    return factor_sample(layer, sample, options.nu, options.bias, passes.dtype, n_threads), len(rows)


def describe(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, **found: object) -> ModelHeader:
    """Make the header of the model. found : what the solver says of itself."""
    header = inputs.describe(layer, steps, inputs.data.blas)
    known = {name: value for name, value in header.parameters.items() if name not in ('condition', 'peak')}
    return replace(header, parameters={**known, 'solver': PASSES, **found})

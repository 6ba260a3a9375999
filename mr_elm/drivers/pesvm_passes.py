"""Train PESVM by passes: a factor from a sample of the rows, then conjugate gradients, one job a step."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.calibrate import hold_out
from mr_elm.drivers.gram_job import check_counts, write_layer
from mr_elm.drivers.pass_report import PassReport
from mr_elm.drivers.sample import gather_sample
from mr_elm.drivers.summary import NodeInputs
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.calibrating import demand_every_class
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.pass_problem import PassProblem, PassResult, make_sample
from mr_elm.machines.passes import count_sample
from mr_elm.model.models import HiddenNodeModel
from mr_elm.parallel import using_threads
from mr_elm.store import save_arrays, temporary_folder, write_json
from mr_elm.streaming.mr_pass import MRPass, read_product, read_targets
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats


@dataclass
class JobProblem(PassProblem):
    """Solve for output weights by jobs over the rows.

    few : some rows of the sample, by which the machine is looked at.
    folder : for files of tasks. files : the options that name those of layer and sums, see `write_layer`.
    """

    inputs: NodeInputs
    folder: str = field(kw_only=True)
    files: list[str] = field(kw_only=True)

    def run(self, D: Floats, *, targets: bool = False) -> PassResult:
        """Run a pass; see `PassProblem`. The options go to the header of D, see `MRPass`."""
        path = os.path.join(self.folder, 'vectors.npz')
        save_arrays(path, {'targets': targets}, {'vectors': D})
        pairs = list(self.inputs.data.run(MRPass, [*self.files, '--vectors', path], 'pass'))
        return PassResult(read_product(pairs, D.shape), read_targets(pairs))

    def report(self) -> Callable[[int, float], None]:
        """Return the PassReport."""
        return PassReport(self.inputs.data.engine.reporter, 'passes', self.tolerance, self.inputs.options.max_passes)

    def check_counts(self, counts: Floats) -> None:
        """Raise AccountingError where a pass saw other labels than the statistics, DataFormatError for a class that is
        held out whole."""
        inputs = self.inputs
        if self.folds is None:
            check_counts(inputs.data.plan, inputs.classes, counts)
        elif inputs.classes and inputs.options.probabilities:
            demand_every_class(
                inputs.classes.names, counts, f'of {inputs.data.plan.name} outside the fold that is held out'
            )

    def hold_out(self, folds: Folds) -> 'JobProblem':
        """Return the same problem on some of the rows, and with others held out."""
        path = write_json(os.path.join(self.folder, 'folds.json'), asdict(folds))
        return replace(self, files=[*self.files, '--folds', path], folds=folds)


@contextmanager
def open_problem(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> Iterator[JobProblem]:
    """Gather and sum up the sample; the context's value is the JobProblem of all rows."""
    options, engine = inputs.options, inputs.data.engine
    n_sample = count_sample(options, layer.n_hidden)
    inputs.data.fix_width(layer.n_features)
    with one_thread(), using_threads(engine.n_threads), temporary_folder() as folder:
        files = write_layer(folder, inputs, layer, steps)
        rows = gather_sample(inputs, n_sample)
        sample = make_sample(inputs, rows.X, rows.numbers, rows.weights, steps)
        yield JobProblem.of_sample(
            inputs,
            layer,
            steps,
            sample,
            engine.reporter.say,
            folder=folder,
            files=files,
        )


def train(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, start: Floats | None = None) -> HiddenNodeModel:
    """Train by passes, see `PassProblem.train`.

    Warns when the passes allowed do not suffice. Raises DataFormatError when a class has no row to fit probabilities
    to.
    """
    data, options = inputs.data, inputs.options

    def fit(model: HiddenNodeModel) -> HiddenNodeModel:
        return hold_out(data, model, options.seed, options.threshold, inputs.weights, FOLDS)

    with open_problem(inputs, layer, steps) as problem:
        if options.holds_out:
            data.engine.reporter.say(f'{options.holds_out}: solving without one of {FOLDS} folds of the rows')
        return problem.train(
            lambda: inputs.describe(layer, steps, data.blas), start, fit if options.holds_out else None
        )

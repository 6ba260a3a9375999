"""Solve by passes over rows in memory, as `mr-elm train pesvm --solver passes` does over files."""

from dataclasses import dataclass, field, replace

from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.pass_problem import PassProblem, PassResult, make_sample
from mr_elm.machines.passes import count_sample
from mr_elm.machines.sample import select_rows
from mr_elm.rows.blocks import fill_weights
from mr_elm.scores.selection import FOLD, fold_numbers, select_sample
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.gram import GridSteps, TargetSums
from mr_elm.sums.product import PassSums
from mr_elm.typing import Floats


@dataclass
class MemoryProblem(PassProblem):
    """Solve for output weights by passes over rows in memory. rows : TrainingRows."""

    rows: TrainingRows = field(kw_only=True)

    @classmethod
    def open(cls, inputs: NodeProblem, layer: HiddenLayer, steps: GridSteps, rows: TrainingRows) -> 'MemoryProblem':
        """Sum up the sample that a driver would take, and make the problem of all rows."""
        options = inputs.options
        share = min(1.0, count_sample(options, layer.n_hidden) / inputs.summary.n_rows)
        chosen = select_rows(rows, select_sample(rows.X, share, options.seed))
        sample = make_sample(inputs, chosen.X, chosen.y, fill_weights(chosen.sample_weight, len(chosen.y)), steps)
        return cls.of_sample(inputs, layer, steps, sample, rows=rows)

    def run(self, D: Floats, *, targets: bool = False) -> PassResult:
        """Run a pass; see `PassProblem`."""
        of_targets = None
        if targets:
            of_targets = TargetSums(self.steps, self.rows.classes is None)
        sums = PassSums(self.layer, D, self.steps, of_targets)
        for block, weights in self.rows.blocks():
            sums.add(block, weights)
        return PassResult(sums.product.high + sums.product.low, {} if sums.targets is None else sums.targets.sums)

    def hold_out(self, folds: Folds) -> 'MemoryProblem':
        """Return the same problem without the rows that are held out."""
        kept = fold_numbers(self.rows.X, folds.n_folds, folds.seed + FOLD) >= folds.n_tested
        return replace(self, rows=select_rows(self.rows, kept), folds=folds)

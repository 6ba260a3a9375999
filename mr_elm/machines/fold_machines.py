"""Score rows by machines that were trained without their fold, where leave-one-out has no closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike

import numpy as np

from mr_elm.errors import record
from mr_elm.machines.dual_task import DualTask
from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.press import HeldOut, LeaveOneOutModel, find_numbers
from mr_elm.model.base import Model
from mr_elm.model.file import add_sums, make_model, read_model
from mr_elm.model.header import ModelHeader
from mr_elm.model.parts import join_arrays, take_arrays
from mr_elm.rows.blocks import Block, fill_weights, widen
from mr_elm.scores.selection import MACHINE_FOLD, SCORED_ROWS, fold_numbers
from mr_elm.store import load_arrays, save_arrays

FOLDS = 5


@record(kw_only=True)
class FoldsTask(DualTask):
    """Know which rows each machine is trained on: those of the sample outside its fold; a fold is a partition."""

    @property
    def sample_seed(self) -> int:
        """Return the key of the hash that chooses the sample."""
        return self.seed + SCORED_ROWS

    def divide(self, rows: GatheredRows) -> Iterator[tuple[int, GatheredRows]]:
        """Yield (fold, the rows of the others)."""
        folds = fold_numbers(rows.X, self.partitions, self.seed + MACHINE_FOLD)
        for fold in range(self.partitions):
            yield fold, rows.take(folds != fold)


@record
class FoldMachines:
    """Hold a model for each fold, which was trained on the other folds. seed : of the hash that chooses folds."""

    models: Sequence[Model]
    seed: int

    def score(self, block: Block, weights: np.ndarray | None) -> HeldOut:
        """Score rows by the models of the other folds. weights : of the training rows, None when all count once."""
        first, X = self.models[0], widen(block.X, self.models[0].n_features)
        folds = fold_numbers(block.X, len(self.models), self.seed + MACHINE_FOLD)
        decisions = np.empty((len(block), first.n_scores))
        for fold, model in enumerate(self.models):
            decisions[folds == fold] = model.decision_function(X[folds == fold])
        return HeldOut(
            find_numbers(first, block),
            fill_weights(weights, len(block)),
            decisions,
            np.zeros(len(block)),
        )

    def save(self, path: str | PathLike) -> None:
        """Write the file."""
        save_arrays(
            path,
            {'folds': [model.header.to_json() for model in self.models], 'seed': self.seed},
            join_arrays([model.arrays for model in self.models]),
        )


Scorer = LeaveOneOutModel | FoldMachines


def load_scorer(path: str | PathLike, sums_path: str | None = None) -> tuple[Scorer, Model]:
    """Read what scores held-out rows, and a model: a model, or what `FoldMachines.save` wrote.

    sums_path : of the file of sums of a model. A model without its sums scores all rows: it has seen none of them.
    """
    header, arrays = load_arrays(path)
    if 'folds' not in header:
        model = read_model(path)
        if sums_path is None:
            return FoldMachines([model], 0), model
        return LeaveOneOutModel(add_sums(model, path, sums_path=sums_path)), model
    models = [
        make_model(ModelHeader.from_json(one), take_arrays(arrays, fold)) for fold, one in enumerate(header['folds'])
    ]
    return FoldMachines(models, header['seed']), models[0]

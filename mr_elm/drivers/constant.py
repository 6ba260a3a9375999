"""Look at some rows of a training, from all parts of its files, to see whether the model says the same of them all."""

from itertools import islice

import numpy as np

from mr_elm.machines.doubts import N_ROWS, warn_of_constant
from mr_elm.model.base import Model
from mr_elm.rows.blocks import Block, spread, stack, widen
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.splits import SplitReader, plan_splits

N_PLACES = 10  # of the files: rows that are sorted by their labels have others at another place


def look_at_rows(model: Model, plan: InputPlan) -> None:
    """Warn where a model that was just trained says the same of all rows; nothing where only tasks can read them."""
    reader = SplitReader(plan, model.encoding, False, N_ROWS)
    blocks: list[Block] = []
    for (number, start, length), *_ in plan_splits(plan, N_PLACES):
        try:
            rows, chunks = reader.open(number, start, length, lambda _: None)
            blocks += islice(rows.blocks(chunks), 1)
        except OSError:
            return
    if model.numeric:
        labels = model.to_decisions(np.concatenate([block.targets for block in blocks]))
    else:
        labels = np.concatenate([np.array(block.names, object)[block.codes] for block in blocks])
    warn_of_constant(model, stack([widen(spread(block.X), model.n_features) for block in blocks]), labels)

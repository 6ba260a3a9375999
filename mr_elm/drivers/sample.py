"""Bring a sample of the rows of a training to the driver."""

import numpy as np

from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs
from mr_elm.errors import DataFormatError
from mr_elm.features.metric import FeatureColumns
from mr_elm.features.sample import part_labels
from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.rows_task import RowsTask
from mr_elm.machines.sample import SampleRows, count_sample
from mr_elm.model.parts import scaling_arrays
from mr_elm.rows.blocks import BLOCK_ROWS, spread, stack
from mr_elm.rows.splits import SplitReader
from mr_elm.streaming.mr_place import MRPlace
from mr_elm.sums.statistics import list_classes
from mr_elm.typing import Rows


def gather_sample(inputs: NodeInputs, n_rows: int) -> GatheredRows:
    """Return about n_rows rows, all where there are no more: as they are read, unscaled, in input order.

    A keyed hash of each row chooses: the sample does not depend on splits. Raises DataFormatError when it is empty.
    """
    share = min(1.0, n_rows / inputs.summary.n_rows)
    task = RowsTask.of(
        inputs.classes,
        class_weights=inputs.weights,
        seed=inputs.options.seed,
        share=share,
        separator=inputs.summary.separator,
        n_features=inputs.summary.columns.n_features,
        arrays=scaling_arrays(np.zeros(()), np.ones(())),
    )
    pieces = [piece for _, piece in run_problem(inputs.data, MRPlace, task, 'sample')]
    if not pieces:
        raise DataFormatError(
            f'{inputs.plan.name}: expected rows in a sample of about {n_rows:,}, found none: take a '
            'larger sample, or another --seed'
        )
    return gather(pieces)


def read_sample(inputs: NodeInputs) -> SampleRows:
    """Bring the sample to the driver that trees grow on, and that machines are chosen by."""
    summary, classes = inputs.summary, inputs.classes
    rows = gather_sample(inputs, count_sample(summary, summary.sparse))
    weights = None
    if not (rows.weights == 1).all():
        weights = rows.weights
    n_classes = 0
    if summary.separator is None:
        n_classes = len(list_classes(classes))
    columns = FeatureColumns.of(summary.columns, summary.encoding)
    return SampleRows.of(rows.X, rows.numbers, n_classes, weights, columns, inputs.options.center)


def find_rows(inputs: NodeInputs) -> tuple[Rows, np.ndarray] | None:
    """Return some rows of a training without a pass over them, and their labels, (n,); None where none are at hand.

    They are the sample of the statistics, or the first rows of two files of a pack.
    """
    if inputs.summary.sample is not None:
        X, labels, _ = part_labels(inputs.summary.sample)
        return X, labels
    if not inputs.plan.pack:
        return None
    files = inputs.plan.files
    reader = SplitReader(inputs.plan, None, True, BLOCK_ROWS)
    blocks = []
    for number in sorted({0, len(files) - 1}):
        rows, chunks = reader.open(number, 0, files[number].size, lambda _: None)
        try:
            blocks += [block for block in [next(rows.blocks(chunks), None)] if block is not None]
        except OSError:  # tasks can read it, but this process cannot
            return None
    labels = np.concatenate([np.array(block.names)[block.codes] for block in blocks])
    return stack([spread(block.X) for block in blocks]), labels

"""Bring a sample of the rows of a training to the driver."""

import numpy as np

from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs
from mr_elm.errors import DataFormatError
from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.rows_task import RowsTask
from mr_elm.machines.sample import SampleRows, count_sample
from mr_elm.model.parts import scaling_arrays
from mr_elm.streaming.mr_place import MRPlace


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
            f'{inputs.data.plan.name}: expected rows in a sample of about {n_rows:,}, found none: take a '
            'larger sample, or another --seed'
        )
    return gather(pieces)


def read_sample(inputs: NodeInputs) -> SampleRows:
    """Bring the sample to the driver that trees grow on, and that machines are chosen by."""
    summary = inputs.summary
    rows = gather_sample(inputs, count_sample(summary, summary.sparse))
    weights = None
    if not (rows.weights == 1).all():
        weights = rows.weights
    return SampleRows.of_training(rows.X, rows.numbers, weights, summary, inputs.classes, inputs.options.center)

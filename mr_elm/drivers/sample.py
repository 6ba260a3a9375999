"""Bring a sample of the rows of a training to the driver."""
import numpy as np

from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.problems import run_problem
from mr_elm.errors import DataFormatError
from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.rows_task import RowsTask
from mr_elm.streaming.mr_place import MRPlace


def gather_sample(inputs: NodeInputs, n_rows: int) -> GatheredRows:
    """Return about n_rows rows, all where there are no more: as they are read, unscaled, in input order.

    A keyed hash of each row chooses: the sample does not depend on splits. Raises DataFormatError when it is empty.
    """
    share = min(1.0, n_rows / inputs.summary.n_rows)
    pieces = [piece for _, piece in run_problem(inputs.data, MRPlace, state_sample(inputs, share), 'sample')]
    if not pieces:
        raise DataFormatError(f'{inputs.plan.name}: expected rows in a sample of about {n_rows:,}, found none: take a '
                              'larger sample, or another --seed')
    return gather(pieces)


def state_sample(inputs: NodeInputs, share: float) -> RowsTask:
    """Say which rows make the sample, and what their labels and weights are."""
    d = inputs.summary.columns.n_features
    return RowsTask.of(inputs.classes, class_weights=inputs.weights, seed=inputs.options.seed, share=share,
                       separator=inputs.summary.separator,
                       arrays={'feature_offset': np.zeros(d), 'feature_scale': np.ones(d)})

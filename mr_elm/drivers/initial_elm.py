"""Train the initial ELM, `train elm --C inf`: rows to the driver, one singular value decomposition."""

from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.arithmetic import estimate_seconds, one_thread
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.sample import gather_sample
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.constant_check import note_rows
from mr_elm.machines.options import PESVMOptions
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import node_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.solvers.centred import CentredTargets
from mr_elm.solvers.multiclass import class_targets
from mr_elm.solvers.ridge import solve_initial
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import list_classes
from mr_elm.typing import Floats


def train(data: DataSet, options: PESVMOptions) -> tuple:
    """Train on a DataSet: the Model, and the Accounts of the first pass over text.

    The model keeps no sums, so that rows can neither be added nor be forgotten.
    Raises DataFormatError when the rows cannot be used, or their node outputs do not fit into `options.memory`.
    """
    inputs = NodeInputs.learn(data, options, options.n_landmarks)
    layer = inputs.make_layer()
    demand_room(inputs, layer)
    rows = gather_sample(inputs, inputs.summary.n_rows)
    with one_thread():
        H = layer.evaluate(rows.X, np.empty((len(rows), layer.n_hidden)))
        T = class_targets(rows.numbers, len(list_classes(inputs.classes)))
        announce(data, H)
        if options.center:
            centred = CentredTargets.of(T, rows.weights)
            beta, rank = solve_initial(H, centred.T, rows.weights)
            arrays = node_arrays(layer, beta * centred.units, centred.mean)
        else:
            beta, rank = solve_initial(H, T, rows.weights)
            arrays = node_arrays(layer, beta)
    data.engine.reporter.say(f'svd of {len(rows):,} x {layer.n_hidden:,} node outputs: rank {rank:,}')
    with one_thread():
        return note_rows(HiddenNodeModel(describe(inputs, layer, rank), arrays), rows.X, rows.numbers), data.first


def announce(data: DataSet, H: Floats) -> None:
    """Say how long the decomposition of H (N, L) will take."""
    small, large = sorted(H.shape)
    data.engine.reporter.announce(
        f'computing the svd of {len(H):,} x {H.shape[1]:,} node outputs',
        lambda: estimate_seconds(lambda A: solve_initial(A, np.ones((len(A), 1))), np.cbrt(small * small * large)),
    )


def demand_room(inputs: NodeInputs, layer: HiddenLayer) -> None:
    """Raise DataFormatError when the node outputs of all rows do not fit into the memory."""
    n_rows, memory = inputs.summary.n_rows, inputs.options.memory
    needed = 3 * 8 * n_rows * layer.n_hidden / 1e6  # MB: the outputs, and two copies in the decomposition
    if needed > memory:
        raise DataFormatError(
            f'{inputs.plan.name}: {n_rows:,} x {layer.n_hidden:,} node outputs take '
            f'{needed:,.0f} MB, --memory {memory:g} MB was given: raise it, take fewer --hidden, or '
            'a finite --C, which needs only sums'
        )


def describe(inputs: NodeInputs, layer: HiddenLayer, rank: int) -> ModelHeader:
    """Make the header; JSON knows no infinite number, so C is null."""
    header = inputs.describe(layer, GridSteps.of(1.0, origin=inputs.origin), inputs.data.blas)
    parameters: dict[str, Any] = {**header.parameters, 'C': None, 'solver': 'svd', 'rank': rank}
    for name in ('condition', 'grid', 'origin', 'peak'):  # of a solve from sums
        parameters.pop(name, None)
    return replace(header, parameters=parameters)

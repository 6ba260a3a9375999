"""Train the initial ELM, `train elm --C inf`: rows to the driver, one singular value decomposition."""

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.sample import gather_sample
from mr_elm.drivers.summary import NodeInputs
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.nodes import fit_initial
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.solvers.multiclass import class_targets
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import list_classes


def train(data: DataSet, options: PESVMOptions) -> tuple:
    """Train on a DataSet: the Model, and the Accounts of the first pass over text.

    The model keeps no sums, so that rows can neither be added nor be forgotten.
    Raises DataFormatError when the rows cannot be used, or their node outputs do not fit into `options.memory`.
    """
    inputs = NodeInputs.learn(data, options, options.n_landmarks)
    layer = inputs.make_layer()
    demand_room(inputs, layer)
    rows = gather_sample(inputs, inputs.summary.n_rows)
    data.engine.reporter.announce(
        f'computing the svd of {len(rows):,} x {layer.n_hidden:,} node outputs', max(len(rows), layer.n_hidden)
    )
    header = inputs.describe(layer, GridSteps.of(1.0, origin=inputs.origin), data.blas)
    with one_thread():
        T = class_targets(rows.numbers, len(list_classes(inputs.classes)))
        model = fit_initial(header, layer, rows.X, T, rows.weights)
    rank = model.header.parameters['rank']
    data.engine.reporter.say(f'svd of {len(rows):,} x {layer.n_hidden:,} node outputs: rank {rank:,}')
    return model, data.first


def demand_room(inputs: NodeInputs, layer: HiddenLayer) -> None:
    """Raise DataFormatError when the node outputs of all rows do not fit into the memory."""
    n_rows, memory = inputs.summary.n_rows, inputs.options.memory
    needed = 3 * 8 * n_rows * layer.n_hidden / 1e6  # MB: the outputs, and two copies in the decomposition
    if needed > memory:
        raise DataFormatError(
            f'{inputs.data.plan.name}: {n_rows:,} x {layer.n_hidden:,} node outputs take '
            f'{needed:,.0f} MB, --memory {memory:g} MB was given: raise it, take fewer --hidden, or '
            'a finite --C, which needs only sums'
        )

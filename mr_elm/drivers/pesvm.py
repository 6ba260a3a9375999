"""Train PESVM and the unified ELM: statistics, random nodes, one Gram job, one small solve.

What only some options take is imported where it is used: a small training waits for imports more than for its rows.
"""

from collections.abc import Sequence
from functools import reduce

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import check_counts, name_parts, sum_up
from mr_elm.drivers.summary import NodeInputs
from mr_elm.engines.base import Engine
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.living import LivingMachine, demand_grid, options_of
from mr_elm.machines.nodes import describe_targets
from mr_elm.machines.options import PASSES, PESVMOptions
from mr_elm.machines.passes import choose_solver, demand_memory
from mr_elm.model.models import HiddenNodeModel, NodeModel, join_members
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.increment import add_sums
from mr_elm.solvers.ridge import Sums
from mr_elm.sums.gram import GridSteps

# options that machines of an averaged model have in common
OF_ALL_MACHINES = ('method', 'bad_rows', 'positive', 'solver', 'tolerance', 'max_passes', 'memory')


def train(
    plan: InputPlan, options: PESVMOptions, engine: Engine, like: NodeModel | None = None, part_by: Sequence[str] = ()
) -> tuple:
    """Train on a data set: the Model, and the Accounts of the first pass over text.

    like : a model whose scaling, nodes and grids to take, or None to choose them by the rows. If it averages several
        machines, so does the new model, and each machine keeps its own nodes and nu.
    part_by : of which parts of the rows to keep the sums too, see `name_parts`; none for no parts.
    Raises DataFormatError when the rows cannot be used, AccountingError when two passes disagree.
    """
    data = DataSet(plan, engine, options.bad_rows)
    if part_by and like is not None and len(like.members) > 1:
        raise ValueError('--part-by: cannot be used with --like a model of several machines')
    if part_by:
        name_parts(plan, part_by)  # before any work is done
    if like is None or len(like.members) == 1:
        return train_on(data, options, like, part_by)  # type: ignore[arg-type]
    shared = {name: getattr(options, name) for name in OF_ALL_MACHINES}
    model = join_members([train_on(data, options_of(member.header, **shared), member)[0] for member in like.members])
    if options.holds_out and model.sums is None:
        raise ValueError(
            f'{options.holds_out}: cannot be used with --like a model of several machines and a training by passes, '
            'which has seen all rows: take --solver gram'
        )
    if options.holds_out:
        from mr_elm.drivers.calibrate import hold_out

        model = hold_out(data, model, options.seed, options.threshold)
    return model, data.first


def train_on(
    data: DataSet, options: PESVMOptions, like: HiddenNodeModel | None = None, part_by: Sequence[str] = ()
) -> tuple:
    """Do what `train` does, on a DataSet that other passes may have read before."""
    if like is None:
        demand_memory(options)
        inputs = NodeInputs.learn(data, options, options.n_landmarks, options.needs_one_label)
        layer = inputs.make_layer()
        if options.has_leaves:
            layer = add_leaves(inputs, layer)
        steps = inputs.choose_grid(layer)
    else:
        inputs = NodeInputs.learn(data, options, refuses=options.needs_one_label)
        if like.header.targets != (targets := describe_targets(inputs.summary)):
            raise DataFormatError(
                f'{data.plan.name}: expected the targets of the model of --like, '
                f'{like.header.targets or "one label"}, found {targets or "one label"}'
            )
        inputs, layer = inputs.take_nodes(like), like.layer
        steps = demand_grid(inputs.data.plan.name, like, inputs.summary, inputs.weights)
    solver, reason = choose_solver(options, inputs.summary.n_rows, layer.n_hidden)
    if part_by:
        if solver == PASSES:
            raise ValueError(f'--part-by: expected a training by sums, not by passes ({reason})')
        model = train_by_parts(inputs, layer, steps, part_by)
    elif solver == PASSES:
        from mr_elm.drivers import pesvm_passes

        data.engine.reporter.say(f'solving by passes: {reason}')
        start = None
        if like is not None:
            start = like.arrays['output_weights']
        model = pesvm_passes.train(inputs, layer, steps, start)
    else:
        model = make_model(inputs, layer, steps, sum_up(inputs, layer, steps)[0])
    return model, data.first


def train_by_parts(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, part_by: Sequence[str]) -> HiddenNodeModel:
    """Sum up the rows of each part, and train on all of them: the model that keeps all sums."""
    from mr_elm.drivers.gram_job import sum_up_parts
    from mr_elm.machines.parts import keep_parts

    parts = sum_up_parts(inputs, layer, steps, part_by)
    return keep_parts(make_model(inputs, layer, steps, reduce(add_sums, (part.sums for part in parts))), parts)


def add_leaves(inputs: NodeInputs, layer: HiddenLayer) -> HiddenLayer:
    """Grow trees, and return their leaves beside other nodes."""
    from mr_elm.drivers.sample import read_sample
    from mr_elm.machines.joint import grow_leaves

    rows = read_sample(inputs)
    with one_thread():
        layer = grow_leaves(layer, rows, inputs.options)
    inputs.data.engine.reporter.say(f'trees: {layer.n_leaves:,} leaves, grown on {len(rows):,} rows')
    return layer


def make_model(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, sums: Sums) -> HiddenNodeModel:
    """Return the model of the sums of the rows, with them, and with probabilities where these are wanted."""
    check_counts(inputs.data.plan, inputs.classes, sums.counts)
    with one_thread():
        model = solve(LivingMachine.of_sums(inputs, layer, steps, inputs.data.blas, sums), inputs.data.engine)
    if not inputs.options.holds_out:
        return model
    from mr_elm.drivers.calibrate import hold_out

    return hold_out(inputs.data, model, inputs.options.seed, inputs.options.threshold, inputs.weights)


def solve(machine: LivingMachine, engine: Engine) -> HiddenNodeModel:
    """Solve for the output weights: the model with its sums."""
    n = len(machine.sums.gram)
    engine.reporter.announce(f'solving for {n} unknowns', n)
    model = machine.keep_sums(machine.solve())
    engine.reporter.say(f'solved {n} unknowns, condition about {model.header.parameters["condition"]:.1e}')
    return model

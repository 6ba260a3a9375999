"""Train PESVM and the unified ELM: statistics, random nodes, one Gram job, one small solve."""
from collections.abc import Mapping
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import check_counts, sum_up
from mr_elm.drivers.node_inputs import NodeInputs, grid_for
from mr_elm.engines.base import Engine
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.header import ModelHeader
from mr_elm.machines.living import LivingMachine, steps_of
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import HiddenNodeModel
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.ridge.esvm import Sums
from mr_elm.solvers.ridge.increment import size_of
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.summary import Summary

Made = tuple[ModelHeader, Mapping[str, np.ndarray]]


def options_of(header: ModelHeader, **known: Any) -> PESVMOptions:
    """Return the PESVMOptions that a model was trained with; `known` overrides."""
    given = header.parameters
    names = ('map', 'n_hidden', 'seed', 'weight_scale', 'weights', 'scale', 'class_weight')
    return PESVMOptions(**{'method': header.method, 'task': header.task, **{name: given[name] for name in names},
                           'nu': given['nu' if header.method == 'pesvm' else 'C'], **known})


def train(plan: InputPlan, options: PESVMOptions, engine: Engine, like: HiddenNodeModel | None = None) -> tuple:
    """Train on a data set: (header, arrays) of the model, and the Accounts of the first pass over text.

    like : a model whose scaling, nodes and grids to take, or None to choose them by the rows.
    Raises DataFormatError when the rows cannot be used, AccountingError when two passes disagree.
    """
    return train_on(DataSet(plan, engine, options.bad_rows), options, like)


def train_on(data: DataSet, options: PESVMOptions, like: HiddenNodeModel | None = None) -> tuple:
    """Do what `train` does, on a DataSet that other passes may have read before."""
    inputs = NodeInputs.learn(data, options, options.n_hidden if options.map == 'nystrom' and like is None else 0)
    layer = inputs.make_layer() if like is None else like.layer
    steps = inputs.choose_grid(layer) if like is None else (
        demand_grid(like, inputs.plan, inputs.summary, inputs.weights))
    sums = sum_up(inputs, layer, steps)
    with one_thread():
        return *make_model(inputs, layer, steps, sums), data.first


def make_model(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, sums: Sums) -> Made:
    """Solve, and put the model together: (header, arrays)."""
    check_counts(inputs.plan, inputs.classes, sums)
    header = inputs.describe(layer, steps).change_parameters(peak=size_of(sums))
    return solve(LivingMachine(header, layer, sums), inputs.data.engine)


def solve(machine: LivingMachine, engine: Engine) -> Made:
    """Solve for the output weights: (header, arrays) of the model with its sums."""
    model = machine.keep_sums(machine.solve())
    engine.reporter.say(f'solved {len(machine.sums.gram)} unknowns, condition about '
                        f'{model.header.parameters["condition"]:.1e}')
    return model.header, model.arrays


def demand_grid(model: HiddenNodeModel, plan: InputPlan, summary: Summary, weights: dict | None = None,
                n_rows: int = 0) -> GridSteps:
    """Return the grids of a model's sums. Raises DataFormatError when the rows are too large to add to n_rows there."""
    steps = steps_of(model.header)
    if not steps.holds(grid_for(model.layer, summary, weights), n_rows + summary.n_rows):
        raise DataFormatError(f'{plan.name}: numbers of about the size that the model was trained on were expected, '
                              'they are millions of times larger')
    return steps

"""Train PESVM and the unified ELM: statistics, random nodes, one Gram job, one small solve."""
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from functools import cache
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.node_inputs import NodeInputs, grid_for, kernel_width
from mr_elm.drivers.summary import Summary
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.header import ModelHeader
from mr_elm.io.json_file import write_json
from mr_elm.io.store import save_arrays
from mr_elm.io.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.machines.living import LivingMachine, steps_of
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import HiddenNodeModel, layer_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.partition import fewest_tasks
from mr_elm.solvers.ridge.esvm import Sums, collect_sums
from mr_elm.solvers.ridge.increment import size_of
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.sums.gram import GridSteps, assemble, tile_sizes
from mr_elm.sums.statistics import Classes

REDUCER_BYTES = 1 << 30
Made = tuple[ModelHeader, Mapping[str, np.ndarray]]


def options_of(header: ModelHeader, **known: Any) -> PESVMOptions:
    """Return the PESVMOptions that a model was trained with; `known` overrides."""
    given = header.parameters
    names = ('map', 'n_hidden', 'seed', 'weight_scale', 'weights', 'scale', 'class_weight')
    return PESVMOptions(**{'method': header.method, 'task': header.task, **{name: given[name] for name in names},
                           'nu': given['nu' if header.method == 'pesvm' else 'C'], **known})


def train(plan: InputPlan, options: PESVMOptions, runner: Engine, like: HiddenNodeModel | None = None) -> tuple:
    """Train on a data set: (header, arrays) of the model, and the Accounts of the first pass over text.

    like : a model whose scaling, nodes and grids to take, or None to choose them by the rows.
    Raises DataFormatError when the rows cannot be used, AccountingError when two passes disagree.
    """
    return train_on(DataSet(plan, runner, options.bad_rows), options, like)


def train_on(data: DataSet, options: PESVMOptions, like: HiddenNodeModel | None = None) -> tuple:
    """Do what `train` does, on a DataSet that other passes may have read before."""
    inputs = NodeInputs.learn(data, options, options.n_hidden if options.map == 'nystrom' and like is None else 0)
    layer = inputs.make_layer() if like is None else like.layer
    steps = inputs.choose_grid(layer) if like is None else (
        demand_grid(like, inputs.plan, inputs.summary, inputs.weights))
    sums = sum_up(inputs, layer, steps)
    with one_thread():
        return *make_model(inputs, layer, steps, sums), inputs.summary.accounts


def make_model(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, sums: Sums) -> Made:
    """Solve, and put the model together: (header, arrays)."""
    check_counts(inputs.plan, inputs.classes, sums)
    header = inputs.describe(layer, steps).change_parameters(peak=size_of(sums))
    return solve(LivingMachine(header, layer, sums), inputs.data.runner)


def solve(machine: LivingMachine, runner: Engine) -> Made:
    """Solve for the output weights: (header, arrays) of the model with its sums."""
    model = machine.keep_sums(machine.solve())
    runner.reporter.say(f'solved {len(machine.sums.gram)} unknowns, condition about '
                        f'{model.header.parameters["condition"]:.1e}')
    return model.header, model.arrays


def check_counts(plan: InputPlan, classes: Classes | None, sums: Sums) -> None:
    """Raise AccountingError when the Gram job saw other labels than the pass before."""
    if classes and sums.counts.tolist() != classes.counts:
        raise AccountingError(f'{plan.name}: as many rows of each class were expected in every pass, other numbers '
                              'came: the data changed meanwhile')


def demand_grid(model: HiddenNodeModel, plan: InputPlan, summary: Summary, weights: dict | None = None,
                n_rows: int = 0) -> GridSteps:
    """Return the grids of a model's sums. Raises DataFormatError when the rows are too large to add to n_rows there."""
    steps = steps_of(model.header)
    if not steps.holds(grid_for(model.layer, summary, weights), n_rows + summary.n_rows):
        raise DataFormatError(f'{plan.name}: numbers of about the size that the model was trained on were expected, '
                              'they are millions of times larger')
    return steps


def sum_up(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> Sums:
    """Run the Gram job over the rows: their Sums."""
    named_sums: dict[str, Any] = {}
    tiles = {}
    for key, value in run_gram(inputs, layer, steps):
        kind, coordinates = split_key(key)
        if kind == 'gram':
            tiles[int(coordinates[0]), int(coordinates[1])] = value
        else:
            named_sums[coordinates[0]] = value
    high, low = assemble(tiles, layer.n_hidden + 1)
    return collect_sums(high, low, named_sums, inputs.classes)


def run_gram(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> Iterator[tuple[str, Any]]:
    """Run the Gram job: yield its pairs."""
    data, runner = inputs.data, inputs.data.runner
    data.fix_width(layer.n_features)
    reducers = runner.reducers(share_tiles(runner.maps_over(data.plan.size), layer.n_hidden)[0])
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        path = os.path.join(folder, 'layer.npz')
        parameters = {'map': layer.kind, 'sigma': kernel_width(inputs.options, layer.n_features)}
        save_arrays(path, {'parameters': parameters}, layer_arrays(layer))
        weights = write_json(os.path.join(folder, 'class_weights.json'), inputs.weights)
        grid = write_json(os.path.join(folder, 'grid.json'), astuple(steps))
        yield from data.run(MRGram, ['--layer', path, '--grid', grid, '--class-weights', weights, *reducers], 'Gram')


@cache
def share_tiles(n_maps: int, n_hidden: int) -> tuple[int, float]:
    """Return how many reduce tasks add up the tiles, so that none gets more than a GB, and the largest share of one.

    Every map task sends the high and low part of the upper triangle of E'E.
    """
    sizes = {make_key('gram', i, j): 2 * NUMBER_BYTES * n for i, j, n in tile_sizes(n_hidden + 1)}
    return fewest_tasks(sizes, REDUCER_BYTES / (n_maps * sum(sizes.values())))

"""Train PESVM and the unified ELM: statistics, random nodes, one Gram job, one small solve."""
import os
import tempfile
from dataclasses import astuple
from functools import cache

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.checks import check_labels, find_classes
from mr_elm.drivers.summary import summarise
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.features.hidden import HiddenLayer, draw_nodes
from mr_elm.features.scaling import choose_scaling
from mr_elm.header import ModelHeader
from mr_elm.history import event
from mr_elm.io.json_file import write_json
from mr_elm.io.store import save_arrays
from mr_elm.io.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import layer_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.partition import fewest_tasks
from mr_elm.solvers.ridge.esvm import class_weights, collect_sums, finish
from mr_elm.solvers.ridge.increment import size_of, sum_arrays, warn_of_doubt
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.sums.gram import GridSteps, assemble, tile_sizes

REDUCER_BYTES = 1 << 30


def options_of(header, **known):
    """Return the PESVMOptions that a model was trained with; `known` overrides."""
    given = header.parameters
    names = ('map', 'n_hidden', 'seed', 'weight_scale', 'weights', 'scale', 'class_weight')
    return PESVMOptions(**{'method': header.method, 'task': header.task, **{name: given[name] for name in names},
                           'nu': given['nu' if header.method == 'pesvm' else 'C'], **known})


def train(plan, options, runner, like=None):
    """Train on a data set: (header, arrays) of the model, and the Accounts of the first pass over text.

    plan : InputPlan. options : PESVMOptions. runner : Engine.
    like : a model whose scaling, nodes and grids to take, or None to choose them by the rows.
    Raises DataFormatError when the rows cannot be used, AccountingError when two passes disagree.
    """
    return train_on(DataSet(plan, runner, options.bad_rows), options, like)


def train_on(data, options, like=None):
    """Do what `train` does, on a DataSet that other passes may have read before."""
    n_landmarks = options.n_hidden if options.map == 'nystrom' and like is None else 0
    summary, plan = summarise(data, n_landmarks, options.seed), data.plan
    check_labels(plan, summary, options.task)
    classes = None if options.numeric else find_classes(plan, summary)
    layer = make_layer(options, summary) if like is None else like.layer
    weights = class_weights(options.class_weight, classes)
    steps = grid_steps(layer, summary, options, weights) if like is None else grid_of(like, plan, summary, weights)
    tiles, named_sums = sum_up(data, layer, steps, weights, options)
    with one_thread():
        sums = collect_sums(*assemble(tiles, layer.n_hidden + 1), named_sums, classes)
        check_counts(plan, classes, sums)
        header, arrays = make_model(summary, options, layer, steps, sums, classes, data)
    return header, arrays, summary.accounts


def make_model(summary, options, layer, steps, sums, classes, data):
    """Solve, and put the model together: (header, arrays)."""
    solution = solve(sums, options, data.runner)
    header = describe(summary, options, layer, steps, solution, classes, data)
    arrays = {**layer_arrays(layer), 'output_weights': solution.output_weights, **sum_arrays(sums)}
    return header.change_parameters(peak=size_of(sums)), arrays


def solve(sums, options, runner, peak=None):
    """Solve for the output weights, and say how sound that is. peak : the largest trace of E'E, if not that of now."""
    warn_of_doubt(options.nu, peak or size_of(sums))
    solution = finish(sums, options.nu, options.numeric, options.bias)
    runner.reporter.say(f'solved {len(sums.gram)} unknowns, condition about {solution.condition:.1e}')
    return solution


def check_counts(plan, classes, sums):
    """Raise AccountingError when the Gram job saw other labels than the pass before."""
    if classes and sums.counts.tolist() != classes.counts:
        raise AccountingError(f'{plan.name}: as many rows of each class were expected in every pass, other numbers '
                              'came: the data changed meanwhile')


def make_layer(options, summary):
    """Draw the nodes, or scale the landmarks; a HiddenLayer."""
    offset, scale = choose_scaling(options.scale, summary.columns)
    d = summary.columns.n_features
    if options.map == 'nystrom':
        rows = summary.landmarks
        rows = rows.toarray() if hasattr(rows, 'toarray') else rows
        rows = np.pad(rows, ((0, 0), (0, d - rows.shape[1])))
        weights = (rows - offset) * scale
        biases = np.full(len(weights), 2 * kernel_width(options, d)**2)
    else:
        weights, biases = draw_nodes(options.map, options.n_hidden, d, options.seed, options.weight_scale,
                                     options.weights)
    return HiddenLayer(options.map, weights, biases, offset, scale)


def kernel_width(options, n_features):
    """Return sigma = sqrt(d) / s, the Gaussian width that the weight scale s stands for."""
    return float(np.sqrt(n_features) / options.weight_scale)


def grid_steps(layer, summary, options, weights):
    """Choose the grids of the exact sums from bounds on nodes, targets and row weights."""
    node_bound = layer.bound(summary.columns.minimum, summary.columns.maximum)
    weight_bound = max(weights.values()) if weights else 1.0
    if summary.weights is not None:
        weight_bound *= float(summary.weights.maximum[0])
    target = summary.target
    target_bound = float(max(abs(target.minimum[0]), abs(target.maximum[0]))) if options.numeric else 1.0
    return GridSteps.of(node_bound, target_bound, weight_bound)


def grid_of(model, plan, summary, weights=None, n_rows=0):
    """Return the grids of a model's sums. Raises DataFormatError when the rows are too large to add to n_rows there."""
    steps = GridSteps(*model.header.parameters['grid'])
    wanted = grid_steps(model.layer, summary, options_of(model.header), weights)
    if not steps.holds(wanted, n_rows + summary.n_rows):
        raise DataFormatError(f'{plan.name}: numbers of about the size that the model was trained on were expected, '
                              'they are millions of times larger')
    return steps


def sum_up(data, layer, steps, weights, options):
    """Run the Gram job over a DataSet: (tiles, named sums)."""
    data.fix_width(layer.n_features)
    tiles, named_sums = {}, {}
    runner = data.runner
    reducers = runner.reducers(share_tiles(runner.maps_over(data.plan.size), layer.n_hidden)[0])
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        path = os.path.join(folder, 'layer.npz')
        save_arrays(path, {'parameters': {'map': options.map, 'sigma': kernel_width(options, layer.n_features)}},
                   layer_arrays(layer))
        arguments = ['--layer', path, '--grid', write_json(os.path.join(folder, 'grid.json'), astuple(steps)),
                     '--class-weights', write_json(os.path.join(folder, 'class_weights.json'), weights), *reducers]
        for key, value in data.run(MRGram, arguments, 'Gram'):
            kind, coordinates = split_key(key)
            if kind == 'gram':
                tiles[tuple(int(c) for c in coordinates)] = value
            else:
                named_sums[coordinates[0]] = value
    return tiles, named_sums


@cache
def share_tiles(n_maps, n_hidden):
    """Return how many reduce tasks add up the tiles, so that none gets more than a GB, and the largest share of one.

    Every map task sends the high and low part of the upper triangle of E'E.
    """
    sizes = {make_key('gram', i, j): 2 * NUMBER_BYTES * n for i, j, n in tile_sizes(n_hidden + 1)}
    return fewest_tasks(sizes, REDUCER_BYTES / (n_maps * sum(sizes.values())))


def describe(summary, options, layer, steps, solution, classes, data):
    """Make the header of the model."""
    rejected = summary.rejected
    return ModelHeader(
        method=options.method, task=options.task, classes=classes.names if classes else [],
        n_features=layer.n_features, n_rows_used=summary.n_rows, n_rows_rejected=sum(rejected.values()),
        parameters={
            'map': options.map, 'n_hidden': layer.n_hidden, 'seed': options.seed,
            'nu' if options.method == 'pesvm' else 'C': options.nu,
            'weight_scale': options.weight_scale, 'weights': options.weights, 'scale': options.scale,
            'sigma': kernel_width(options, layer.n_features), 'class_weight': options.class_weight,
            'solver': solution.factorisation, 'condition': solution.condition,
            'grid': list(astuple(steps)), 'blas': sorted(data.blas),
            'input': summary.input},
        history=[event('train', summary.n_rows, rejected)])

"""Train two-class machines, of sparse ELM, OELM or SphereSVM, in a reducer each, or in parts with a checking pass."""
import warnings
from dataclasses import replace
from itertools import product

import numpy as np

from mr_elm.drivers.checks import check_labels, find_classes
from mr_elm.drivers.dual_rounds import close_gap
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import summarise
from mr_elm.errors import ConvergenceWarning, DataFormatError, NumericalWarning
from mr_elm.features.hidden import HiddenLayer, draw_nodes
from mr_elm.features.kernels import KERNELS, make_kernel
from mr_elm.features.scaling import choose_scaling
from mr_elm.header import ModelHeader
from mr_elm.history import event
from mr_elm.io.kinds import find_kind
from mr_elm.io.wire import make_key, split_key
from mr_elm.machines.dual_task import DualProblem, TrainedMachine
from mr_elm.machines.gathering import join, rows_from_piece
from mr_elm.models import layer_arrays, vector_arrays
from mr_elm.passes.data_set import DataSet
from mr_elm.solvers.ridge.esvm import class_weights
from mr_elm.solvers.shared.multiclass import class_pairs
from mr_elm.streaming.mr_dual import MRDual


def train(plan, options, runner):
    """Train on a data set: (header, arrays) of the model, and the Accounts of the first pass over text.

    plan : InputPlan. options : DualOptions. runner : Engine.
    Raises DataFormatError when the rows cannot be used, or are too many; AccountingError when two passes disagree.
    """
    data = DataSet(plan, runner, options.bad_rows)
    summary, classes, problem = begin(data, options)
    demand_memory(plan, problem, classes, options)
    parts = solve_on_reducers(data, problem)
    if options.partitions > 1:
        def model_of(machines):
            return model_header(options, problem, classes), model_arrays(problem, machines)
        machines = close_gap(data, problem, parts, options, model_of, room_for(problem, options))
    else:
        machines = [parts[machine, 0] for machine in range(problem.n_machines)]
    repeat_warnings(machines, problem, classes)
    header = describe(model_header(options, problem, classes), summary, options, machines, data.blas)
    return header, model_arrays(problem, machines), summary.accounts


def begin(data, options):
    """Learn what the rows of a DataSet are and state the problem: (Summary, Classes, DualProblem)."""
    summary = summarise(data)
    check_labels(data.plan, summary, 'classification')
    classes = find_classes(data.plan, summary)
    return summary, classes, state_problem(options, summary, classes)


def state_problem(options, summary, classes):
    """Put classes, scaling, kernel or nodes and solver into a DualProblem."""
    offset, scale = choose_scaling(options.scale, summary.columns)
    d = summary.columns.n_features
    parameters = {'C': options.C, 'rule': options.rule, 'eps': options.eps,
                  'max_iter': options.max_iter, 'cache_bytes': int(options.memory * 1e6 / 2), 'seed': options.seed,
                  'multiclass': options.multiclass}
    if options.kernel in KERNELS:
        kernel = make_kernel(options.kernel, d, sigma=options.sigma, gamma=options.gamma, degree=options.degree,
                             normalised=options.normalise)
        if find_kind(summary.input['kind']).sparse and kernel.kind.of_distance:
            offset = np.zeros(d)  # distances do not see it, and rows stay sparse
        parameters |= {'kernel': kernel.name, 'normalised': kernel.normalised, **kernel.parameters}
        arrays = {'feature_offset': offset, 'feature_scale': scale}
    else:
        nodes = draw_nodes(options.kernel, options.n_hidden, d, options.seed, options.weight_scale, options.weights)
        parameters |= {'map': options.kernel, 'n_hidden': options.n_hidden, 'weight_scale': options.weight_scale,
                       'weights': options.weights}
        arrays = layer_arrays(HiddenLayer(options.kernel, *nodes, offset, scale))
    header = {'method': options.method, 'index': classes.index, 'n_classes': len(classes.names),
              'partitions': options.partitions, 'class_weights': class_weights(options.class_weight, classes),
              'parameters': parameters}
    return DualProblem(header, arrays)


def width_of(problem):
    """Return how many numbers a row of the dual has."""
    return problem.n_features if problem.machine.layer is None else problem.machine.layer.n_hidden


def room_for(problem, options):
    """Return how many rows fit into half of the memory: as they come, placed, and as the solver keeps them."""
    return int(options.memory * 1e6 / 2 / (3 * 8 * width_of(problem)))


def demand_memory(plan, problem, classes, options):
    """Raise DataFormatError when the rows of a machine do not fit into the memory of a task."""
    room = room_for(problem, options)
    if problem.one_vs_all or problem.n_classes == 2:
        largest = sum(classes.counts)
    else:
        largest = max(classes.counts[i] + classes.counts[j] for i, j in class_pairs(problem.n_classes))
    needed = -(-largest // options.partitions)
    if needed > room:
        raise DataFormatError(f'{plan.name}: at most {room:,} rows of {width_of(problem):,} numbers fit into half of '
                              f'--memory {options.memory:g} MB, a machine has {needed:,}: raise --memory, or cut them '
                              f'by --partitions {-(-largest // max(room, 1))}')


def solve_on_reducers(data, problem):
    """Run the job that trains all machines: (machine, part) -> TrainedMachine."""
    found = {}
    keys = [make_key('rows', *place) for place in product(range(problem.n_machines), range(problem.partitions))]
    for key, value in run_problem(data, MRDual, problem, 'machines', keys):
        kind, place = split_key(key)
        found.setdefault(tuple(map(int, place)), {}).setdefault(kind, []).append(value)
    return {place: trained_machine(records) for place, records in found.items()}


def trained_machine(records):
    """Put the records of one machine together."""
    pieces = records.get('support', [])
    rows = join([rows_from_piece(piece[1:]) for piece in pieces])
    order = np.lexsort(rows.places.T[::-1])
    coefficients = np.concatenate([piece[0] for piece in pieces])
    beta = records['beta'][0][0] if 'beta' in records else None
    return TrainedMachine(records['machine'][0], rows.take(order), coefficients[order], beta)


def repeat_warnings(machines, problem, classes):
    """Warn here of what the tasks warned of, naming the machine."""
    for number, machine in enumerate(machines):
        for name, text in machine.certificate['warnings']:
            category = {'ConvergenceWarning': ConvergenceWarning}.get(name, NumericalWarning)
            warnings.warn(f'{machine_name(number, problem, classes)}: {text}', category, stacklevel=2)


def machine_name(number, problem, classes):
    """Name a machine by its classes."""
    if problem.one_vs_all:
        return f'class {classes.names[number]} against all'
    i, j = class_pairs(problem.n_classes)[number]
    return f'classes {classes.names[i]} and {classes.names[j]}'


def model_arrays(problem, machines):
    """Name the arrays of the model: support vectors that any machine uses, each once, or the weights of nodes."""
    if problem.machine.kernel is None:
        weights = np.column_stack([machine.beta for machine in machines])
        return {**problem.arrays, 'output_weights': np.concatenate([weights, np.zeros((1, len(machines)))])}
    rows = join([machine.support for machine in machines])
    places, first, where = np.unique(rows.places, axis=0, return_index=True, return_inverse=True)
    owner = np.repeat(np.arange(len(machines)), [len(machine.support) for machine in machines])
    dual_coef = np.zeros((len(places), len(machines)))
    dual_coef[where.ravel(), owner] = np.concatenate([machine.coefficients for machine in machines])
    vectors = problem.machine.place(rows.X[first])
    intercept = np.array([machine.certificate['intercept'] for machine in machines])
    return {**problem.arrays, **vector_arrays(vectors), 'dual_coef': dual_coef, 'intercept': intercept}


def model_header(options, problem, classes):
    """Make what a header needs for the model to predict."""
    parameters = {name: value for name, value in problem.parameters.items() if name not in ('cache_bytes', 'rule')}
    return ModelHeader.from_json({
        'method': options.method, 'task': 'classification', 'classes': classes.names,
        'n_features': problem.n_features, 'parameters': {**parameters, 'solver': problem.parameters['rule']},
        'n_rows_used': 0, 'n_rows_rejected': 0, 'history': []})


def describe(header, summary, options, machines, blas):
    """Add to a header what the training was."""
    certificates = {name: [machine.certificate[name] for machine in machines]
                    for name in ('objective', 'gap', 'violation', 'n_iter', 'n_kernel_rows', 'n_support', 'seconds')}
    header = header.change_parameters(scale=options.scale, class_weight=options.class_weight,
                                      partitions=options.partitions, certificates=certificates, blas=sorted(blas),
                                      input=summary.input)
    return replace(header, n_rows_used=summary.n_rows, n_rows_rejected=sum(summary.rejected.values()),
                   history=[event('train', summary.n_rows, summary.rejected)])

"""mr-elm tune sparse-elm, oelm and sphere-svm: choose kernel parameters and C by cross-validation."""
import argparse
import csv
import json
import math
from dataclasses import replace

import numpy as np

from mr_elm.cli.dual import add_partition_options, add_solver_options, dual_options
from mr_elm.cli.options import Parser, add_input_options, add_resume_option, add_runner_options, make_runner
from mr_elm.cli.sphere import add_normalise_option, check_sphere
from mr_elm.cli.training import add_model_options, demand_seed, keep
from mr_elm.drivers import dual
from mr_elm.drivers.tune import TuneOptions
from mr_elm.drivers.tune import tune as search_grid
from mr_elm.features.kernels import KERNELS
from mr_elm.files.storage import demand_free, written
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import positive, row_options
from mr_elm.scores.selection import GRIDS


def tune_sparse_elm(argv):
    """Tune the sparse ELM."""
    tune(argv, 'sparse-elm')


def tune_oelm(argv):
    """Tune the optimisation ELM: the same machine."""
    tune(argv, 'oelm')


def tune_sphere_svm(argv):
    """Tune SphereSVM."""
    tune(argv, 'sphere-svm')


def tune(argv, method):
    """Score a grid, print the best candidate, and train with it on demand."""
    parser = make_parser(method)
    args, passed = parser.parse(argv)
    check_tune(parser, args)
    if method == 'sphere-svm':
        check_sphere(parser, args)
    for path in (args.model, args.table, args.figure):
        if path is not None:
            demand_free(path, args.overwrite)
    options = dual_options(args, method)
    with make_runner(args, passed, args.model or args.table or args.figure) as runner:
        plan = plan_inputs(args.inputs, row_options(args))
        tuned = search_grid(plan, options, search_of(args), runner)
        report(tuned, args)
        if args.model is not None:
            best = replace(options, C=tuned.best.C, **tuned.best.parameters)
            keep(args, runner, *dual.train(plan, best, runner))


def make_parser(method):
    """Make the parser of a method."""
    parser = Parser(f'tune {method}', 'Score a grid of kernel parameters and C by cross-validation, a reduce task for '
                    'each kernel; print the best, and train with it when --model is given.')
    add_input_options(parser)
    add_model_options(parser, required=False)
    group = add_grid_options(parser, 'tune on', 'the accuracy')
    group.add_argument('--folds', type=positive, default=5, metavar='K', help='how many (default: %(default)s)')
    group.add_argument('--nested', type=positive, default=0, metavar='K',
                       help='double cross-validation: choose within each of K outer trainings, test outside')
    if method == 'sphere-svm':
        add_normalise_option(parser)
    add_solver_options(parser, method)
    add_partition_options(parser)
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def add_grid_options(parser, how, what):
    """Add the candidates, and where scores go; returns the group, for more."""
    group = parser.add_argument_group('grid')
    group.add_argument('--kernel', choices=tuple(KERNELS), default='gaussian', metavar='NAME',
                       help=f'{", ".join(KERNELS)} (default: %(default)s)')
    group.add_argument('--grid', choices=GRIDS, default=GRIDS[0],
                       help="coarse: five widths around sqrt(d), five C; paper: Bai et al.'s 14 x 14 "
                            '(default: %(default)s)')
    for name in ('sigma', 'gamma', 'degree', 'C'):
        group.add_argument(f'--{name}', type=numbers, metavar='LIST', dest=f'{name}_list',
                           help='instead of those of the grid, as in 0.1,1,10')
    group.add_argument('--sample', type=positive, metavar='N', help=f'{how} about so many rows, chosen by a hash')
    group.add_argument('--table', metavar='OUT.csv', help='where to write all scores')
    group.add_argument('--figure', metavar='OUT.png', help=f'where to draw {what} over the grid')
    return group


def numbers(text):
    """Read a list of numbers above 0, comma between."""
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError:
        values = [0.0]
    if not all(value > 0 and math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f'numbers above 0 with commas between were expected, {text!r} came')
    return values


def check_tune(parser, args):
    """Exit with 2 where options do not fit."""
    check_grid(parser, args)
    for name in ('folds', 'nested'):
        if getattr(args, name) == 1:
            parser.error(f'--{name}: at least 2 folds were expected, 1 came')


def check_grid(parser, args):
    """Exit with 2 where candidates do not fit the kernel."""
    demand_seed(parser, args)
    for name in ('sigma', 'gamma', 'degree'):
        if getattr(args, f'{name}_list') is not None and name not in KERNELS[args.kernel].parameters:
            parser.error(f'--{name}: a parameter of the {args.kernel} kernel was expected')
    if args.sigma_list and args.gamma_list:
        parser.error('--gamma: --sigma or --gamma was expected, both came')


def search_of(args):
    """Make the TuneOptions that the user asked for."""
    return TuneOptions(args.grid, kernels_of(args), args.C_list, args.folds, args.nested, args.sample)


def kernels_of(args):
    """Return the kernel parameters that the user listed, or None."""
    widths = args.sigma_list or [math.sqrt(0.5 / gamma) for gamma in args.gamma_list or ()]
    lists = {'sigma': widths, 'degree': args.degree_list}
    return [{name: value} for name, values in lists.items() for value in values or ()] or None


def report(tuned, args):
    """Print the best candidate and write table and figure."""
    write_scores(tuned.scores, args, ('accuracy', 'deviation', 'n_support', 'seconds'))
    best = {**tuned.best.parameters, 'C': tuned.best.C, 'accuracy': tuned.best.accuracy,
            'deviation': tuned.best.deviation}
    if tuned.outer:
        shares = [cell.correct / cell.total for cell in tuned.outer]
        best['nested'] = {'accuracy': float(np.mean(shares)), 'deviation': float(np.std(shares)),
                          'chosen': [{**score.parameters, 'C': score.C} for score in tuned.chosen]}
    print(json.dumps(best))


def write_scores(scores, args, columns):
    """Write table and figure where they were asked for."""
    if args.table is not None:
        with written(args.table) as local:
            write_table(scores, local, columns)
    if args.figure is not None:
        from mr_elm.figures.heatmap import draw
        with written(args.figure) as local:
            draw(scores, local)


def write_table(scores, path, columns):
    """Write a line of csv a candidate."""
    with open(path, 'w', newline='') as stream:
        table = csv.writer(stream)
        table.writerow([*scores[0].parameters, 'C', *columns])
        for score in scores:
            table.writerow([*score.parameters.values(), score.C, *(getattr(score, name) for name in columns)])

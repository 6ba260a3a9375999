"""mr-elm tune pesvm: choose map, scale, nu and L by cross-validation, from one pass over the rows."""
import argparse
import csv
import json

from mr_elm.cli.options import (
    Parser,
    above_zero,
    add_input_options,
    add_resume_option,
    add_runner_options,
    add_task_option,
    make_runner,
)
from mr_elm.cli.training import (
    add_class_weight_option,
    add_model_options,
    demand_classes,
    demand_model_free,
    demand_seed,
    keep,
)
from mr_elm.cli.tune_dual import numbers
from mr_elm.drivers.tune_pesvm import Search
from mr_elm.drivers.tune_pesvm import tune as search_nodes
from mr_elm.features.hidden import NODES
from mr_elm.files.storage import demand_free, written
from mr_elm.machines.options import PESVMOptions
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import positive, row_options

NUS = [10.0**k for k in range(-4, 8)]
SIZES = list(range(100, 1001, 100))


def tune_pesvm(argv):
    """Score a grid, print the best cell, and write its model on demand."""
    parser = make_parser()
    args, passed = parser.parse(argv)
    check(parser, args)
    if args.model is not None:
        demand_model_free(args)
    for path in (args.table, args.figure):
        if path is not None:
            demand_free(path, args.overwrite)
    options = PESVMOptions(seed=args.seed, weights=args.weights, scale=args.scale, task=args.task,
                           class_weight=args.class_weight, bad_rows=args.bad_rows)
    search = Search(tuple((name, scale) for name in args.map for scale in args.weight_scale), tuple(args.nu),
                    tuple(args.hidden), args.folds, sample=args.sample, n_counted=args.count, memory=args.memory)
    with make_runner(args, passed, args.model or args.table or args.figure) as runner:
        plan = plan_inputs(args.inputs, row_options(args, numeric_labels=options.numeric))
        found, header, arrays, accounts = search_nodes(plan, options, search, runner)
        report(found, args)
        if args.model is not None:
            keep(args, runner, header, arrays, accounts)


def make_parser():
    """Make the parser."""
    parser = Parser('tune pesvm', 'Score every map, weight scale, nu and L by cross-validation from one pass over the '
                    'rows, count the rows that the best ones label right in a second; print the best.')
    add_input_options(parser)
    add_model_options(parser, required=False)
    add_task_option(parser)
    group = parser.add_argument_group('grid')
    group.add_argument('--map', type=maps, default=['sigmoid'], metavar='LIST',
                       help=f'of {", ".join(NODES)} (default: sigmoid)')
    group.add_argument('--weight-scale', type=numbers, default=[0.5, 1.0, 2.0], metavar='LIST',
                       help='default: 0.5,1,2')
    group.add_argument('--nu', type=numbers, default=NUS, metavar='LIST', help='default: 1e-4, 1e-3, ... 1e7')
    group.add_argument('--hidden', type=sizes, default=SIZES, metavar='LIST', help='default: 100, 200, ... 1000')
    group.add_argument('--folds', type=positive, default=5, metavar='K', help='how many (default: %(default)s)')
    group.add_argument('--weights', choices=('normal', 'uniform'), default='normal',
                       help='how nodes are drawn (default: %(default)s)')
    add_class_weight_option(group)
    group.add_argument('--count', type=positive, default=10, metavar='N',
                       help='cells whose held-out accuracy is counted in the second pass (default: %(default)s)')
    group.add_argument('--sample', type=positive, metavar='N', help='search on about so many rows, chosen by a hash')
    group.add_argument('--memory', type=above_zero, default=2000.0, metavar='MB',
                       help='that the sums of a task may take (default: %(default)s)')
    group.add_argument('--table', metavar='OUT.csv', help='where to write all cells')
    group.add_argument('--figure', metavar='OUT.png', help='where to draw nu against L, and the error over the scale')
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def maps(text):
    """Read a list of maps, comma between."""
    names = text.split(',')
    if unknown := [name for name in names if name not in NODES]:
        raise argparse.ArgumentTypeError(f'maps of {", ".join(NODES)} were expected, {unknown[0]!r} came')
    return list(dict.fromkeys(names))


def sizes(text):
    """Read a list of whole numbers above 0, comma between."""
    return sorted({positive(part) for part in text.split(',')})


def check(parser, args):
    """Exit with 2 where options do not fit."""
    demand_seed(parser, args)
    if args.folds < 2:
        parser.error('--folds: at least 2 folds were expected, 1 came')
    demand_classes(parser, args)


def report(found, args):
    """Print the best cell and write table and figure."""
    if args.table is not None:
        with written(args.table) as local:
            write_table(found.scores, local)
    if args.figure is not None:
        from mr_elm.figures.node_figure import draw
        with written(args.figure) as local:
            draw(found.scores, found.best, local)
    print(json.dumps(cell_of(found.best)))


def cell_of(score):
    """Return the fields of a NodeScore that a row of the table shows."""
    return {'map': score.map, 'weight_scale': score.weight_scale, 'nu': score.nu, 'hidden': score.n_hidden,
            'error': score.error, 'deviation': score.deviation, 'accuracy': score.accuracy, 'trusted': score.trusted}


def write_table(scores, path):
    """Write a line of csv a cell."""
    with open(path, 'w', newline='') as stream:
        table = csv.DictWriter(stream, cell_of(scores[0]))
        table.writeheader()
        table.writerows(map(cell_of, scores))

"""mr-elm train METHOD INPUT... --model OUT.npz"""
import math
import sys

from ..features.hidden import NODES
from ..features.scaling import SCALES
from ..io.store import save_model
from ..streaming.drivers import pesvm
from ..streaming.inputs import plan_inputs
from ..streaming.storage import demand_free, store_of, written
from .options import (
    Parser,
    add_input_options,
    add_resume_option,
    add_runner_options,
    make_runner,
    row_options,
    write_rejected,
)


def train(argv):
    """Train the method that the first word names."""
    if not argv or argv[0] in ('-h', '--help') or argv[0] not in METHODS:
        came = f', {argv[0]!r} came' if argv and argv[0] not in ('-h', '--help') else ''
        stream = sys.stderr if came or not argv else sys.stdout
        print(f'mr-elm train METHOD INPUT... --model OUT.npz: METHOD is one of {", ".join(METHODS)}{came}', file=stream)
        return 0 if stream is sys.stdout else 2
    return METHODS[argv[0]](argv[1:])


def train_pesvm(argv):
    """Train PESVM: ridge regression on hidden nodes, from one Gram."""
    parser = Parser('train pesvm', 'Train the parallel extreme SVM: ridge regression on random hidden nodes.')
    add_input_options(parser)
    add_model_options(parser)
    add_pesvm_options(parser)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check_pesvm(parser, args)
    demand_free(args.model, args.overwrite)
    rejected = f'{args.model}.rejected'
    if args.bad_rows == 'skip':
        demand_free(rejected, args.overwrite)
    options = pesvm.PESVMOptions(
        map=args.map, n_hidden=args.hidden, nu=args.nu, seed=args.seed, weight_scale=args.weight_scale,
        weights=args.weights, scale=args.scale, task=args.task, class_weight=args.class_weight, bad_rows=args.bad_rows)
    plan = plan_inputs(args.inputs, row_options(args, numeric_labels=options.numeric))
    with make_runner(args, passed, args.model) as runner:
        header, arrays, accounts = pesvm.train(plan, options, runner)
        with written(args.model) as local:
            save_model(local, header, arrays)
    if accounts is not None and accounts.rows:
        write_rejected(rejected, accounts, runner)
    elif args.overwrite and store_of(rejected).find(rejected):
        store_of(rejected).remove(rejected)  # it told of the model that was replaced
    runner.reporter.say(f'{args.model}: {header["n_rows_used"]:,} rows, {header["n_features"]} features, '
                        f'{header["parameters"]["n_hidden"]} hidden nodes')


def add_model_options(parser):
    """Add where the model goes and what kind of problem it is."""
    group = parser.add_argument_group('model')
    group.add_argument('--model', required=True, metavar='OUT.npz', help='where to write the model')
    group.add_argument('--overwrite', action='store_true', help='replace a model that exists')
    group.add_argument('--task', choices=('classification', 'regression'), default='classification',
                       help='what the labels are (default: %(default)s)')
    group.add_argument('--scale', choices=SCALES, default='standard',
                       help='how features are scaled first (default: %(default)s)')
    group.add_argument('--seed', type=int, default=0, help='seed of every random choice (default: %(default)s)')


def add_pesvm_options(parser):
    """Add the parameters of PESVM."""
    group = parser.add_argument_group('PESVM')
    group.add_argument('--map', choices=tuple(NODES), default='sigmoid', help='hidden nodes (default: %(default)s)')
    group.add_argument('--hidden', type=int, default=1000, metavar='L', help='how many of them (default: %(default)s)')
    group.add_argument('--weight-scale', type=float, default=1.0, metavar='S',
                       help='deviation of the pre-activations on scaled rows; a Gaussian has sigma = sqrt(d)/S '
                            '(default: %(default)s)')
    group.add_argument('--weights', choices=('normal', 'uniform'), default='normal',
                       help='normal: deviation S/sqrt(d); uniform: between -S and S (default: %(default)s)')
    group.add_argument('--nu', type=float, default=1.0, help='weight of the errors against the size of the output '
                       'weights (default: %(default)s)')
    group.add_argument('--class-weight', choices=('balanced',), help='let every class count the same')


def check_pesvm(parser, args):
    """Exit with 2 where a number is out of its range."""
    for name, value in (('--nu', args.nu), ('--weight-scale', args.weight_scale), ('--hidden', args.hidden)):
        if not (value > 0 and math.isfinite(value)):
            parser.error(f'{name}: a number above 0 was expected, {value} came')
    if not 0 <= args.seed < 2**64:
        parser.error(f'--seed: a whole number from 0 to 2^64 - 1 was expected, {args.seed} came')
    if args.class_weight and args.task == 'regression':
        parser.error('--class-weight: classes were expected, --task is regression')


METHODS = {'pesvm': train_pesvm}

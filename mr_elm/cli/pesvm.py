"""mr-elm train pesvm and elm: the options of hidden nodes and of their one Gram."""
import argparse
from functools import partial

from mr_elm.cli.increment import living_model
from mr_elm.cli.options import (
    Parser,
    above_zero,
    add_input_options,
    add_resume_option,
    add_runner_options,
    add_task_option,
)
from mr_elm.cli.training import add_class_weight_option, add_model_options, demand_classes, demand_seed
from mr_elm.drivers import pesvm
from mr_elm.drivers.budget import Budget
from mr_elm.features.hidden import NODES
from mr_elm.machines.options import PESVMOptions
from mr_elm.rows.row_arguments import positive

CHOSEN = ('--map', '--hidden', '--weight-scale', '--nu', '--like')
OF_THE_LAYER = ('--map', '--hidden', '--weight-scale', '--weights', '--scale', '--seed', '--task', '--class-weight')


def train_pesvm(argv, perform):
    """Train the parallel extreme SVM: ridge regression on random hidden nodes and a bias, from one Gram."""
    train(argv, perform, 'pesvm', '--nu', train_pesvm.__doc__)


def train_elm(argv, perform):
    """Train the unified ELM: ridge regression on random hidden nodes, from one Gram."""
    train(argv, perform, 'elm', '--C', train_elm.__doc__)


def train(argv, perform, method, strength, description):
    """Train a method; `strength` is what it calls the weight of the errors. perform : see `train.perform`."""
    parser = Parser(f'train {method}', description)
    add_input_options(parser)
    add_model_options(parser)
    add_task_option(parser)
    add_gram_options(parser, method, strength)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check(parser, args)
    budget = budget_of(parser, argv, args)
    if args.like is not None:
        train_like(parser, argv, perform, args, passed, method)
        return
    options = PESVMOptions(
        method=method, map=args.map, n_hidden=args.hidden, nu=args.nu, seed=args.seed, weight_scale=args.weight_scale,
        weights=args.weights, scale=args.scale, task=args.task, class_weight=args.class_weight, bad_rows=args.bad_rows)
    driver = auto_training(budget) if budget else pesvm.train
    perform(driver, options, args, passed, numeric_labels=options.numeric)


def auto_training(budget):
    """Return the driver that chooses the nodes; only who asks for it waits for the compiled loops that it loads."""
    from mr_elm.drivers import auto
    return partial(auto.train, budget=budget)


def budget_of(parser, argv, args):
    """Return the Budget of --auto, or None. Exits with status 2 if an option that --auto chooses was given."""
    given = {token.partition('=')[0] for token in argv}
    if not getattr(args, 'auto', False):
        if '--budget' in given:
            parser.error('--budget: --auto was expected with it')
        return None
    if clash := sorted(given & set(CHOSEN)):
        parser.error(f'{clash[0]}: --auto chooses it')
    if args.script:
        parser.error('--script: a training without --auto was expected, its stages depend on the rows')
    return args.budget or Budget()


def read_budget(text):
    """Read --budget: a number of nodes, or of seconds with an s behind it."""
    number = text.removesuffix('s')
    if not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f'a number of hidden nodes, as in 2000, or of seconds, as in 60s, was '
                                         f'expected, {text!r} came')
    return Budget(seconds=int(number)) if text.endswith('s') else Budget(int(number))


def train_like(parser, argv, perform, args, passed, method):
    """Train with the scaling and the nodes of another model, and its weight of the errors unless that is said."""
    given = {token.partition('=')[0] for token in argv}
    if clash := sorted(given & set(OF_THE_LAYER)):
        parser.error(f'{clash[0]}: --like or its own scaling and nodes were expected, both came')
    with living_model(args.like) as (_, model):
        nu = {'nu': args.nu} if given & {'--nu', '--C'} else {}
        options = pesvm.options_of(model.header, method=method, bad_rows=args.bad_rows, **nu)
        known = {'numeric_labels': model.numeric, 'n_features': model.n_features}
        perform(partial(pesvm.train, like=model), options, args, passed, **known)


def add_gram_options(parser, method, strength):
    """Add the hidden nodes and the weight of the errors."""
    group = parser.add_argument_group(method)
    group.add_argument('--map', choices=tuple(NODES), default='sigmoid', metavar='NAME',
                       help=f'hidden nodes: {", ".join(NODES)} (default: %(default)s)')
    group.add_argument('--hidden', type=positive, default=1000, metavar='L',
                       help='how many of them (default: %(default)s)')
    group.add_argument('--weight-scale', type=above_zero, default=1.0, metavar='S',
                       help='deviation of the pre-activations on scaled rows; a Gaussian has sigma = sqrt(d)/S '
                            '(default: %(default)s)')
    group.add_argument('--weights', choices=('normal', 'uniform'), default='normal',
                       help='normal: deviation S/sqrt(d); uniform: between -S and S (default: %(default)s)')
    group.add_argument(strength, type=above_zero, default=1.0, dest='nu', metavar='X',
                       help='weight of the errors against the size of the output weights (default: %(default)s)')
    add_class_weight_option(group)
    if method == 'pesvm':
        group.add_argument('--auto', action='store_true', help='choose map, weight scale, nu and L by rows held out')
        group.add_argument('--budget', type=read_budget, metavar='L|Ts', help='of --auto: at most L nodes, as in '
                           '2000, or about T seconds of one core, as in 60s (default: 3000)')
    group.add_argument('--like', metavar='MODEL', help='take scaling, nodes and the rest from a model, so that both '
                       'can be merged')


def check(parser, args):
    """Exit with 2 where options do not fit."""
    demand_seed(parser, args)
    demand_classes(parser, args)

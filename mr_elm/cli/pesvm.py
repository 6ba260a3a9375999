"""mr-elm train pesvm and elm: what can be said of hidden nodes and their one Gram."""
from ..features.hidden import NODES
from ..streaming.drivers import pesvm
from .options import Parser, add_input_options, add_resume_option, add_runner_options
from .training import add_model_options, demand_positive, demand_seed, run


def train_pesvm(argv):
    """Train the parallel extreme SVM: ridge regression on random hidden nodes and a bias, from one Gram."""
    train(argv, 'pesvm', '--nu', train_pesvm.__doc__)


def train_elm(argv):
    """Train the unified ELM: ridge regression on random hidden nodes, from one Gram."""
    train(argv, 'elm', '--C', train_elm.__doc__)


def train(argv, method, strength, description):
    """Train a method; `strength` is what it calls the weight of the errors."""
    parser = Parser(f'train {method}', description)
    add_input_options(parser)
    add_model_options(parser)
    parser.add_argument('--task', choices=('classification', 'regression'), default='classification',
                        help='what the labels are (default: %(default)s)')
    add_gram_options(parser, method, strength)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check(parser, args, strength)
    options = pesvm.PESVMOptions(
        method=method, map=args.map, n_hidden=args.hidden, nu=args.nu, seed=args.seed, weight_scale=args.weight_scale,
        weights=args.weights, scale=args.scale, task=args.task, class_weight=args.class_weight, bad_rows=args.bad_rows)
    run(pesvm.train, options, args, passed, numeric_labels=options.numeric)


def add_gram_options(parser, method, strength):
    """Add the hidden nodes and the weight of the errors."""
    group = parser.add_argument_group(method)
    group.add_argument('--map', choices=tuple(NODES), default='sigmoid', help='hidden nodes (default: %(default)s)')
    group.add_argument('--hidden', type=int, default=1000, metavar='L', help='how many of them (default: %(default)s)')
    group.add_argument('--weight-scale', type=float, default=1.0, metavar='S',
                       help='deviation of the pre-activations on scaled rows; a Gaussian has sigma = sqrt(d)/S '
                            '(default: %(default)s)')
    group.add_argument('--weights', choices=('normal', 'uniform'), default='normal',
                       help='normal: deviation S/sqrt(d); uniform: between -S and S (default: %(default)s)')
    group.add_argument(strength, type=float, default=1.0, dest='nu', metavar='X',
                       help='weight of the errors against the size of the output weights (default: %(default)s)')
    group.add_argument('--class-weight', choices=('balanced',), help='let every class count the same')


def check(parser, args, strength):
    """Exit with 2 where a number is out of its range."""
    for name, value in ((strength, args.nu), ('--weight-scale', args.weight_scale), ('--hidden', args.hidden)):
        demand_positive(parser, name, value)
    demand_seed(parser, args)
    if args.class_weight and args.task == 'regression':
        parser.error('--class-weight: classes were expected, --task is regression')

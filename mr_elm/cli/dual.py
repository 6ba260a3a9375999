"""mr-elm train sparse-elm and oelm: the options of the box-constrained dual."""
from dataclasses import fields

from mr_elm.cli.options import Parser, above_zero, add_input_options, add_resume_option, add_runner_options
from mr_elm.cli.training import add_class_weight_option, add_model_options, demand_seed
from mr_elm.drivers import dual
from mr_elm.features.kernels import KERNELS
from mr_elm.machines.options import RANDOM_NODES, DualOptions
from mr_elm.rows.row_arguments import positive
from mr_elm.solvers.rules import METHOD_RULES
from mr_elm.solvers.shared.multiclass import SCHEMES

STOP = 'violation of the optimality conditions at which to stop'
STOPS = {'sphere-svm': 'gap at which to stop, relative to the objective; for --rule paper the eps of Algorithm 1'}


def train_sparse_elm(argv, perform):
    """Train the sparse ELM: the box-constrained dual, solved by blocks of variables."""
    train_dual(argv, perform, 'sparse-elm', train_sparse_elm.__doc__)


def train_oelm(argv, perform):
    """Train the optimisation ELM: the box-constrained dual, solved by active sets."""
    train_dual(argv, perform, 'oelm', train_oelm.__doc__)


def train_dual(argv, perform, method, description):
    """Train a method of the box-constrained dual. perform : see `train.perform`."""
    parser = Parser(f'train {method}', description)
    add_input_options(parser)
    add_model_options(parser)
    add_kernel_options(parser)
    add_node_options(parser)
    add_solver_options(parser, method)
    add_partition_options(parser)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check_dual(parser, args)
    perform(dual.train, dual_options(args, method), args, passed)


def dual_options(args, method):
    """Make the DualOptions that the user asked for."""
    names = [field.name for field in fields(DualOptions) if hasattr(args, field.name)]
    n_hidden = {'n_hidden': args.hidden} if hasattr(args, 'hidden') else {}
    return DualOptions(method=method, **n_hidden, **{name: getattr(args, name) for name in names})


def add_kernel_options(parser, nodes=RANDOM_NODES, C='bound of the dual variables'):
    """Add the kernel, its parameters and C; `nodes` are the random nodes that may stand for a kernel."""
    group = parser.add_argument_group('kernel')
    also = f', or random nodes: {", ".join(nodes)}' if nodes else ''
    group.add_argument('--kernel', choices=(*KERNELS, *nodes), default='gaussian', metavar='NAME',
                       help=f'{", ".join(KERNELS)}{also} (default: %(default)s)')
    group.add_argument('--sigma', type=above_zero, metavar='X',
                       help='width of the gaussian or laplacian kernel (default: sqrt(d))')
    group.add_argument('--gamma', type=above_zero, metavar='X', help='gaussian: 1 / (2 sigma^2), instead of --sigma')
    group.add_argument('--degree', type=positive, metavar='N', help='polynomial: of (1 + u.v)^degree (default: 3)')
    group.add_argument('--C', type=above_zero, default=1.0, metavar='X', help=f'{C} (default: %(default)s)')


def add_node_options(parser):
    """Add the parameters of random nodes."""
    group = parser.add_argument_group('random nodes')
    group.add_argument('--hidden', type=positive, default=1000, metavar='L',
                       help='how many of them (default: %(default)s)')
    group.add_argument('--weight-scale', type=above_zero, default=1.0, metavar='S',
                       help='deviation of the pre-activations on scaled rows (default: %(default)s)')
    group.add_argument('--weights', choices=('normal', 'uniform'), default='normal',
                       help='normal: deviation S/sqrt(d); uniform: between -S and S (default: %(default)s)')


def add_solver_options(parser, method):
    """Add how the dual is solved."""
    rules = METHOD_RULES[method]
    group = parser.add_argument_group('solver')
    group.add_argument('--rule', choices=rules, default=rules[0], help='how kernels are solved (default: %(default)s)')
    group.add_argument('--eps', type=above_zero, default=1e-3, metavar='X',
                       help=f'{STOPS.get(method, STOP)} (default: %(default)s)')
    group.add_argument('--max-iter', type=positive, metavar='N', help="bound on iterations (default: the solver's own)")
    group.add_argument('--multiclass', choices=SCHEMES, default=SCHEMES[0],
                       help='how two-class machines make several classes (default: %(default)s)')
    add_class_weight_option(group)
    group.add_argument('--memory', type=above_zero, default=1000.0, metavar='MB',
                       help='of a task, half of it for kernel values (default: %(default)s)')


def add_partition_options(parser):
    """Add what rows beyond one reducer need."""
    group = parser.add_argument_group('rows beyond one reducer')
    group.add_argument('--partitions', type=positive, default=1, metavar='P',
                       help='cut the rows of a machine into so many parts, solve these, then add the rows of all parts '
                            'that contradict the result until the duality gap over all rows is closed')
    group.add_argument('--gap', type=above_zero, default=1e-3, metavar='X',
                       help='that gap, relative to the objective (default: %(default)s)')


def check_dual(parser, args):
    """Exit with 2 where options do not fit."""
    check_kernel(parser, args)
    demand_seed(parser, args)


def check_kernel(parser, args):
    """Exit with 2 where a parameter belongs to another kernel."""
    known = KERNELS[args.kernel].parameters if args.kernel in KERNELS else ()
    for name in ('sigma', 'gamma', 'degree'):
        if getattr(args, name) is not None and name not in known:
            parser.error(f'--{name}: {", ".join("--" + one for one in known) or "no parameter"} was expected with '
                         f'--kernel {args.kernel}')
    if args.sigma is not None and args.gamma is not None:
        parser.error('--gamma: --sigma or --gamma was expected, both came')

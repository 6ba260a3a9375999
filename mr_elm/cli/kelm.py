"""mr-elm train mr-kelm: the options of the kernel ELM."""
from dataclasses import fields

from mr_elm.cli.dual import add_kernel_options, check_kernel
from mr_elm.cli.options import (
    Parser,
    above_zero,
    add_input_options,
    add_resume_option,
    add_runner_options,
    add_task_option,
)
from mr_elm.cli.training import add_class_weight_option, add_model_options, demand_classes, demand_seed
from mr_elm.drivers import kelm
from mr_elm.machines.options import KELMOptions
from mr_elm.rows.row_arguments import positive


def train_mr_kelm(argv, perform):
    """Train the kernel ELM: A = (I/C + Omega)^-1 T, all classes in one solve."""
    parser = Parser('train mr-kelm', train_mr_kelm.__doc__)
    add_input_options(parser)
    add_model_options(parser)
    add_task_option(parser)
    add_class_weight_option(parser)
    add_kernel_options(parser, (), 'weight of the errors')
    add_kelm_options(parser)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check_kelm(parser, args)
    options = kelm_options(args)
    perform(kelm.train, options, args, passed, numeric_labels=options.numeric)


def kelm_options(args):
    """Make the KELMOptions that the user asked for."""
    names = [field.name for field in fields(KELMOptions) if hasattr(args, field.name)]
    return KELMOptions(**{name: getattr(args, name) for name in names})


def add_kelm_options(parser):
    """Add how the system is solved, and how its matrix comes about."""
    group = parser.add_argument_group('solver')
    group.add_argument('--solver', choices=tuple(kelm.SOLVERS),
                       help="cholesky: factorise the kernel matrix; svd: the paper's; cg: never store it, recompute it "
                            'in each pass (default: cholesky where it fits into --memory, else cg)')
    group.add_argument('--emit', choices=('rows', 'tiles', 'entries'),
                       help='cholesky, svd: how tasks send the kernel matrix. rows: without a shuffle; tiles: from '
                            "columns, in tiles; entries: from columns, one by one, as in the paper (default: rows, "
                            'or tiles where the rows do not fit into a task)')
    group.add_argument('--rank', type=positive, metavar='R',
                       help='svd: so many eigenvalues, by passes over the data, instead of all; cg: of the '
                            'preconditioner (default: twice the effective dimension, as --memory allows)')
    group.add_argument('--tolerance', type=above_zero, default=1e-8, metavar='X',
                       help='cg: relative residual at which to stop (default: %(default)s)')
    group.add_argument('--max-passes', type=positive, default=200, metavar='N',
                       help='cg: give up after so many (default: %(default)s)')
    group.add_argument('--leave-one-out', action='store_true',
                       help='cholesky, svd: tell the leave-one-out score, in closed form')
    add_memory_option(group, 'of this process, for the kernel matrix or the preconditioner')


def add_memory_option(parser, use):
    """Add the memory for matrices."""
    parser.add_argument('--memory', type=above_zero, default=4000.0, metavar='MB', help=f'{use} (default: %(default)s)')


def check_kelm(parser, args):
    """Exit with 2 where options do not fit."""
    check_kernel(parser, args)
    demand_seed(parser, args)
    demand_classes(parser, args)
    if args.leave_one_out and args.solver == 'cg':
        parser.error('--leave-one-out: --solver cholesky or svd was expected, cg has no closed form')
    if args.emit and args.solver == 'cg':
        parser.error('--emit: --solver cholesky or svd was expected, cg never stores the kernel matrix')
    if args.rank and args.solver in (None, 'cholesky'):
        parser.error('--rank: --solver svd or cg was expected')

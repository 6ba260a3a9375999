"""mr-elm train sphere-svm: the options of the L2 machine."""
from mr_elm.cli.dual import add_kernel_options, add_partition_options, add_solver_options, check_dual, dual_options
from mr_elm.cli.options import Parser, add_input_options, add_resume_option, add_runner_options
from mr_elm.cli.training import add_model_options
from mr_elm.drivers import dual
from mr_elm.features.kernels import KERNELS


def train_sphere_svm(argv, perform):
    """Train SphereSVM: the L2 machine on a normalised kernel, as the point of a hull that is nearest to the origin."""
    parser = Parser('train sphere-svm', train_sphere_svm.__doc__)
    add_input_options(parser)
    add_model_options(parser)
    add_kernel_options(parser, (), 'weight of the squared errors')
    add_normalise_option(parser)
    add_solver_options(parser, 'sphere-svm')
    add_partition_options(parser)
    add_runner_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    check_dual(parser, args)
    check_sphere(parser, args)
    perform(dual.train, dual_options(args, 'sphere-svm'), args, passed)


def add_normalise_option(parser):
    """Add the normalisation of the kernel."""
    parser.add_argument('--normalise', action='store_true',
                        help='divide K(u, v) by the root of K(u, u) K(v, v), which polynomial and linear need')


def check_sphere(parser, args):
    """Exit with 2 where the kernel is not normalised, or the rule cannot close a gap."""
    if not (args.normalise or KERNELS[args.kernel].of_distance):
        parser.error(f'--kernel {args.kernel}: a normalised kernel was expected, add --normalise')
    if args.rule == 'paper' and args.partitions > 1:
        parser.error('--partitions: --rule exact was expected with it, paper closes no gap')

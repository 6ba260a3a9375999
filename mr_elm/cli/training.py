"""Do what training has in common, whatever the method: where the model goes, and writing it."""
from mr_elm.cli.options import make_runner, write_rejected
from mr_elm.features.scaling import SCALES
from mr_elm.files.storage import demand_free, store_of, written
from mr_elm.io.store import save_model
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import row_options


def add_model_options(parser, required=True):
    """Add where the model goes and how rows are scaled."""
    group = parser.add_argument_group('model')
    group.add_argument('--model', required=required, metavar='OUT.npz', help='where to write the model')
    group.add_argument('--overwrite', action='store_true', help='replace a model that exists')
    if required:
        group.add_argument('--script', action='store_true', help='train nothing; print a shell script that does it '
                           'stage by stage')
    group.add_argument('--scale', choices=SCALES, default='standard', metavar='NAME',
                       help=f'how features are scaled first: {", ".join(SCALES)} (default: %(default)s)')
    group.add_argument('--seed', type=int, default=0, metavar='N',
                       help='seed of every random choice (default: %(default)s)')


def add_class_weight_option(parser):
    """Add what classes weigh."""
    parser.add_argument('--class-weight', choices=('balanced',), help='let every class count the same')


def run(driver, options, args, passed, **known):
    """Run a driver's training and write the model.

    driver : function (plan, options, runner) -> (header, arrays, accounts). known : RowOptions to override.
    """
    demand_model_free(args)
    plan = plan_inputs(args.inputs, row_options(args, **known))
    with make_runner(args, passed, args.model) as runner:
        header, arrays, accounts = driver(plan, options, runner)
        keep(args, runner, header, arrays, accounts)


def demand_model_free(args):
    """Refuse a model that exists, or whose folder does not, before any work is done."""
    demand_free(args.model, args.overwrite)
    if args.bad_rows == 'skip':
        demand_free(rejected_of(args), args.overwrite)


def rejected_of(args):
    """Name the file for rows that were left out."""
    return f'{args.model}.rejected'


def keep(args, runner, header, arrays, accounts):
    """Write a model, and the rows that were left out."""
    rejected = rejected_of(args)
    with written(args.model) as local:
        save_model(local, header, arrays)
    if accounts is not None and accounts.rows:
        write_rejected(rejected, accounts, runner)
    elif args.overwrite and store_of(rejected).find(rejected):
        store_of(rejected).remove(rejected)  # it told of the model that was replaced
    runner.reporter.say(f'{args.model}: {header.n_rows_used:,} rows, {header.n_features} features, '
                        f'{size_of(header, arrays)}')


def size_of(header, arrays):
    """Say how large a model is."""
    if 'dual_coef' in arrays:
        return f'{len(arrays["dual_coef"]):,} support vectors'
    return f'{header.parameters["n_hidden"]} hidden nodes'


def demand_classes(parser, args):
    """Reject --class-weight together with --task regression: exit with status 2."""
    if args.class_weight and args.task == 'regression':
        parser.error('--class-weight: classes were expected, --task is regression')


def demand_seed(parser, args):
    """Exit with 2 when the seed is out of range."""
    if not 0 <= args.seed < 2**64:
        parser.error(f'--seed: a whole number from 0 to 2^64 - 1 was expected, {args.seed} came')

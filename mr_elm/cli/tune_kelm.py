"""mr-elm tune mr-kelm: choose kernel parameters and C by leave-one-out."""
import json
from dataclasses import replace

from mr_elm.cli.kelm import add_memory_option, kelm_options
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_resume_option,
    add_runner_options,
    add_task_option,
    make_runner,
)
from mr_elm.cli.training import add_class_weight_option, add_model_options, demand_classes, keep
from mr_elm.cli.tune_dual import add_grid_options, check_grid, kernels_of, write_scores
from mr_elm.drivers import kelm
from mr_elm.drivers.tune_kelm import SearchOptions
from mr_elm.drivers.tune_kelm import tune as search_grid
from mr_elm.files.storage import demand_free
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import row_options


def tune_mr_kelm(argv):
    """Score a grid, print the best candidate, and train with it on demand."""
    parser = make_parser()
    args, passed = parser.parse(argv)
    check(parser, args)
    for path in (args.model, args.table, args.figure):
        if path is not None:
            demand_free(path, args.overwrite)
    options = kelm_options(args)
    search = SearchOptions(args.grid, kernels_of(args), args.C_list, args.sample)
    with make_runner(args, passed, args.model or args.table or args.figure) as runner:
        plan = plan_inputs(args.inputs, row_options(args, numeric_labels=options.numeric))
        scores, best = search_grid(plan, options, search, runner)
        name = 'rmse' if options.numeric else 'accuracy'
        write_scores(scores, args, (name,))
        print(json.dumps({**best.parameters, 'C': best.C, name: getattr(best, name)}))
        if args.model is not None:
            keep(args, runner, *kelm.train(plan, replace(options, C=best.C, **best.parameters), runner))


def make_parser():
    """Make the parser."""
    parser = Parser('tune mr-kelm', 'Score a grid of kernel parameters and C by leave-one-out in closed form, a reduce '
                    'task for each kernel, whose eigendecomposition serves every C; print the best, and train with it '
                    'when --model is given.')
    add_input_options(parser)
    add_model_options(parser, required=False)
    add_task_option(parser)
    add_class_weight_option(parser)
    add_grid_options(parser, 'tune on', 'the accuracy')
    add_memory_option(parser, 'of a task, for a kernel matrix and its eigenvectors')
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def check(parser, args):
    """Exit with 2 where options do not fit."""
    check_grid(parser, args)
    demand_classes(parser, args)
    if args.figure and args.task == 'regression':
        parser.error('--figure: classes were expected, --task is regression')

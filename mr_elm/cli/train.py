"""mr-elm train METHOD INPUT... --model OUT.npz"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any

from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_resume_option,
    add_runner_options,
    choose_engine,
    demand_regression,
    demand_targets,
    plan_rows,
    read_options,
)
from mr_elm.cli.output import Output, add_ledger_options, open_change
from mr_elm.engines.base import Engine
from mr_elm.machines.shared_options import SOLVER
from mr_elm.methods import METHODS, Method
from mr_elm.model.base import Model
from mr_elm.option import AdvancedHelp, add_options, option_fields
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.options import OF_ENCODING, OF_LABELS, RowOptions

OF_ANSWERS = 'probabilities', 'threshold', 'positive', 'intervals'  # options that say how a model answers


@dataclass(frozen=True)
class Training:
    """Hold what the words of `mr-elm train` ask for.

    words : the method, and what followed it. driver : function (plan, options, engine) -> (Model, accounts).
    options : of the method. args : all options as they were read.
    rows : how the rows are written.
    """

    words: Sequence[str]
    driver: Callable[..., tuple]
    options: Any
    args: argparse.Namespace
    rows: RowOptions


def train(words: Sequence[str]) -> None:
    """Train the method that the first word names, or print how to do that by hand."""
    training = read_training(words)
    args = training.args
    if args.script:
        from mr_elm.cli.by_hand import print_script

        print_script(training)
        return
    from mr_elm.drivers.constant import look_at_rows

    start = time.perf_counter()
    output = Output(args)
    output.demand_free()
    plan = plan_rows(args, training.rows)
    if isinstance(args.test, str):
        plan_inputs([args.test], training.rows)
    with (
        choose_engine(args, args.model) as engine,
        open_change(args, 'train', engine.reporter) as ledger,
    ):
        if plan.form.target == 'auto':
            from mr_elm.drivers.score import choose_target

            plan = choose_target(
                lambda plan: training.driver(plan, training.options, engine), plan, engine, args.bad_rows
            )
        if ledger is not None:
            ledger.begin(args.overwrite)
        model, accounts = training.driver(plan, training.options, engine)
        look_at_rows(model, plan)
        if ledger is not None:
            ledger.hash_training(plan, engine, args.bad_rows, model, accounts)
        output.keep(engine, model, accounts, ledger)
        if args.test is None:
            scores = {}
        else:
            scores = test_model(training, plan, model, engine)
    report(training, plan, model, scores, time.perf_counter() - start)


def test_model(training: Training, plan: InputPlan, model: Model, engine: Engine) -> dict[str, Any]:
    """Return the scores of a model on held-out rows, or on those of a file, as --test says."""
    from mr_elm.cli.given_model import rows_for
    from mr_elm.drivers import score

    args = training.args
    if isinstance(args.test, float):
        return score.test_held_out(model, plan, engine, args.bad_rows)
    return score.test(model, plan_rows(args, rows_for(model, args), [args.test]), engine, args.bad_rows)


def report(training: Training, plan: InputPlan, model: Model, scores: dict[str, Any], seconds: float) -> None:
    """Print what --json, --leave-one-out and --test ask for."""
    args = training.args
    header = model.header
    if args.json:
        print(
            json.dumps(
                {
                    'model': args.model,
                    'method': header.method,
                    'task': header.task,
                    'classes': header.classes,
                    'files': [file.path for file in plan.files],
                    'rows': header.n_rows_used,
                    'rows_rejected': header.n_rows_rejected,
                    'features': header.n_features,
                    'options': dict(header.parameters),
                    'members': header.members,
                    'test': scores or None,
                    'seconds': round(seconds, 3),
                }
            )
        )
        return
    if left_out := header.parameters.get('leave_one_out'):
        print('leave-one-out:', ', '.join(map('{0[0]} {0[1]:.6g}'.format, left_out.items())))
    if scores:
        from mr_elm.cli.score import lay_out_scores

        print(lay_out_scores(scores))


def read_test(text: str) -> float | str:
    """Read --test: a share of the rows between 0 and 1, or the name of a file."""
    try:
        share = float(text)
    except ValueError:
        return text
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f'expected a share above 0 and below 1, or a file, found {text!r}')
    return share


def read_training(words: Sequence[str]) -> Training:
    """Read the words of a training, the method first. Exits with status 2 on wrong usage."""
    name, *argv = words
    method = METHODS[name]
    parser = make_parser(name, method)
    args = parser.parse(argv)
    options = read_options(parser, resolve_name(method.options), args, bad_rows=args.bad_rows)
    demand_targets(parser, args, options.numeric)
    given = {token.partition('=')[0] for token in argv}
    if getattr(args, 'ledger', None) is not None and not (args.sums if method.living else args.keep_sums):
        parser.error(
            f'--ledger: expected a model with sums, which forget needs ('
            f'{"without --no-sums" if method.living else "with --keep-sums"})'
        )
    driver = resolve_name(method.driver)
    known = {'numeric_labels': options.numeric}
    if method.living and args.like is not None:
        driver, options, known = train_like(parser, name, given, args)
    demand_regression(parser, args, options.numeric)
    if isinstance(args.test, float):
        known['held_out'] = args.test
    if getattr(args, 'part_by', ()):
        if not args.sums:
            parser.error('--part-by: cannot be used with --no-sums')
        driver = partial(driver, part_by=args.part_by)
        if args.part_by == ('file',):
            known['part_by'] = ()
    return Training(words, driver, options, args, RowOptions.of_arguments(args, **known))


def make_parser(name: str, method: Method) -> Parser:
    """Make the parser of a method."""
    parser = Parser(f'train {name}', method.description)
    add_input_options(parser, 'target', *(['part_by'] if method.living else []), *OF_LABELS, *OF_ENCODING)
    add_model_options(parser, living=method.living)
    add_options(parser.add_to, resolve_name(method.options), method=name)
    if method.living:
        parser.group(name).add_argument(
            '--like',
            metavar='MODEL',
            help=AdvancedHelp(
                'take scaling, nodes and all options of the layer from this model, so that both models can be merged'
            ),
        )
    if method.living or name == 'auto':
        add_ledger_options(parser.group('model'))
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def add_model_options(parser: Parser, required: bool = True, living: bool = False) -> None:
    """Add where the model goes. living : whether it has sums, which are written beside it."""
    group = parser.group('model')
    group.add_argument('--model', required=required, metavar='OUT.npz', help='where to write the model')
    group.add_argument('--overwrite', action='store_true', help='replace an existing model')
    if living:
        group.add_argument(
            '--no-sums',
            dest='sums',
            action='store_false',
            help=AdvancedHelp(
                'write the model alone, without its sums (OUT.sums.npz), which update, forget and merge need'
            ),
        )
    if required:
        group.add_argument(
            '--script',
            action='store_true',
            help=AdvancedHelp('not auto: train nothing; print a shell script that trains stage by stage'),
        )
        group.add_argument(
            '--test', type=read_test, metavar='SHARE|FILE', help=('score it on held-out rows, or on a file')
        )
        group.add_argument(
            '--json',
            action='store_true',
            help=AdvancedHelp('print one JSON object: rows, classes, options, scores of --test, seconds'),
        )


def train_like(
    parser: Parser, name: str, given: set[str], args: argparse.Namespace
) -> tuple[Callable[..., tuple], Any, dict[str, Any]]:
    """Return the training of --like: driver, options, and what is known of the rows.

    It has the scaling and the nodes of the other model, and its weight of the errors unless that is said.
    """
    from mr_elm.cli.given_model import rows_like
    from mr_elm.cli.increment import read_nodes
    from mr_elm.machines.living import options_of

    fields = option_fields(resolve_name(METHODS[name].options))
    free = {'nu', *OF_ANSWERS, *(field for field, each in fields.items() if each.group == SOLVER)}
    typed = {field for field, each in fields.items() if each.flag in given}
    taken = {fields[field].flag for field in typed - free} | given & {'--targets', '--labels-separator'}
    if taken:
        parser.error(f'{min(taken)}: cannot be used with --like, which takes it from the other model')
    model = read_nodes(args.like)
    if len(model.members) > 1 and 'nu' in typed:
        parser.error(f'--nu: cannot be used with --like {args.like}, which averages {len(model.members)} machines')
    values = {field: getattr(args, field) for field in ('bad_rows', *OF_ANSWERS, *typed & free)}
    options = options_of(model.members[0].header, method=name, **values)
    known = {**rows_like(model, args), 'numeric_labels': model.numeric}
    return partial(resolve_name(METHODS[name].driver), like=model), options, known

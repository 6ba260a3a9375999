"""mr-elm tune METHOD INPUT... [--model OUT.npz]"""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_resume_option,
    add_runner_options,
    choose_engine,
    demand_regression,
    plan_rows,
    read_options,
)
from mr_elm.cli.output import Output
from mr_elm.cli.train import add_model_options
from mr_elm.drivers.score import choose_target
from mr_elm.machines.search_options import GRID, KernelSearch, NodeSearch
from mr_elm.methods import METHODS, Method, Tuning
from mr_elm.option import AdvancedHelp, add_options, option_fields
from mr_elm.rows.options import OF_ENCODING, RowOptions
from mr_elm.rows.storage import demand_free, write_file
from mr_elm.scores.selection import NodeScore, Tuned

OF_TABLE = ('n_support', 'n_iter', 'n_unfinished', 'seconds')  # are not printed of the best candidate


def tune(words: Sequence[str]) -> None:
    """Search for the best parameters of the method that the first word names; print them, train with them on demand."""
    name, *argv = words
    method = METHODS[name]
    tuning = method.tuning
    assert tuning is not None
    parser = make_parser(name, method, tuning)
    args = parser.parse(argv)
    train = resolve_name(method.driver)
    search = read_options(parser, resolve_name(tuning.search), args)
    fixed = {'bad_rows': args.bad_rows, **search.of_training}
    options = read_options(parser, resolve_name(method.options), args, list_passed(method, tuning), **fixed)
    if search.figure and options.numeric and not search.draws_targets:
        parser.error('--figure: cannot be drawn with --task regression, expected classes')
    demand_regression(parser, args, options.numeric)
    output = Output(args)
    if args.model is not None:
        output.demand_free()
    for path in (search.table, search.figure):
        if path is not None:
            demand_free(path, args.overwrite)
    with choose_engine(args, args.model or args.table or args.figure) as engine:
        plan = plan_rows(args, RowOptions.of_arguments(args, numeric_labels=options.numeric))
        plan = choose_target(lambda plan: train(plan, options, engine), plan, engine, args.bad_rows)
        tuned = resolve_name(tuning.driver)(plan, options, search, engine)
        goal = 'accuracy'
        if options.class_weight:
            goal = 'balanced_accuracy'
        report(tuned, search, goal)
        if args.model is not None:
            trained = tuned.trained
            if not trained:
                trained = train(plan, replace(options, C=tuned.best.C, **tuned.best.parameters), engine)
            output.keep(engine, *trained)


def list_passed(method: Method, tuning: Tuning) -> list[str]:
    """List the options of a training that the search takes too: all that it does not search for."""
    searched = {each.flag for each in option_fields(resolve_name(tuning.search)).values()}
    return [
        name
        for name, each in option_fields(resolve_name(method.options)).items()
        if each.tuned and each.flag not in searched
    ]


def make_parser(name: str, method: Method, tuning: Tuning) -> Parser:
    """Make the parser of a method."""
    parser = Parser(f'tune {name}', tuning.description)
    add_input_options(parser, 'target', *OF_ENCODING)
    add_model_options(parser, required=False, living=method.living)
    parser.group(GRID)
    parser.add_argument(
        '--json', action='store_true', help=AdvancedHelp('accepted as by other commands: the answer is always JSON')
    )
    add_options(parser.add_to, resolve_name(method.options), list_passed(method, tuning), name)
    add_options(parser.add_to, resolve_name(tuning.search))
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def report(tuned: Tuned, search: NodeSearch | KernelSearch, goal: str) -> None:
    """Print the best candidate; write table and figure where they were asked for. goal : the name of the accuracy."""
    if search.table is not None:
        records = [describe(score, goal) for score in tuned.scores]
        with write_file(search.table) as local, open(local, 'w', newline='') as stream:
            table = csv.DictWriter(stream, max(records, key=len))
            table.writeheader()
            table.writerows(records)
    if search.figure is not None:
        from mr_elm.figures.heatmap import draw

        draw(tuned.scores, tuned.best, search.figure, goal.replace('_', ' '))
    best = {name: value for name, value in describe(tuned.best, goal).items() if name not in OF_TABLE}
    if tuned.solver:
        best['solver'] = tuned.solver
    print(json.dumps(best))


def describe(score: Any, goal: str) -> dict[str, Any]:
    """Return what a row of the table shows of a candidate."""
    if isinstance(score, NodeScore):
        kind = score.kind
        record = {
            'map': kind.map,
            'weight_scale': kind.weight_scale,
            'nu': score.nu,
            'hidden': score.n_hidden,
            'error': score.error,
            'deviation': score.deviation,
            goal: score.accuracy,
            'trusted': score.trusted,
        }
        if kind.map == 'nystrom':  # other nodes use no kernel
            record['kernel'] = kind.kernel
        return record
    record = {**score.parameters, 'C': score.C, goal: score.accuracy}
    record |= {name: getattr(score, name) for name in ('rmse', 'deviation', *OF_TABLE)}
    return {name: value for name, value in record.items() if value is not None}

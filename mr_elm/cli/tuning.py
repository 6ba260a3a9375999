"""Do what tuning has in common, whatever the method: read its options, write its table."""
import csv
from collections.abc import Sequence
from typing import Any

from mr_elm.cli.method_options import add_options, read_options
from mr_elm.cli.options import Parser, add_input_options, add_resume_option, add_runner_options, leave_if_elsewhere
from mr_elm.cli.training import add_model_options, output_of
from mr_elm.machines.search_options import GRID
from mr_elm.methods import Method, Tuning, load
from mr_elm.rows.storage import demand_free, write_file


def read_tuning(name: str, method: Method, tuning: Tuning,
                argv: Sequence[str]) -> tuple[Any, tuple[str, ...], Any, Any]:
    """Read the options: (namespace, mrjob's options, options of the training, options of the search)."""
    parser = make_parser(name, method, tuning)
    args, passed = parser.parse(argv)
    search = read_options(parser, load(tuning.search), args)
    options = read_options(parser, load(method.options), args, tuning.options, bad_rows=args.bad_rows,
                           **search.of_training)
    if search.figure and options.numeric and not search.draws_targets:
        parser.error('--figure: cannot be drawn with --task regression, expected classes')
    leave_if_elsewhere(args)
    if args.model is not None:
        output_of(args).demand_free()
    for path in (search.table, search.figure):
        if path is not None:
            demand_free(path, args.overwrite)
    return args, passed, options, search


def make_parser(name: str, method: Method, tuning: Tuning) -> Parser:
    """Make the parser of a method."""
    parser = Parser(f'tune {name}', tuning.description)
    add_input_options(parser, encodes=True)
    add_model_options(parser, required=False, living=method.living)
    parser.group(GRID)
    add_options(parser, load(method.options), tuning.options)
    add_options(parser, load(tuning.search))
    add_runner_options(parser)
    add_resume_option(parser)
    return parser


def write_table(path: str | None, records: list[dict[str, Any]]) -> None:
    """Write a line of csv for each candidate, where a table was asked for."""
    if path is not None:
        with write_file(path) as local, open(local, 'w', newline='') as stream:
            table = csv.DictWriter(stream, records[0])
            table.writeheader()
            table.writerows(records)

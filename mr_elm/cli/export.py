"""mr-elm export: take a model out, as a file of another program."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import PurePath

from mr_elm.cli.given_model import fetched_model, rows_for
from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.drivers import score
from mr_elm.engines import make_engine
from mr_elm.errors import import_package, warn_unsuitable
from mr_elm.machines.permutation import OneClassError
from mr_elm.model.base import Model
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import add_row_options, read_columns
from mr_elm.rows.storage import demand_free, write_file

CARD_ROWS, MOST_FEATURES = 1000, 500  # rows that judge columns, and features of rows that are judged: for some seconds


def export(argv: Sequence[str]) -> None:
    """Write a model as a file of another program, by the ending of its name."""
    parser = Parser(
        'export',
        'Write a model as a graph of ONNX or as a query of SQL, whose answers are those of '
        'mr-elm predict, or as a page about the model.',
        runs_jobs=False,
    )
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='FILE',
        help='where to write it: a name that ends in .onnx, .sql or .html',
    )
    parser.add_argument('--float32', action='store_true', help='onnx: take and give numbers in float32, not float64')
    parser.add_argument(
        '--dialect',
        choices=('duckdb', 'postgres', 'spark', 'bigquery'),
        default='duckdb',
        help='sql: the database (default: duckdb)',
    )
    parser.add_argument('--table', default='rows', metavar='NAME', help='sql: the table of the rows (default: rows)')
    parser.add_argument(
        '--keep',
        type=read_columns,
        default=(),
        metavar='NAME,...',
        help='sql: columns of the table to copy, after the predictions',
    )
    parser.add_argument('--test', metavar='ROWS', help='html: labelled rows to score the model on')
    parser.add_argument('--overwrite', action='store_true', help='replace an output that exists')
    add_row_options(parser.add_to)
    add_quiet_option(parser)
    args = parser.parse(argv)
    ending = PurePath(args.output).suffix
    if ending not in WRITERS:
        parser.error(f'-o: expected a name that ends in {", ".join(WRITERS)}, found {args.output}')
    demand_free(args.output, args.overwrite)
    with fetched_model(args.model) as (path, model):
        args.path = path
        content = WRITERS[ending](model, args)
    with write_file(args.output) as local, open(local, 'wb') as stream:
        stream.write(content)


def write_onnx(model: Model, args: argparse.Namespace) -> bytes:
    """Return the bytes of a file of ONNX."""
    import_package('onnx', 'export')
    from mr_elm.export.onnx import make_onnx

    return make_onnx(model, args.float32).SerializeToString()


def write_sql(model: Model, args: argparse.Namespace) -> bytes:
    """Return the bytes of a file of SQL."""
    import_package('sqlglot', 'export')
    from mr_elm.export.sql import make_sql

    return make_sql(model, args.table, args.dialect, args.keep).encode()


def write_card(model: Model, args: argparse.Namespace) -> bytes:
    """Return the bytes of a page."""
    from mr_elm.export.card import make_card

    if args.test is None:
        return make_card(model, args.model).encode()
    import_package('matplotlib', 'export')
    plan = plan_inputs([args.test], rows_for(model, args))
    pairs = importance = None
    with make_engine('inline', (), Reporter(quiet=True)) as engine:
        found, accounts = score.evaluate(args.path, model, plan, engine, args.bad_rows)
    if model.numeric:
        pairs = score.sample_pairs(model, plan, accounts.used, args.bad_rows)
    if model.importance is None and not model.multilabel and model.n_features <= MOST_FEATURES:
        try:
            importance = score.measure_importance(model, plan, args.bad_rows, CARD_ROWS)
        except OneClassError as error:
            warn_unsuitable(f'the page has no importance of columns: {error}')
    return make_card(model, args.model, (args.test, found), pairs, importance).encode()


WRITERS: dict[str, Callable[[Model, argparse.Namespace], bytes]] = {
    '.onnx': write_onnx,
    '.sql': write_sql,
    '.html': write_card,
}

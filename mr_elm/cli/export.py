"""mr-elm export: take a model out, as a file of another program."""
import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import PurePath

from mr_elm.cli.given_model import fetched_model
from mr_elm.cli.options import Parser, add_debug_option
from mr_elm.model.base import Model
from mr_elm.rows.options import read_columns
from mr_elm.rows.storage import demand_free, write_file


def export(argv: Sequence[str]) -> None:
    """Write a model as a file of another program, by the ending of its name."""
    parser = Parser('export', 'Write a model as a graph of ONNX, or as a query of SQL, whose answers are those of '
                    'mr-elm predict.', runs_jobs=False)
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    parser.add_argument('-o', '--output', required=True, metavar='FILE', help='where to write it: a name that ends in '
                        '.onnx or .sql')
    parser.add_argument('--float32', action='store_true', help='onnx: take and give numbers in float32, not float64')
    parser.add_argument('--dialect', choices=('duckdb', 'postgres', 'spark', 'bigquery'), default='duckdb',
                        help='sql: the database (default: duckdb)')
    parser.add_argument('--table', default='rows', metavar='NAME', help='sql: the table of the rows (default: rows)')
    parser.add_argument('--keep', type=read_columns, default=(), metavar='NAME,...', help='sql: columns of the '
                        'table to copy, after the predictions')
    parser.add_argument('--overwrite', action='store_true', help='replace an output that exists')
    add_debug_option(parser)
    args, _ = parser.parse(argv)
    ending = PurePath(args.output).suffix
    if ending not in WRITERS:
        parser.error(f'-o: expected a name that ends in {", ".join(WRITERS)}, found {args.output}')
    demand_free(args.output, args.overwrite)
    with fetched_model(args.model) as (_, model):
        content = WRITERS[ending](model, args)
    with write_file(args.output) as local, open(local, 'wb') as stream:
        stream.write(content)


def write_onnx(model: Model, args: argparse.Namespace) -> bytes:
    """Return the bytes of a file of ONNX."""
    demand_package('onnx', 'onnx')
    from mr_elm.export.onnx import make_onnx
    return make_onnx(model, args.float32).SerializeToString()


def write_sql(model: Model, args: argparse.Namespace) -> bytes:
    """Return the bytes of a file of SQL."""
    demand_package('sqlglot', 'sql')
    from mr_elm.export.sql import make_sql
    return make_sql(model, args.table, args.dialect, args.keep).encode()


def demand_package(name: str, extra: str) -> None:
    """Raise ValueError where a package is missing, with the extra that installs it."""
    try:
        import_module(name)
    except ModuleNotFoundError:
        raise ValueError(f"export: expected {name}, it is not installed: pip install 'mr_elm[{extra}]'") from None


WRITERS: dict[str, Callable[[Model, argparse.Namespace], bytes]] = {'.onnx': write_onnx, '.sql': write_sql}

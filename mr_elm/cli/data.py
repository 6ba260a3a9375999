"""mr-elm pack and generate: make data sets."""

from collections.abc import Sequence
from dataclasses import replace

from mr_elm.cli.given_model import fetched_model, rows_for
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_quiet_option,
    add_resume_option,
    add_runner_options,
    choose_engine,
    copy_standard_input,
    demand_targets,
)
from mr_elm.cli.output import demand_rejected, keep_rejected
from mr_elm.data.generators import GENERATORS, write_rows
from mr_elm.data.generators import generate as generate_blocks
from mr_elm.drivers import pack as packing
from mr_elm.option import add_options
from mr_elm.progress import Reporter
from mr_elm.rows.options import OF_ENCODING, OF_LABELS, RowOptions
from mr_elm.rows.storage import demand_free, write_file


def pack(argv: Sequence[str]) -> None:
    """Pack rows of text into a folder."""
    parser = Parser(
        'pack',
        'Write rows as Parquet files with checksums, a row group for each block, and a manifest with their statistics.',
    )
    add_input_options(parser, 'task', 'no_label', 'part_by', *OF_LABELS, *OF_ENCODING, reads_standard=True)
    parser.add_argument('-o', '--output', required=True, metavar='DIR', help='a new or empty folder')
    add_options(parser.add_to, packing.Packing)
    parser.add_argument('--like', metavar='MODEL', help='take the columns of this model, and how they become features')
    add_runner_options(parser)
    add_resume_option(parser)
    args = parser.parse(argv)
    demand_targets(parser, args, args.task == 'regression')
    if args.part_by == ('file',):
        parser.error('--part-by file: expected columns, a pack does not keep from which file a row is: add a column')
    options = RowOptions.of_arguments(args, labelled=not args.no_label)
    if args.like is not None:
        with fetched_model(args.like) as (_, model):
            options = rows_for(model, args, not args.no_label)
    options = replace(options, numeric_labels=args.task == 'regression')
    folder = args.output.rstrip('/')
    if args.bad_rows == 'skip':
        demand_rejected(folder)
    with choose_engine(args, folder) as engine, copy_standard_input(args.inputs) as inputs:
        summary, accounts = packing.pack(
            inputs, args.output, options, engine, packing.Packing(args.dtype, args.block_rows), args.bad_rows
        )
    keep_rejected(folder, accounts, engine)
    engine.reporter.say(f'{args.output}: {summary.n_rows:,} rows, {summary.columns.n_features} features')


def generate(argv: Sequence[str]) -> None:
    """Write rows of a generator."""
    parser = Parser(
        'generate',
        'Write rows of a seeded generator as csv, label first, or as LIBSVM text when OUT ends in .libsvm.',
        runs_jobs=False,
    )
    parser.add_argument('kind', choices=tuple(GENERATORS), metavar='KIND', help=f'one of {", ".join(GENERATORS)}')
    parser.add_argument('--rows', type=int, required=True, metavar='N', help='number of rows')
    parser.add_argument(
        '--features', type=int, default=20, metavar='D', help='features of a row (default: %(default)s)'
    )
    parser.add_argument('--seed', type=int, default=0, help='seed of every random choice (default: %(default)s)')
    parser.add_argument('--classes', type=int, metavar='K', help='how many classes (blobs)')
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='OUT',
        help='where to write the rows; a name in .libsvm means LIBSVM text',
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an output that exists')
    add_quiet_option(parser)
    args = parser.parse(argv)
    options = {}
    if args.classes is not None:
        if args.kind != 'blobs':
            parser.error(f'--classes: only blobs have it, found {args.kind}')
        options = {'n_classes': args.classes}
    blocks = generate_blocks(args.kind, args.rows, args.features, args.seed, **options)
    demand_free(args.output, args.overwrite)
    with write_file(args.output) as local:
        write_rows(Reporter(args.quiet).count(blocks, args.kind, args.rows), local, args.output)

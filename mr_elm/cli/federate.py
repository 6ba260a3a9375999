"""mr-elm sums: what a site gives away of its rows, instead of the rows."""

import argparse
import os
from collections.abc import Sequence

from mr_elm.cli.given_model import rows_for
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_runner_options,
    choose_engine,
    demand_regression,
    plan_rows,
)
from mr_elm.cli.train import Training
from mr_elm.drivers.federate import Mask, make_layer, read_layer, write_statistics, write_sums
from mr_elm.drivers.keys import read_private_key, read_public_key
from mr_elm.methods import METHODS
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.options import OF_LABELS, REFUSE, RowOptions
from mr_elm.rows.storage import demand_free
from mr_elm.store import save_arrays
from mr_elm.sums.values import MAX_VALUES

ENDING = '.stats.json'  # by which `mr-elm layer` knows statistics


def sums(argv: Sequence[str]) -> None:
    """Write the statistics of rows, or their sums on a layer, for a model of the rows of several sites."""
    parser = Parser('sums', sums.__doc__)
    add_input_options(parser, 'task', 'target', 'encode', 'category', *OF_LABELS)
    parser.add_argument(
        '-o', '--output', required=True, metavar='OUT', help=f'where to write: SITE{ENDING} or SITE.sums.npz'
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an existing file')
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('--statistics', action='store_true', help='write statistics, for `mr-elm layer`')
    what.add_argument('--layer', metavar='LAYER.npz', help='write the sums on this layer, for `mr-elm merge`')
    parser.add_argument(
        '--mask',
        metavar='PRIVATE.pem',
        help='--layer: hide the sums by masks, with this X25519 key of the site (needs the package cryptography)',
    )
    parser.add_argument(
        '--with',
        dest='others',
        metavar='PUBLIC.pem',
        action='append',
        default=[],
        help='--mask: the public key of another site; give it once for each other site',
    )
    parser.add_argument(
        '--session',
        metavar='TEXT',
        help='--mask: a text that is the same at all sites and that was never used before, such as the date and time',
    )
    add_runner_options(parser)
    args = parser.parse(argv)
    check_usage(parser, args)
    demand_regression(parser, args, args.task == 'regression')
    demand_free(args.output, args.overwrite)
    mask = None
    if args.mask is not None:
        others = {os.path.basename(path): read_public_key(path, 'X25519') for path in args.others}
        mask = Mask(read_private_key(args.mask, 'X25519'), others, args.session)
    with choose_engine(args) as engine:
        if args.statistics:
            rows = RowOptions.of_arguments(
                args, numeric_labels=args.task == 'regression', max_categories=MAX_VALUES, dates=REFUSE
            )
            n_rows = write_statistics(
                DataSet(plan_rows(args, rows), engine, args.bad_rows), args.task, args.output
            ).n_rows
        else:
            plan = plan_rows(args, rows_for(read_layer(args.layer), args))
            n_rows = write_sums(args.layer, DataSet(plan, engine, args.bad_rows), args.output, mask)
        engine.reporter.say(f'{args.output}: {n_rows:,} rows')


def check_usage(parser: Parser, args: argparse.Namespace) -> None:
    """Exit with status 2 on wrong usage."""
    is_masked = args.mask is not None
    ending = '.sums.npz'
    if args.statistics:
        ending = ENDING
    for is_wrong, message in (
        (
            args.target != 'none' and (args.layer or args.target == 'auto'),
            '--target: expected log with --statistics, a layer has the target of the statistics',
        ),
        (not args.output.endswith(ending), f'-o: expected a name that ends in {ending}, found {args.output}'),
        (args.statistics and is_masked, '--mask: expected --layer, statistics cannot be masked'),
        (
            is_masked and not args.session,
            '--mask: expected --session TEXT too: two files with one mask would show how their rows differ',
        ),
        (is_masked != bool(args.others), '--mask, --with: expected both, or none of them'),
        (
            len(set(map(os.path.basename, args.others))) < len(args.others),
            '--with: expected files with different names, which name the other sites',
        ),
    ):
        if is_wrong:
            parser.error(message)


def write_layer(training: Training) -> None:
    """Write the layer of several sites. training : its inputs are their statistics, not rows."""
    args = training.args
    method = training.words[0]
    if not METHODS[method].living:
        raise ValueError(f'{method}: cannot be used with the statistics of sites, expected pesvm or elm')
    demand_free(args.model, args.overwrite)
    model = make_layer(args.inputs, training.options, args.max_categories)
    save_arrays(args.model, model.header.to_json(), model.arrays)
    Reporter(args.quiet).say(f'{args.model}: {model.layer.n_hidden:,} nodes on {model.n_features:,} features')

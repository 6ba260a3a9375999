"""mr-elm inspect: show what is in a model file."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mr_elm.cli.given_model import fetch_sums, fetched_model
from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.errors import ModelFormatError
from mr_elm.export.facts import list_columns, list_facts
from mr_elm.model.base import Model
from mr_elm.model.sums import find_sums
from mr_elm.rows.options import add_row_options

BAR = 40  # characters of the largest importance
MOST_COLUMNS = 100  # whose importance is printed


def inspect(argv: Sequence[str]) -> None:
    """Show the header of a model."""
    parser = Parser(
        'inspect',
        'Show what a model file holds: a short table, or with --json its whole header and the shapes of its arrays.',
        runs_jobs=False,
    )
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument(
        '--figure',
        metavar='OUT.png',
        help='where to draw the importance of the features, of a model with a learned metric or with --permutation',
    )
    parser.add_argument(
        '--permutation',
        metavar='ROWS',
        help='measure the importance of the columns of any model on labelled rows, the first 10,000 of a file: by how '
        'much the error grows when the values of one column are shuffled, as a share of the sum over all columns. '
        'The error is 1 minus the area under the ROC curve, or of a regression the squared error divided by the '
        'variance of the target',
    )
    parser.add_argument(
        '--rows',
        action='store_true',
        help='show instead what in the model, and in its sums, stems from single rows of the training',
    )
    add_row_options(parser.add_to)
    add_quiet_option(parser)
    args = parser.parse(argv)
    with fetched_model(args.model) as (path, model):
        if args.rows:
            print_rows(fetch_sums(model, path, args.model) if find_sums(args.model) else model, args.json)
            return
        shown = {**model.header.to_json(), 'arrays': {name: list(a.shape) for name, a in model.arrays.items()}}
        importance: dict[str, Any] = {}
        if args.permutation is not None:
            importance = permute_rows(model, args)
        elif found := model.importance:
            importance = {'importance': found.features, **name_columns(model, found.columns)}
    for parameters in (shown['parameters'], *shown.get('members', ())):
        parameters.pop('importance', None)  # which is shown by itself, beside the names of the columns
    if args.figure is not None:
        if not importance:
            raise ModelFormatError(
                f'{args.model}: expected a model with a learned metric (train it with --metric diagonal or full), or '
                '--permutation ROWS'
            )
        from mr_elm.figures.importance import draw

        draw(importance['importance_by_column'], args.figure)
    if args.json:
        print(json.dumps({**shown, **importance}))
        return
    for name, value in list_facts(model).items():
        print(f'{name:13} {value}')
    if importance:
        print_importance(importance['importance_by_column'])


def permute_rows(model: Model, args: argparse.Namespace) -> dict[str, Any]:
    """Return the importance of the columns by name, as the rows of --permutation judge it."""
    from mr_elm.cli.given_model import rows_for
    from mr_elm.drivers.score import measure_importance
    from mr_elm.rows.inputs import plan_inputs

    plan = plan_inputs([args.permutation], rows_for(model, args))
    return name_columns(model, measure_importance(model, plan, args.bad_rows))


def name_columns(model: Model, shares: Sequence[float]) -> dict[str, Any]:
    """Return the importance of the columns by name."""
    names = [name for name, _, _ in list_columns(model)]
    return {'importance_by_column': dict(zip(names, shares, strict=True))}


def print_rows(model: Model, as_json: bool) -> None:
    """Print what in a model stems from single rows."""
    from mr_elm.machines.forgetting import list_row_parts

    parts = list_row_parts(model)
    if as_json:
        print(json.dumps({part: {'count': n, 'what': what} for part, (n, what) in parts.items()}))
        return
    lines = [f'{part}: {n:,} {what}' for part, (n, what) in parts.items()]
    print('\n'.join(lines or ['nothing']))


def print_importance(importance: Mapping[str, float]) -> None:
    """Print the importance of the first columns, the largest first, with a bar for each."""
    ranked = sorted(importance.items(), key=lambda item: -item[1])
    shown = ranked[:MOST_COLUMNS]
    largest = ranked[0][1] or 1.0
    width = max(len(name) for name, _ in shown)
    print('importance:')
    for name, value in shown:
        print(f'  {name:{width}} {value:6.4f} {"#" * round(BAR * value / largest)}'.rstrip())
    if len(ranked) > len(shown):
        print(f'  and {len(ranked) - len(shown):,} more')

"""mr-elm predict, evaluate and inspect: use a trained model."""
import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mr_elm.cli.options import (
    Parser,
    add_debug_option,
    add_input_options,
    add_label_options,
    add_resume_option,
    add_runner_options,
    choose_engine,
    write_rejected,
)
from mr_elm.drivers import score
from mr_elm.engines.base import Engine
from mr_elm.errors import ModelFormatError
from mr_elm.files.storage import demand_free, fetch_file
from mr_elm.io.formats import RowOptions
from mr_elm.machines.living import demand_living
from mr_elm.model_checks import check_report
from mr_elm.models import Model, read_model, refusing
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import row_options


def predict(argv: Sequence[str]) -> None:
    """Write predictions in input order."""
    parser = model_parser('predict', 'Write one line for each row, in input order: the predicted label and, with '
                          '--scores, the decision values.')
    parser.add_argument('-o', '--output', required=True, metavar='OUT',
                        help='where to write the predictions; - is standard output')
    parser.add_argument('--scores', action='store_true',
                        help='write the decision values after the label, separated by tabs')
    parser.add_argument('--overwrite', action='store_true', help='replace an output that exists')
    add_label_options(parser)
    add_resume_option(parser)
    args, passed = parser.parse(argv)
    to_stdout, rejected = args.output == '-', f'{args.output}.rejected'
    if to_stdout and args.bad_rows == 'skip':
        parser.error('--bad-rows skip: expected the name of a file after -o, found -: OUT.rejected gets the bad rows')
    if not to_stdout:
        demand_free(args.output, args.overwrite)
    if args.bad_rows == 'skip':
        demand_free(rejected, args.overwrite)
    with (fetched_model(args.model) as (path, model),
          choose_engine(args, passed, None if to_stdout else args.output) as engine,
          give_target(args.output) as target):
        plan = plan_inputs(args.inputs, rows_for(
            model, args, labelled=not args.no_label, ignore_label=True, ignore_extra=args.ignore_extra_features))
        accounts = score.predict(path, plan, target, engine, args.scores, args.bad_rows)
    if accounts.rows:
        write_rejected(rejected, accounts, engine)


@contextmanager
def give_target(output: str) -> Iterator[str]:
    """Return the file to write for an output; that of `-` goes to standard output when it is whole."""
    if output != '-':
        yield output
        return
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        path = os.path.join(folder, 'predictions')
        yield path
        with open(path, 'rb') as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.flush()


def evaluate(argv: Sequence[str]) -> None:
    """Score a model on labelled rows."""
    parser = model_parser('evaluate', 'Score a model on labelled rows: accuracy and other scores, or RMSE and other '
                          'scores for a regression.')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--leave-one-out', action='store_true', help='pesvm, elm: INPUT holds the rows of the '
                        'training; predict each row by the model of all others')
    add_label_options(parser)
    args, passed = parser.parse(argv)
    if args.no_label:
        parser.error('--no-label: labels are needed to evaluate')
    with fetched_model(args.model) as (path, model), choose_engine(args, passed) as engine:
        if args.leave_one_out:
            demand_living(model, args.model)
        plan = plan_inputs(args.inputs, rows_for(model, args, ignore_extra=args.ignore_extra_features))
        scores, accounts = score.evaluate(path, model, plan, engine, args.bad_rows, args.leave_one_out)
    report_rejected(accounts, engine)
    print(json.dumps(scores) if args.json else lay_out_scores(scores))


def inspect(argv: Sequence[str]) -> None:
    """Show the header of a model."""
    parser = Parser('inspect', 'Show the header of a model file, with parameters, classes and history, and the shapes '
                    'of its arrays.', runs_jobs=False)
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    add_debug_option(parser)
    args, _ = parser.parse(argv)
    with fetched_model(args.model) as (_, model):
        arrays = {name: list(array.shape) for name, array in model.arrays.items()}
    if args.json:
        print(json.dumps({**model.header.to_json(), 'arrays': arrays}))
    else:
        for name, value in {**model.header.to_json(), 'arrays': arrays}.items():
            print(f'{name}: {json.dumps(value)}' if isinstance(value, (dict, list)) else f'{name}: {value}')


@contextmanager
def fetched_model(name: str) -> Iterator[tuple[str, Any]]:
    """Read a model from wherever it is: (path of a copy to ship under a plain name, model)."""
    try:
        with fetch_file(name, 'model.npz') as path:
            model = read_model(path, name)
            with refusing(name):
                check_report(model.header)
            yield path, model
    except IsADirectoryError:
        raise ModelFormatError(f'{name}: expected a model file, found a folder') from None


def model_parser(command: str, description: str) -> Parser:
    """Make the parser of a command that applies a model to rows."""
    parser = Parser(command, description)
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    add_input_options(parser)
    add_runner_options(parser)
    return parser


def rows_for(model: Model, args: argparse.Namespace, labelled: bool = True, ignore_label: bool = False,
             ignore_extra: bool = False) -> RowOptions:
    """Return the RowOptions of the training, unless the user says otherwise. The flags are those of RowOptions."""
    trained = model.header.parameters['input']
    known = columns_of(model, labelled)
    label, weight = trained['label_column'] or 0, trained['weight_column']
    if not labelled and weight is not None and weight > label:
        weight -= 1  # the label stood in front of it
    known |= {'label_name': None} if args.label_column is not None else {'label_column': label}
    known |= {'weight_name': None} if args.weight_column is not None else {'weight_column': weight}
    return row_options(args, **known, labelled=labelled, numeric_labels=model.numeric and not ignore_label,
                       ignore_label=ignore_label, ignore_extra=ignore_extra)


def columns_of(model: Model, labelled: bool = True) -> dict[str, Any]:
    """Return what RowOptions of rows for a model know of the columns: all but where label and weight stand."""
    trained, encoding = model.header.parameters['input'], model.encoding
    dropped, label = trained.get('dropped', []), trained.get('label_name')
    return {'names': trained.get('names') and tuple(trained['names']), 'encoding': encoding,
            'label_name': label, 'weight_name': trained.get('weight_name'),
            'dropped': (*dropped, *([label] if label and not labelled else [])),
            'positions': positions_of(trained, labelled),
            'n_features': model.n_features if encoding is None else None}


def positions_of(trained: Mapping[str, Any], labelled: bool) -> tuple[int, ...] | None:
    """Return where the features stand in rows like those of a training, perhaps without their label."""
    if trained.get('positions') is None:
        return None
    label = trained['label_column']
    return tuple(j - (not labelled and label is not None and j > label) for j in trained['positions'])


def report_rejected(accounts: Accounts, engine: Engine) -> None:
    """Tell how many rows were left out."""
    if accounts.rows:
        reasons = ', '.join(f'{n} {reason}' for reason, n in sorted(accounts.reasons.items()))
        engine.reporter.say(f'rows left out: {reasons}')


def lay_out_scores(scores: dict[str, Any]) -> str:
    """Lay scores out as text."""
    lines = [f'{name:10} {value:,}' if isinstance(value, int) else f'{name:10} {value:.6g}'
             for name, value in scores.items() if isinstance(value, (int, float))]
    if 'per_class' in scores:
        lines += ['', f'{"class":>12} {"precision":>10} {"recall":>10} {"rows":>10}']
        lines += [f'{name:>12} {write_ratio(row["precision"]):>10} {write_ratio(row["recall"]):>10} {row["rows"]:>10,}'
                  for name, row in scores['per_class'].items()]
        lines += ['', 'rows of a true class (down) by predicted class (across)',
                  *lay_out_confusion(scores['confusion'])]
    return '\n'.join(lines)


def lay_out_confusion(confusion: dict[str, list]) -> list[str]:
    """Lay the confusion matrix out as text."""
    width = max(len(str(cell)) for cell in [*confusion['true'], *confusion['predicted'], *sum(confusion['rows'], [])])
    cells = [['', *confusion['predicted']]] + [[name, *row] for name, row in
                                               zip(confusion['true'], confusion['rows'], strict=True)]
    return [' '.join(f'{cell!s:>{width}}' for cell in row) for row in cells]


def write_ratio(ratio: float | None) -> str:
    """Write a ratio, or a dash where there is none."""
    return '-' if ratio is None else f'{ratio:.4f}'

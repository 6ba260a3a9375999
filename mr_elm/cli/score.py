"""mr-elm predict, evaluate and inspect: use a trained model."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import nlargest
from operator import itemgetter
from typing import Any, BinaryIO

from mr_elm.cli.given_model import fetch_sums, fetched_model, rows_for
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_resume_option,
    add_runner_options,
    choose_engine,
    copy_standard_input,
    plan_rows,
)
from mr_elm.cli.output import demand_rejected, keep_rejected, lay_out_table, report_rejected, write_score
from mr_elm.drivers import score
from mr_elm.drivers.answer import Answers, answer_lines, options_of_lines
from mr_elm.drivers.compose import TABLES, write_table
from mr_elm.machines.answer_columns import AnswerColumns, demand_threshold
from mr_elm.model.base import Model
from mr_elm.model.sums import demand_leverages, find_sums, name_sums
from mr_elm.option import AdvancedHelp, add_options
from mr_elm.progress import Reporter
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import STANDARD, demand_free, write_file
from mr_elm.scores.intervals import measure_coverage
from mr_elm.scores.threshold import choose_positive
from mr_elm.store import temporary_folder
from mr_elm.typing import Floats


def predict(argv: Sequence[str]) -> None:
    """Write predictions in input order."""
    parser = model_parser(
        'predict',
        'Write one line for each row, in input order: the predicted label, and what you ask for beside it.',
        'no_label',
    )
    parser.add_argument(
        '-o',
        '--output',
        metavar='OUT',
        help='where to write the predictions, as a table with names '
        'of columns if the name ends in .csv, .tsv or .parquet; - is standard output (default if '
        'INPUT is -)',
    )
    add_options(parser.add_to, AnswerColumns)
    parser.add_argument('--overwrite', action='store_true', help='replace an output that exists')
    add_resume_option(parser)
    args = parser.parse(argv)
    answers = args.inputs == [STANDARD]
    if args.output is None and not answers:
        parser.error('the following arguments are required: -o/--output')
    args.output = args.output or STANDARD
    table = args.output.lower().rpartition('.')[2]
    if answers and table in TABLES:
        parser.error(
            f'-: expected files for an output whose name ends in .{", .".join(TABLES)}: standard input is answered '
            'line by line'
        )
    if args.output != STANDARD:
        demand_free(args.output, args.overwrite)
    elif sys.stdout is None:
        parser.error('standard output: expected it to be open, it is closed: name a file with -o')
    elif args.bad_rows == 'skip' and not answers:
        parser.error('--bad-rows skip: expected the name of a file after -o, found -: OUT.rejected gets the bad rows')
    if answers:
        if args.passed:
            parser.error(f'{args.passed[0]}: expected no option of mrjob with standard input, which runs no job')
        return answer_standard_input(args)
    to_stdout = args.output == STANDARD
    if args.bad_rows == 'skip':
        demand_rejected(args.output)
    with (
        fetched_model(args.model) as (path, model),
        choose_engine(args, None if to_stdout else args.output) as engine,
        give_target(args.output) as target,
    ):
        model, columns = read_answer_columns(model, path, args)
        plan = plan_rows(args, rows_to_predict(model, args))
        write = None
        if table in TABLES:
            write = partial(write_table, table=table, names=columns.names(model), numeric=model.numeric)
        accounts = score.predict(path, plan, target, engine, columns, args.bad_rows, write)
    keep_rejected(args.output, accounts, engine)


def read_answer_columns(model: Model, path: str, args: argparse.Namespace) -> tuple[Model, AnswerColumns]:
    """Return a model, with its sums where they say something, and what is written of each row.

    path : of its copy. Raises ValueError when the model does not have what is asked for.
    """
    columns = AnswerColumns.of(args)
    if columns.leverage:
        from mr_elm.machines.living import demand_summable

        demand_summable(model, args.model)
    if columns.leverage or columns.reads_sums and find_sums(args.model):
        demand_leverages(model, args.model)
        model = fetch_sums(model, path, args.model)
    elif columns.reads_sums and 'interval_ratios' in model.arrays:
        Reporter(args.quiet).say(f'{name_sums(args.model)}: no such file: without sums all intervals have one width')
    columns.demand(model)
    return model, columns


def rows_to_predict(model: Model, args: argparse.Namespace) -> RowOptions:
    """Return the RowOptions of rows whose labels, if there are any, are ignored."""
    return rows_for(model, args, labelled=not args.no_label, ignore_label=True, ignore_extra=args.ignore_extra_features)


def answer_standard_input(args: argparse.Namespace) -> None:
    """Write a line for each row of standard input as soon as it comes, without a job."""
    with fetched_model(args.model) as (path, model), open_answers(args.output) as out:
        model, columns = read_answer_columns(model, path, args)
        answers = Answers(
            model, options_of_lines(model, rows_to_predict(model, args)), columns, args.bad_rows == 'skip'
        )
        answer_lines(answers, sys.stdin.buffer, out)
    report_rejected(answers.reasons, Reporter(args.quiet))


@contextmanager
def open_answers(output: str) -> Iterator[BinaryIO]:
    """Open an output for answers, which appears whole when all went well; standard output gets them at once."""
    if output == STANDARD:
        yield sys.stdout.buffer
    else:
        with write_file(output) as path, open(path, 'wb') as stream:
            yield stream


@contextmanager
def give_target(output: str) -> Iterator[str]:
    """Return the file to write for an output; that of `-` goes to standard output when it is whole."""
    if output != STANDARD:
        yield output
    else:
        with temporary_folder() as folder:
            path = os.path.join(folder, 'predictions')
            yield path
            with open(path, 'rb') as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.flush()


def evaluate(argv: Sequence[str]) -> None:
    """Score a model on labelled rows."""
    parser = model_parser(
        'evaluate',
        'Score a model on labelled rows: accuracy and other scores, or RMSE and other scores for a regression.',
    )
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument(
        '--leave-one-out',
        action='store_true',
        help='pesvm, elm: INPUT holds the rows of the training; predict each row by the model of all others',
    )
    parser.add_argument(
        '--figure',
        metavar='PNG',
        help='draw how reliable the probabilities are, ROC and '
        'precision-recall curves; of a regression, predictions and their errors',
    )
    parser.add_argument('--overwrite', action='store_true', help=AdvancedHelp('replace a figure that exists'))
    parser.add_argument(
        '--positive',
        metavar='LABEL',
        help=AdvancedHelp(
            'two classes: the one that F1, precision, recall, --threshold and the figure are about (default: that of '
            'the model)'
        ),
    )
    parser.add_argument(
        '--threshold',
        type=float,
        metavar='P',
        help=AdvancedHelp(
            'two classes: predict the positive class if its probability is above P, and score these labels'
        ),
    )
    args = parser.parse(argv)
    with (
        fetched_model(args.model) as (path, model),
        choose_engine(args) as engine,
        copy_standard_input(args.inputs) as inputs,
    ):
        positive = model.header.positive
        if args.positive is not None:
            if model.multilabel:
                raise ValueError('--positive: expected one label in each row, the model knows rows with several')
            positive = choose_positive(args.positive, model.classes)
        demand_threshold(model, args.threshold)
        if args.leave_one_out:
            from mr_elm.machines.living import demand_living

            demand_living(model, args.model)
            demand_leverages(model, args.model)
            fetch_sums(model, path, args.model)
        if args.figure:
            demand_free(args.figure, args.overwrite)
            if model.multilabel:
                raise ValueError('--figure: expected one label in each row, the model knows rows with several')
            if model.header.calibration is None and not model.numeric:
                raise ValueError('--figure: expected a model that was trained with --probabilities')
            if model.numeric and args.leave_one_out:
                raise ValueError('--figure: cannot be used with --leave-one-out of a regression')
        plan = plan_rows(args, rows_for(model, args, ignore_extra=args.ignore_extra_features), inputs)
        found, accounts = score.evaluate(
            path, model, plan, engine, args.bad_rows, args.leave_one_out, args.threshold, positive
        )
        scores = {**found.scores(model.classes, model.header.target_names, positive), 'rows': accounts.used}
        if accounts.reasons:
            scores['rows_rejected'] = accounts.reasons.total()
        if args.figure and model.numeric:
            draw_residuals(model, *score.sample_pairs(model, plan, accounts.used, args.bad_rows), args.figure)
        elif args.figure:
            from mr_elm.figures.reliability import draw

            draw(found, model.classes, positive, args.figure)
    report_rejected(accounts.reasons, engine.reporter)
    print(json.dumps(scores) if args.json else lay_out_scores(scores))


def draw_residuals(model: Model, actual: Floats, predicted: Floats, path: str) -> None:
    """Draw targets and predictions of a regression, and the coverage of its intervals where it has some."""
    from mr_elm.figures.residuals import draw

    coverage = None
    if 'interval_residuals' in model.arrays:
        errors = model.to_decisions(actual) - model.to_decisions(predicted)
        coverage = measure_coverage(model.arrays['interval_residuals'], errors)
    draw(actual, predicted, (model.header.target_names or [''])[:9], coverage, path)


def model_parser(command: str, description: str, *names: str) -> Parser:
    """Make the parser of a command that applies a model to rows. names : as of `add_input_options`."""
    parser = Parser(command, description)
    parser.add_argument('model', metavar='MODEL', help='a model file of mr-elm train')
    add_input_options(parser, *names, reads_standard=True)
    add_runner_options(parser)
    parser.add_argument(
        '--ignore-extra-features',
        action='store_true',
        help=AdvancedHelp('libsvm: drop features that the model does not know'),
    )
    return parser


def lay_out_scores(scores: dict[str, Any]) -> str:
    """Lay scores out as text."""
    lines = [f'{name:10} {write_score(value)}' for name, value in scores.items() if not isinstance(value, dict)]
    for kind in ('target', 'label', 'class'):
        if table := scores.get(f'per_{kind}'):
            names = list(next(iter(table.values())))
            lines += ['', *lay_out_table([[kind, *names], *([name, *row.values()] for name, row in table.items())], 12)]
    if 'confusion' in scores:
        true, predicted, counts = scores['confusion'].values()
        title = 'rows of a true class (down) by predicted class (across)'
        rows = [['', *predicted], *([name, *row] for name, row in zip(true, counts, strict=True))]
        if len(true) > 20:  # more columns do not fit on a screen
            title = 'the classes that are confused most (`mr-elm evaluate --json` prints the whole matrix)'
            errors = [
                [name, other, n]
                for name, *row in rows[1:]
                for other, n in zip(predicted, row, strict=True)
                if n and name != other
            ]
            rows = [['true', 'predicted', 'rows'], *nlargest(20, errors, itemgetter(2))]
            if not errors:
                title, rows = 'no row has a wrong class', [['']]
        lines += ['', title, *lay_out_table(rows)]
    return '\n'.join(lines)

"""Run a search for kernel parameters and C, and report what it found."""
import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.cli.options import make_runner
from mr_elm.cli.training import output_of
from mr_elm.cli.tuning import read_tuning
from mr_elm.files.storage import written
from mr_elm.methods import Method, Tuning, load
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.row_arguments import row_options
from mr_elm.scores.selection import Score


def tune(name: str, method: Method, tuning: Tuning, argv: Sequence[str]) -> None:
    """Score a grid, print the best candidate, and train with it on demand."""
    args, passed, options, search = read_tuning(name, method, tuning, argv)
    with make_runner(args, passed, args.model or args.table or args.figure) as runner:
        plan = plan_inputs(args.inputs, row_options(args, numeric_labels=options.numeric))
        tuned = load(tuning.driver)(plan, options, search, runner)
        report(tuned, search)
        if args.model is not None:
            best = replace(options, C=tuned.best.C, **tuned.best.parameters)
            output_of(args).keep(runner, *load(method.driver)(plan, best, runner))


def report(tuned: Any, search: Any) -> None:
    """Print the best candidate and write table and figure. tuned : Tuned."""
    if search.table is not None:
        with written(search.table) as local:
            write_table(tuned.scores, local)
    if search.figure is not None:
        from mr_elm.figures.heatmap import draw
        with written(search.figure) as local:
            draw(tuned.scores, local)
    best = {**tuned.best.parameters, 'C': tuned.best.C}
    best |= {name: getattr(tuned.best, name) for name in columns_of(tuned.best)[:2]}
    if tuned.outer:
        shares = [cell.correct / cell.total for cell in tuned.outer]
        best['nested'] = {'accuracy': float(np.mean(shares)), 'deviation': float(np.std(shares)),
                          'chosen': [{**score.parameters, 'C': score.C} for score in tuned.chosen]}
    print(json.dumps(best))


def columns_of(score: Any) -> tuple[str, ...]:
    """Return what a table shows of a Score or a LeftOut."""
    if isinstance(score, Score):
        return 'accuracy', 'deviation', 'n_support', 'seconds'
    return ('rmse',) if score.accuracy is None else ('accuracy',)


def write_table(scores: list, path: str) -> None:
    """Write a line of csv a candidate."""
    columns = columns_of(scores[0])
    with open(path, 'w', newline='') as stream:
        table = csv.writer(stream)
        table.writerow([*scores[0].parameters, 'C', *columns])
        for score in scores:
            table.writerow([*score.parameters.values(), score.C, *(getattr(score, name) for name in columns)])

"""Run a search for kernel parameters and C, and report what it found."""
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.cli.options import choose_engine, plan_rows
from mr_elm.cli.training import output_of
from mr_elm.cli.tuning import read_tuning, write_table
from mr_elm.methods import Method, Tuning, load
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import write_file
from mr_elm.scores.selection import LeftOut, Score

SHOWN = ('accuracy', 'deviation', 'rmse')  # of the best candidate; the table has more


def tune(name: str, method: Method, tuning: Tuning, argv: Sequence[str]) -> None:
    """Score a grid, print the best candidate, and train with it on demand."""
    args, passed, options, search = read_tuning(name, method, tuning, argv)
    with choose_engine(args, passed, args.model or args.table or args.figure) as engine:
        plan = plan_rows(args, RowOptions.of_arguments(args, numeric_labels=options.numeric))
        tuned = load(tuning.driver)(plan, options, search, engine)
        report(tuned, search)
        if args.model is not None:
            best = replace(options, C=tuned.best.C, **tuned.best.parameters)
            output_of(args).keep(engine, *load(method.driver)(plan, best, engine))


def report(tuned: Any, search: Any) -> None:
    """Print the best candidate and write table and figure. tuned : Tuned."""
    write_table(search.table, [{**score.parameters, 'C': score.C, **values_of(score)} for score in tuned.scores])
    if search.figure is not None:
        from mr_elm.figures.heatmap import draw
        with write_file(search.figure) as local:
            draw(tuned.scores, local)
    values = {name: value for name, value in values_of(tuned.best).items() if name in SHOWN}
    best = {**tuned.best.parameters, 'C': tuned.best.C, **values}
    if tuned.solver:
        best['solver'] = tuned.solver
    if tuned.outer:
        shares = [cell.correct / cell.total for cell in tuned.outer]
        best['nested'] = {'accuracy': float(np.mean(shares)), 'deviation': float(np.std(shares)),
                          'chosen': [{**score.parameters, 'C': score.C} for score in tuned.chosen]}
    print(json.dumps(best))


def values_of(score: Score | LeftOut) -> dict[str, float | None]:
    """Return what a table shows of a candidate."""
    if isinstance(score, LeftOut):
        return {'rmse': score.rmse} if score.accuracy is None else {'accuracy': score.accuracy}
    return {'accuracy': score.accuracy, 'deviation': score.deviation, 'n_support': score.n_support,
            'n_iter': score.n_iter, 'n_unfinished': score.n_unfinished, 'seconds': score.seconds}

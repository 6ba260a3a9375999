"""Run a search for kind, metric, nu and L of hidden nodes, and report what it found."""
import json
from collections.abc import Sequence
from typing import Any

from mr_elm.cli.options import choose_engine, plan_rows
from mr_elm.cli.training import output_of
from mr_elm.cli.tuning import read_tuning, write_table
from mr_elm.machines.grid_task import Search
from mr_elm.methods import Method, Tuning, load
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import write_file


def tune(name: str, method: Method, tuning: Tuning, argv: Sequence[str]) -> None:
    """Score a grid, print the best cell, and write its model on demand."""
    args, passed, options, asked = read_tuning(name, method, tuning, argv)
    search = Search(asked.kinds, asked.nu, asked.hidden, asked.folds, sample=asked.sample, n_counted=asked.count,
                    memory=asked.memory, metric_rows=asked.metric_rows)
    with choose_engine(args, passed, args.model or args.table or args.figure) as engine:
        plan = plan_rows(args, RowOptions.of_arguments(args, numeric_labels=options.numeric))
        found, model, accounts = load(tuning.driver)(plan, options, search, engine)
        report(found, asked)
        if args.model is not None:
            output_of(args).keep(engine, model, accounts)


def report(found: Any, asked: Any) -> None:
    """Print the best cell and write table and figure. found : Found. asked : NodeSearch."""
    write_table(asked.table, list(map(cell_of, found.scores)))
    if asked.figure is not None:
        from mr_elm.figures.node_figure import draw
        with write_file(asked.figure) as local:
            draw(found.scores, found.best, local)
    print(json.dumps(cell_of(found.best)))


def cell_of(score: Any) -> dict[str, Any]:
    """Return the fields of a NodeScore that a row of the table shows."""
    kind = score.kind
    return {'map': kind.map, 'weight_scale': kind.weight_scale, 'nu': score.nu, 'hidden': score.n_hidden,
            'error': score.error, 'deviation': score.deviation, 'accuracy': score.accuracy, 'trusted': score.trusted,
            'kernel': kind.kernel, 'metric': kind.metric}

"""mr-elm update, forget and merge: a model that lives."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mr_elm.cli.given_model import fetch_sums, fetched_model, rows_for
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_quiet_option,
    add_resume_option,
    add_runner_options,
    choose_engine,
    plan_rows,
)
from mr_elm.cli.output import Output, add_ledger_options, open_change
from mr_elm.drivers import increment
from mr_elm.drivers.calibrate import renew_probabilities
from mr_elm.engines import make_engine
from mr_elm.errors import DataFormatError, MissingColumnError
from mr_elm.machines.living import by_passes, demand_lasting_weights, demand_living, demand_nodes
from mr_elm.model.models import NodeModel
from mr_elm.option import AdvancedHelp
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import plan_inputs
from mr_elm.store import load_header, lock


def update(argv: Sequence[str]) -> None:
    """Add new rows to a model that has sums; the job runs over the new rows only."""
    change(argv, 'update', increment.update, update.__doc__)


def forget(argv: Sequence[str]) -> None:
    """Take rows away from the sums of a model that was trained on them; refuse rows that it keeps as landmarks."""
    change(argv, 'forget', increment.forget, forget.__doc__)


def merge(argv: Sequence[str]) -> None:
    """Merge models with the same nodes, trained on different rows, into the model of all these rows."""
    parser = Parser('merge', merge.__doc__, runs_jobs=False)
    parser.add_argument(
        'inputs',
        nargs='+',
        metavar='MODEL',
        help='models of the same scaling and nodes (--like), or files of sums of all sites (mr-elm sums)',
    )
    add_output_options(parser)
    add_quiet_option(parser)
    args = parser.parse(argv)
    output = Output(args)
    engine = make_engine(reporter=Reporter(args.quiet))
    output.demand_free()
    if all(path.endswith('.sums.npz') and 'site' in load_header(path) for path in args.inputs):  # of `mr-elm sums`
        from mr_elm.drivers.federate import merge_sums

        output.keep(engine, merge_sums(args.inputs, engine), None)
        return
    if len(set(map(os.path.abspath, args.inputs))) < max(2, len(args.inputs)):
        parser.error('expected at least two models, each of them once')
    models = list(map(read_living, args.inputs))
    for model, name in zip(models, args.inputs, strict=True):
        demand_no_ledger(model, name)
    model = increment.merge(models, args.inputs, engine)
    output.keep(engine, renew_probabilities(models[0], model, engine.reporter), None)


def change(argv: Sequence[str], command: str, driver: Callable[..., NodeModel], description: str | None) -> None:
    """Run a driver over a model and rows, and write the new model."""
    parser = Parser(command, description)
    parser.add_argument('known', metavar='MODEL', help='a model of pesvm or elm, or of auto --keep-sums')
    add_input_options(parser)
    add_output_options(parser)
    add_ledger_options(parser)
    parser.add_argument(
        '--calibrate',
        action='append',
        metavar='INPUT',
        help=AdvancedHelp(
            'fit probabilities or intervals anew, to these rows of the new model (default: update keeps the old ones, '
            'forget drops them); may be repeated'
        ),
    )
    add_runner_options(parser)
    add_resume_option(parser)
    args = parser.parse(argv)
    output = Output(args)
    output.demand_free()
    with (
        locked(args.known, args.model),
        open_living(args.known) as (path, before),
        choose_engine(args, args.model) as engine,
        open_change(args, command, engine.reporter) as ledger,
    ):
        options = rows_for(before, args)
        try:
            plan = plan_rows(args, options)
        except MissingColumnError as error:
            if command == 'update':
                raise
            raise DataFormatError(f'{error}; forget needs whole rows with their labels, not only keys') from None
        data = DataSet(plan, engine, args.bad_rows)
        if ledger is None:
            demand_no_ledger(before, args.known)
        else:
            ledger.open(before, path, args.known)
            if command == 'forget':  # of classes that may leave too
                ledger.hash(data, before.classes)
        model = driver(before, data)
        if ledger is not None and command == 'update':
            ledger.hash(data, model.classes)
        rows = None
        if args.calibrate:
            rows = DataSet(plan_inputs(args.calibrate, options), engine, args.bad_rows)
        model = renew_probabilities(before, model, engine.reporter, rows, rows_left=command == 'forget')
        output.keep(engine, model, data.first, ledger)


def add_output_options(parser: Parser) -> None:
    """Add where the new model goes."""
    parser.add_argument('--model', required=True, metavar='OUT.npz', help='where to write the new model')
    parser.add_argument('--overwrite', action='store_true', help='replace an existing model, also MODEL itself')


@contextmanager
def locked(known: str, new: str) -> Iterator[None]:
    """Lock a model of this machine that the new one replaces. Raises BlockingIOError where another command does so."""
    if not (os.path.isfile(known) and os.path.exists(new) and os.path.samefile(known, new)):
        yield
        return
    with open(known, 'rb+') as file:
        lock(file.fileno(), known, 'model')
        if not os.path.samestat(os.fstat(file.fileno()), os.stat(known)):  # replaced since it was opened
            raise BlockingIOError(f'{known}: another command has just changed this model: try again')
        yield


@contextmanager
def open_living(name: str) -> Iterator[tuple[str, NodeModel]]:
    """Read a model with its sums, from wherever it is: (path of a copy of the model, model)."""
    with fetched_model(name) as (path, model):
        demand_living(model, name)
        yield path, fetch_sums(model, path, name)


def read_living(name: str) -> NodeModel:
    """Read a model with its sums, from wherever it is."""
    with open_living(name) as (_, model):
        return model


def demand_no_ledger(model: NodeModel, name: str) -> None:
    """Raise ValueError where the rows of a model would change, and its ledger would not."""
    if 'ledger' in model.header.parameters:
        raise ValueError(
            f'{name}: expected --ledger FILE, because this model has a ledger of its rows, which must '
            'change with it: update and forget take it; merge does not, so add the rows of the other model by update'
        )


def read_nodes(name: str) -> NodeModel:
    """Read a model whose nodes another training takes; it needs no sums."""
    with fetched_model(name) as (_, model):
        demand_nodes(model, name)
        if not by_passes(model):
            demand_lasting_weights(model, name)
        return model

"""Let a model live: PIESVM adds new rows by a Gram job over these alone; old rows leave the same way; models merge."""
from collections.abc import Sequence

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import check_counts, sum_up
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm import solve
from mr_elm.drivers.summary import summarise
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.machines.living import Batch, LivingMachine, demand_grid, join_classes, merge_models, options_of
from mr_elm.models import HiddenNodeModel
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.checks import check_labels
from mr_elm.rows.inputs import InputPlan


def update(model: HiddenNodeModel, plan: InputPlan, engine: Engine, bad_rows: str = 'stop') -> tuple:
    """Add new rows to a model: (header, arrays, accounts) of the model of all rows.

    model : of pesvm or elm, with its sums. plan : of the new rows.
    Raises DataFormatError when rows cannot be used, or are too large to add to the sums of the model.
    """
    batch, accounts = sum_up_batch(model, plan, engine, bad_rows)
    with one_thread():
        return *solve(LivingMachine.of_model(model).add(batch), engine), accounts


def forget(model: HiddenNodeModel, plan: InputPlan, engine: Engine, bad_rows: str = 'stop') -> tuple:
    """Take rows away from a model that was trained on them: (header, arrays, accounts) of the model of the others.

    Raises AccountingError when the rows cannot have been in the model.
    """
    batch, accounts = sum_up_batch(model, plan, engine, bad_rows)
    with one_thread():
        try:
            machine = LivingMachine.of_model(model).forget(batch)
        except AccountingError as error:
            raise AccountingError(f'{plan.name}: {error}') from None
        return *solve(machine, engine), accounts


def merge(models: Sequence[HiddenNodeModel], names: Sequence[str], engine: Engine) -> tuple:
    """Add models that were trained apart on the same nodes: (header, arrays).

    names : of the files of the models. Raises ModelFormatError when their nodes differ, or their rows in size.
    """
    machine = merge_models(models, names)
    with one_thread():
        return solve(machine, engine)


def sum_up_batch(model: HiddenNodeModel, plan: InputPlan, engine: Engine,
                 bad_rows: str) -> tuple[Batch, Accounts | None]:
    """Run the Gram job over rows on a model's nodes: their Batch, and the accounts of a first pass."""
    options = options_of(model.header, bad_rows=bad_rows)
    data = DataSet(plan, engine, bad_rows)
    summary = summarise(data)
    check_labels(plan, summary, options.task)
    if summary.columns.n_features > model.n_features:
        raise DataFormatError(f'{plan.name}: expected rows of {model.n_features} features, as the model has, found '
                              f'rows of {summary.columns.n_features}')
    steps = demand_grid(plan.name, model, summary, n_rows=model.header.n_rows_used)
    classes = None if options.numeric else join_classes(model.classes, summary.labels)
    sums = sum_up(NodeInputs(options, summary, classes, data), model.layer, steps)
    check_counts(plan, classes, sums)
    known = [classes.index[name] for name in model.classes] if classes else [0]
    return Batch(sums, steps, classes.names if classes else [], known, summary.n_rows, summary.rejected,
                 data.blas), data.first

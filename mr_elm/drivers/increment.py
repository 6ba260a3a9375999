"""Let a model live: PIESVM adds new rows by a Gram job over these alone; old rows leave the same way; models merge."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.gram_job import check_counts, sum_up
from mr_elm.drivers.pesvm import solve
from mr_elm.drivers.summary import NodeInputs, check_labels, summarise, warn_of_labels
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError, ModelFormatError, warn_unsuitable
from mr_elm.features.scaling import demand_scalable
from mr_elm.machines.forgetting import keeps_rows, warn_of_bounds
from mr_elm.machines.living import (
    Batch,
    LivingMachine,
    demand_grid,
    join_classes,
    merge_models,
    number_names,
    options_of,
)
from mr_elm.machines.nodes import describe_targets
from mr_elm.model.models import HiddenNodeModel, NodeModel, join_members
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan, describe_columns
from mr_elm.sums.statistics import list_classes
from mr_elm.sums.summary import Summary


def update(model: NodeModel, data: DataSet) -> NodeModel:
    """Add new rows to a model, which is of pesvm or elm and has its sums.

    Raises DataFormatError when rows cannot be used, or are too large to add to the sums of the model.
    """
    return change_members(model, data, LivingMachine.add)


def forget(model: NodeModel, data: DataSet) -> NodeModel:
    """Take rows away from a model that was trained on them.

    Raises AccountingError when the model keeps some of the rows, or when they cannot have been in it.
    """
    return change_members(model, data, LivingMachine.forget, leaves=True)


def merge(models: Sequence[NodeModel], names: Sequence[str], engine: Engine) -> NodeModel:
    """Add models that were trained apart on the same nodes: the model of all their rows.

    names : of the files of the models. Raises ModelFormatError when their nodes differ, or their rows in size.
    """
    for model, name in zip(models, names, strict=True):
        if len(model.members) != len(models[0].members):
            raise ModelFormatError(
                f'{name}: expected {len(models[0].members)} machines as in {names[0]}, found {len(model.members)}'
            )
    machines = [merge_models(members, names) for members in zip(*(model.members for model in models), strict=True)]
    return solve_members(machines, engine)


def change_members(
    model: NodeModel,
    data: DataSet,
    change: Callable[[LivingMachine, Batch], LivingMachine],
    leaves: bool = False,
) -> NodeModel:
    """Change each machine of a model by the same rows, and solve.

    leaves : whether the rows leave, and must not stay readable in the model.
    """
    summary = summarise_new(model, data)
    if leaves:
        warning = warn_of_bounds(model, summary.columns)
    else:
        warning = describe_new_classes(model, summary)
    if warning:
        warn_unsuitable(f'{data.plan.name}: {warning}')
    machines = []
    for member in model.members:
        batch = sum_up_batch(member, summary, data, leaves)
        try:
            machines.append(change(LivingMachine.of_model(member), batch))
        except AccountingError as error:
            raise AccountingError(f'{data.plan.name}: {error}') from None
    return solve_members(machines, data.engine)


def describe_new_classes(model: NodeModel, summary: Summary) -> str:
    """Return a warning where rows have labels that are no class of a model, else ''."""
    new = model.find_unknown(summary.labels.entries)
    if not new:
        return ''
    return f'the model with the classes {describe_columns(model.classes)} gets new ones: {describe_columns(new)}'


def solve_members(machines: Sequence[LivingMachine], engine: Engine) -> NodeModel:
    """Solve for the output weights of each machine: the model that averages them."""
    with one_thread():
        return join_members([solve(machine, engine) for machine in machines])


def summarise_new(model: NodeModel, data: DataSet) -> Summary:
    """Return the Summary of new rows. Raises DataFormatError when their labels or their width do not fit the model."""
    summary = summarise(data)
    check_labels(data.plan, summary, model.header.task)
    warn_of_labels(data, summary, lambda name: model.class_of(name) in model.classes)
    demand_targets(data.plan, describe_targets(summary), model)
    if summary.columns.n_features > model.n_features:
        raise DataFormatError(
            f'{data.plan.name}: expected rows of {model.n_features} features, as the model has, '
            f'found rows of {summary.columns.n_features}'
        )
    for member in model.members:
        try:
            demand_scalable(
                (summary.columns.minimum, summary.columns.maximum),
                summary.columns.n,
                member.layer.offset,
                member.layer.scale,
                summary.name_column,
            )
        except DataFormatError as error:
            raise DataFormatError(f'{data.plan.name}: {error}') from None
    return summary


def demand_targets(plan: InputPlan, targets: Mapping[str, Any] | None, model: NodeModel) -> None:
    """Raise DataFormatError when rows have another number of targets than a model, or labels of another kind."""
    theirs, ours = (len((each or {}).get('names', [0])) for each in (targets, model.header.targets))
    if theirs != ours:
        raise DataFormatError(f'{plan.name}: expected rows of {ours} target(s), as the model has, found {theirs}')
    if (targets or {}).get('separator') != model.header.separator:
        raise DataFormatError(
            f'{plan.name}: expected rows with labels as the model has them, found others: one of '
            'both was made with --labels-separator, the other without'
        )


def sum_up_batch(model: HiddenNodeModel, summary: Summary, data: DataSet, leaves: bool = False) -> Batch:
    """Run the Gram job over rows on a machine's nodes: their Batch. leaves : as in `change_members`."""
    options = options_of(model.header, bad_rows=data.bad_rows)
    steps = demand_grid(data.plan.name, model, summary, n_rows=model.header.n_rows_used)
    classes = None
    if not options.numeric:
        classes = join_classes(model.classes, summary.labels)
    inputs = NodeInputs(options, summary, classes, data, known_sigma=model.header.parameters['sigma'])
    sums, n_stored = sum_up(inputs, model.layer, steps, leaves and keeps_rows(model))
    check_counts(data.plan, classes, sums.counts)
    return Batch(
        sums,
        steps,
        list_classes(classes),
        number_names(model.classes, classes),
        summary.n_rows,
        summary.rejected,
        data.blas,
        n_stored=n_stored,
    )

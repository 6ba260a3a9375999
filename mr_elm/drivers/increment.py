"""Let a model live: PIESVM adds new rows by a Gram job over these alone; old rows leave the same way; models merge."""
from dataclasses import astuple, dataclass, replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.checks import check_labels
from mr_elm.drivers.pesvm import check_counts, grid_of, options_of, solve, sum_up
from mr_elm.drivers.summary import summarise
from mr_elm.errors import AccountingError, DataFormatError, ModelFormatError
from mr_elm.history import event, prolonged
from mr_elm.model_checks import check_living
from mr_elm.models import layer_arrays, refusing
from mr_elm.passes.data_set import DataSet
from mr_elm.solvers.ridge.esvm import Sums, collect_sums
from mr_elm.solvers.ridge.increment import add_sums, demand_left, only, placed, size_of, sum_arrays, sums_of
from mr_elm.sums.gram import GridSteps, assemble
from mr_elm.sums.statistics import Classes, LabelTable


@dataclass(frozen=True)
class Batch:
    """Hold what some rows leave behind: their Sums, whose classes are `labels`, and how many rows there were.

    labels : LabelTable; empty for a regression. blas : what the tasks computed with. peak : the largest trace of E'E.
    """

    sums: Sums
    labels: LabelTable
    n_rows: int
    rejected: dict
    blas: set
    peak: float


def update(model, plan, runner, bad_rows='stop'):
    """Add new rows to a model: (header, arrays, accounts) of the model of all rows.

    model : HiddenNodeModel of pesvm or elm, with its sums. plan : InputPlan of the new rows.
    Raises DataFormatError when rows cannot be used, ModelFormatError when the model cannot be added to.
    """
    batch, classes, accounts = sum_up_batch(model, plan, runner, bad_rows)
    return *added(model, batch, classes, runner, 'update'), accounts


def forget(model, plan, runner, bad_rows='stop'):
    """Take rows away from a model that was trained on them: (header, arrays, accounts) of the model of the others.

    Raises AccountingError when the rows cannot have been in the model.
    """
    batch, classes, accounts = sum_up_batch(model, plan, runner, bad_rows)
    if strangers := sorted(set(batch.labels.entries) - set(labels_of(model).entries) - spellings(model, classes)):
        raise AccountingError(f'{plan.name}: rows of the model\'s classes were expected, {strangers[:3]} came')
    with one_thread():
        sums = sums_left(model, batch, classes, plan)
        names, sums = without_empty(classes, sums, plan)
        header = replace(model.header, classes=names, n_rows_used=model.header.n_rows_used - batch.n_rows)
        done = event('forget', batch.n_rows, batch.rejected)
        return *solved(header, model, sums, batch, runner, done, peak_of(model)), accounts


def sums_left(model, batch, classes, plan):
    """Return the Sums of a model without those of a batch. Raises AccountingError when it cannot have been in it."""
    if batch.n_rows >= model.header.n_rows_used:
        raise AccountingError(f'{plan.name}: fewer rows than the {model.header.n_rows_used} of the model were '
                              f'expected, {batch.n_rows} came')
    before = placed(sums_of(model.arrays), numbers_of(model, classes), n_sums(classes))
    sums = add_sums(before, batch.sums, -1)
    try:
        demand_left(sums, before, peak_of(model))
    except AccountingError as error:
        raise AccountingError(f'{plan.name}: {error}') from None
    return sums


def merge(models, names, runner):
    """Add models that were trained apart on the same nodes: (header, arrays).

    models : HiddenNodeModels; names : of their files. Raises ModelFormatError when their nodes differ.
    """
    whole = models[0]
    for model, name in zip(models[1:], names[1:], strict=True):
        demand_alike(whole, model, names[0], name)
        steps, other = (GridSteps(*one.header.parameters['grid']) for one in (whole, model))
        finer, n_rows = steps.finer(other), whole.header.n_rows_used + model.header.n_rows_used
        if not (finer.holds(steps, n_rows) and finer.holds(other, n_rows)):
            raise ModelFormatError(f'{name}: numbers of about the size that {names[0]} was trained on were expected')
        classes = joined_classes(whole, labels_of(model))
        sums = placed(sums_of(model.arrays), numbers_of(model, classes), n_sums(classes))
        rejected = {'merged': model.header.n_rows_rejected} if model.header.n_rows_rejected else {}
        batch = Batch(sums, labels_of(model), model.header.n_rows_used, rejected,
                      set(model.header.parameters['blas']), peak_of(model))
        header, arrays = added(whole, batch, classes, runner, 'merge')
        whole = type(whole)(header.change_parameters(grid=list(astuple(finer))), arrays)
    return whole.header, whole.arrays


def demand_living(model, name):
    """Raise ModelFormatError when a model keeps no sums that rows could be added to."""
    if 'gram' not in model.arrays:
        raise ModelFormatError(f'{name}: a model of pesvm or elm was expected, {model.header.method} keeps no sums')
    with refusing(name):
        check_living(model.header)
    if model.header.parameters['class_weight'] is not None:
        raise ModelFormatError(f'{name}: a model without --class-weight was expected: the weights of classes change '
                               'with every row, and those of all others would have to be seen again')


def demand_alike(model, other, name, other_name):
    """Raise ModelFormatError when two models differ in what their sums are sums of."""
    for what, ours, theirs in (('method', model.header.method, other.header.method),
                               ('task', model.header.task, other.header.task),
                               ('features', model.n_features, other.n_features),
                               ('map', model.header.parameters['map'], other.header.parameters['map']),
                               ('hidden nodes', model.layer.n_hidden, other.layer.n_hidden)):
        if ours != theirs:
            raise ModelFormatError(f'{other_name}: {what} {ours} was expected as in {name}, {theirs} came')
    for part, array in layer_arrays(model.layer).items():
        if not np.array_equal(array, other.arrays[part]) or (
                model.header.parameters['sigma'] != other.header.parameters['sigma']):
            raise ModelFormatError(f'{other_name}: the {part.replace("_", " ")} of {name} were expected, others came '
                                   f'(train with --like {name})')


def sum_up_batch(model, plan, runner, bad_rows):
    """Run the Gram job over new rows on a model's nodes: (Batch, Classes of both or None, accounts of a first pass)."""
    options = options_of(model.header, bad_rows=bad_rows)
    data = DataSet(plan, runner, bad_rows)
    summary = summarise(data)
    check_labels(plan, summary, options.task)
    if summary.columns.n_features > model.n_features:
        raise DataFormatError(f'{plan.name}: rows of {model.n_features} features were expected by the model, rows of '
                              f'{summary.columns.n_features} came')
    steps = grid_of(model, plan, summary, n_rows=model.header.n_rows_used)
    classes = None if options.numeric else joined_classes(model, summary.labels)
    tiles, named_sums = sum_up(data, model.layer, steps, None, options)
    sums = collect_sums(*assemble(tiles, model.layer.n_hidden + 1), named_sums, classes)
    if classes:
        check_counts(plan, replace(classes, counts=counts_in(summary.labels, classes)), sums)
    batch = Batch(sums, summary.labels, summary.n_rows, summary.rejected, data.blas, size_of(sums))
    return batch, classes, summary.accounts


def labels_of(model):
    """Return the classes of a model as a LabelTable, whose names stand before any that come later."""
    if model.numeric:
        return LabelTable()
    return LabelTable({name: [int(count), [-1, 0, k]] for k, (name, count) in
                       enumerate(zip(model.classes, model.arrays['counts'], strict=True))})


def joined_classes(model, labels):
    """Return the Classes of a model and of new rows together, or None for a regression."""
    return None if model.numeric else Classes.of(labels_of(model).merge(labels))


def numbers_of(model, classes):
    """Return the number of each class of a model among the joined ones."""
    return [classes.index[name] for name in model.classes] if classes else [0]


def n_sums(classes):
    """Return how many rows the class sums have."""
    return len(classes.names) if classes else 1


def counts_in(labels, classes):
    """Count the rows of a LabelTable by class."""
    counts = [0] * len(classes.names)
    for name, entry in labels.entries.items():
        counts[classes.index[name]] += entry[0]
    return counts


def spellings(model, classes):
    """Return the labels that are a class of the model in other words, such as 1.0 for 1."""
    known = set(numbers_of(model, classes))
    return {name for name, number in classes.index.items() if number in known} if classes else set()


def peak_of(model):
    """Return the largest trace of E'E that a model ever had."""
    return model.header.parameters.get('peak', size_of(sums_of(model.arrays)))


def added(model, batch, classes, runner, action):
    """Add a batch to a model: (header, arrays)."""
    with one_thread():
        sums = add_sums(placed(sums_of(model.arrays), numbers_of(model, classes), n_sums(classes)), batch.sums)
        header = replace(model.header, classes=classes.names if classes else [],
                         n_rows_used=model.header.n_rows_used + batch.n_rows,
                         n_rows_rejected=model.header.n_rows_rejected + sum(batch.rejected.values()))
        return solved(header, model, sums, batch, runner, event(action, batch.n_rows, batch.rejected),
                      max(peak_of(model), batch.peak, size_of(sums)))


def without_empty(classes, sums, plan):
    """Drop classes that have lost all rows: (names, Sums). Raises AccountingError when fewer than two remain."""
    if not classes:
        return [], sums
    kept = np.flatnonzero(sums.counts)
    if len(kept) < 2:
        raise AccountingError(f'{plan.name}: rows of at least two classes were expected to be left, '
                              f'{len(kept)} would be')
    return [classes.names[k] for k in kept], only(sums, kept)


def solved(header, model, sums, batch, runner, done, peak):
    """Solve for the output weights of changed sums: (header, arrays)."""
    solution = solve(sums, options_of(header), runner, peak)
    header = header.change_parameters(solver=solution.factorisation, condition=solution.condition, peak=peak,
                                      blas=sorted(set(header.parameters['blas']) | batch.blas))
    arrays = {**model.arrays, 'output_weights': solution.output_weights, **sum_arrays(sums)}
    return replace(header, history=prolonged(header.history, done)), arrays

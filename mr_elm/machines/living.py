"""Let a machine of sums live: add rows, forget rows, merge machines, and solve for the model of the rows that it has.

Source: He et al., A parallel incremental extreme SVM classifier, 2011, IESVM and PIESVM. Ours: forgetting, classes
that come late, exact sums.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError, DataFormatError, ModelFormatError, record
from mr_elm.features.hidden import HiddenLayer
from mr_elm.machines.nodes import NodeProblem, grid_for
from mr_elm.machines.options import PASSES, PESVMOptions
from mr_elm.machines.shared_options import ROWS
from mr_elm.model.base import Model
from mr_elm.model.checks import check_living, list_options
from mr_elm.model.file import refusing
from mr_elm.model.header import ModelHeader, extend_history, make_event
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import layer_arrays
from mr_elm.solvers.increment import (
    add_sums,
    demand_left,
    move_origin,
    place_classes,
    select_classes,
    size_of,
    sum_arrays,
    sums_of,
    warn_of_doubt,
)
from mr_elm.solvers.ridge import Sums, find_penalty, finish
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import Classes, LabelTable, list_classes
from mr_elm.sums.summary import Summary

# how a training takes its targets, as it stands behind `expected targets`
LOGARITHMS = 'that are learned as they are', 'whose logarithms are learned'
CENTRES = 'not counted from their mean (no center)', 'counted from their mean'


@record
class Batch:
    """Hold what the rows that come or leave left behind; their targets are counted from the origin of the machine.

    sums : Sums of the rows, on the grids `steps`, for the classes of the machine and of the rows together.
    classes : names of these classes, none for a regression. known : the number of each class of the machine among them.
    n_rows : how many rows. rejected : reason -> how many were left out. blas : what the rows were summed up with.
    peak : largest trace of E'E that these sums ever had, where that is more than now.
    keeps_labels : whether a label that loses its last row stays, as a column of an indicator matrix does.
    n_stored : how many of the rows the machine keeps as landmarks.
    """

    sums: Sums
    steps: GridSteps
    classes: list[str]
    known: Sequence[int] | np.ndarray
    n_rows: int
    rejected: Mapping[str, int] = field(default_factory=dict)
    blas: Iterable[str] = ()
    peak: float = 0.0
    keeps_labels: bool = False
    n_stored: int = 0


@record
class LivingMachine:
    """Hold the sums of the rows that a machine has seen; every change makes another machine.

    header : of the model, with what is known of the rows. layer : HiddenLayer. sums : Sums.
    """

    header: ModelHeader
    layer: HiddenLayer
    sums: Sums

    @classmethod
    def of_model(cls, model: HiddenNodeModel) -> 'LivingMachine':
        """Return the machine of a model that has its sums, without what is not of other rows: probabilities, ledger."""
        parameters = {name: value for name, value in model.header.parameters.items() if name not in ('ledger', 'parts')}
        header = replace(model.header, calibration=None, threshold=None, parameters=parameters)
        return cls(header, model.layer, sums_of(model.sums or {}))

    @classmethod
    def of_sums(
        cls, problem: NodeProblem, layer: HiddenLayer, steps: GridSteps, blas: Iterable[str], sums: Sums
    ) -> 'LivingMachine':
        """Return the machine of a problem and the sums of all its rows. steps, blas : see `NodeProblem.describe`."""
        return cls(problem.describe(layer, steps, blas).change_parameters(peak=size_of(sums)), layer, sums)

    @property
    def peak(self) -> float:
        """Return the largest trace of E'E that the machine ever had: its rounding errors follow it."""
        return self.header.parameters.get('peak') or size_of(self.sums)

    def add(self, batch: Batch, action: str = 'update') -> 'LivingMachine':
        """Add rows, which may bring new classes. action : what the history calls it."""
        sums = add_sums(self._place(batch), batch.sums)
        header = replace(
            self.header,
            n_rows_used=self.header.n_rows_used + batch.n_rows,
            n_rows_rejected=self.header.n_rows_rejected + sum(batch.rejected.values()),
        )
        header = header.change_parameters(
            grid=list(join_grids(steps_of(self.header), batch.steps, header.n_rows_used).steps),
            peak=max(self.peak, batch.peak, size_of(sums)),
        )
        return LivingMachine(record_change(header, batch, batch.classes, action), self.layer, sums)

    def forget(self, batch: Batch) -> 'LivingMachine':
        """Take rows away, and the classes that lose their last row.

        Raises AccountingError when the machine keeps some of the rows, when the rows cannot have been there, or when
        fewer than two classes would be left.
        """
        if batch.n_stored:
            raise AccountingError(
                f'cannot forget {batch.n_stored:,} of these {batch.n_rows:,} rows: they are landmarks, so the model '
                'would still hold their features: train again without these rows, or once '
                'with --landmarks synthetic of pesvm or elm, which keeps no row'
            )
        foreign = batch.sums.counts > 0
        foreign[batch.known] = False
        if batch.classes and (strangers := sorted(compress(batch.classes, foreign))):
            raise AccountingError(f"expected rows of the model's classes, found {strangers[:3]}")
        if batch.n_rows >= self.header.n_rows_used:
            raise AccountingError(
                f'cannot forget {batch.n_rows} rows: the model was trained on only '
                f'{self.header.n_rows_used}, and at least one must be left'
            )
        before = self._place(batch)
        sums = add_sums(before, batch.sums, -1)
        demand_left(sums, before, self.peak, batch.classes)
        classes = []
        if batch.classes:
            waits = (before.counts == 0) | batch.keeps_labels  # a class that was declared, for its first row
            kept = (sums.counts > 0) | waits
            least, noun = 2, 'two classes'
            if self.header.separator is not None:
                least, noun = 1, 'one label'
            if kept.sum() < least:
                raise AccountingError(f'expected rows of at least {noun} to be left, found {kept.sum()}')
            classes, sums = list(compress(batch.classes, kept)), select_classes(sums, kept)
        header = replace(self.header, n_rows_used=self.header.n_rows_used - batch.n_rows)
        header = header.change_parameters(peak=self.peak)
        return LivingMachine(record_change(header, batch, classes, 'forget'), self.layer, sums)

    def merge(self, other: 'LivingMachine', classes: Classes | None) -> 'LivingMachine':
        """Add the rows of a machine of the same nodes. classes : of both, None for a regression."""
        names = list_classes(classes)
        ours, theirs = (number_names(one.header.classes, classes) for one in (self, other))
        header = other.header
        rejected = {}
        if header.n_rows_rejected:
            rejected = {'merged': header.n_rows_rejected}
        steps, origin = steps_of(header), steps_of(self.header).origin
        if names:
            sums = place_classes(other.sums, theirs, len(names))
        else:
            sums = move_origin(other.sums, steps, origin)
        return self.add(
            Batch(
                sums,
                replace(steps, origin=origin),
                names,
                ours,
                header.n_rows_used,
                rejected,
                header.parameters['blas'],
                other.peak,
            ),
            'merge',
        )

    def solve(self) -> HiddenNodeModel:
        """Solve for the output weights: the model, without the sums."""
        parameters = self.header.parameters
        bias = self.header.method != 'elm'
        nu = parameters[self.header.nu_name]
        warn_of_doubt(nu, self.peak)
        has_targets = self.header.task == 'regression' or self.header.separator is not None
        steps = steps_of(self.header)
        solution = finish(self.sums, nu, has_targets, bias, steps.centres, find_penalty(parameters, self.layer))
        if steps.centres:
            solution.output_weights[-1] -= steps.origin
        header = self.header.change_parameters(solver=solution.factorisation, condition=solution.condition)
        return HiddenNodeModel(header, {**layer_arrays(self.layer), 'output_weights': solution.output_weights})

    def keep_sums(self, model: HiddenNodeModel) -> HiddenNodeModel:
        """Give the sums to the model that `solve` made, so that it lives on as two files."""
        return replace(model, sums=sum_arrays(self.sums))

    def _place(self, batch: Batch) -> Sums:
        """Return the sums in the order of a batch's classes."""
        if batch.classes:
            return place_classes(self.sums, batch.known, len(batch.classes))
        return self.sums


def merge_models(models: Sequence[HiddenNodeModel], names: Sequence[str]) -> LivingMachine:
    """Return the machine of the rows of all models. names : of their files.

    Raises ModelFormatError when their nodes differ, or their rows in size.
    """
    machine = LivingMachine.of_model(models[0])
    for model, name in zip(models[1:], names[1:], strict=True):
        demand_same_nodes(models[0], model, names[0], name, f' (train with --like {names[0]})')
        finer = steps_of(machine.header).finer(steps_of(model.header))
        labels = LabelTable({label: [0, [0, 0, number]] for number, label in enumerate(model.classes)})
        classes = None
        if not model.numeric:
            classes = join_classes(machine.header.classes, labels)
        machine = machine.merge(LivingMachine.of_model(model), classes)
        if steps_of(machine.header) != finer:
            raise ModelFormatError(f'{name}: expected numbers of about the size that {names[0]} was trained on')
    return machine


def record_change(header: ModelHeader, batch: Batch, classes: Sequence[str], action: str) -> ModelHeader:
    """Write into a header what was done with a batch, and which classes there are now."""
    history = extend_history(header.history, make_event(action, batch.n_rows, dict(batch.rejected)))
    blas = sorted({*header.parameters['blas'], *batch.blas})
    positive = None
    if len(classes) == 2 and header.positive in classes:
        positive = header.positive
    return replace(header, classes=list(classes), positive=positive, history=history).change_parameters(blas=blas)


def steps_of(header: ModelHeader) -> GridSteps:
    """Return the grids of a model's sums, and the origin of its targets."""
    return GridSteps.from_json([*header.parameters['grid'], header.parameters.get('origin', ())])


def options_of(header: ModelHeader, **others: Any) -> PESVMOptions:
    """Return the PESVMOptions that a model was trained with, but for others."""
    parameters = header.parameters
    return PESVMOptions(
        **{
            'method': header.method,
            'task': header.task,
            **{name: parameters[name] for name in list_options(parameters)},
            'kernel': parameters.get('kernel', 'gaussian'),
            'landmarks': parameters.get('landmarks', ROWS),
            'no_center': header.task == 'regression' and not parameters.get('center'),
            'nu': parameters[header.nu_name],
            **others,
        }
    )


def demand_grid(
    name: str, model: HiddenNodeModel, summary: Summary, weights: dict | None = None, n_rows: int = 0
) -> GridSteps:
    """Return the grids of a model's sums. Raises DataFormatError when rows are too large to add to n_rows there.

    name : of the data set. weights : of the labels, None when all count once.
    """
    steps = steps_of(model.header)
    if not steps.holds(grid_for(model.layer, summary, weights, steps.origin), n_rows + summary.n_rows):
        raise DataFormatError(
            f'{name}: expected numbers of about the size that the model was trained on, found '
            'numbers millions of times larger'
        )
    return steps


def join_grids(ours: GridSteps, theirs: GridSteps, n_rows: int) -> GridSteps:
    """Return the finer grids, on which the sums of both are exact; the coarser ones where n_rows rows are too large.

    On the coarser grids sums are exact to 2^-104 of the larger rows.
    """
    finer = ours.finer(theirs)
    if finer.holds(ours, n_rows) and finer.holds(theirs, n_rows):
        return finer
    return ours.coarser(theirs)


def choose_grid(before: GridSteps, new: GridSteps, n_rows: int) -> GridSteps:
    """Return the grids for the sums of new rows: those before, where they hold n_rows rows; else coarser ones.

    new : the grids for the bounds of the new rows. n_rows : of all rows together.
    """
    if before.holds(new, n_rows):
        return before
    return before.coarser(new)


def join_classes(names: Sequence[str], labels: LabelTable) -> Classes:
    """Order the classes of a model together with other labels; a class keeps the name that the model has for it.

    The counts are those of the labels.
    """
    of_model = LabelTable({name: [0, [-1, 0, number]] for number, name in enumerate(names)})
    return Classes.of(of_model.merge(labels))


def number_names(names: Sequence[str], classes: Classes | None) -> list[int]:
    """Return the number of each class of a machine among others, none for a regression."""
    if classes is None:
        return []
    return [classes.index[name] for name in names]


def demand_living(model: Model, name: str) -> None:
    """Raise ModelFormatError when a model can have no sums that rows could be added to."""
    demand_summable(model, name)
    demand_lasting_weights(model, name)


def demand_summable(model: Model, name: str) -> None:
    """Raise ModelFormatError when a model can have no sums."""
    demand_nodes(model, name)
    if by_passes(model):
        raise ModelFormatError(
            f'{name}: expected a model with the sums of its rows, a training by passes makes none: '
            f'train on the old and the new rows together with --like {name}, which begins where '
            'this model ended'
        )


def by_passes(model: Model) -> bool:
    """Tell whether a machine of a model of nodes was trained by passes, which makes no sums."""
    return any(member.header.parameters['solver'] == PASSES for member in model.members)


def demand_lasting_weights(model: Model, name: str) -> None:
    """Raise ModelFormatError when new rows would change what the old ones weigh."""
    if model.header.parameters['class_weight'] is not None:
        raise ModelFormatError(
            f'{name}: expected a model without --class-weight: every new row changes the weights '
            'of all classes, and the old rows would have to be read again'
        )


def demand_nodes(model: Model, name: str) -> None:
    """Raise ModelFormatError when a model has no nodes for another training: it must be one of pesvm or elm."""
    if any('output_weights' not in member.arrays or 'grid' not in member.header.parameters for member in model.members):
        raise ModelFormatError(f'{name}: expected a model of pesvm or elm, {model.header.method} keeps no sums')
    with refusing(name):
        for member in model.members:
            check_living(member.header)


def demand_same_nodes(one: HiddenNodeModel, other: HiddenNodeModel, name: str, other_name: str, hint: str = '') -> None:
    """Raise ModelFormatError when two models differ in what their sums are sums of.

    name, other_name : of the models in messages. hint : how to make a model of the same nodes.
    """
    for (what, ours), (_, theirs) in zip(list_facts(one), list_facts(other), strict=True):
        if ours != theirs:
            raise ModelFormatError(f'{other_name}: expected {what} {ours} as in {name}, found {theirs}')
    ours, theirs = ({**layer_arrays(model.layer), 'sigma': model.layer.biases} for model in (one, other))
    for part in {**ours, **theirs}:
        if part not in ours or part not in theirs or not np.array_equal(ours[part], theirs[part]):
            raise ModelFormatError(
                f'{other_name}: expected the same {part.replace("_", " ")} as in {name}, they differ{hint}'
            )


def list_facts(model: HiddenNodeModel) -> list[tuple[str, Any]]:
    """List what the sums of a model are sums of, but for its nodes: (what, value)."""
    header = model.header
    return [
        ('method', header.method),
        ('task', header.task),
        ('columns', header.column_names),
        ('targets', header.targets),
        ('targets', LOGARITHMS[header.is_log]),
        ('targets', CENTRES[bool(header.parameters.get('center'))]),
        ('encoding of the columns', header.encoding),
        ('features', model.n_features),
        ('map', header.parameters['map']),
        ('kernel', model.layer.kind),
        ('hidden nodes', model.layer.n_hidden),
    ]

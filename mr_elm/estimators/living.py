"""Keep the sums of rows in an estimator that lives: rows come, rows leave, estimators merge."""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mr_elm import sparse as sp
from mr_elm.arithmetic import one_thread
from mr_elm.errors import write_value
from mr_elm.estimators.conversion import name_blas, name_weights
from mr_elm.estimators.jobs import sum_up_rows, watched
from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.tables import TableRows
from mr_elm.estimators.values import name_classes, number_labels, to_sets
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import LandmarkFinder
from mr_elm.features.nodes import has_leaves, part_map
from mr_elm.features.scaling import demand_scalable
from mr_elm.machines.calibrating import HELD_OUT, ScoreSample, keep_held_out
from mr_elm.machines.doubts import warn_of_constant
from mr_elm.machines.fold_machines import FOLDS, FoldMachines
from mr_elm.machines.forgetting import keeps_rows, warn_of_bounds
from mr_elm.machines.living import Batch, LivingMachine, choose_grid, demand_same_nodes, steps_of
from mr_elm.machines.nodes import NodeProblem, describe_leaves
from mr_elm.machines.options import GRAM, PASSES, PESVMOptions
from mr_elm.machines.passes import choose_solver
from mr_elm.machines.press import HeldOut, LeaveOneOutModel
from mr_elm.machines.sample import select_rows, take_sample
from mr_elm.model.models import HiddenNodeModel, join_members
from mr_elm.rows.blocks import fill_weights
from mr_elm.rows.labels import write_label
from mr_elm.scores.threshold import choose_positive
from mr_elm.solvers.ridge import Sums, TrainingRows
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.typing import Floats, Labels, Rows, Weights

NODE_PARAMETERS = (
    'map',
    'n_hidden',
    'leaves',
    'weight_scale',
    'weights',
    'seed',
    'random_state',
    'kernel',
    'landmarks',
    'scale',
    'encode',
    'metric',
)
FORM = (
    'n_features_in_',
    'seed_',
    'feature_names_in_',
    '_of_file',
    'encoding_',
    '_summary',
    'single_',
    'n_targets_',
    'target_',
)


class LivingRows(TableRows):
    """Keep the sums of the rows in the model, whose machines learn and forget rows, and solve whenever they change."""

    _hold_out: Any  # see `Labelled` and `LivingTargets`
    _arithmetic: Any = nullcontext  # a context for sums and solves

    @property
    def n_rows_(self) -> int:
        """Return how many rows the estimator has."""
        return self.model_.header.n_rows_used

    @watched
    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> Any:
        """Take rows away from the sums; classes that lose their last row go too.

        Probabilities, their threshold and intervals go too. Raises AccountingError, and changes nothing, when the
        estimator keeps some of the rows as landmarks, or when the rows cannot have been there.
        """
        check_is_fitted(self)
        machines, (X, y, weights) = self._machines(), self._read(X, y, sample_weight, reset=False)
        labels, left = self._join_labels(y), []
        with self._arithmetic():
            for member, machine in zip(self.model_.members, machines, strict=True):
                batch = self._sum_up((X, y, weights), labels, machine)
                if keeps_rows(member):
                    batch = replace(batch, n_stored=int(LandmarkFinder(member.layer).find(X).sum()))
                left.append(machine.forget(batch))
            if warning := warn_of_bounds(self.model_, ColumnStatistics.of(X)):
                warnings.warn(warning, stacklevel=2)
            return self._take(left, labels, rows_left=True)

    @watched
    def _grow(self, X: Rows, y: Labels, sample_weight: Weights, declared: Labels = ()) -> Any:
        """Add rows to the machines. declared : classes that may have no row yet."""
        rows = self._read(X, y, sample_weight, reset=False)
        labels = self._join_labels(rows[1], declared)
        with self._arithmetic():
            grown = [machine.add(self._sum_up(rows, labels, machine)) for machine in self._machines()]
            return self._take(grown, labels)

    def _join_labels(self, y: Labels, declared: Labels = (), anew: bool = False) -> Any:
        """Return the labels of the classes known and of these rows, in class order; None for a regression."""
        return None

    def _label(self, rows: tuple, labels: Any) -> TrainingRows:
        """Return rows as (X, y, sample_weight) with class numbers or targets, and all weights."""
        X, y, sample_weight = rows
        return TrainingRows(X, to_sets(y), sample_weight=sample_weight)

    def _machines(self) -> list[LivingMachine]:
        """Return the machines. Raises ValueError when the estimator does not keep their sums."""
        if self.model_.sums is None:
            raise ValueError(
                'expected an estimator with the sums of its rows, found one without: fit it with keep_sums=True '
                "and, where it has a solver, solver='gram', or read its model by read_model(path, sums=True)"
            )
        return list(map(LivingMachine.of_model, self.model_.members))

    def _sum_up(self, rows: tuple, labels: Any, machine: LivingMachine) -> Batch:
        """Sum up rows for a machine, on its grids where these are coarse enough. labels : the classes of both."""
        labelled, layer, before, n_rows = (
            self._label(rows, labels),
            machine.layer,
            steps_of(machine.header),
            len(rows[1]),
        )
        bounds, total = find_bounds(labelled.X), float(fill_weights(labelled.sample_weight, n_rows).sum())
        demand_scalable(bounds, total, layer.offset, layer.scale, self._summarise().name_column)
        steps = labelled.choose_steps(layer.bound(*bounds), before.origin)
        steps = choose_grid(before, steps, machine.header.n_rows_used + n_rows)
        sums, classes, known = sum_up_rows(self, layer, labelled, steps), [], np.empty(0, int)
        if labels is not None:
            classes, known = list(map(write_label, labels)), number_labels(labels, self.classes_)
        return Batch(sums, steps, classes, known, n_rows, blas=[name_blas()], keeps_labels=labelled.classes is None)

    def _take(self, machines: list[LivingMachine], labels: Any, rows_left: bool = False) -> Any:
        """Hold other machines, and solve.

        labels : those that may be their classes. rows_left : rows have left, and nothing that was fitted to them is
        kept.
        """
        before: Any = getattr(self, 'model_', None)
        self.model_ = join_members([machine.keep_sums(machine.solve()) for machine in machines])
        for member in self.model_.members:
            self._reporter.say(
                f'solved {member.layer.n_hidden + 1} unknowns, '
                f'condition about {member.header.parameters["condition"]:.1e}'
            )
        if rows_left and not set(HELD_OUT).isdisjoint(before.arrays):
            warnings.warn(
                'probabilities or intervals: left out, they may have been fitted to rows that left; calibrate fits new '
                'ones',
                stacklevel=2,
            )
        elif before is not None and not rows_left and before.classes == self.model_.classes:
            self.model_ = keep_held_out(before, self.model_)
        if labels is not None:
            self.classes_ = labels[[write_label(label) in self.model_.classes for label in labels]]
        return self

    @watched
    def calibrate(self, X: Rows, y: Labels, sample_weight: Weights = None) -> Any:
        """Fit probabilities or intervals anew to rows that the estimator has, when rows have come or left.

        The parameter `threshold` chooses a threshold anew; where it is None, a threshold of a model file stays.
        Where leaves of trees are nodes, take rows that came after `fit`: trees know the labels of the others.
        """
        check_is_fitted(self)
        self._machines()
        rows = self._read(X, y, sample_weight, reset=False)
        if self._holds_out:
            self._score(self._label(rows, getattr(self, 'classes_', None)), LeaveOneOutModel(self.model_))
        return self

    def _score(self, rows: TrainingRows, scorer: LeaveOneOutModel | FoldMachines, n_folds: int | None = None) -> None:
        """Score rows that the scorer has not seen, and fit what is wanted to them. n_folds : see `ScoreSample`."""
        sample = select_rows(rows, ScoreSample.of(len(rows.y), self.seed_, n_folds=n_folds).choose(rows))
        kind = 'leave-one-out'
        if n_folds:
            kind = 'folds'
        self._hold_out(
            HeldOut.join([scorer.score(block, weights) for block, weights in sample.blocks()]), sample.X, kind
        )


@dataclass(eq=False, repr=False)
class LivingEstimator(LivingRows):
    """Keep the sums of the rows in the model, and solve whenever they change.

    map : hidden nodes: sigmoid, tanh, sine, relu, hardlimit, rff, rbf, multiquadric; nystrom: values of a kernel
        between a row and landmarks; identity: the features themselves, as many nodes as there are features.
    n_hidden : how many.
    kernel : of landmarks: gaussian, laplacian or product-laplacian.
    landmarks : rows: of `fit`, or of the first `partial_fit`; such a row cannot be forgotten. synthetic: drawn from
        mean and deviation of each feature, so that the estimator keeps no row.
    weight_scale : s; sums of weights times features have deviation s, and kernels have the width sigma = sqrt(v) / s,
        where v is the sum of the variances of the scaled features.
    weights : of random nodes: normal, or uniform between -s and s.
    solver : gram, which sums up one matrix of L x L numbers; passes, conjugate gradients, for very many nodes; None for
        gram up to 5,000 nodes. Passes leave no sums.
    tol, max_iter, memory : of passes, as --tolerance, --max-passes and --memory of `mr-elm train pesvm`.
    keep_sums : whether to keep the sums of the rows, which take (L + 1)^2 numbers: `partial_fit`, `forget`, `merge`,
        `calibrate` and intervals that follow the leverage need them. `to_model().save(path)` writes them beside the
        model.
    metric : none, diagonal (a number for each feature) or full (also combinations of features), which `fit` learns as
        `mr-elm train --metric` does. Sets feature_importances_.
    """

    scale: str = field(default=PESVMOptions.scale, kw_only=True)
    metric: str = field(default=PESVMOptions.metric, kw_only=True)

    map: str = PESVMOptions.map
    n_hidden: int = PESVMOptions.n_hidden
    weight_scale: float = PESVMOptions.weight_scale
    weights: str = PESVMOptions.weights
    kernel: str = PESVMOptions.kernel
    landmarks: str = PESVMOptions.landmarks
    solver: str | None = None
    tol: float | None = None
    max_iter: int = PESVMOptions.max_passes
    memory: float = PESVMOptions.memory
    keep_sums: bool = True

    @property
    def layer_(self) -> HiddenLayer:
        """Return the hidden nodes."""
        return self.model_.layer

    @property
    def feature_importances_(self) -> Floats:
        """Return the importance of each column, with sum 1. Raises AttributeError where no metric was learned."""
        importance = hasattr(self, 'model_') and self.model_.importance
        if not importance:
            raise AttributeError('feature_importances_: expected an estimator that has learned a metric in fit')
        return np.array(importance.columns)

    @property
    def n_iter_(self) -> int:
        """Return how many passes over the rows the solver made; 1 where it solved a Gram."""
        return self.model_.header.parameters.get('passes', 1)

    @property
    def sums_(self) -> Sums:
        """Return the sums of the rows. Raises ValueError when the estimator has none."""
        (machine,) = self._machines()
        return machine.sums

    def fit(
        self, X: Rows, y: Labels, sample_weight: Weights = None, like: 'LivingEstimator | None' = None
    ) -> 'LivingEstimator':
        """Fit. Sets model_, and classes_ of a classifier.

        like : a fitted estimator whose scaling, encoding, metric and nodes are taken, so that the two can merge.
        """
        return self._fit(X, y, sample_weight, like=like)

    @watched
    def merge(self, other: 'LivingEstimator') -> 'LivingEstimator':
        """Add the rows of an estimator that was fitted apart on the same nodes."""
        check_is_fitted(self)
        check_is_fitted(other)
        demand_same_nodes(self.model_, other.model_, 'this estimator', 'the other estimator')
        labels = None
        if not self._numeric:
            labels = self._join_labels(other.classes_)
        (ours,), (theirs,) = self._machines(), other._machines()
        return self._take([ours.merge(theirs, name_classes(labels))], labels)

    @classmethod
    def _of_model(cls, model: Any) -> 'LivingEstimator':
        """Make the fitted estimator of a model, which lives on with its scaling and nodes where it has its sums."""
        estimator = super()._of_model(model)
        if model.layer.forest is not None:
            estimator.n_hidden = len(model.layer.biases) or PESVMOptions.n_hidden
        if estimator.solver != PASSES:
            estimator.solver = None
        names = list(map(write_label, getattr(estimator, 'classes_', ())))
        positive = choose_positive(model.header.positive, names)
        estimator.model_ = replace(model, header=replace(model.header, classes=names, positive=positive))
        return estimator

    @watched
    def _fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights,
        declared: Labels = (),
        like: 'LivingEstimator | None' = None,
        grows: bool = False,
    ) -> 'LivingEstimator':
        """Begin a machine.

        declared : classes that may have no row yet. like : see `fit`. grows : whether more rows are to come.
        """
        if like is not None:
            self._take_form(like)
        rows = self._read(X, y, sample_weight, reset=like is None)
        labels = self._join_labels(rows[1], declared, anew=True)
        self.__dict__.pop('model_', None)  # what was fitted to other rows
        if labels is not None:
            self.classes_ = labels
        labelled = self._label(rows, labels)
        problem, layer = self._place_nodes(labelled, like)
        if grows and self.solver == PASSES:
            raise ValueError("solver: expected 'gram' for partial_fit, passes keep no sums")
        steps = labelled.choose_steps(layer.bound(*find_bounds(labelled.X)), problem.origin)
        if grows or choose_solver(problem.options, len(rows[1]), layer.n_hidden)[0] == GRAM:
            self._fit_by_sums(problem, layer, steps, labelled, labels)
        else:
            self._fit_by_passes(problem, layer, steps, labelled, like)
        if not grows:
            warn_of_constant(self.model_, labelled.X, labelled.y, labelled.sample_weight)
        return self

    def _take_form(self, like: 'LivingEstimator') -> None:
        """Take from a fitted estimator how rows are read. Raises ValueError when its parameters are others."""
        check_is_fitted(like)
        for name in NODE_PARAMETERS:
            ours, theirs = getattr(self, name, None), getattr(like, name, None)
            if ours != theirs:
                raise ValueError(
                    f'like: expected an estimator with {name}={write_value(ours)}, found {write_value(theirs)}'
                )
        for name in FORM:
            self.__dict__.pop(name, None)
            if name in like.__dict__:
                self.__dict__[name] = like.__dict__[name]

    def _place_nodes(self, rows: TrainingRows, like: 'LivingEstimator | None') -> tuple[NodeProblem, HiddenLayer]:
        """Make the nodes for these rows, or take those of `like`: what they depend on, and the nodes."""
        options = self._options
        problem = NodeProblem(options, self._summarise_training(rows, options), rows.classes)
        if like is not None:
            return problem.take_nodes(like.model_), like.layer_
        if options.metric == 'none' and not options.has_leaves:
            return problem, problem.make_layer()
        sample = take_sample(rows, problem.summary, self.seed_, options.center)
        with one_thread():  # for the bits of the command
            if options.metric != 'none':
                problem = problem.learn_metric(sample)
            layer = problem.make_layer()
            if options.has_leaves:
                from mr_elm.machines.joint import grow_leaves

                layer = grow_leaves(layer, sample, options)
        return problem, layer

    def _fit_by_sums(
        self, problem: NodeProblem, layer: HiddenLayer, steps: GridSteps, rows: TrainingRows, labels: Any
    ) -> None:
        """Fit by the sums of the rows. labels : the classes."""
        sums = sum_up_rows(self, layer, rows, steps)
        machine = LivingMachine.of_sums(problem, layer, steps, [name_blas()], sums)
        self._take([replace(machine, header=self._name_header(machine.header))], labels)
        if self._holds_out:
            self._score(rows, LeaveOneOutModel(self.model_))
        if not self.keep_sums:
            self.model_ = self.model_.without_sums()

    def _fit_by_passes(
        self,
        problem: NodeProblem,
        layer: HiddenLayer,
        steps: GridSteps,
        rows: TrainingRows,
        like: 'LivingEstimator | None',
    ) -> None:
        """Fit by passes over the rows, which leave no sums."""
        from mr_elm.estimators.passes import MemoryProblem

        passes, start = MemoryProblem.open(problem, layer, steps, rows), None
        if like is not None:
            start = like.model_.arrays['output_weights']

        def fit(model: HiddenNodeModel) -> HiddenNodeModel:
            self.model_ = model
            self._score(rows, FoldMachines([model], 0), FOLDS)
            return self.model_

        with self._reporter.follow('passes', len(rows.y)):
            self.model_ = passes.train(
                lambda: self._name_header(problem.describe(layer, steps, [name_blas()])),
                start,
                fit if self._holds_out else None,
            )

    @property
    def _options(self) -> PESVMOptions:
        """Return the options that say what the nodes are. Raises ValueError where there are no such nodes."""
        idle = []
        if not has_leaves(self.map):
            idle += ['leaves', 'leaf_ridge']
        if part_map(self.map) in ('identity', ''):
            idle.append('n_hidden')
        if self.solver == GRAM:
            idle.append('tol')
        return make_options(self, idle, no_center=not getattr(self, 'center', True))

    def _machines(self) -> list[LivingMachine]:
        """Return the machine, with the parameters that may have changed since it was made."""
        (machine,), options = super()._machines(), self._options
        values = {machine.header.nu_name: options.nu, 'class_weight': name_weights(self), **describe_leaves(options)}
        return [replace(machine, header=machine.header.change_parameters(**values))]


def find_bounds(X: Rows) -> tuple[Floats, Floats]:
    """Return the least and the largest number of each feature, (d,) both."""
    low, high = (sp.expand(bound).ravel() for bound in (X.min(axis=0), X.max(axis=0)))
    return low, high

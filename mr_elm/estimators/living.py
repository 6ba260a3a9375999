"""Keep the sums of rows in an estimator that lives: rows come, rows leave, estimators merge."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mr_elm.arithmetic import one_thread
from mr_elm.errors import write_value
from mr_elm.estimators.conversion import Convertible, describe, name_blas, name_weights, to_python
from mr_elm.estimators.jobs import decide, sum_up_rows, watched
from mr_elm.estimators.metric import MetricLearner
from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.tables import check_weights
from mr_elm.estimators.values import is_set_matrix, number_labels, to_sets
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import LandmarkFinder, Landmarks
from mr_elm.features.nodes import NODES, has_leaves, part_map
from mr_elm.features.scaling import ScaledMoments, demand_scalable, moments_of_nodes
from mr_elm.machines.calibrating import HELD_OUT, ScoreSample, join, keep_held_out
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.forgetting import keeps_rows, warn_of_bounds
from mr_elm.machines.living import Batch, LivingMachine, choose_grid, demand_same_nodes, steps_of
from mr_elm.machines.metric import LearnedMetric
from mr_elm.machines.nodes import NodeProblem, describe_landmarks, describe_leaves, describe_origin, make_nodes
from mr_elm.machines.options import GRAM, PASSES, PESVMOptions
from mr_elm.machines.passes import choose_solver
from mr_elm.machines.press import HeldOut, LeaveOneOut
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import describe_map
from mr_elm.rows.blocks import fill_weights, take_weights
from mr_elm.rows.frames import is_stream, read_stream
from mr_elm.rows.labels import write_label
from mr_elm.solvers.increment import size_of
from mr_elm.solvers.multiclass import class_targets
from mr_elm.solvers.ridge import Sums, TrainingRows
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import Classes, ColumnStatistics, list_classes, make_zeros
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights

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
    'scaling_',
    '_moments',
    '_columns',
    'single_',
    'n_targets_',
    'target_',
)


@dataclass(eq=False, repr=False)
class LivingESVM(MetricLearner, Convertible):
    """Keep the sums of the rows, and solve whenever they change.

    Parameters
    ----------
    map : hidden nodes: sigmoid, tanh, sine, relu, hardlimit, rff, rbf, multiquadric; nystrom: values of a kernel
        between a row and landmarks; identity: the features themselves, as many nodes as there are features; leaves:
        leaves of boosted trees; leaves+NAME: leaves and nodes of one of these kinds.
    n_hidden : how many; leaves are not counted.
    leaves : how many leaves at most, 32 of each tree; the trees grow on a sample of the rows of `fit`, or of the first
        `partial_fit`. leaf_ridge : how much more the size of the weight of a leaf counts than that of another node.
    kernel : of landmarks: gaussian, laplacian or product-laplacian.
    landmarks : rows: of `fit`, or of the first `partial_fit`; such a row cannot be forgotten. synthetic: drawn from
        mean and deviation of each feature, so that the estimator keeps no row.
    nu : > 0, the weight of the errors. weight_scale, weights : of the nodes, as in `draw_nodes`.
    scale, encode, max_categories : see `TableRows`; the rows of `fit`, or of the first `partial_fit`, decide how
        features are scaled, and what columns and categories there are.
    n_jobs, seed, random_state : see `Parameters`; threads share the rows of a fit and of a prediction.
    metric, metric_steps : see `MetricLearner`; the first rows decide.
    solver : gram, which sums up one matrix of L x L numbers; passes, conjugate gradients, for very many nodes; None for
        gram up to 5,000 nodes. Passes leave no sums.
    tolerance, max_passes, memory : of passes, as the options of `mr-elm train pesvm`.
    keep_sums : whether to keep the sums of the rows, which take (L + 1)^2 numbers: `partial_fit`, `forget`, `merge`,
        `calibrate` and intervals that follow the leverage need them. `to_model().save(path)` writes them beside the
        model.

    Source: He et al., A parallel incremental extreme SVM classifier, 2011.
    """

    map: str = PESVMOptions.map
    n_hidden: int = PESVMOptions.n_hidden
    nu: float = PESVMOptions.nu
    weight_scale: float = PESVMOptions.weight_scale
    weights: str = PESVMOptions.weights
    kernel: str = PESVMOptions.kernel
    landmarks: str = PESVMOptions.landmarks
    leaves: int = PESVMOptions.leaves
    leaf_ridge: float = PESVMOptions.leaf_ridge
    solver: str | None = None
    tolerance: float | None = None
    max_passes: int = PESVMOptions.max_passes
    memory: float = PESVMOptions.memory
    keep_sums: bool = True

    _method = 'pesvm'
    _declared = PESVMOptions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return self._tag_tables(tags)

    @property
    def layer_(self) -> HiddenLayer:
        """Return the hidden nodes."""
        return self.model_.layer

    @property
    def sums_(self) -> Sums:
        """Return the sums of the rows. Raises ValueError when the estimator has none."""
        return self._machine().sums

    @property
    def n_rows_(self) -> int:
        """Return how many rows the estimator has."""
        return self.model_.header.n_rows_used

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None, like: 'LivingESVM | None' = None) -> 'LivingESVM':
        """Fit. Sets model_, and classes_ of a classifier.

        like : a fitted estimator whose scaling, encoding, metric and nodes are taken, so that the two can merge.
        """
        return self._add(X, y, sample_weight, anew=True, like=like)

    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'LivingESVM':
        """Take rows away from the sums; classes that lose their last row go too.

        Probabilities and intervals go too, until `calibrate` fits new ones. X may be an Arrow stream, as in
        `partial_fit`. Raises AccountingError, and changes nothing, when the estimator keeps some of the rows as
        landmarks, or when the rows cannot have been there.
        """
        check_is_fitted(self)
        return self._take_batches(self._forget, X, y, sample_weight)

    def merge(self, other: 'LivingESVM') -> 'LivingESVM':
        """Add the rows of an estimator that was fitted apart on the same nodes."""
        check_is_fitted(self)
        check_is_fitted(other)
        demand_same_nodes(self.model_, other.model_, 'this estimator', 'the other estimator')
        labels = None
        if not self._numeric:
            labels = self._join_labels(other.classes_)
        return self._take(self._machine().merge(other._machine(), name_classes(labels)), labels)

    def to_model(self) -> HiddenNodeModel:
        """Return the fitted model, with the sums if it keeps them, for `mr-elm update`, `forget` and `merge`.

        See `Convertible`.
        """
        check_is_fitted(self)
        if hasattr(self, 'machine_'):
            return self.machine_.keep_sums(self.model_)
        return self.model_

    @classmethod
    def _of_model(cls, model: Any) -> 'LivingESVM':
        """Make the fitted estimator of a model, which lives on with its scaling and nodes where it has its sums."""
        estimator = super()._of_model(replace(model, sums=None))
        if model.layer.forest is not None:
            estimator.n_hidden = len(model.layer.biases) or PESVMOptions.n_hidden
        if model.header.parameters.get('solver') == PASSES:
            estimator.solver = PASSES
        else:
            estimator.solver = None
        if model.sums is None:
            return estimator
        machine = LivingMachine.of_model(model)
        names = [write_label(label) for label in getattr(estimator, 'classes_', ())]
        positive = None
        if machine.header.positive is not None:
            positive = names[model.classes.index(machine.header.positive)]
        estimator.machine_ = replace(machine, header=replace(machine.header, classes=names, positive=positive))
        return estimator

    def _read(self, X: Rows, y: Labels, sample_weight: Weights, reset: bool) -> tuple:
        if self._numeric:
            several = not self._holds_out
        else:
            several = is_set_matrix(y)
        X, y = self._validate(X, reset, sample_weight, y=y, y_numeric=self._numeric, multi_output=several)
        return X, y, check_weights(sample_weight, X)

    def _add_batches(
        self, X: Any, y: Any, sample_weight: Any, declared: Labels = (), like: 'LivingESVM | None' = None
    ) -> Any:
        """Add rows, or those of a stream batch by batch."""

        def add(X: Any, y: Any, weights: Any) -> Any:
            return self._add(X, y, weights, not hasattr(self, 'model_'), declared, like, grows=True)

        return self._take_batches(add, X, y, sample_weight)

    def _take_batches(self, take: Callable, X: Any, y: Any, sample_weight: Any) -> Any:
        """Call take(X, y, sample_weight) with rows, or with each batch of a stream; one that fails undoes all."""
        if not (isinstance(y, str) or is_stream(X)):
            return take(X, y, sample_weight)
        before = dict(self.__dict__)
        try:
            for batch in read_stream(X, y, sample_weight):
                take(*batch)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    @watched
    def _forget(self, X: Rows, y: Labels, sample_weight: Weights) -> 'LivingESVM':
        machine, rows = self._machine(), self._read(X, y, sample_weight, reset=False)
        labels = self._join_labels(rows[1])
        batch = self._sum_up(rows, labels, self.layer_, machine)
        if keeps_rows(self.model_):
            batch = replace(batch, n_stored=int(LandmarkFinder(self.layer_).find(rows[0]).sum()))
        machine = machine.forget(batch)
        if warning := warn_of_bounds(self.model_, ColumnStatistics.of(rows[0])):
            warnings.warn(warning, stacklevel=2)
        return self._take(machine, labels, rows_left=True)

    def _join_labels(self, y: Labels, declared: Labels = (), anew: bool = False) -> Any:
        """Return the labels of the classes known and of these rows, in class order; None for a regression."""
        return None

    def _label(self, rows: tuple, labels: Any) -> TrainingRows:
        """Return rows as (X, y, sample_weight) with class numbers or targets, and all weights."""
        X, y, sample_weight = rows
        return TrainingRows(X, to_sets(y), sample_weight=sample_weight)

    @watched
    def _add(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights,
        anew: bool,
        declared: Labels = (),
        like: 'LivingESVM | None' = None,
        grows: bool = False,
    ) -> 'LivingESVM':
        """Add rows to the machine, or begin a new one with them.

        declared : classes that may have no row yet. like : see `fit`; only for a new machine. grows : whether more rows
        are to come.
        """
        if anew and like is not None:
            self._take_form(like)
        rows = self._read(X, y, sample_weight, reset=anew and like is None)
        labels = self._join_labels(rows[1], declared, anew)
        if anew:
            self.__dict__.pop('model_', None)  # what was fitted to other rows
            if labels is not None:
                self.classes_ = labels
            layer, sigma = self._place_nodes(rows, labels, like)
            if self._choose_solver(layer, len(rows[1]), grows) == PASSES:
                self._fit_by_passes(rows, labels, layer, sigma, like)
            else:
                self._fit_by_sums(rows, labels, layer, sigma)
            return self
        machine = self._machine()
        return self._take(machine.add(self._sum_up(rows, labels, self.layer_, machine)), labels)

    def calibrate(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'LivingESVM':
        """Fit probabilities or intervals anew to rows that the estimator has, when rows have come or left."""
        check_is_fitted(self)
        self._machine()
        return self._score_held_out(self._read(X, y, sample_weight, reset=False))

    def _score_held_out(self, rows: tuple) -> 'LivingESVM':
        """Score rows by the machine of all others, and fit what is wanted to them."""
        if self._holds_out:
            labelled = self._label(rows, getattr(self, 'classes_', None))
            chosen = ScoreSample.of(len(labelled.y), self.seed_).choose(labelled)
            weights = None
            if labelled.sample_weight is not None:
                weights = labelled.sample_weight[chosen]
            sample = TrainingRows(labelled.X[chosen], labelled.y[chosen], labelled.classes, weights)
            scorer = LeaveOneOut.of(self.to_model())
            self._hold_out(join([scorer.score(block, weights) for block, weights in sample.blocks()]), sample.X)
        return self

    def _hold_out(self, rows: HeldOut, X: Rows, kind: str = 'leave-one-out') -> None:
        """Fit what is wanted to rows X that were held out. kind : how, see `calibrate`."""

    @property
    def _holds_out(self) -> bool:
        """Tell whether something is to be fitted to rows that are held out."""
        return False

    def _judge(self, rows: tuple) -> None:
        """Warn where the machine does not suit the rows (X, y, weights)."""
        X, y, sample_weight = rows
        self._note_constant(X, to_sets(y), sample_weight)

    def _take_form(self, like: 'LivingESVM') -> None:
        """Take from a fitted estimator how rows are read. Raises ValueError when its parameters are others."""
        check_is_fitted(like)
        for name in NODE_PARAMETERS:
            ours, theirs = getattr(self, name), getattr(like, name)
            if ours != theirs:
                raise ValueError(
                    f'like: expected an estimator with {name}={write_value(ours)}, found {write_value(theirs)}'
                )
        for name in FORM:
            self.__dict__.pop(name, None)
            if name in like.__dict__:
                self.__dict__[name] = like.__dict__[name]

    def _place_nodes(self, rows: tuple, labels: Any, like: 'LivingESVM | None' = None) -> tuple[HiddenLayer, float]:
        """Make the nodes for these rows, or take those of `like`: (layer, sigma)."""
        if like is not None:
            self._learned = LearnedMetric.of_model(like.model_)
            return like.layer_, like.model_.header.parameters['sigma']
        layer = self._make_layer(rows[0], rows[2])
        sigma = self._node_moments.measure(NODES[layer.kind].norm) / self.weight_scale
        labelled = self._label(rows, labels)
        T = class_targets(labelled.y, len(list_classes(labelled.classes)))
        self._learn_metric(layer, labelled.X, T, self.nu, labelled.sample_weight)
        layer = layer.pass_metric(self._learned.metric)
        if self._options.has_leaves:
            layer = self._grow_leaves(layer, labelled)
        return layer, sigma

    def _describe(self, layer: HiddenLayer, sigma: float, steps: GridSteps, n_rows: int) -> ModelHeader:
        """Make the header of a machine on these nodes; None stands where the solver has its say."""
        names = ('nu', 'weight_scale', 'weights')
        return describe(
            self,
            n_rows,
            {
                **describe_map(layer),
                **describe_landmarks(self._options),
                **describe_leaves(self._options),
                **{name: getattr(self, name) for name in names},
                'seed': self.seed_,
                'n_hidden': layer.n_hidden,
                'sigma': sigma,
                'solver': None,
                'condition': None,
                'grid': list(steps.steps),
                'peak': None,
                **describe_origin(self._numeric, steps),
                **self._learned.facts,
            },
        )

    def _fit_by_sums(self, rows: tuple, labels: Any, layer: HiddenLayer, sigma: float) -> None:
        """Fit by the sums of the rows."""
        batch = self._sum_up(rows, labels, layer)
        header = self._describe(layer, sigma, batch.steps, batch.n_rows).change_parameters(peak=size_of(batch.sums))
        self._take(LivingMachine(header, layer, batch.sums), labels)
        self._score_held_out(rows)
        self._judge(rows)
        if not self.keep_sums:
            del self.machine_
            self.model_ = self.model_.without_sums()

    def _fit_by_passes(
        self, rows: tuple, labels: Any, layer: HiddenLayer, sigma: float, like: 'LivingESVM | None'
    ) -> None:
        """Fit by passes over the rows, which leave no sums."""
        from mr_elm.estimators.passes import MemoryProblem

        self.__dict__.pop('machine_', None)
        labelled = self._label(rows, labels)
        weights = labelled.sample_weight
        summary = Summary(ColumnStatistics.of(labelled.X, weights), n_rows=len(labelled.y), encoding=self.encoding_)
        if self._numeric:
            summary.target = ColumnStatistics.of(*labelled.targets)
        steps = labelled.choose_steps(layer.bound(*find_bounds(labelled.X)), self._choose_origin(labelled))
        problem = MemoryProblem.open(NodeProblem(self._options, summary, labelled.classes), layer, steps, labelled)
        header, start, scored = self._describe(layer, sigma, steps, len(labelled.y)), None, None
        if like is not None:
            start = like.model_.arrays['output_weights'].copy()
            start[-1] += steps.origin or 0.0
        if self._holds_out:
            first = problem.hold_out(FOLDS).solve(self.nu, start)
            self.model_ = problem.describe(first, header)
            chosen = ScoreSample.of(len(labelled.y), self.seed_, n_folds=FOLDS).choose(labelled)
            of_chosen = fill_weights(take_weights(weights, chosen), len(chosen))
            X, start = labelled.X[chosen], first.B
            decisions = self.model_.decision_function(X)
            self._hold_out(HeldOut(labelled.y[chosen], of_chosen, decisions, np.zeros(len(chosen))), X, 'folds')
            scored = self.model_
        with self._reporter.follow('passes', len(labelled.y)):
            model = problem.describe(problem.solve(self.nu, start), header)
        if scored is None:
            self.model_ = model
        else:
            self.model_ = keep_held_out(scored, model)
        self._judge(rows)

    def _choose_solver(self, layer: HiddenLayer, n_rows: int, grows: bool) -> str:
        """Return gram or passes. grows : whether rows are to come, which passes have no sums for."""
        if grows and self.solver == PASSES:
            raise ValueError("solver: expected 'gram' for partial_fit, passes keep no sums")
        if grows:
            return GRAM
        return choose_solver(self._options, n_rows, layer.n_hidden)[0]

    @property
    def _options(self) -> PESVMOptions:
        """Return the options that say what the nodes are. Raises ValueError where there are no such nodes."""
        idle = []
        if not has_leaves(self.map):
            idle += ['leaves', 'leaf_ridge']
        if part_map(self.map) in ('identity', ''):
            idle.append('n_hidden')
        if self.solver == GRAM:
            idle.append('tolerance')
        return make_options(self, idle, task=self._task, seed=self.seed_)

    def _grow_leaves(self, layer: HiddenLayer, rows: TrainingRows) -> HiddenLayer:
        """Return a layer behind leaves of trees that grow on a sample of the rows."""
        from mr_elm.machines.joint import grow_leaves
        from mr_elm.machines.sample import take_sample

        summary = Summary(ColumnStatistics.of(rows.X, rows.sample_weight), encoding=self.encoding_)
        with one_thread():
            sample = take_sample(rows, summary, self.seed_, getattr(self, 'center', False))
            return grow_leaves(layer, sample, self._options)

    @property
    def _node_moments(self) -> ScaledMoments:
        return moments_of_nodes(part_map(self.map), self.scale, self._moments)

    def _make_layer(self, X: Rows, sample_weight: RowWeights) -> HiddenLayer:
        """Make the nodes, which landmarks among these rows may be; rows of weight 0 do not count."""
        options = self._options
        if options.other_map != 'nystrom':
            return make_nodes(options, Summary(columns=make_zeros(0, self._width)), self.scaling_, self._node_moments)
        if sample_weight is not None:
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        chosen = Landmarks(options.n_landmarks, self.seed_)
        if options.n_landmarks:
            chosen.add(X)
        summary = Summary(ColumnStatistics.of(X, sample_weight), landmarks=chosen.rows, encoding=self.encoding_)
        return make_nodes(options, summary, self.scaling_, self._node_moments)

    def _machine(self) -> LivingMachine:
        """Return the machine with the parameters that may have changed since it was made.

        Raises ValueError when the estimator does not keep its sums.
        """
        if not hasattr(self, 'machine_'):
            raise ValueError(
                'expected an estimator with the sums of its rows, found one without: fit it with '
                "keep_sums=True and solver='gram', or read its model by read_model(path, sums=True)"
            )
        header = self.machine_.header.change_parameters(
            nu=to_python(self.nu), class_weight=name_weights(self), **describe_leaves(self._options)
        )
        return replace(self.machine_, header=header)

    def _sum_up(self, rows: tuple, labels: Any, layer: HiddenLayer, machine: LivingMachine | None = None) -> Batch:
        """Sum up rows on a layer, on the grids of a machine where these are coarse enough for the rows."""
        labelled = self._label(rows, labels)
        low, high = find_bounds(labelled.X)
        n_rows = len(labelled.y)
        if machine is None:
            steps = labelled.choose_steps(layer.bound(low, high), self._choose_origin(labelled))
        else:
            total = float(fill_weights(labelled.sample_weight, n_rows).sum())
            demand_scalable((low, high), total, layer.offset, layer.scale, self._summarise().name_column)
            before = steps_of(machine.header)
            steps = labelled.choose_steps(layer.bound(low, high), before.origin)
            steps = choose_grid(before, steps, machine.header.n_rows_used + n_rows)
        sums = sum_up_rows(self, layer, labelled, steps)
        batch = Batch(sums, steps, [], [], n_rows, blas=[name_blas()], keeps_labels=labelled.classes is None)
        if labels is None:
            return batch
        return replace(batch, classes=list(map(write_label, labels)), known=number_labels(labels, self.classes_))

    def _choose_origin(self, labelled: TrainingRows) -> tuple[float, ...]:
        """Return the weighted mean of each target, none where targets are taken as they are."""
        if not getattr(self, 'center', False):
            return ()
        return ColumnStatistics.of(*labelled.targets).origin

    def _take(self, machine: LivingMachine, labels: Any, rows_left: bool = False) -> 'LivingESVM':
        """Hold another machine, and solve.

        labels : those that may be its classes. rows_left : rows have left, and nothing that was fitted to them is kept.
        """
        before, self.machine_, self.model_ = getattr(self, 'model_', None), machine, machine.solve()
        condition = self.model_.header.parameters['condition']
        self._reporter.say(f'solved {len(machine.sums.gram)} unknowns, condition about {condition:.1e}')
        if rows_left and before is not None and not set(HELD_OUT).isdisjoint(before.arrays):
            self.__dict__.pop('calibration_', None)
            warnings.warn(
                'probabilities or intervals: left out, they may have been fitted to rows that left; call '
                'calibrate with rows that the estimator has',
                stacklevel=2,
            )
        elif before is not None and not rows_left and before.classes == self.model_.classes:
            self.model_ = keep_held_out(before, self.model_)
        if labels is not None:
            self.classes_ = labels[[write_label(label) in machine.header.classes for label in labels]]
        return self

    def _values(self, X: Rows) -> Floats:
        check_is_fitted(self)
        return decide(self.model_, self._validate(X, False), self.n_jobs)


def find_bounds(X: Rows) -> tuple[Floats, Floats]:
    """Return the least and the largest number of each feature, (d,) both."""
    low, high = (
        np.asarray(bound.todense() if hasattr(bound, 'todense') else bound).ravel()
        for bound in (X.min(axis=0), X.max(axis=0))
    )
    return low, high


def name_classes(labels: Any) -> Classes | None:
    """Return the Classes of some labels, in their order; None for None."""
    if labels is None:
        return None
    names = list(map(write_label, labels))
    return Classes(names, [0] * len(names), [0.0] * len(names), {name: k for k, name in enumerate(names)})

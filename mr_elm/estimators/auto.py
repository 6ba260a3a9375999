"""Offer the method that chooses its machines as scikit-learn estimators: the models of `mr-elm train auto`."""

import logging
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mr_elm.arithmetic import one_thread
from mr_elm.errors import write_value
from mr_elm.estimators.conversion import name_blas
from mr_elm.estimators.jobs import sum_up_rows, watched
from mr_elm.estimators.living import sum_up_batch
from mr_elm.estimators.probabilities import Labelled
from mr_elm.estimators.tables import TableRows, check_weights
from mr_elm.estimators.values import IntervalTargets, available_with, name_classes, row_weights
from mr_elm.machines.auto import (
    AutoChoice,
    Budget,
    Member,
    choose_machines,
    hold_out_rows,
    make_exact,
    make_machine,
)
from mr_elm.machines.calibrating import HELD_OUT, add_intervals, calibrate, keep_held_out
from mr_elm.machines.constant import warn_of_constant
from mr_elm.machines.living import LivingMachine
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import AutoOptions, read_budget
from mr_elm.machines.sample import merge_copies, take_sample
from mr_elm.model.models import HiddenNodeModel, join_members
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights

LOG = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class AutoEstimator(TableRows):
    """Choose machines by a sample of the rows, train them on all rows, and average them.

    Each decision is a line for the logger of this module, at the level INFO, which verbose=1 shows.

    budget : at most so many leaves and landmarks together in a machine, such as 2000; or '60s', machines that take
        about that many seconds of one core by a fixed formula.
    keep_sums : whether to keep the sums of the rows, for `partial_fit` and `forget`.
    """

    budget: str | int | None = None
    keep_sums: bool = False

    _method = 'auto'
    _declared = AutoOptions
    _called = {'budget': ''}  # it takes more kinds of values
    scale = 'standard'

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'AutoEstimator':
        """Choose machines and train them. Sets model_, and classes_ of a classifier. Rows of weight 0 do not count."""
        self.__dict__.pop('model_', None)
        X, y, weights = self._read(X, y, sample_weight, y_numeric=self._numeric)
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        rows = self._label(X, y, weights)
        n_rows, options = len(rows.y), AutoOptions(task=self._task, seed=self.seed_).nodes
        first, merged = merge_copies(rows.X, rows.y, rows.sample_weight)
        rows = replace(rows, X=rows.X[first], y=rows.y[first], sample_weight=merged)
        # statistics of merged rows: so a row of weight 2 is as two rows, to the last bit
        columns = ColumnStatistics.of(rows.X, rows.sample_weight)
        summary = replace(self._summarise_training(rows, options), n_rows=n_rows, columns=columns)
        problem = NodeProblem(options, summary, rows.classes)
        with one_thread():
            sample = take_sample(rows, problem.summary, problem.options.seed)
            choice = choose_machines(problem, sample, Budget(*read_budget(self.budget)), LOG.info, self.keep_sums)
            models = [self._train(member, rows) for member in choice.members]
            self.model_ = join_members(models)
            warn_of_constant(self.model_, rows.X, rows.y)
            self._hold_out(choice)
            self._importance = choice.measure_importance()
        return self

    @available_with('keep_sums')
    def partial_fit(
        self, X: Rows, y: Labels, classes: Labels | None = None, sample_weight: Weights = None
    ) -> 'AutoEstimator':
        """Add rows to the machines that the first rows have chosen, whose sums keep_sums=True keeps.

        classes : those of all rows, as scikit-learn asks for them; the first rows must have each of them.
        """
        if not hasattr(self, 'model_'):
            return self.fit(X, y, sample_weight)
        return self._change(X, y, sample_weight, forget=False)

    @available_with('keep_sums')
    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'AutoEstimator':
        """Take rows away from the sums that keep_sums=True keeps. Landmarks and trees stay as they are."""
        return self._change(X, y, sample_weight, forget=True)

    @watched
    def _change(self, X: Rows, y: Labels, sample_weight: Weights, forget: bool) -> 'AutoEstimator':
        check_is_fitted(self)
        if self.model_.sums is None:
            raise ValueError(
                'partial_fit, forget: expected an estimator with its sums: make it with keep_sums=True, '
                'and fit it again'
            )
        X, y = self._validate(X, False, sample_weight, y=y, y_numeric=self._numeric)
        rows = self._label(X, y, check_weights(sample_weight, X), refit=False)
        members = []
        with one_thread():
            for member in self.model_.members:
                machine = LivingMachine.of_model(member)
                names = machine.header.classes
                batch = replace(sum_up_batch(self, rows, machine), classes=list(names), known=range(len(names)))
                if forget:
                    machine = machine.forget(batch)
                else:
                    machine = machine.add(batch)
                members.append(machine.keep_sums(machine.solve()))
        before, self.model_ = self.model_, join_members(members)
        if not forget:
            self.model_ = keep_held_out(before, self.model_)
        elif not set(HELD_OUT).isdisjoint(before.arrays):
            warnings.warn(
                'probabilities or intervals: left out, they may have been fitted to rows that left', stacklevel=3
            )
        return self

    @property
    def feature_importances_(self) -> Floats:
        """Return the share of each feature in what splits of trees take off the squared error, (d,); the sum is 1.

        Raises AttributeError for the estimator of a model that was read from a file.
        """
        check_is_fitted(self)
        if not hasattr(self, '_importance'):
            raise AttributeError(
                'feature_importances_: expected an estimator that was fitted, found the model of a '
                'file: use sklearn.inspection.permutation_importance'
            )
        return self._importance

    def _label(self, X: Rows, y: Labels, weights: RowWeights, refit: bool = True) -> TrainingRows:
        """Return rows with class numbers or targets. refit : whether the classes are those of these rows."""
        raise NotImplementedError

    def _hold_out(self, choice: AutoChoice) -> None:
        """Fit probabilities or intervals to the rows that were held out."""

    def _train(self, member: Member, rows: TrainingRows) -> HiddenNodeModel:
        """Train a member on all rows."""
        if member.weights is not None:
            return make_exact(member, [name_blas()])
        problem = member.problem
        steps = rows.choose_steps(1.0, problem.origin)
        sums = sum_up_rows(self, member.layer, rows, steps)
        machine = make_machine(member, steps, [name_blas()], sums)
        model = machine.solve()
        if self.keep_sums:
            return machine.keep_sums(model)
        return model


@dataclass(eq=False, repr=False)
class AutoClassifier(Labelled, AutoEstimator):
    """Train a classifier without options, the one to begin with.

    probabilities : fit probabilities to rows that were held out, and label by them.

    Sets classes_, (K,), model_, as `mr-elm train auto` writes it, and feature_importances_, (d,), the shares of the
    gains of splits, of features once they are encoded.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> AutoClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    probabilities: bool = True

    def _label(self, X: Rows, y: Labels, weights: RowWeights, refit: bool = True) -> TrainingRows:
        if not refit:
            y = np.asarray(y)
            codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
            if (strangers := y[self.classes_[codes] != y]).size:
                raise ValueError(f'y: expected the classes of fit, found {write_value(strangers[0])}')
        else:
            numbers, _ = self._set_classes(y)
            if numbers is None:
                raise ValueError('y: expected one label in each row, found an indicator matrix')
            codes = numbers
        weights = row_weights(self.class_weight, self.classes_, codes, weights)
        counts, totals = (np.bincount(codes, each, len(self.classes_)).tolist() for each in (None, weights))
        classes: Any = name_classes(self.classes_)
        classes = replace(classes, counts=counts, weights=totals)
        return TrainingRows(X, codes, classes, weights)

    def _hold_out(self, choice: AutoChoice) -> None:
        if self.probabilities:
            self.model_ = calibrate(self.model_, hold_out_rows(choice), choice.kind)


@dataclass(eq=False, repr=False)
class AutoRegressor(IntervalTargets, AutoEstimator):
    """Train a regression without options, the one to begin with.

    >>> X = np.linspace(-3, 3, 300)[:, None]
    >>> AutoRegressor().fit(X[::2], np.sin(X[::2, 0])).score(X[1::2], np.sin(X[1::2, 0])) > 0.99
    True
    """

    intervals: bool = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _label(self, X: Rows, y: Labels, weights: RowWeights, refit: bool = True) -> TrainingRows:
        return TrainingRows(X, self._set_targets(y, X if refit else None, weights)[:, 0], None, weights)

    def _hold_out(self, choice: AutoChoice) -> None:
        if self.intervals:
            model = add_intervals(self.model_.without_sums(), hold_out_rows(choice))  # these have no leverages
            self.model_ = replace(model, sums=self.model_.sums)

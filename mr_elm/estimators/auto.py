"""Offer the method that chooses its machines as scikit-learn estimators: the models of `mr-elm train auto`."""

import logging
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mr_elm.arithmetic import one_thread
from mr_elm.estimators.conversion import name_blas
from mr_elm.estimators.jobs import sum_up_rows, watched
from mr_elm.estimators.living import LivingRows
from mr_elm.estimators.nodes import LivingLabels, LivingTargets
from mr_elm.estimators.parameters import make_options
from mr_elm.estimators.values import available_with
from mr_elm.machines.auto import (
    Budget,
    Member,
    choose_machines,
    hold_out_rows,
    make_exact,
)
from mr_elm.machines.doubts import warn_of_constant
from mr_elm.machines.living import LivingMachine
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import AutoOptions, read_budget
from mr_elm.machines.sample import merge_copies, select_rows, take_sample
from mr_elm.model.models import HiddenNodeModel, join_members
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.typing import Floats, Labels, Rows, Weights

LOG = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class AutoEstimator(LivingRows):
    """Choose machines by a sample of the rows, train them on all rows, and average them.

    Each decision is a line for the logger of this module, at the level INFO, which verbose=1 shows.

    budget : at most so many leaves and landmarks together in a machine, such as 2000; or '60s', machines that take
        about that many seconds of one core by a fixed formula.
    keep_sums : whether to keep the sums of the rows, for `partial_fit`, `forget` and `calibrate`. There is no `merge`:
        estimators that chose apart have other nodes, so add the rows of one to the other by `partial_fit`.
    """

    budget: str | int | None = None
    keep_sums: bool = False

    _method = 'auto'
    _declared = AutoOptions
    _called = {'budget': ''}  # it takes more kinds of values
    _takes_sets = False
    _arithmetic = staticmethod(one_thread)  # as in `fit`
    scale = 'standard'

    @watched
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'AutoEstimator':
        """Choose machines and train them. Sets model_, and classes_ of a classifier. Rows of weight 0 do not count."""
        self.__dict__.pop('model_', None)
        X, y, weights = self._read(X, y, sample_weight)
        if weights is not None:
            kept = weights > 0
            X, y, weights = X[kept], y[kept], weights[kept]
        labels = self._join_labels(y, anew=True)
        if labels is not None:
            self.classes_ = labels
        rows = self._label((X, y, weights), labels)
        if rows.classes is not None:
            counts, totals = (np.bincount(rows.y, each).tolist() for each in (None, rows.sample_weight))
            rows = replace(rows, classes=replace(rows.classes, counts=counts, weights=totals))
        n_rows, options = len(rows.y), make_options(self).nodes
        first, merged = merge_copies(rows.X, rows.y, rows.sample_weight)
        rows = replace(select_rows(rows, first), sample_weight=merged)
        # statistics of merged rows: so a row of weight 2 is as two rows, to the last bit
        columns = ColumnStatistics.of(rows.X, rows.sample_weight)
        summary = replace(self._summarise_training(rows, options), n_rows=n_rows, columns=columns)
        problem = NodeProblem(options, summary, rows.classes)
        with one_thread():
            sample = take_sample(rows, summary, options.seed)
            choice = choose_machines(problem, sample, Budget(*read_budget(self.budget)), LOG.info, self.keep_sums)
            self.model_ = join_members([self._train(member, rows) for member in choice.members])
            if self._holds_out:
                self._hold_out(hold_out_rows(choice), choice.held.X, choice.kind)
            warn_of_constant(self.model_, rows.X, rows.y)
            self._importance = choice.measure_importance(self.encoding_)
        return self

    @available_with('keep_sums')
    def partial_fit(
        self, X: Rows, y: Labels, classes: Labels | None = None, sample_weight: Weights = None
    ) -> 'AutoEstimator':
        """Add rows to the machines that the first rows have chosen, whose sums keep_sums=True keeps.

        A new class ends the probabilities, which were fitted without it; `calibrate` fits new ones.

        classes : not needed, rows bring theirs.
        """
        if not hasattr(self, 'model_'):
            return self.fit(X, y, sample_weight)
        return self._grow(X, y, sample_weight)

    @property
    def feature_importances_(self) -> Floats:
        """Return the share of each column in what splits of trees take off the squared error; the sum is 1.

        Raises AttributeError for the estimator of a model that was read from a file.
        """
        check_is_fitted(self)
        if not hasattr(self, '_importance'):
            raise AttributeError(
                'feature_importances_: expected an estimator that was fitted, found the model of a '
                'file: use sklearn.inspection.permutation_importance'
            )
        return self._importance

    def _train(self, member: Member, rows: TrainingRows) -> HiddenNodeModel:
        """Train a member on all rows."""
        if member.weights is not None:
            return make_exact(member, [name_blas()])
        problem = member.problem
        steps = rows.choose_steps(1.0, problem.origin)
        sums = sum_up_rows(self, member.layer, rows, steps)
        machine = LivingMachine.of_sums(problem, member.layer, steps, [name_blas()], sums)
        model = machine.solve()
        if self.keep_sums:
            return machine.keep_sums(model)
        return model


@dataclass(eq=False, repr=False)
class AutoClassifier(LivingLabels, AutoEstimator):
    """Train a classifier without options, the one to begin with.

    probabilities : fit probabilities to rows that were held out, and label by them.

    Sets classes_, (K,), model_, as `mr-elm train auto` writes it, and feature_importances_, the share of
    each column in the gains of splits.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> AutoClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    probabilities: bool = True


@dataclass(eq=False, repr=False)
class AutoRegressor(LivingTargets, AutoEstimator):
    """Train a regression without options, the one to begin with.

    >>> X = np.linspace(-3, 3, 300)[:, None]
    >>> AutoRegressor().fit(X[::2], np.sin(X[::2, 0])).score(X[1::2], np.sin(X[1::2, 0])) > 0.99
    True
    """

    intervals: bool = True

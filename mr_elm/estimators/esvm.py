"""Offer the extreme SVM as scikit-learn estimators that live: rows come, rows leave, estimators merge."""
from dataclasses import astuple, replace

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mr_elm.estimators.conversion import Convertible, describe
from mr_elm.estimators.kernel_or_nodes import RANDOM_NODES
from mr_elm.estimators.values import OneVsAll, row_weights
from mr_elm.features.hidden import HiddenLayer, draw_nodes
from mr_elm.history import event, prolonged
from mr_elm.models import HiddenNodeModel, layer_arrays
from mr_elm.solvers.ridge.esvm import bounds_of, finish, sum_up
from mr_elm.solvers.ridge.increment import (
    add_sums,
    demand_left,
    only,
    placed,
    size_of,
    sum_arrays,
    sums_of,
    warn_of_doubt,
)
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import Classes
from mr_elm.typing import ClassWeight, Floats, Labels, Rows, Weights


class LivingESVM(Convertible, BaseEstimator):
    """Keep the sums of the rows, and solve whenever they change. Rows are taken as they are: scale them before.

    Parameters
    ----------
    map : hidden nodes: sigmoid, tanh, sine, relu, hardlimit, rff, rbf, multiquadric.
    n_hidden, seed : how many, and the seed that they are drawn by.
    nu : > 0, the weight of the errors. weight_scale, weights : of the nodes, as in `draw_nodes`.

    Source: He et al., A parallel incremental extreme SVM classifier, 2011.
    """

    _method = 'pesvm'

    def __init__(self, map: str = 'sigmoid', n_hidden: int = 200, nu: float = 1.0, weight_scale: float = 1.0,
                 weights: str = 'normal', seed: int = 0) -> None:
        self.map, self.n_hidden, self.nu = map, n_hidden, nu
        self.weight_scale, self.weights, self.seed = weight_scale, weights, seed

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X, y, sample_weight, reset):
        X, y = validate_data(self, X, y=y, accept_sparse='csr', dtype=float, reset=reset, y_numeric=self._numeric)
        return X, y, None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=float)

    def _begin(self):
        if self.map not in RANDOM_NODES:
            raise ValueError(f'map: one of {", ".join(RANDOM_NODES)} was expected, {self.map!r} came')
        if not self.n_hidden >= 1:
            raise ValueError(f'n_hidden: a number of at least 1 was expected, {self.n_hidden} came')
        d = self.n_features_in_
        nodes = draw_nodes(self.map, self.n_hidden, d, self.seed, self.weight_scale, self.weights)
        self.layer_ = HiddenLayer(self.map, *nodes, np.zeros(d), np.ones(d))
        self.sums_, self.n_rows_, self.peak_, self.history_ = None, 0, 0.0, []

    def _sums_of(self, X, y, sample_weight, classes=None):
        """Return the Sums of some rows, on grids fine enough for all rows so far."""
        low, high = (np.asarray(bound.todense() if hasattr(bound, 'todense') else bound).ravel()
                     for bound in (X.min(axis=0), X.max(axis=0)))
        targets = y.astype(float) if self._numeric else None
        steps = GridSteps.of(self.layer_.bound(low, high), *bounds_of(targets, sample_weight))
        if self.sums_ is None or not self.steps_.holds(steps, self.n_rows_ + len(y)):
            self.steps_ = steps  # coarser than before: what is there stays exact, to 2^-104 of what comes
        return sum_up(self.layer_, X, classes, y if targets is None else targets, self.steps_, sample_weight)

    def _take(self, sums, action, n_rows, peak=0.0):
        """Hold other sums, and solve. action, n_rows : what was done, to how many rows."""
        self.sums_, self.n_rows_ = sums, self.n_rows_ + (-n_rows if action == 'forget' else n_rows)
        self.history_ = prolonged(self.history_, event(action, n_rows))
        self.peak_ = max(self.peak_, peak, size_of(sums))
        warn_of_doubt(self.nu, self.peak_)
        solution = finish(sums, self.nu, self._numeric)
        found = {'solver': solution.factorisation, 'condition': solution.condition}
        arrays = {**layer_arrays(self.layer_), 'output_weights': solution.output_weights}
        self.model_ = HiddenNodeModel(self._describe(found), arrays)

    def _describe(self, found):
        """Make the header of the model; what a model it was made of told of scaling and input stays."""
        names = ('map', 'n_hidden', 'nu', 'weight_scale', 'weights', 'seed')
        sigma = float(np.sqrt(self.n_features_in_) / self.weight_scale)
        header = describe(self, self.n_rows_, {**{name: getattr(self, name) for name in names}, 'sigma': sigma,
                                               **found, 'grid': list(astuple(self.steps_)), 'peak': self.peak_})
        if hasattr(self, 'origin_'):
            known = self.origin_.parameters
            header = header.change_parameters(scale=known['scale'], input=known['input'])
            header = replace(header, n_rows_rejected=self.origin_.n_rows_rejected)
        return replace(header, history=self.history_)

    def to_model(self) -> HiddenNodeModel:
        """Return the fitted model with its sums, for `mr-elm update`, `forget` and `merge`; see Convertible."""
        check_is_fitted(self)
        return replace(self.model_, arrays={**self.model_.arrays, **sum_arrays(self.sums_)})

    @classmethod
    def _of_model(cls, model):
        """Make the fitted estimator of a model, which lives on with its scaling and nodes."""
        estimator, parameters = super()._of_model(model), model.header.parameters
        estimator.origin_, estimator.history_ = model.header, model.header.history
        estimator.layer_, estimator.sums_ = model.layer, sums_of(model.arrays)
        estimator.n_rows_, estimator.steps_ = model.header.n_rows_used, GridSteps(*parameters['grid'])
        estimator.peak_ = parameters.get('peak', size_of(estimator.sums_))
        return estimator

    def _demand_alike(self, other):
        check_is_fitted(self)
        check_is_fitted(other)
        ours, theirs = layer_arrays(self.layer_), layer_arrays(other.layer_)
        if type(self) is not type(other) or self.map != other.map or not all(
                np.array_equal(ours[name], theirs[name]) for name in ours):
            raise ValueError(f'an {type(self).__name__} of the same nodes was expected, another came')

    def _share_steps(self, other):
        """Take the finer grids of two estimators, which hold the sums of both; the coarser where rows are too large."""
        ours, theirs, n_rows = self.steps_, other.steps_, self.n_rows_ + other.n_rows_
        finer = ours.finer(theirs)
        fits = finer.holds(ours, n_rows) and finer.holds(theirs, n_rows)
        self.steps_ = finer if fits else GridSteps(*map(max, astuple(ours), astuple(theirs)))

    def _values(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse='csr', dtype=float, reset=False)
        return self.model_.decision_function(X)


class ESVMClassifier(OneVsAll, LivingESVM):
    """Train the extreme SVM for classes.

    Parameters as in LivingESVM; class_weight : None, a dictionary, or balanced, which only `fit` knows.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ESVMClassifier(n_hidden=50, nu=100).fit(X[:120], y[:120])
    >>> before = model.decision_function(X)
    >>> model.partial_fit(X[120:], y[120:]).forget(X[120:], y[120:]).n_rows_
    120
    >>> bool((model.decision_function(X) == before).all())
    True
    """

    _numeric = False

    def __init__(self, map: str = 'sigmoid', n_hidden: int = 200, nu: float = 1.0, weight_scale: float = 1.0,
                 weights: str = 'normal', class_weight: ClassWeight = None, seed: int = 0) -> None:
        super().__init__(map, n_hidden, nu, weight_scale, weights, seed)
        self.class_weight = class_weight

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ESVMClassifier':
        """Fit. Sets classes_, sums_, model_."""
        return self._add(X, y, sample_weight, anew=True)

    def partial_fit(self, X: Rows, y: Labels, classes: Labels | None = None,
                    sample_weight: Weights = None) -> 'ESVMClassifier':
        """Add rows, which may bring new classes: the same as to fit on all rows. classes : some to expect."""
        self._demand_lasting_weights()
        return self._add(X, y, sample_weight, not hasattr(self, 'sums_'), classes)

    def _add(self, X, y, sample_weight, anew, classes=None):
        X, y, sample_weight = self._read(X, y, sample_weight, reset=anew)
        check_classification_targets(y)
        known = [] if anew else [self.classes_]
        joined = np.unique(np.concatenate([*known, y, *([] if classes is None else [classes])]))
        if len(joined) < 2:
            raise ValueError(f'rows of two classes were expected, all are of one class, {joined[0]!r}')
        if anew:
            self._begin()
        before = None if anew else self._placed(self, joined)
        codes = np.searchsorted(joined, y)
        weights = row_weights(self.class_weight, joined, codes, sample_weight)
        sums = self._sums_of(X, codes, weights, numbered(len(joined)))
        self.classes_ = joined
        self._take(sums if anew else add_sums(before, sums), 'fit' if anew else 'update', len(y))
        return self

    def _demand_lasting_weights(self):
        if self.class_weight == 'balanced':
            raise ValueError('class_weight: None or a dictionary was expected where rows come and leave: '
                             'every row changes what balanced means for all')

    def _placed(self, of, classes):
        """Return the sums of an estimator in the order of other classes."""
        return placed(of.sums_, np.searchsorted(classes, of.classes_), len(classes))

    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ESVMClassifier':
        """Take rows away, as if they had never been there; classes that lose their last row go too.

        Raises ValueError or AccountingError, and changes nothing, when the rows cannot have been there.
        """
        check_is_fitted(self)
        X, y, sample_weight = self._read(X, y, sample_weight, reset=False)
        if strangers := sorted(set(np.unique(y)) - set(self.classes_)):
            raise ValueError(f'rows of the classes {list(self.classes_)} were expected, {strangers[0]!r} came')
        self._demand_lasting_weights()
        codes = np.searchsorted(self.classes_, y)
        weights = row_weights(self.class_weight, self.classes_, codes, sample_weight)
        gone = self._sums_of(X, codes, weights, numbered(len(self.classes_)))
        sums = add_sums(self.sums_, gone, -1)
        demand_left(sums, self.sums_, self.peak_)
        kept = np.flatnonzero((sums.counts > 0) | (self.sums_.counts == 0))
        if len(kept) < 2:
            raise ValueError(f'rows of two classes were expected to be left, {len(kept)} would be')
        self.classes_ = self.classes_[kept]
        self._take(only(sums, kept), 'forget', len(y))
        return self

    def merge(self, other: 'ESVMClassifier') -> 'ESVMClassifier':
        """Add the rows of an estimator that was fitted apart on the same nodes."""
        self._demand_alike(other)
        joined = np.unique(np.concatenate([self.classes_, other.classes_]))
        sums = add_sums(self._placed(self, joined), self._placed(other, joined))
        self.classes_ = joined
        self._share_steps(other)
        self._take(sums, 'merge', other.n_rows_, other.peak_)
        return self


def numbered(n_classes):
    """Return Classes that are called by their numbers."""
    names = [str(k) for k in range(n_classes)]
    return Classes(names, [0] * n_classes, [0.0] * n_classes, {name: k for k, name in enumerate(names)})


class ESVMRegressor(RegressorMixin, LivingESVM):
    """Train the extreme SVM for real targets. Parameters as in LivingESVM."""

    _numeric = True

    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ESVMRegressor':
        """Fit. Sets sums_ and model_."""
        return self._add(X, y, sample_weight, anew=True)

    def partial_fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ESVMRegressor':
        """Add rows: the same as to fit on all rows."""
        return self._add(X, y, sample_weight, not hasattr(self, 'sums_'))

    def _add(self, X, y, sample_weight, anew):
        X, y, sample_weight = self._read(X, y, sample_weight, reset=anew)
        if anew:
            self._begin()
        sums = self._sums_of(X, y, sample_weight)
        self._take(sums if anew else add_sums(self.sums_, sums), 'fit' if anew else 'update', len(y))
        return self

    def forget(self, X: Rows, y: Labels, sample_weight: Weights = None) -> 'ESVMRegressor':
        """Take rows away, as if they had never been there.

        Raises ValueError or AccountingError, and changes nothing, when the rows cannot have been there.
        """
        check_is_fitted(self)
        X, y, sample_weight = self._read(X, y, sample_weight, reset=False)
        if len(y) >= self.n_rows_:
            raise ValueError(f'fewer rows than the {self.n_rows_} that are there were expected, {len(y)} came')
        sums = add_sums(self.sums_, self._sums_of(X, y, sample_weight), -1)
        demand_left(sums, self.sums_, self.peak_)
        self._take(sums, 'forget', len(y))
        return self

    def merge(self, other: 'ESVMRegressor') -> 'ESVMRegressor':
        """Add the rows of an estimator that was fitted apart on the same nodes."""
        self._demand_alike(other)
        self._share_steps(other)
        self._take(add_sums(self.sums_, other.sums_), 'merge', other.n_rows_, other.peak_)
        return self

    def predict(self, X: Rows) -> Floats:
        """Return f(X), (n,)."""
        return self._values(X)[:, 0]

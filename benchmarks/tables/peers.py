"""Offer machines of others, and --auto, as scikit-learn estimators, where they are none."""
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from mr_elm.drivers import auto
from mr_elm.engines import make_engine
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import AveragedModel, HiddenNodeModel
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.typing import Floats, Labels

HARD = 1e6  # C of a margin that is as good as hard


class L2SVC(ClassifierMixin, BaseEstimator):
    """Train LIBSVM's hard margin on K + I/C, which is the L2 machine with a bias that costs nothing."""

    def __init__(self, gamma: float = 1.0, C: float = 1.0) -> None:
        self.gamma, self.C = gamma, C

    def fit(self, X: Floats, y: Labels) -> 'L2SVC':
        """Fit. Sets support_, support_vectors_, dual_coef_, intercept_ and classes_."""
        K = rbf_kernel(X, gamma=self.gamma)
        K.flat[::len(K) + 1] += 1 / self.C
        self.rows_, self.machine_ = X, SVC(kernel='precomputed', C=HARD, cache_size=500).fit(K, y)
        for name in ('support_', 'dual_coef_', 'intercept_', 'classes_'):
            setattr(self, name, getattr(self.machine_, name))
        self.support_vectors_ = X[self.support_]
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.machine_.predict(rbf_kernel(X, self.rows_, gamma=self.gamma))


class HPELM(ClassifierMixin, BaseEstimator):
    """Train hpelm's ELM with sigmoid nodes. C : weight of the errors."""

    def __init__(self, n_hidden: int = 1000, C: float = 1.0, seed: int = 0) -> None:
        self.n_hidden, self.C, self.seed = n_hidden, C, seed

    def fit(self, X: Floats, y: Labels) -> 'HPELM':
        """Fit. Sets classes_, nodes_ and output_weights_."""
        from hpelm import ELM
        self.classes_, codes = np.unique(y, return_inverse=True)
        np.random.seed(self.seed)  # hpelm draws its nodes from numpy's global generator
        self.machine_ = ELM(X.shape[1], len(self.classes_), norm=1 / self.C, precision='double')
        self.machine_.add_neurons(self.n_hidden, 'sigm')
        self.machine_.train(X, np.eye(len(self.classes_))[codes], 'c')
        self.nodes_ = [part for _, _, *parts in self.machine_.nnet.neurons for part in parts]
        self.output_weights_ = self.machine_.nnet.get_B()
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.classes_[self.machine_.predict(X).argmax(axis=1)]


def write_plan(X: Floats, y: Labels, folder: str | Path) -> InputPlan:
    """Write rows into a folder, and return the plan of a training on them."""
    from sklearn.datasets import dump_svmlight_file
    path = str(Path(folder) / 'rows.libsvm')
    dump_svmlight_file(X, y, path, zero_based=False)
    return plan_inputs([path], RowOptions(n_features=X.shape[1]))


def train_auto(plan: InputPlan) -> HiddenNodeModel | AveragedModel:
    """Train by --auto, all choices included."""
    return auto.train(plan, PESVMOptions(), make_engine())[0]


class AutoClassifier(ClassifierMixin, BaseEstimator):
    """Train `pesvm --auto`. Classes are numbers."""

    def fit(self, X: Floats, y: Labels) -> 'AutoClassifier':
        """Fit. Sets model_ and classes_."""
        with TemporaryDirectory() as folder:
            self.model_ = train_auto(write_plan(X, y, folder))
        self.classes_ = np.array(self.model_.classes, dtype=float)
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.classes_[self.model_.predict(X)]

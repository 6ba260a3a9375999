"""Offer machines of others as scikit-learn estimators, where they are none."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mr_elm.typing import Floats, Labels

HARD = 1e6  # C of a margin that is as good as hard
COSTS, WIDTHS = (0.1, 1.0, 10.0, 100.0, 1000.0), (0.1, 0.4, 1.6, 6.4)  # C, and gamma in 1/d, of a tuned SVC


class L2SVC(ClassifierMixin, BaseEstimator):
    """Train LIBSVM's hard margin on K + I/C, which is the L2 machine with a bias that costs nothing."""

    def __init__(self, gamma: float = 1.0, C: float = 1.0) -> None:
        self.gamma, self.C = gamma, C

    def fit(self, X: Floats, y: Labels) -> 'L2SVC':
        """Fit. Sets support_ and classes_."""
        K = rbf_kernel(X, gamma=self.gamma)
        K.flat[:: len(K) + 1] += 1 / self.C
        self.rows_, self.machine_ = X, SVC(kernel='precomputed', C=HARD, cache_size=500).fit(K, y)
        self.support_, self.classes_ = self.machine_.support_, self.machine_.classes_
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.machine_.predict(rbf_kernel(X, self.rows_, gamma=self.gamma))


class HPELM(ClassifierMixin, BaseEstimator):
    """Train hpelm's ELM with sigmoid nodes. C : weight of the errors."""

    def __init__(self, n_hidden: int = 1000, C: float = 1.0, seed: int = 0) -> None:
        self.n_hidden, self.C, self.seed = n_hidden, C, seed

    def fit(self, X: Floats, y: Labels) -> 'HPELM':
        """Fit. Sets classes_. Raises ImportError where hpelm is not installed."""
        from hpelm import ELM

        self.classes_, codes = np.unique(y, return_inverse=True)
        np.random.seed(self.seed)  # hpelm draws its nodes from numpy's global generator
        self.machine_ = ELM(X.shape[1], len(self.classes_), norm=1 / self.C, precision='double')
        self.machine_.add_neurons(self.n_hidden, 'sigm')
        self.machine_.train(X, np.eye(len(self.classes_))[codes], 'c')
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.classes_[self.machine_.predict(X).argmax(axis=1)]


class TunedSVC(ClassifierMixin, BaseEstimator):
    """Train SVC as a careful user does. n_rows : on which C and gamma are chosen."""

    def __init__(self, n_rows: int = 1000) -> None:
        self.n_rows = n_rows

    def fit(self, X: Floats, y: Labels) -> 'TunedSVC':
        """Choose C and gamma by 5 folds on some of the rows, and train on all of them. Sets machine_ and classes_."""
        self.scaler_ = StandardScaler().fit(X)
        X = self.scaler_.transform(X)
        grid = {'C': COSTS, 'gamma': [width / X.shape[1] for width in WIDTHS]}
        search = GridSearchCV(SVC(cache_size=1000), grid, cv=5, refit=False)
        search.fit(X[: self.n_rows], y[: self.n_rows])
        self.machine_ = SVC(cache_size=1000, **search.best_params_).fit(X, y)
        self.classes_ = self.machine_.classes_
        return self

    def predict(self, X: Floats) -> np.ndarray:
        """Return the class of each row."""
        return self.machine_.predict(self.scaler_.transform(X))


def make_svc(gamma: float, C: float) -> SVC:
    """Return LIBSVM."""
    return SVC(gamma=gamma, C=C, cache_size=1000)


def make_sampler(n_hidden: int, n_features: int) -> Any:
    """Return as many random features and a ridge regression of scikit-learn."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(RBFSampler(n_components=n_hidden, gamma=1 / n_features, random_state=0), RidgeClassifier())


def make_lightgbm() -> Any:
    """Return LightGBM with its defaults. Raises ImportError where it is not installed."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbosity=-1)

"""Offer the extreme SVM and the unified ELM as scikit-learn estimators."""

from dataclasses import dataclass

from mr_elm.estimators.nodes import LivingClassifier, LivingRegressor
from mr_elm.machines.options import ELMOptions, PESVMOptions


@dataclass(eq=False, repr=False, kw_only=True)
class ESVMParameters:
    """Hold the parameters of the extreme SVM alone.

    nu : > 0, the weight of the errors.
    map : hidden nodes: sigmoid, tanh, sine, relu, hardlimit, rff, rbf, multiquadric; nystrom: values of a kernel
        between a row and landmarks; identity: the features themselves, as many nodes as there are features; leaves:
        leaves of boosted trees; leaves+NAME: leaves and nodes of a kind. n_hidden does not count leaves.
    leaves : how many leaves at most, 32 of each tree; the trees grow on a sample of the rows of `fit`, or of the first
        `partial_fit`.
    leaf_ridge : penalty of the weight of a leaf, divided by that of another node.
    """

    nu: float = PESVMOptions.nu
    leaves: int = PESVMOptions.leaves
    leaf_ridge: float = PESVMOptions.leaf_ridge

    _method = 'pesvm'
    _declared = PESVMOptions


@dataclass(eq=False, repr=False)
class ESVMClassifier(ESVMParameters, LivingClassifier):
    """Train the extreme SVM for classes.

    Source: He et al., A parallel incremental extreme SVM classifier, 2011.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ESVMClassifier(n_hidden=50, nu=100).fit(X[:120], y[:120])
    >>> before = model.decision_function(X)
    >>> model.partial_fit(X[120:], y[120:]).forget(X[120:], y[120:]).n_rows_
    120
    >>> bool((model.decision_function(X) == before).all())
    True
    """


@dataclass(eq=False, repr=False)
class ESVMRegressor(ESVMParameters, LivingRegressor):
    """Train the extreme SVM for real targets, (n,) or (n, K).

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = X[:, 0] + np.random.default_rng(0).normal(scale=0.1, size=200)
    >>> model = ESVMRegressor(n_hidden=20, intervals=True).fit(X, y)
    >>> lower, upper = model.predict_interval(X, coverage=0.9).T
    >>> bool(((lower <= y) & (y <= upper)).mean() > 0.85)
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class ELMParameters:
    """Hold the parameter of the unified ELM alone.

    C : > 0, the weight of the errors.
    """

    C: float = ELMOptions.nu

    _method = 'elm'
    _declared = ELMOptions
    _called = {'nu': 'C'}


@dataclass(eq=False, repr=False)
class ELMClassifier(ELMParameters, LivingClassifier):
    """Train the unified ELM for classes: the extreme SVM without a bias.

    On a kernel it is the `KernelELMClassifier`.

    Source: Huang et al., Extreme learning machine for regression and multiclass classification, 2012.
    """


@dataclass(eq=False, repr=False)
class ELMRegressor(ELMParameters, LivingRegressor):
    """Train the unified ELM for real targets, (n,) or (n, K): the extreme SVM without a bias."""

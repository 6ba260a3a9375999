"""Offer the solvers as scikit-learn estimators: thin, over rows in memory that the caller has scaled."""

from sklearn.base import BaseEstimator

from mr_elm.errors import write_value
from mr_elm.estimators.auto import AutoClassifier, AutoRegressor
from mr_elm.estimators.dual import OELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.estimators.esvm import ELMClassifier, ELMRegressor, ESVMClassifier, ESVMRegressor
from mr_elm.estimators.kelm import KernelELMClassifier, KernelELMRegressor
from mr_elm.estimators.parameters import document
from mr_elm.model.base import Model

__all__ = [
    'AutoClassifier',
    'AutoRegressor',
    'ELMClassifier',
    'ELMRegressor',
    'ESVMClassifier',
    'ESVMRegressor',
    'KernelELMClassifier',
    'KernelELMRegressor',
    'OELMClassifier',
    'SparseELMClassifier',
    'SphereSVMClassifier',
    'to_estimator',
]

# task -> the estimators of all methods
ESTIMATORS = {
    'classification': (
        AutoClassifier,
        ESVMClassifier,
        ELMClassifier,
        SparseELMClassifier,
        OELMClassifier,
        SphereSVMClassifier,
        KernelELMClassifier,
    ),
    'regression': (AutoRegressor, ESVMRegressor, ELMRegressor, KernelELMRegressor),
}
for kinds in ESTIMATORS.values():
    for kind in kinds:
        document(kind)


def to_estimator(model: Model) -> BaseEstimator:
    """Return the fitted estimator of a model, wherever that was trained; it takes rows unscaled, as the model does.

    Labels are numbers where all classes are, else text. An extreme SVM goes on learning and forgetting; a clone of the
    estimator has the model's parameters but not its scaling. Raises ValueError when no estimator has its method, or
    when the model averages several machines.

    >>> fitted = ESVMClassifier(n_hidden=10).fit([[0.0], [1.0], [2.0]], [5, 5, 7])
    >>> again = to_estimator(fitted.to_model())
    >>> again, again.classes_.tolist(), again.partial_fit([[3.0]], [9]).classes_.tolist()
    (ESVMClassifier(n_hidden=10), [5, 7], [5, 7, 9])
    """
    if len(model.members) > 1 and model.header.method != 'auto':
        raise ValueError(
            f'expected a model of one machine, found the mean of {len(model.members)}: use the `predict` '
            'of the model, or make estimators of its members'
        )
    for kind in ESTIMATORS[model.header.task]:
        if kind._method == model.header.method:
            return kind._of_model(model)
    raise ValueError(f'expected a method that has an estimator, found {write_value(model.header.method)}')

"""What others call: it says its types, and its examples are true."""

import doctest
import inspect
from importlib import import_module

import pytest

from mr_elm import estimators, spark
from mr_elm.model import base, file, models
from mr_elm.solvers import choose_solver as dual
from mr_elm.solvers import kelm, ridge

EXAMPLES = [
    'mr_elm.estimators',
    'mr_elm.estimators.dual',
    'mr_elm.estimators.esvm',
    'mr_elm.estimators.kelm',
]
FUNCTIONS = [
    estimators.to_estimator,
    file.read_model,
    file.load_layer,
    dual.solve_dual,
    kelm.solve_cholesky,
    kelm.decompose,
    kelm.solve_cg,
    ridge.solve_regularized,
    spark.train,
    spark.load,
]
CLASSES = [
    *(getattr(estimators, name) for name in estimators.__all__ if name[0].isupper()),
    base.Model,
    models.HiddenNodeModel,
    models.KernelModel,
    spark.SparkModel,
]


def methods(kind):
    """Yield the public methods and properties of ours that a class has."""
    for name, member in inspect.getmembers(kind):
        function = getattr(member, 'fget', getattr(member, 'func', member))
        ours = str(getattr(function, '__module__', '')).startswith('mr_elm')
        if ours and inspect.isfunction(function) and (name == '__init__' or not name.startswith('_')):
            yield function


@pytest.mark.parametrize('name', EXAMPLES)
def test_examples_are_true(name):
    module = import_module(name)
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0


@pytest.mark.parametrize(
    'function',
    [*FUNCTIONS, *dict.fromkeys(f for kind in CLASSES for f in methods(kind))],
    ids=lambda function: function.__qualname__,
)
def test_what_others_call_says_its_types(function):
    signature = inspect.signature(function)
    untyped = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is parameter.empty and name != 'self'
    ]
    assert untyped == [] and signature.return_annotation is not signature.empty

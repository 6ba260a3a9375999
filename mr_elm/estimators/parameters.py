"""Hold the parameters of estimators to the options of the command line: the same defaults, values and sentences."""

from collections.abc import Container, Mapping
from dataclasses import Field
from functools import cache
from typing import Any

from mr_elm.option import demand_value, flag_of, option_fields, rename_flags
from mr_elm.rows.options import RowOptions


@cache
def find_options(kind: Any) -> dict[str, Field]:
    """Return the options that an estimator has as parameters: name of the parameter -> field of the option.

    kind : has `_declared`, the dataclass of its options, and `_called`, option -> name of its parameter where that is
    another one, or '' where the parameter means something else.
    """
    parameters = kind._get_param_names()
    options = {**option_fields(RowOptions), **option_fields(kind._declared)}
    named = {kind._called.get(name, name): each for name, each in options.items()}
    return {name: each for name, each in named.items() if name in parameters}


def check_parameters(estimator: Any) -> None:
    """Raise ValueError where a parameter has a value that its option could not have."""
    for name, each in find_options(estimator.__class__).items():
        value = getattr(estimator, name)
        if not isinstance(value, Mapping):  # weights by class, which the command line does not have
            demand_value(each, value, name)


def make_options(estimator: Any, idle: Container[str] = (), **known: Any) -> Any:
    """Return the options that the parameters of an estimator say.

    idle : parameters that have no say beside the others. known : other options.
    Raises ValueError where parameters contradict each other.
    """
    named = find_options(estimator.__class__)
    own = option_fields(estimator._declared)
    values = {
        each.name: getattr(estimator, name) for name, each in named.items() if each.name in own and name not in idle
    }
    options = estimator._declared(**values | known)
    try:
        options.check()
    except ValueError as error:
        flags = {flag_of(each): name for name, each in named.items()}
        raise ValueError(rename_flags(str(error), flags)) from None
    return options

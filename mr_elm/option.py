"""Declare an option once: how it is typed, what it is, and what it may be.

A field of a dataclass that is made by `option` is an option: of the command line, of the Python that trains on Spark,
and, where an estimator has a parameter of its name, of that. All of them check a value by the same rule and say the
same sentence. The order of the fields is the order of the help.
"""

import re
import warnings
from argparse import ArgumentTypeError
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields
from functools import partial
from math import inf, isfinite
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from mr_elm.errors import suggest, write_value

DEFAULT = object()
FLAG = re.compile(r'--[a-zA-Z][a-zA-Z-]*')
QUOTED = r"""('[^']*'|"[^"]*")"""  # a name in a message
# options of columns, which the calls of a data frame stand for
DROP, CATEGORY = re.compile(rf'--drop {QUOTED}'), re.compile(rf'--category {QUOTED}')


@dataclass(frozen=True)
class Option:
    """Say how a value is given.

    help : what it is; `{choices}` stands for the names to choose from. The default is added behind it.
    group : heading in the help; '' for none, `{method}` for the name of the method.
    choices : names to choose from, or none. flag : as typed; '' for the field's name with dashes.
    metavar : stands for the value; '' for the choices, X for a number or N for a whole one.
    bounds : least and largest whole number; None for any above 0.
    advanced : whether only --help-all shows it.
    read : function of the text that was typed, where the type of the field does not say how it is read.
    unsaid : the value where nothing was typed, if it is not the default.
    tuned : whether `mr-elm tune` has it too, for the trainings that it compares, unless it searches for the value.
    """

    help: str
    group: str = ''
    choices: tuple = ()
    flag: str = ''
    metavar: str = ''
    bounds: tuple[int, int] | None = None
    advanced: bool = False
    read: Callable[[str], Any] | None = None
    unsaid: Any = DEFAULT
    tuned: bool = True


class AdvancedHelp(str):
    """Hold the help of an option that `--help` leaves out and `--help-all` shows."""


def option(default: Any, help: str, group: str = '', choices: Iterable[str] = (), **more: Any) -> Any:
    """Make the field of an option. more : the other fields of Option."""
    return field(default=default, metadata={'option': Option(help, group, tuple(choices), **more)})


def option_fields(kind: Any) -> dict[str, Field]:
    """Return the fields of a dataclass that are options, by name and in order."""
    return {each.name: each for each in fields(kind) if 'option' in each.metadata}


def flag_of(each: Field) -> str:
    """Return what a user types for an option."""
    return each.metadata['option'].flag or f'--{each.name.replace("_", "-")}'


def value_type(each: Field) -> Any:
    """Return the type of a field, without the None of an option that need not be given."""
    kinds: tuple = get_args(each.type) if isinstance(each.type, UnionType) else (each.type,)
    return next(kind for kind in kinds if kind is not NoneType)


def demand_value(each: Field, value: Any, name: str) -> None:
    """Raise ValueError when an option cannot have a value. name : what the user calls the option."""
    if value is None and each.default is None:
        return
    kind, option = value_type(each), each.metadata['option']
    listed = get_origin(kind) is tuple
    if listed:
        values = value
    else:
        values = [value]
    if not all(fits(get_args(kind)[0] if listed else kind, option, one) for one in values):
        hint = suggest(str(value), option.choices)
        raise ValueError(f'{name}: expected {describe_values(each)}, found {write_value(value)}{hint}')


def fits(kind: type, option: Option, value: Any) -> bool:
    """Tell whether a value is of a type, and one that the option may have."""
    if kind is str:
        if option.choices:
            return value in option.choices
        return isinstance(value, str)
    if kind is bool:
        return value in (True, False)
    if isinstance(value, bool):
        return False
    if kind is int:
        low, high = option.bounds or (1, inf)
        return isinstance(value, Integral) and low <= value <= high  # type: ignore[operator]
    return isinstance(value, Real) and float(value) > 0 and isfinite(value)


def describe_values(each: Field) -> str:
    """Return which values an option may have, as it stands behind `expected`."""
    kind, option = value_type(each), each.metadata['option']
    if get_origin(kind) is tuple:
        what = {str: f'names of {", ".join(option.choices)}', int: 'whole numbers above 0', float: 'numbers above 0'}
        return f'{what[get_args(kind)[0]]}, separated by commas'
    if kind is str:
        if option.choices:
            return f'one of {", ".join(option.choices)}'
        return 'a text'
    if kind is bool:
        return 'True or False'
    if kind is int:
        if option.bounds:
            return 'a whole number from {} to {}'.format(*option.bounds)
        return 'a whole number above 0'
    return 'a number above 0'


def read_text(each: Field, text: str) -> Any:
    """Read what was typed for an option. Raises ArgumentTypeError when the option cannot have that value."""
    option, kind = each.metadata['option'], value_type(each)
    if option.read is not None:
        return option.read(text)
    value: Any
    if get_origin(kind) is tuple:
        parts = [read_one(get_args(kind)[0], part) for part in text.split(',')]
        value = tuple(dict.fromkeys(parts))
        if get_args(kind)[0] is int and None not in value:
            value = tuple(sorted(value))
    else:
        value = read_one(kind, text)
    try:
        demand_value(each, '' if value is None else value, '')
    except ValueError:
        hint = suggest(text, option.choices)
        raise ArgumentTypeError(f'expected {describe_values(each)}, found {text!r}{hint}') from None
    return value


def read_one(kind: type, text: str) -> Any:
    """Read a text, a number or a whole number; None where it is none."""
    if kind is int:
        if text.isdecimal():
            return int(text)
        return None
    if kind is float:
        try:
            return float(text)
        except ValueError:
            return None
    return text


def add_options(
    add: Callable[[str], Callable], kind: type, only: Container[str] | None = None, method: str = ''
) -> None:
    """Add the options of a dataclass to a parser.

    add : heading of a group -> its `add_argument`. only : the names of the fields to add, or None for all.
    """
    for name, each in option_fields(kind).items():
        if only is None or name in only:
            option, kind, default = each.metadata['option'], value_type(each), each.default
            text = option.help.replace('{choices}', ', '.join(option.choices))
            if type(default) in (str, int, float) and '(default: ' not in text:
                text += ' (default: %(default)s)'
            if option.advanced:
                text = AdvancedHelp(text)
            if option.unsaid is not DEFAULT:
                default = option.unsaid
            reading: dict[str, Any] = {'action': 'store_true'}
            if kind is not bool or option.read is not None:
                if get_origin(kind) is tuple:
                    metavar = 'LIST'
                elif option.choices:
                    metavar = f'{{{",".join(option.choices)}}}'
                else:
                    metavar = {float: 'X', int: 'N'}.get(kind, name.upper())
                reading = {'type': partial(read_text, each), 'metavar': option.metavar or metavar}
            add(option.group.format(method=method))(flag_of(each), dest=name, default=default, help=text, **reading)


def rename_flags(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence about options as one about parameters. names : flag -> name; others lose their dashes."""
    text = DROP.sub(r'drop(columns=\1)', CATEGORY.sub(r"astype({\1: 'category'})", text))
    return FLAG.sub(lambda flag: names.get(flag[0], flag[0].lstrip('-').replace('-', '_')), text)


@contextmanager
def speaking_python(names: Mapping[str, str]) -> Iterator[None]:
    """Rename the options in warnings and in the words of a ValueError, as `rename_flags` does."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            yield
    except ValueError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (rename_flags(error.args[0], names), *error.args[1:])
        raise
    finally:
        for warning in caught:
            warnings.warn(rename_flags(str(warning.message), names), warning.category, stacklevel=4)

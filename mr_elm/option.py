"""Declare an option once: how it is typed, what it is, and what it may be.

A field of a dataclass that is made by `option` is an option: of the command line, of the Python that trains on Spark,
and, where an estimator has a parameter of its name, of that. All of them check a value by the same rule and say the
same sentence. The order of the fields is the order of the help.
"""

import contextlib
import os
import re
import warnings
from argparse import ArgumentTypeError
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from inspect import currentframe
from math import inf, isfinite
from numbers import Integral, Real
from traceback import walk_stack
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from mr_elm.errors import suggest, write_value

DEFAULT = object()
OURS = os.path.dirname(__file__) + os.sep, contextlib.__file__  # of the frames of a call of this package
FLAG = re.compile(r'--[a-zA-Z][a-zA-Z-]*')
QUOTED = r"""('[^']*'|"[^"]*")"""  # a name in a message
# options of columns, which the calls of a data frame stand for
DROP, CATEGORY = re.compile(rf'--drop {QUOTED}'), re.compile(rf'--category {QUOTED}')


@dataclass(frozen=True)
class Option:
    """Say how a value is given, and what it may be.

    help : what it is; `{choices}` stands for the names to choose from. The default is added behind it.
    name, default : of the field. kind : the type of the value, or with `listed` of each of the values.
    flag : as typed. group : heading in the help; '' for none, `{method}` for the name of the method.
    choices : names to choose from, or none.
    metavar : stands for the value; '' for the choices, X for a number or N for a whole one.
    bounds : least and largest whole number; None for any above 0.
    advanced : whether only --help-all shows it.
    read : function of the text that was typed, where the type of the field does not say how it is read.
    unsaid : the value where nothing was typed, if it is not the default.
    tuned : whether `mr-elm tune` has it too, for the trainings that it compares, unless it searches for the value.
    """

    help: str
    name: str
    default: Any
    kind: Any
    listed: bool
    flag: str
    group: str = ''
    choices: tuple = ()
    metavar: str = ''
    bounds: tuple[int, int] | None = None
    advanced: bool = False
    read: Callable[[str], Any] | None = None
    unsaid: Any = DEFAULT
    tuned: bool = True

    def demand(self, value: Any, name: str) -> None:
        """Raise ValueError when the option cannot have a value. name : what the user calls the option."""
        if value is None and self.default is None:
            return
        if not all(map(self.fits, value if self.listed else [value])):
            hint = suggest(str(value), self.choices)
            raise ValueError(f'{name}: expected {self.describe()}, found {write_value(value)}{hint}')

    def fits(self, value: Any) -> bool:
        """Tell whether a value, or one of a list, is of the type, and one that the option may have."""
        if self.kind is Any:
            return True
        if self.kind is str:
            if self.choices:
                return value in self.choices
            return isinstance(value, str)
        if self.kind is bool:
            return value in (True, False)
        if isinstance(value, bool):
            return False
        if self.kind is int:
            low, high = self.bounds or (1, inf)
            return isinstance(value, Integral) and low <= value <= high  # type: ignore[operator]
        return isinstance(value, Real) and float(value) > 0 and isfinite(value)

    def describe(self) -> str:
        """Return which values the option may have, as it stands behind `expected`."""
        names = ', '.join(self.choices)
        if self.listed:
            what = {str: f'names of {names}', int: 'whole numbers above 0', float: 'numbers above 0'}
            return f'{what[self.kind]}, separated by commas'
        if self.kind is int and self.bounds:
            return 'a whole number from {} to {}'.format(*self.bounds)
        if self.choices:
            return f'one of {names}'
        return {str: 'a text', bool: 'True or False', int: 'a whole number above 0'}.get(self.kind, 'a number above 0')

    def read_text(self, text: str) -> Any:
        """Read what was typed. Raises ArgumentTypeError when the option cannot have that value."""
        if self.read is not None:
            return self.read(text)
        value = self.read_one(text)
        if self.listed:
            value = tuple(dict.fromkeys(map(self.read_one, text.split(','))))
            if self.kind is int and None not in value:
                value = tuple(sorted(value))
        try:
            self.demand('' if value is None else value, '')
        except ValueError:
            hint = suggest(text, self.choices)
            raise ArgumentTypeError(f'expected {self.describe()}, found {text!r}{hint}') from None
        return value

    def read_one(self, text: str) -> Any:
        """Read a text, a number or a whole number; None where it is none."""
        if self.kind is int:
            return int(text) if text.isdecimal() else None
        if self.kind is float:
            try:
                return float(text)
            except ValueError:
                return None
        return text


class AdvancedHelp(str):
    """Hold the help of an option that `--help` leaves out and `--help-all` shows."""


def option(default: Any, help: str, group: str = '', choices: Iterable[str] = (), **more: Any) -> Any:
    """Make the field of an option. more : other fields of Option, but those that the dataclass itself says."""
    return field(default=default, metadata={'help': help, 'group': group, 'choices': tuple(choices), **more})


@cache
def option_fields(kind: Any) -> dict[str, Option]:
    """Return the options of a dataclass, by name and in order."""
    options = {}
    for each in fields(kind):
        if each.metadata:
            kinds = get_args(each.type) if isinstance(each.type, UnionType) else (each.type,)
            value = next(kind for kind in kinds if kind is not NoneType)  # of an option that need not be given
            listed = get_origin(value) is tuple
            if listed:
                value = get_args(value)[0]
            known = {'flag': f'--{each.name.replace("_", "-")}', **each.metadata}
            options[each.name] = Option(name=each.name, default=each.default, kind=value, listed=listed, **known)
    return options


def add_options(
    add: Callable[[str], Callable], kind: type, only: Container[str] | None = None, method: str = ''
) -> None:
    """Add the options of a dataclass to a parser.

    add : heading of a group -> its `add_argument`. only : the names of the fields to add, or None for all.
    """
    for name, each in option_fields(kind).items():
        if only is None or name in only:
            text, default = each.help.replace('{choices}', ', '.join(each.choices)), each.default
            if type(default) in (str, int, float) and '(default: ' not in text:
                text += ' (default: %(default)s)'
            if each.advanced:
                text = AdvancedHelp(text)
            if each.unsaid is not DEFAULT:
                default = each.unsaid
            reading: dict[str, Any] = {'action': 'store_true'}
            if each.kind is not bool or each.read is not None:
                if each.listed:
                    metavar = 'LIST'
                elif each.choices:
                    metavar = f'{{{",".join(each.choices)}}}'
                else:
                    metavar = {float: 'X', int: 'N'}.get(each.kind, name.upper())
                reading = {'type': each.read_text, 'metavar': each.metavar or metavar}
            add(each.group.format(method=method))(each.flag, dest=name, default=default, help=text, **reading)


def rename_flags(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence about options as one about parameters. names : flag -> name; others lose their dashes."""
    text = DROP.sub(r'drop(columns=\1)', CATEGORY.sub(r"astype({\1: 'category'})", text))
    return FLAG.sub(lambda flag: names.get(flag[0], flag[0].lstrip('-').replace('-', '_')), text)


@contextmanager
def speaking_python(names: Mapping[str, str]) -> Iterator[None]:
    """Rename the options in warnings and in the words of a ValueError, as `rename_flags` does.

    A warning names the line of the user that called this package.
    """
    caught = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            yield
    except ValueError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (rename_flags(error.args[0], names), *error.args[1:])
        raise
    finally:
        files = [frame.f_code.co_filename for frame, _ in walk_stack(currentframe())]
        level = next((k for k, name in enumerate(files, 1) if not name.startswith(OURS)), 1)
        for warning in caught:
            warnings.warn(rename_flags(str(warning.message), names), warning.category, stacklevel=level)

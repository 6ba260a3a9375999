"""Turn options that are fields of a dataclass into options of the command line and back."""
import argparse
import math
from collections.abc import Callable, Container
from dataclasses import Field
from typing import Any, TypeVar, get_args, get_origin

from mr_elm.cli.options import Parser, above_zero, above_zero_or_infinite
from mr_elm.machines.option_fields import Option, flag_of, option_fields, value_type
from mr_elm.rows.options import AdvancedHelp, positive

Options = TypeVar('Options')


def add_options(parser: Parser, kind: type, only: Container[str] | None = None) -> None:
    """Add the options of a dataclass to a parser. only : the names of the fields to add, or None for all."""
    method = parser.prog.split()[-1]
    for name, each in option_fields(kind).items():
        if only is None or name in only:
            option = each.metadata['option']
            parser.group(option.group.format(method=method)).add_argument(
                flag_of(each), dest=name, default=each.default, help=help_of(each, option), **reading_of(each, option))


def help_of(each: Field, option: Option) -> str:
    """Return the help of an option, its default behind it where that is one value."""
    text = option.help.replace('{choices}', ', '.join(option.choices))
    text += ' (default: %(default)s)' if type(each.default) in (str, int, float) else ''
    return AdvancedHelp(text) if option.advanced else text


def reading_of(each: Field, option: Option) -> dict[str, Any]:
    """Return the arguments of `add_argument` that say how a value is read, by the type of the field."""
    kind = value_type(each)
    if kind is bool:
        return {'action': 'store_true'}
    if get_origin(kind) is tuple:
        return {'type': LISTS[get_args(kind)[0]](option.choices), 'metavar': option.metavar or 'LIST'}
    if kind is str:
        return {'choices': option.choices or None, 'metavar': option.metavar or None}
    if kind is float:
        return {'type': above_zero_or_infinite if option.infinite else above_zero, 'metavar': option.metavar or 'X'}
    return {'type': within(*option.bounds) if option.bounds else positive, 'metavar': option.metavar or 'N'}


def within(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from low to high."""
    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f'expected a whole number from {low} to {high}, found {text!r}')
        return int(text)
    return read


def read_numbers(text: str) -> tuple[float, ...]:
    """Read a list of numbers above 0, comma between."""
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError:
        values = [0.0]
    if not all(value > 0 and math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f'expected numbers above 0, separated by commas, found {text!r}')
    return tuple(values)


def read_whole_numbers(text: str) -> tuple[int, ...]:
    """Read a list of whole numbers above 0, comma between; they are sorted, each once."""
    return tuple(sorted({positive(part) for part in text.split(',')}))


def reader_of_names(choices: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of a list of names, comma between; each counts once."""
    def read(text: str) -> tuple[str, ...]:
        names = text.split(',')
        if unknown := [name for name in names if name not in choices]:
            raise argparse.ArgumentTypeError(f'expected names of {", ".join(choices)}, separated by commas, found '
                                             f'{unknown[0]!r}')
        return tuple(dict.fromkeys(names))
    return read


# type of the values of a list -> function of the choices that returns a reader
LISTS: dict[type, Callable[..., Callable]] = {
    float: lambda _: read_numbers, int: lambda _: read_whole_numbers, str: reader_of_names}


def read_options(parser: Parser, kind: type[Options], args: argparse.Namespace,
                 only: Container[str] | None = None, **known: Any) -> Options:
    """Make the options that the user asked for. Exits with status 2 when they contradict each other.

    only : as in `add_options`. known : other fields of the dataclass.
    """
    given = {name: getattr(args, name) for name in option_fields(kind) if only is None or name in only}
    options: Any = kind(**given, **known)
    try:
        options.check()
    except ValueError as error:
        parser.error(str(error))
    return options

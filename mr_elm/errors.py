"""Name what can go wrong, so that a caller can tell bad data from a bad model, and write objects for people."""

import errno
import warnings
from collections.abc import Collection, Iterable, Sized
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # typing has it from Python 3.11 on

    def dataclass_transform(**options):
        return lambda decorator: decorator


# package that is needed only for some things -> what pip is to install
OPTIONAL = {'pyspark': 'pyspark[connect]', 'venv_pack': 'venv-pack'}
MAX_TEXT = 400  # characters of an object in a message or at a prompt
MAX_VALUE = 60
MAX_ITEMS = 3  # items of a list that are written


class DataFormatError(ValueError):
    """Say that an input file cannot be read as rows, or that a line between two stages is damaged."""


class MissingColumnError(DataFormatError):
    """Say that a file lacks a column."""


class RowError(ValueError):
    """Say why a row cannot be used: a countable reason, and what was seen."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f'{reason}: {detail}')
        self.reason = reason
        self.detail = detail


class ModelFormatError(ValueError):
    """Say that a file is not a model, or not one that this version can use."""


class AccountingError(RuntimeError):
    """Say that rows or tiles were lost or counted twice between two stages."""


class TaskError(RuntimeError):
    """Say that a task of a job failed, and why."""


class BadRowError(Exception):
    """End a task at a row that cannot be used, where the user wants to stop there.

    Its text is JSON, which the driver finds in whatever an engine reports of a failed task: file, start (of the split),
    row (in the split), reason, detail, n_lines and n_bad (so far).
    """


class ElmWarning(UserWarning):
    """Warn of what a user should know; the commands print these warnings, each once."""


class ConvergenceWarning(ElmWarning):
    """Warn that an iteration ended before its tolerance was met."""


class NumericalWarning(ElmWarning):
    """Warn that a matrix was too ill-conditioned for the usual factorisation."""


class UnsuitableWarning(ElmWarning):
    """Warn that rows may mean something else, or that the machine does not suit them."""


def warn_unsuitable(text: str) -> None:
    """Warn that rows, or a machine, are probably not what the user wants."""
    warnings.warn(text, UnsuitableWarning, stacklevel=3)


def warn_of_leaves(flag: str) -> None:
    """Warn that rows count as held out, although trees have seen their labels."""
    warn_unsuitable(
        f'{flag}: the trees have seen the labels of these rows, so the answers look better than they are: '
        'use mr-elm train auto, which holds rows out, or mr-elm evaluate on other rows'
    )


FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # what the system says where no more fits
FREE_SPACE = ': free space, or raise the limit (temporary files are in TMPDIR, mr-elm clean removes old ones)'
EXPECTED = (DataFormatError, ModelFormatError, AccountingError, ValueError)


def describe_error(error: BaseException, hint: str = '') -> str:
    """Return an error as one line; an unexpected one gets the name of its type and the hint."""
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        if error.filename:
            text = f'{error.filename}: {text}'
        if error.errno in FULL:
            text += FREE_SPACE
        return text
    if isinstance(error, MemoryError):
        return describe_memory(error)
    text = ' '.join(str(error).split())
    if isinstance(error, (*EXPECTED, OSError)):
        return text
    if any(f'[Errno {number}]' in text for number in FULL):  # as tasks write it
        hint = FREE_SPACE + hint
    return f'{type(error).__name__}: {text}{hint}'


def describe_memory(error: MemoryError) -> str:
    """Say what memory was wanted, how much, and what to do."""
    wanted = str(error) or 'an array is too large'
    return (
        f'expected more memory than this machine has left ({wanted}): take fewer rows, fewer hidden nodes, or a method '
        'without a matrix of all rows: auto, or pesvm with the map nystrom'
    )


def one_line(thing: Any) -> str:
    """Return the repr of a dataclass in one line: arrays by type and shape, other large values by their size."""
    return write_object(thing, {each.name: getattr(thing, each.name) for each in fields(thing) if each.repr})


def declared_state(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, its `__getstate__` without what it has cached, such as parts that hold it."""
    return {each.name: getattr(thing, each.name) for each in fields(thing)}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: Any = None, /, **options: Any) -> Any:
    """Make a frozen dataclass whose repr is one line. options : as of `dataclass`."""
    if kind is None:
        return partial(record, **options)
    kind.__repr__ = one_line
    return dataclass(kind, **{'frozen': True, **options})


def write_object(thing: object, values: dict[str, Any]) -> str:
    """Return the name of an object's class, with these values, in one line."""
    text = f'{type(thing).__name__}({", ".join(f"{name}={write_value(value)}" for name, value in values.items())})'
    if len(text) <= MAX_TEXT:
        return text
    return f'{text[:MAX_TEXT]}...)'


def write_value(value: Any) -> str:
    """Return a value in a few words, without the names of numpy's types around it: 'x', and not np.str_('x')."""
    if hasattr(value, 'dtype') and hasattr(value, 'shape'):
        if value.shape or not hasattr(value, 'item'):
            return f'{value.dtype} {value.shape}'
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return cut(repr(value))
    if is_dataclass(value):
        return f'{type(value).__name__}(...)'
    if isinstance(value, (list, tuple)):
        text = ', '.join(map(write_value, value[:MAX_ITEMS])) + (
            f', ... of {len(value):,}' if len(value) > MAX_ITEMS else ''
        )
        if isinstance(value, list):
            return f'[{text}]'
        return f'({text}{"," if len(value) == 1 else ""})'
    if isinstance(value, Sized):
        return f'{type(value).__name__} of {len(value):,}'
    return type(value).__name__


def cut(text: str) -> str:
    """Return a text without what makes it long."""
    if len(text) <= MAX_VALUE:
        return text
    return f'{text[:MAX_VALUE]}...'


def suggest(word: str, known: Iterable[str]) -> str:
    """Ask whether the known word that is most like this one, whatever its case, was meant; '' where none is like it."""
    from difflib import get_close_matches

    words = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), words, n=1, cutoff=0.8)
    if close:
        return f' (did you mean {words[close[0]]}?)'
    return ''


def demand_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise ValueError where a value is none of the choices, with the one that is most like it."""
    if value not in choices:
        raise ValueError(
            f'{name}: expected one of {", ".join(choices)}, found {write_value(value)}{suggest(str(value), choices)}'
        )


def import_package(name: str, purpose: str) -> Any:
    """Import a module of a package that is needed for some purpose only.

    Raises ValueError where the package is missing, with what installs it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        package = name.partition('.')[0]
        raise ValueError(
            f'{purpose}: expected the package {package}, it is not installed: '
            f"pip install '{OPTIONAL.get(package, package)}'"
        ) from None

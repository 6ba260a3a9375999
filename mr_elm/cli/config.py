"""Serve the options that all commands have, before a command reads its own: --config and --log-file.

A file of TOML holds options; what stands on the command line counts more. Options above all tables are for every
command; those in a table, such as [train], for the command of this name. --log-file FILE keeps what a command says on
standard error in a file too, each line with the time.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import BytesIO
from typing import Any, TextIO

from mr_elm.cli import COMMANDS
from mr_elm.errors import suggest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG = '--config'
LOG_FILE = '--log-file'
REPEATED = ('--with', '--calibrate', '--without', '--only')  # options that are given once for each value


class Given(str):
    """Hold a word of a command that stands in a file of --config. path : of the file."""

    path: str


def take_option(argv: Sequence[str], flag: str) -> tuple[list[str], list[str]]:
    """Return the words of a command without an option, and its values. Raises ValueError at an empty one."""
    words = []
    values = []
    tokens = iter(argv)
    for token in tokens:
        name, equals, value = token.partition('=')
        if token == '--':
            words += [token, *tokens]
        elif name != flag:
            words.append(token)
        else:
            values.append(value if equals else next(tokens, ''))
    if not all(values):
        raise ValueError(f'{flag}: expected the name of a file, found none')
    return words, values


def expand_config(argv: Sequence[str]) -> list[str]:
    """Return the words of a command with the options of its --config files in front of all other options.

    argv : the command, its method where it has some, and the options. Raises ValueError when a file is no TOML, or
    holds a value that no option can have.
    """
    words, paths = take_option(argv, CONFIG)
    options = []
    for path in paths:
        for word in map(Given, read_config(path, argv[0])):
            word.path = path
            options.append(word)
    first = next((k for k, word in enumerate(words) if word.startswith('-')), len(words))
    return [*words[:first], *options, *words[first:]]


def read_config(path: str, command: str) -> Iterator[str]:
    """Yield the options of a file of TOML for a command as words; see `expand_config`."""
    try:
        with open(path, 'rb') as stream:
            found = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f'{path}: expected options in TOML, such as hidden = 500: {error}') from None
    for name, value in {**found, **found.pop(command, {})}.items():
        if isinstance(value, dict):
            if name not in COMMANDS:
                raise ValueError(f'{path}: unknown command [{name}]{suggest(name, COMMANDS)}')
            continue  # the table of another command
        flag = f'--{name.replace("_", "-")}'
        if value is True:
            yield flag
        elif flag in REPEATED and isinstance(value, list):
            yield from (f'{flag}={write_option(path, name, each)}' for each in value)
        else:
            yield f'{flag}={write_option(path, name, value)}'


def write_option(path: str, name: str, value: Any) -> str:
    """Write a value of TOML as the command line has it: commas stand between the values of a list."""
    if isinstance(value, list):
        return ','.join(write_option(path, name, each) for each in value)
    if value is False or not isinstance(value, str | int | float):
        raise ValueError(
            f'{path}: {name}: expected a text, a number, true or a list of these, found {value!r}: '
            'instead of false, leave the line out, or write the option that begins with no_'
        )
    return str(value)


@contextmanager
def log_to(path: str) -> Iterator[None]:
    """Copy whole lines of standard error to the end of a file; a progress bar, which has no lines, stays out of it."""
    with open(path, 'ab', buffering=0) as log, redirect_stderr(Copy(sys.stderr, log)):  # type: ignore[type-var]
        yield


class Copy:
    """Write to a stream, and whole lines with the time to a log, until the log has no room left."""

    def __init__(self, stream: TextIO, log: Any) -> None:
        self.stream = stream
        self.log = log
        self.line = ''

    def write(self, text: str) -> int:
        """Write text."""
        *lines, self.line = (self.line + text).split('\n')
        for line in lines:
            try:
                self.log.write(f'{time.strftime("%Y-%m-%dT%H:%M:%S%z")} {line.rpartition(chr(13))[2]}\n'.encode())
            except OSError as error:
                self.stream.write(f'warning: {self.log.name}: {error.strerror}: the log ends here\n')
                self.log = BytesIO()
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """Be the stream in all else."""
        return getattr(self.stream, name)

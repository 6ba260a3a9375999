"""mr-elm completion: let a shell complete what is typed, by argcomplete, which calls the program at each tab."""

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mr_elm.cli import COMMANDS, COMPLETING
from mr_elm.errors import import_package
from mr_elm.option import Option

SHELLS = ('bash', 'zsh', 'fish')


def completion(argv: Sequence[str]) -> None:
    """Print a script, by which a shell completes the commands, methods, options and files of mr-elm."""
    from mr_elm.cli.options import Parser

    parser = Parser('completion', completion.__doc__, runs_jobs=False)
    parser.add_argument('shell', metavar='SHELL', choices=SHELLS, help='the shell: bash, zsh or fish')
    print(import_package('argcomplete', 'completion').shellcode(['mr-elm'], shell=parser.parse(argv).shell))


def complete(tree: Mapping[str, Mapping], perform: Callable[[Sequence[str]], Any]) -> None:
    """Tell the shell what the word at the cursor may become, and exit.

    tree : command -> its methods, as keys. perform : the function of a command, whose parser calls `offer`.
    """
    line = os.environ['COMP_LINE'][: int(os.environ['COMP_POINT'])]
    words = re.findall(r'(\S+)\s', line)[1:]  # the word at the cursor is not whole
    n_read = 0
    while tree and n_read < len(words):
        tree = tree.get(words[n_read], {})
        n_read += 1
    os.environ[COMPLETING] = str(1 + n_read)
    if tree:
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument('name', choices=tree)
        offer(parser)
    elif words[0] in COMMANDS:
        perform(words[:n_read])


def offer(parser: argparse.ArgumentParser) -> None:
    """Tell the shell what may follow in the words of this parser, and exit."""
    argcomplete = import_package('argcomplete', 'completion')
    for action in parser._actions:
        option = getattr(action.type, '__self__', None)  # whose `read_text` reads what is typed
        if isinstance(option, Option) and option.choices:
            action.completer = argcomplete.ChoicesCompleter(option.choices)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options='long')

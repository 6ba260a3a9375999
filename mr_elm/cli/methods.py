"""Find the method that a command line names, and do no more for a list of methods than print it."""
import sys
from collections.abc import Callable, Sequence

from mr_elm.cli import suggest
from mr_elm.methods import METHODS, Method


def run_method(argv: Sequence[str], command: str, run: Callable[[str, Method, Sequence[str]], int | None],
               lines: dict[str, str]) -> int | None:
    """Run a command of a method; returns the exit status.

    argv : the method, then its arguments. run : function of the method's name, its row and its arguments.
    lines : name -> what it is, of the methods that have the command.
    """
    asked = argv[0] if argv else None
    if asked in lines:
        return run(asked, METHODS[asked], argv[1:])
    if asked not in ('-h', '--help', '--help-all'):
        came = '' if asked is None else f', found {asked!r}{suggest(asked, lines)}'
        print(f'mr-elm {command}: expected one of {", ".join(lines)}{came}', file=sys.stderr)
        return 2
    print('\n'.join([f'usage: mr-elm {command} METHOD INPUT... [options]', '',
                     *(f'  {name:10} {what}' for name, what in lines.items()), '',
                     f'`mr-elm {command} METHOD --help` tells more.']))
    return 0

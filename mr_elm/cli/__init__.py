"""The command line: mr-elm COMMAND ... [options] [mrjob's runner options]."""

import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module

from mr_elm.errors import ElmWarning, describe_error, suggest
from mr_elm.methods import METHODS
from mr_elm.processes import Terminated, terminable

COMMANDS = {
    'train': ('train', 'train a model on rows of text or packed rows'),
    'layer': ('by_hand', 'by hand: write the input of the next stage of a training'),
    'finish': ('by_hand', 'by hand: write the model from the outputs of all stages'),
    'tune': ('tune', 'choose kernel parameters and C by cross-validation'),
    'update': ('increment', 'add new rows to a model, without the old ones'),
    'forget': ('increment', 'remove rows from a model'),
    'merge': ('increment', 'combine models that were trained on different rows'),
    'sums': ('federate', 'write statistics or sums of rows, for a model of several sites'),
    'parts': ('parts', 'compare the parts of a training, or take some out, without rows'),
    'verify': ('audit', 'check a model against the ledger of its rows'),
    'predict': ('score', 'write the label of each row, and its scores with --scores'),
    'evaluate': ('score', 'score a model on labelled rows'),
    'inspect': ('inspect', 'show what is in a model file'),
    'export': ('export', 'write a model as ONNX, as SQL, or as a page about it'),
    'pack': ('data', 'store rows as Parquet files, which later jobs read faster'),
    'bundle': ('nodes', 'make an archive of all that the nodes of a cluster need'),
    'clean': ('nodes', 'remove what killed commands left, here or on a cluster'),
    'generate': ('data', 'write rows of a random generator'),
    'completion': ('completion', 'print a script, by which a shell completes what you type'),
}
HELP = ('-h', '--help', '--help-all', 'help')
VERSION = '--version'
# the variable in which argcomplete says which word of the line is the program, counted from 1
COMPLETING = '_ARGCOMPLETE'
GREETING = """mr-elm learns to label rows, or to predict a number, with extreme learning
machines. It reads CSV, LIBSVM or packed rows, on this machine or on Hadoop.
The model is the same wherever it was trained, and no row is lost unnoticed.
Later you can add rows to a model, or remove some, without reading the others.

"""
FIRST_STEPS = """first steps:
  mr-elm generate twonorm --rows 10000 --features 20 -o rows.csv
  mr-elm train pesvm rows.csv --model m.npz
  mr-elm evaluate m.npz rows.csv

"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if COMPLETING in os.environ:
        from mr_elm.cli.completion import complete

        complete({name: dict.fromkeys(list_methods(name), {}) for name in COMMANDS}, perform)
        return 0
    if not argv:
        print(f'{GREETING}{FIRST_STEPS}`mr-elm --help` lists all commands.', file=sys.stderr)
        return 2
    if argv[0] not in (*COMMANDS, *HELP, VERSION):
        print(
            f'mr-elm: unknown command {argv[0]!r}{suggest(argv[0], COMMANDS)}, `mr-elm --help` lists the commands',
            file=sys.stderr,
        )
        return 2
    with ExitStack() as log_files:
        if any(word.startswith(('--log-file', '--config')) for word in argv):
            from mr_elm.cli.config import LOG_FILE, expand_config, log_to, take_option

            try:
                argv, paths = take_option(expand_config(argv), LOG_FILE)
                for path in paths:
                    log_files.enter_context(log_to(path))
            except (ValueError, OSError) as error:
                print(f'mr-elm: {describe_error(error)}', file=sys.stderr)
                return 2
        return run(argv)


def run(argv: Sequence[str]) -> int:
    """Run a command and turn what goes wrong into one sentence and a status."""
    warnings.showwarning = partial(show_warning, set())  # type: ignore[assignment]  # all arguments come by position
    warnings.simplefilter('always', ElmWarning)
    try:
        with terminable():
            try:
                return perform(argv) or 0
            finally:  # Python itself writes what was printed when it is too late for a sentence
                try:
                    print(end='', flush=True)
                except OSError as error:
                    drop_output()
                    raise OSError(error.errno, error.strerror, 'standard output') from None
    except BrokenPipeError:
        drop_output()
        return 1
    except (KeyboardInterrupt, Exception) as error:
        if '--debug' in argv:
            traceback.print_exc()
        text, status = describe_end(error)
        print(f'mr-elm: {text}', *getattr(error, '__notes__', ()), sep='; ', file=sys.stderr)
        return status


def describe_end(error: BaseException) -> tuple[str, int]:
    """Return why a command ended, and its exit status; what fails while an interrupt is handled is an interrupt."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    if cause is None:
        return describe_error(error, ' (--debug shows where)'), 1
    if isinstance(cause, Terminated):
        return 'terminated', 128 + cause.args[0]
    return 'interrupted', 130


def perform(argv: Sequence[str]) -> int | None:
    """Run a command; returns its status."""
    command, *words = argv
    if command in HELP:
        lines = '\n'.join(f'  {name:10} {text}' for name, (_, text) in COMMANDS.items())
        print(
            f'usage: mr-elm COMMAND ... [options] [runner options of mrjob]\n\n{lines}\n\n{FIRST_STEPS}`mr-elm COMMAND '
            '--help` tells more; `mr-elm train --help` lists the methods.'
        )
        return 0
    if command == VERSION:
        from importlib.metadata import version

        print(f'mr_elm {version("mr_elm")}')
        return 0
    methods = list_methods(command)
    if methods and (not words or words[0] not in methods):
        return explain_methods(command, words, methods)
    return getattr(import_module(f'{__name__}.{COMMANDS[command][0]}'), command)(words)


def list_methods(command: str) -> dict[str, str]:
    """Return the methods of a command: name -> what it is; none where a command has no methods."""
    if command == 'train':
        return {name: method.what for name, method in METHODS.items()}
    if command == 'tune':
        return {name: method.tuning.what for name, method in METHODS.items() if method.tuning}
    return {}


def explain_methods(command: str, words: Sequence[str], methods: Mapping[str, str]) -> int:
    """Print the methods of a command, or say that the user named none of them; returns the exit status."""
    if words and words[0] in ('-h', '--help', '--help-all'):
        lines = [f'  {name:10} {what}' for name, what in methods.items()]
        usage = f'usage: mr-elm {command} METHOD INPUT... [options]\n'
        print(usage, *lines, f'\n`mr-elm {command} METHOD --help` tells more.', sep='\n')
        return 0
    came = ''
    if words:
        came = f', found {words[0]!r}{suggest(words[0], methods)}'
    print(f'mr-elm {command}: expected one of {", ".join(methods)}{came}', file=sys.stderr)
    return 2


def drop_output() -> None:
    """Send what is left for standard output nowhere: Python would complain at the end that nobody reads it."""
    with open(os.devnull, 'wb') as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def show_warning(said: set[str], message: Warning | str, category: type[Warning], *_: object) -> None:
    """Print a warning of ours as one sentence on standard error, once; others only to developers, by -W.

    said : what was printed. The filter `once` of Python forgets it whenever another filter is set.
    """
    if str(message) not in said and (issubclass(category, ElmWarning) or sys.warnoptions):
        said.add(str(message))
        print(f'mr-elm: warning: {message}', file=sys.stderr)

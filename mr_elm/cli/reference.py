"""Write the page of the manual that lists all commands and their options: python -m mr_elm.cli.reference PAGE.md"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from mr_elm.cli import COMMANDS, main
from mr_elm.cli.examples import EXAMPLES
from mr_elm.cli.options import HELP
from mr_elm.methods import METHODS

HEAD = """# All commands and their options

`make docs-commands` writes this page from the same tables that the command line is made of, `mr_elm/methods.py` and
the options that it names. `mr-elm COMMAND --help-all` prints the same in a terminal; `--help` prints the options that
most people need.

All commands also have `--config FILE.toml`, which reads options from a file, such as `hidden = 500` or
`drop = ["id", "date"]` (the command line counts more), and `--log-file FILE`, which adds what the command says
on standard error to a file, each line with the time.
"""
SHARED = {'input': 'Options of the input', 'runner': 'Options of the runner'}
OTHERS = 'Other runner options of mrjob may be given too, such as `-D mapreduce.job.maps=8`.'


UNTITLED = ('positional arguments', 'options')


def write_page() -> str:
    """Return the page."""
    parsers = {name: find_parser(name) for name in EXAMPLES}
    shared = {title: rows_of(group) for title, group in groups_of(parsers['train pesvm']) if title in SHARED}
    parts = [HEAD, '## Methods\n', *list_methods(), '']
    for title, rows in shared.items():
        parts += [f'## {SHARED[title]}\n', *table(rows), '']
    parts += [OTHERS, '']
    for name in sorted(parsers, key=place):
        parts += describe(name, parsers[name], shared)
    return '\n'.join(parts).rstrip() + '\n'


def find_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser that a command makes to print its help."""
    found: list[argparse.ArgumentParser] = []
    with patch.object(argparse.ArgumentParser, 'print_help', lambda parser: found.append(parser)), suppress(SystemExit):
        main([*name.split(), '--help'])
    return found[0]


def place(name: str) -> int:
    """Return the place of a command in `mr-elm --help`; those of a command's methods follow it."""
    return list(COMMANDS).index(name.split()[0])


def list_methods() -> Iterator[str]:
    """Yield the lines of the table of methods."""
    yield from ('| method | what it is | estimators |', '|---|---|---|')
    for name, method in METHODS.items():
        estimators = ', '.join(f'`{estimator.partition(":")[2]}`' for estimator in method.estimators)
        yield f'| `{name}` | {method.what} | {estimators} |'


def describe(name: str, parser: argparse.ArgumentParser, shared: dict[str, list[str]]) -> Iterator[str]:
    """Yield the section of a command; a group of options that is a shared one is a link."""
    usage, examples = EXAMPLES[name]
    yield f'## mr-elm {name}\n'
    yield f'{" ".join((parser.description or "").split())}\n'
    yield f'```text\nmr-elm {name} {usage}\n```\n'
    if examples:
        yield '\n'.join(['```text', *(f'# {what}\nmr-elm {line}' for line, what in examples.items()), '```\n'])
    own: list[str] = []
    for title, group in groups_of(parser):
        rows = rows_of(group)
        if shared.get(title) == rows:
            anchor = SHARED[title].lower().replace(' ', '-')
            own.append(f'| [{title}](#{anchor}) | |')
        elif rows:
            own += [*([] if title in UNTITLED else [f'| **{title}** | |']), *rows]
    yield from (*table(own), '')


def groups_of(parser: argparse.ArgumentParser) -> list[tuple[str, argparse._ArgumentGroup]]:
    """List (title, group) of a parser."""
    return [(group.title or '', group) for group in parser._action_groups]


def rows_of(group: argparse._ArgumentGroup) -> list[str]:
    """Return a line of a table for each argument of a group."""
    return [
        f'| {names_of(action)} | {escape((action.help or "") % vars(action))} |'
        for action in group._group_actions
        if action.dest not in HELP
    ]


def names_of(action: argparse.Action) -> str:
    """Return how an argument is typed."""
    if action.metavar or not action.choices:
        value = action.metavar
    else:
        value = '{' + ','.join(map(str, action.choices)) + '}'
    return ', '.join(
        f'`{escape(name)}`'
        for name in (
            [f'{flag} {value}' if value else flag for flag in action.option_strings] or [str(value or action.dest)]
        )
    )


def escape(text: str) -> str:
    """Return a text that may stand in a cell."""
    return text.replace('|', '\\|')


def table(rows: Sequence[str]) -> list[str]:
    """Return the lines of a table of arguments."""
    return ['| argument | what it is |', '|---|---|', *rows]


if __name__ == '__main__':
    Path(sys.argv[1]).write_text(write_page(), encoding='utf-8')

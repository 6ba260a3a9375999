"""Write the page of the manual that lists all commands and their options: python docs/site/commands.py PAGE.md"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from mr_elm.cli import COMMANDS, main
from mr_elm.cli.examples import EXAMPLES
from mr_elm.cli.options import HELP

HEAD = """# All commands and their options

`mr-elm COMMAND --help` prints what most people need, and examples; `--help-all` prints all options of a command,
`--help-input` and `--help-runner` those of the input and of the runner. If an option means the same in several
commands, the section of the first one explains it, and the sections of the others name it.

All commands also have `--config FILE.toml`, which reads options from a file, such as `hidden = 500` or `drop = ["id",
"date"]` (the command line counts more). Lines before the first table are for every command that reads the file: write
only options there that all of them have. Lines in a table, such as `[train]` or `[predict]`, are for the command of
this name only, so one file can serve all commands. `--log-file FILE` adds what the command says on standard error to a
file, each line with the time.
"""
SHARED = {'input': 'Options of the input', 'runner': 'Options of the runner'}
OTHERS = 'Other runner options of mrjob may be given too, such as `-D mapreduce.job.maps=8`.\n'

Row = tuple[str, str]  # how an argument is typed, and what it is
Parsers = dict[str, argparse.ArgumentParser]  # method -> parser; '' -> that of a command without methods


def write_page() -> str:
    """Return the page."""
    commands: dict[str, Parsers] = {}
    for name in sorted(EXAMPLES, key=place):
        command, _, method = name.partition(' ')
        commands.setdefault(command, {})[method] = find_parser(name)
    parts = [HEAD]
    home: dict[Row, str] = {}  # row -> the section that it stands in
    for group in commands['train']['pesvm']._action_groups:
        if group.title in SHARED:
            home.update(dict.fromkeys(rows_of(group), SHARED[group.title]))
    for section in SHARED.values():
        parts += [f'## {section}\n', *table([row for row in home if home[row] == section]), '']
    parts.append(OTHERS)
    for command, parsers in commands.items():
        parts += describe(command, parsers, home)
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


def describe(command: str, parsers: Parsers, home: dict[Row, str]) -> Iterator[str]:
    """Yield the section of a command; rows that have no home yet get theirs here."""
    section = f'mr-elm {command}'
    yield f'## {section}\n'
    for method, parser in parsers.items():
        text = ' '.join((parser.description or '').split())
        if method:
            yield f'* `{method}`: {text}'
        else:
            yield text
    if '' in parsers:
        forms = f'{section} {EXAMPLES[command][0]}'.splitlines()
        yield ' or '.join(f'`{form.strip()}`' for form in forms)
    yield ''
    methods: dict[Row, list[str]] = {}
    for method, parser in parsers.items():
        for row in (row for group in parser._action_groups for row in rows_of(group)):
            methods.setdefault(row, []).append(method)
    for row in methods:
        home.setdefault(row, section)
    own = [row for row in methods if home[row] == section]
    places = [names for names, _ in own]
    own.sort(key=lambda row: places.index(row[0]))  # what one argument is for several methods stands together
    if '' in parsers:
        yield from table(own)
    elif own:
        yield from ('| argument | methods | what it is |', '|---|---|---|')
        yield from (f'| {names} | {list_users(methods[names, what], list(parsers))} | {what} |' for names, what in own)
    others = [
        f'[{other}](#{other.lower().replace(" ", "-")}): {list_names(home, other, set(methods))}'
        for other in dict.fromkeys(home[row] for row in methods)
        if other != section
    ]
    if others:
        if own:
            separator = ['']
        else:
            separator = []
        yield from (*separator, f'Also: {"; ".join(others)}.')
    yield ''


def list_names(home: dict[Row, str], section: str, used: set[Row]) -> str:
    """Name the rows of a section that a command uses, or those that it does not if they are fewer."""
    rows = [row for row in home if home[row] == section]
    names = {row: f'`{row[0].split()[0].strip("`,")}`' for row in rows}
    others = list(dict.fromkeys(names[row] for row in rows if row not in used))
    listed = list(dict.fromkeys(names[row] for row in rows if row in used))
    if not others:
        return 'all'
    if len(others) < len(listed) and section in SHARED.values():
        return f'all but {", ".join(others)}'
    return ', '.join(listed)


def list_users(methods: list[str], every: list[str]) -> str:
    """Name the methods that have an option; the cell is empty if all have it."""
    others = [f'`{method}`' for method in every if method not in methods]
    if len(others) == 0:
        return ''
    if len(others) == 1:
        return f'not {others[0]}'
    return ', '.join(f'`{method}`' for method in methods)


def rows_of(group: argparse._ArgumentGroup) -> list[Row]:
    """Return (names, what it is) for each argument of a group."""
    return [
        (names_of(action), escape((action.help or '') % vars(action)))
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


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a table of arguments."""
    lines = [f'| {names} | {what} |' for names, what in rows]
    if lines:
        return ['| argument | what it is |', '|---|---|', *lines]
    return []


if __name__ == '__main__':
    Path(sys.argv[1]).write_text(write_page(), encoding='utf-8')

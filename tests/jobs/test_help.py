"""The help of all commands: 80 columns, an example that parses for each, nothing heavy imported to print it."""

import re
import shlex
import subprocess
import sys

import pytest

from mr_elm.cli import COMMANDS, list_methods
from mr_elm.cli.examples import EXAMPLES
from mr_elm.cli.options import PAGES

OF_METHODS = {command: list_methods(command) for command in ('train', 'tune')}
LINES = [line for _, lines in EXAMPLES.values() for line in lines]


def names():
    for command in COMMANDS:
        yield from [command, *(f'{command} {method}' for method in OF_METHODS.get(command, ()))]


@pytest.fixture
def help_of(elm, monkeypatch):
    """Return the help of a command at 80 columns, as a list of lines."""
    monkeypatch.setenv('COLUMNS', '80')

    def read(name, flag='--help'):
        done = elm(*name.split(), flag)
        assert done.status == 0 and done.err == ''
        return done.out.splitlines()

    return read


@pytest.mark.parametrize('flag', ['--help', '--help-all'])
@pytest.mark.parametrize('name', ['', *names()])
def test_help_fits_into_80_columns_and_shows_an_example(name, flag, help_of):
    lines = help_of(name, flag)
    typed = [line for line in lines if line.startswith('  mr-elm ')]
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0].startswith('usage: mr-elm') and (typed or name in OF_METHODS)


@pytest.mark.parametrize('name', ['', *names()])
def test_help_fits_one_screen_of_40_lines(name, help_of):
    assert len(help_of(name)) <= 40


@pytest.mark.parametrize('name', EXAMPLES)
def test_the_pages_of_the_help_show_every_option_and_help_says_so(name, help_of, parser_of):
    parser, _ = parser_of(name.split())
    pages = ['--help-all', *(flag for title, flag in PAGES.items() if title in parser.groups)]
    text = '\n'.join(line for page in pages for line in help_of(name, page))
    flags = [flag for action in parser._actions for flag in action.option_strings if 'help' not in action.dest]
    assert len(flags) > 1 and [flag for flag in flags if flag not in text] == []
    assert help_of(name)[-1] == ', '.join(f'`{page}`' for page in pages) + ' show more options.'


def test_only_a_command_that_needs_no_labels_takes_rows_without_them(parser_of):
    takers = {name for name in EXAMPLES if '--no-label' in parser_of(name.split())[0]._option_string_actions}
    assert takers == {'predict', 'pack'}


@pytest.mark.parametrize('name', [name for name in EXAMPLES if name.startswith('train ')])
def test_help_shows_15_arguments_of_a_method_and_help_all_35(name, help_of):
    counts = [
        sum(re.match(r'  (-|[A-Z]{2})', line) is not None for line in help_of(name, flag))
        for flag in ('--help', '--help-all')
    ]
    assert counts[0] <= 15 and counts[1] <= 35 + 1  # INPUT


@pytest.mark.parametrize('name', EXAMPLES)
def test_help_shows_what_a_command_cannot_do_without(name, help_of, parser_of):
    parser, _ = parser_of(name.split())
    text = '\n'.join(help_of(name))
    needed = [
        action.metavar if action.metavar and not action.option_strings else action.option_strings[0]
        for action in parser._actions
        if action.required
    ]
    assert [word for word in needed if word not in text] == []


def test_without_arguments_a_person_is_greeted_with_four_lines_and_three_commands(elm):
    done = elm()
    greeting, steps, rest = done.err.split('\n\n')
    commands = [line for line in steps.splitlines() if line.startswith('  mr-elm ')]
    assert (done.status, done.out, len(greeting.splitlines()), len(commands)) == (2, '', 4, 3)
    assert '--help' in rest and max(map(len, done.err.splitlines())) <= 80


@pytest.mark.parametrize('line', LINES)
def test_examples_are_understood(line, parse):
    parse(shlex.split(line))


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_option_says_what_it_is(name, parser_of):
    parser, _ = parser_of(name.split())
    assert [action.option_strings for action in parser._actions if not action.help] == []


def test_help_imports_nothing_heavy():
    code = (
        'import sys; from mr_elm.cli import main; main(["--help"]); main(["--version"]); '
        'main(["train", "--help"]); print(*sorted(sys.modules))'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    loaded = {name.partition('.')[0] for name in done.stdout.splitlines()[-1].split()}
    assert loaded & {'numpy', 'scipy', 'numba', 'sklearn', 'mrjob', 'boto3', 'matplotlib'} == set()


def test_a_training_on_nodes_does_not_wait_for_compiled_loops(rows, tmp_path):
    """Most of the seconds of a small training are imports: those that it does not use must not be among them."""
    code = 'import sys; from mr_elm.cli import main; main(sys.argv[1:]); print(*sorted(sys.modules))'
    words = ['train', 'pesvm', rows, '--hidden', '5', '--model', tmp_path / 'm.npz', '-q']
    done = subprocess.run([sys.executable, '-c', code, *map(str, words)], capture_output=True, text=True, check=True)
    loaded = {name.partition('.')[0] for name in done.stdout.split()}
    assert loaded & {'numba', 'sklearn', 'boto3', 'matplotlib', 'pandas', 'pyspark'} == set()
    assert 'mrjob' in loaded


def test_a_task_that_sums_dense_rows_does_not_wait_for_scipy(rows):
    """Hadoop starts a process for each task: scipy would be a third of what it imports."""
    code = (
        'import sys; from mr_elm.engines.by_hand import main; from mr_elm.streaming import mr_gram, mr_stats; '
        'main(mr_stats.MRStats, sys.argv[1:]); print(*sorted(sys.modules))'
    )
    done = subprocess.run([sys.executable, '-c', code, rows, '-q'], capture_output=True, text=True, check=True)
    loaded = {name.partition('.')[0] for name in done.stdout.splitlines()[-1].split()}
    assert loaded & {'scipy', 'numba', 'pyspark'} == set() and 'mrjob' in loaded


def test_commands_that_solve_nothing_do_not_wait_for_linear_algebra(here, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here('train', 'pesvm', rows, '--hidden', '5', '--model', 'm.npz', '-q')
    code = (
        'import sys; from mr_elm.cli import main\n'
        'for line in sys.argv[1:]: assert main(line.split()) == 0 and "scipy.linalg" not in sys.modules, line'
    )
    commands = ['inspect m.npz', 'pack rows.csv -o packed', 'predict m.npz rows.csv -o -', 'evaluate m.npz rows.csv']
    subprocess.run([sys.executable, '-c', code, *commands], capture_output=True, text=True, check=True)


@pytest.mark.parametrize('lines', OF_METHODS.values(), ids=list(OF_METHODS))
def test_the_line_of_a_method_is_clear_without_the_line_above(lines):
    assert [name for name, what in lines.items() if 'the same' in what or len(what.split()) < 4] == []

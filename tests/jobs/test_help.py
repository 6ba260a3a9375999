"""The help of all commands: 80 columns, an example that parses for each, nothing heavy imported to print it."""
import shlex
import subprocess
import sys

import pytest

from mr_elm.cli import COMMANDS, main
from mr_elm.cli.examples import EXAMPLES
from mr_elm.cli.train import LINES as TRAINED
from mr_elm.cli.tune import LINES as TUNED

OF_METHODS = {'train': TRAINED, 'tune': TUNED}
LINES = [line for _, lines in EXAMPLES.values() for line in lines]


def names():
    for command in COMMANDS:
        yield from [command, *(f'{command} {method}' for method in OF_METHODS.get(command, ()))]


@pytest.mark.parametrize('name', ['', *names(), 'generate replicate'])
def test_help_fits_into_80_columns_and_shows_an_example(name, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    try:
        assert main([*name.split(), '--help']) == 0
    except SystemExit as stop:
        assert stop.code == 0
    text = capsys.readouterr().out
    typed = [line for line in text.splitlines() if line.startswith('  mr-elm ')]
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert text.startswith('usage: mr-elm') and (typed or name in OF_METHODS)


@pytest.mark.parametrize('line', LINES)
def test_examples_are_understood(line, parse):
    parse(shlex.split(line))


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_option_says_what_it_is(name, parser_of):
    parser, _ = parser_of(name.split())
    assert [action.option_strings for action in parser._actions if not action.help] == []


def test_help_imports_nothing_heavy():
    code = ('import sys; from mr_elm.cli import main; main(["--help"]); main(["--version"]); '
            'main(["train", "--help"]); print(*sorted(sys.modules))')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    loaded = {name.partition('.')[0] for name in done.stdout.splitlines()[-1].split()}
    assert loaded & {'numpy', 'scipy', 'numba', 'sklearn', 'mrjob', 'boto3', 'matplotlib'} == set()


def test_a_training_on_nodes_does_not_wait_for_compiled_loops(rows, tmp_path):
    """Most of the seconds of a small training are imports: those that it does not use must not be among them."""
    code = 'import sys; from mr_elm.cli import main; main(sys.argv[1:]); print(*sorted(sys.modules))'
    words = ['train', 'pesvm', rows, '--hidden', '5', '--model', tmp_path / 'm.npz', '-q']
    done = subprocess.run([sys.executable, '-c', code, *map(str, words)], capture_output=True, text=True, check=True)
    loaded = {name.partition('.')[0] for name in done.stdout.split()}
    assert loaded & {'numba', 'sklearn', 'boto3', 'matplotlib', 'pandas'} == set() and 'mrjob' in loaded

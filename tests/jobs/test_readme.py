"""The README: every block is run, in order, in one empty folder; what needs a cluster or an account is parsed.

    sh        commands of mr-elm, which must succeed
    console   commands, each behind a $, and what they print: the same words and numbers, see reference/console.py
    python    statements, all blocks in one namespace
    sh setup, hadoop, emr, network      not run here: lines of mr-elm must parse, targets of make exist
    text      not code
"""
import re
import subprocess

import pytest
from reference.console import differences
from reference.readme import BLOCKS, README, ROOT, commands

from mr_elm.cli.examples import EXAMPLES
from mr_elm.data.registry import DATA_SETS


def run_shell(body, elm):
    """Run commands; returns what each wrote."""
    results = []
    for words in commands(body):
        if words[0] == 'mr-elm':
            done = elm(*words[1:])
            assert done.status == 0, (words, done.err)
            results.append((done.out, done.err))
        else:
            assert words[0] == 'head', words
            results.append((subprocess.run(words, capture_output=True, text=True, check=True).stdout, ''))
    return results


def run_console(body, elm):
    """Run commands and compare what they print with what is shown."""
    for part in re.split(r'^\$ ', body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition('\n')
        (out, err), = run_shell(command, elm)
        assert differences(shown, err + out) == [], command


def test_every_block_that_needs_only_this_machine_runs(elm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for tag, body in BLOCKS:
        if tag == 'python':
            exec(compile(body, 'README.md', 'exec'), names)
        elif tag in ('sh', 'console'):
            (run_shell if tag == 'sh' else run_console)(body, elm)


@pytest.mark.parametrize('body', [body for tag, body in BLOCKS if tag.startswith('sh ')])
def test_blocks_that_need_more_are_understood(body, parse):
    targets = re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(encoding='utf-8'), flags=re.MULTILINE)
    for words in commands(body):
        if words[0] == 'make':
            assert words[1] in targets
        elif words[:2] == ['mr-elm', 'download']:
            assert words[2] in DATA_SETS
        elif words[0] == 'mr-elm':
            parse(words[1:])
        else:
            assert words[0] in ('pip', '.')


def test_there_is_no_block_without_a_tag():
    kinds = {'sh', 'console', 'python', 'text', 'sh setup', 'sh hadoop', 'sh emr', 'sh network'}
    assert {tag for tag, _ in BLOCKS} == kinds
    assert README.count('```') == 2 * len(BLOCKS)


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_option_of_every_command_is_in_the_readme(name, parser_of):
    parser, _ = parser_of(name.split())
    named = set(re.findall(r'--[a-zA-Z][a-z-]*', README))
    assert {max(action.option_strings, key=len) for action in parser._actions if action.option_strings
            and action.dest != 'help'} - named - {'--output'} == set()


def test_links_within_the_page_lead_somewhere():
    titles = {re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')
              for title in re.findall(r'^#+ (.*)$', README, flags=re.MULTILINE)}
    assert set(re.findall(r'\]\(#([^)]+)\)', README)) <= titles
    assert all((ROOT / path).exists() for path in re.findall(r'\]\(([A-Za-z][\w./-]+)\)', README) if '//' not in path)

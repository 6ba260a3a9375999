"""The manual: all blocks of a page run, in order, in one empty folder; what needs a cluster or an account is parsed.

    sh        commands of mr-elm, which must succeed
    console   commands, each behind a $, and what they print: the same words and numbers, see reference/console.py
    python    statements, all blocks in one namespace
    sh setup, hadoop, emr, network      not run here: lines of mr-elm must parse, targets of make exist
    text      not code

The README's commands run in this process, those of the other pages in a shell.
"""
import re
import subprocess

import pytest
from reference.console import differences
from reference.readme import BLOCKS, PAGES, README, ROOT, blocks_of, commands, read_page, run_script, shown_commands

from mr_elm.cli.examples import EXAMPLES
from mr_elm.data.registry import DATA_SETS
from mr_elm.io.wire import WireProtocol, encode_arrays, make_key, split_key
from mr_elm.streaming.mr_stats import MRStats

HOME = '/home/you'  # the folder of the reader, in what the pages show
ANYWHERE_ELSE = [(re.compile(r'(?<=[\t "])([\d,]*):[\w+/]+=*'), r'\1:base64'),  # last digits depend on the processor
                 (re.compile(r'"blas": "[^"]*"'), '"blas": ""')]


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
    for command, shown in shown_commands(body):
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


def run_in_shell(script, folder):
    """Run commands in a shell; returns what they print."""
    done = run_script(script, folder)
    assert done.returncode == 0, (script, done.stderr)
    return done.stderr + done.stdout


def as_anywhere(text, folder=HOME):
    """Return a text without what differs from one machine to the next."""
    text = text.replace(str(folder), HOME)
    for pattern, instead in ANYWHERE_ELSE:
        text = pattern.sub(instead, text)
    return text


def run_page(page, folder):
    """Run the blocks of a page in a folder; returns the names that its Python has defined."""
    names = {}
    for tag, body in blocks_of(read_page(page)):
        if tag == 'python':
            exec(compile(body, page, 'exec'), names)
        elif tag == 'sh':
            run_in_shell(body, folder)
        elif tag == 'console':
            for command, shown in shown_commands(body):
                printed = run_in_shell(command, folder)
                assert differences(as_anywhere(shown), as_anywhere(printed, folder)) == [], command
    return names


def test_the_page_on_stages_runs_in_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page('docs/stages.md', tmp_path)
    assert (tmp_path / 'local.npz').exists()


def test_the_reader_and_the_writer_of_the_page_on_the_wire_agree_with_ours(tmp_path, monkeypatch, by_hand_alone):
    monkeypatch.chdir(tmp_path)
    names = run_page('docs/wire.md', tmp_path)
    text = b'a b,1,2\n\xc3\xa9%;,3,4\na b,5,6\nx,7\n'
    mapped = by_hand_alone(MRStats, text, '--landmarks', 2, '--bad-rows', 'skip', file='rows.csv')
    lines = by_hand_alone(MRStats, b'\n'.join(sorted(mapped)), '--landmarks', 2, task='reducer')
    lines += [make_key('sum', 'a b', 7).encode() + b'\t' + encode_arrays([[1.5, 2], [[0.1]], 3])]
    assert {line.split(b' ')[0].split(b'\t')[0] for line in lines} == {
        b'columns', b'counts', b'labels', b'landmarks', b'rejected', b'sum'}
    for line in lines:
        kind, coordinates, value = names['read_line'](line + b'\t\n')
        key, ours = WireProtocol().read(line)
        assert (kind, coordinates) == split_key(key)
        assert value == ours if isinstance(ours, dict) else [
            (list(array.shape), array.ravel().tolist()) for array in ours] == value
        again = WireProtocol().read(names['write_line'](kind, coordinates, value))
        assert again[0] == key and WireProtocol().write(*again) == WireProtocol().write(key, ours)


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
    for text in map(read_page, PAGES):
        assert {tag for tag, _ in blocks_of(text)} <= kinds
        assert text.count('```') == 2 * len(blocks_of(text))


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_option_of_every_command_is_in_the_readme(name, parser_of):
    parser, _ = parser_of(name.split())
    named = set(re.findall(r'--[a-zA-Z][a-z-]*', README))
    assert {max(action.option_strings, key=len) for action in parser._actions if action.option_strings
            and action.dest != 'help'} - named - {'--output'} == set()


@pytest.mark.parametrize('page', ['README.md', *PAGES])
def test_links_of_a_page_lead_somewhere(page):
    text = read_page(page)
    titles = {re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')
              for title in re.findall(r'^#+ (.*)$', text, flags=re.MULTILINE)}
    assert set(re.findall(r'\]\(#([^)]+)\)', text)) <= titles
    paths = [path for path in re.findall(r'\]\(([A-Za-z.][\w./-]+)\)', text) if '//' not in path]
    assert all((ROOT / page).parent.joinpath(path).exists() for path in paths)

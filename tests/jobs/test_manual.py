"""The manual: all blocks of a page run, in order, in one empty folder; what needs a cluster or an account is parsed.

    sh        commands of a shell, which must succeed
    console   commands, each behind a $, and what they print: the same words and numbers, see reference/console.py
    console fails       the same, but each command must end with status 1 or 2
    python    statements, all blocks of a page in one namespace
    sh setup, hadoop, emr, network, spark, spark cluster
              not run here: lines of mr-elm must parse, targets of make exist
    python spark        not run here either
    console hadoop      not run here either; `...` in what is printed stands for anything
    text      not code

`tests/test_extending.py` runs the recipes of docs/extending.md, `tests/cluster` the blocks for a Hadoop, `tests/spark`
those for Spark.
"""

import re
import shlex
from glob import glob
from pathlib import Path
from pkgutil import resolve_name

import pytest
from reference.by_hand import run_stage, run_to_the_last
from reference.commands import elm, succeed
from reference.console import differences
from reference.manual import (
    PAGES,
    ROOT,
    blocks_of,
    commands,
    commands_on_hadoop,
    read_page,
    run_script,
    shown_commands,
)

from benchmarks.public.sets import DATA_SETS
from benchmarks.scaling.__main__ import main as scaling_main
from mr_elm.arithmetic import one_thread
from mr_elm.cli.examples import EXAMPLES
from mr_elm.engines import ENGINES
from mr_elm.rows.storage import SCHEMES
from mr_elm.rows.wire import WireProtocol, encode_arrays, make_key, split_key
from mr_elm.streaming.mr_stats import MRStats

HOME = '/home/you'  # the folder of the reader, in what the pages show
ANYWHERE_ELSE = [
    (re.compile(r'(?<=[\t "])([\d,]*):[\w+/]+=*'), r'\1:base64'),  # last digits depend on the processor
    (re.compile(r'"blas": "[^"]*"'), '"blas": ""'),
    (re.compile(r'^compiling .* once .*\n', re.MULTILINE), ''),  # where no earlier test has
    (re.compile(r'^.*, \d+% done, .*\n', re.MULTILINE), ''),  # where work took seconds, on a busy machine
]
RECIPES = 'docs/extending.md'
OF_NEWCOMERS = 'README.md'  # all of it runs in a shell
OF_A_SHELL = {*'|&;<>()$`*[]{}~!\n'}  # what a shell does more with than to cut it into words and to find files
STAGE = 'python -m mr_elm.streaming.mr_'
ON_ALL_CORES = ' -r local'  # a stage by hand starts other processes
LOOP = re.compile(r'^for (\w+) in ([\w ]+); do\b(.*?)\bdone$', re.MULTILINE | re.DOTALL)
LINES_OF_ONE_SHELL = re.compile(r'^\w+=|\|$', re.MULTILINE)  # a later line needs what an earlier one has begun
SHELL = 'sh 2>&1 | '  # what a script is piped through
STATUSES = {'sh': {0}, 'console': {0}, 'console fails': {1, 2}}
RUN_HERE = {'python', *STATUSES}
KINDS = {
    *RUN_HERE,
    'text',
    'sh setup',
    'sh hadoop',
    'sh emr',
    'sh network',
    'sh spark',
    'sh spark cluster',
    'python spark',
    'console hadoop',
}
RUN = [page for page in PAGES if page != RECIPES and RUN_HERE & {tag for tag, _ in blocks_of(read_page(page))}]
ON_THE_WIRE = 'docs/wire.md'  # runs in a test of its own


def run_in_shell(script, folder, statuses, given=''):
    """Run commands in a shell, which must end with one of some statuses; returns what they print."""
    done = run_script(script, folder, given)
    assert done.returncode in statuses, (script, done.stderr)
    return done.stderr + done.stdout


def run_command(page, command, folder, statuses):
    """Run a command as `run_in_shell` does; mr-elm and stages run in this process, which is faster, the rest not.

    page : the commands of that for newcomers all run in a shell.
    """
    before, _, last = command.replace('\\\n', ' ').strip().rpartition('; ')
    own, _, behind = last.partition(' | ')
    own, _, output = own.partition(' > ')
    on_all_cores = own.startswith(STAGE) and ON_ALL_CORES in own
    in_shell = page == OF_NEWCOMERS or on_all_cores or not own.startswith(('mr-elm ', STAGE))
    if in_shell or set(own) & OF_A_SHELL:
        return run_in_shell(command, folder, statuses)
    if before:
        run_in_shell(before, folder, {0})
    words = [name for word in shlex.split(own, comments=True) for name in sorted(glob(word)) or [word]]
    if own.startswith(STAGE):
        done = run_stage(words[2].removeprefix(STAGE.split()[-1]), *words[3:])
    else:
        done = elm(*words[1:])
    assert done.status in statuses, (command, done.err)
    if output:
        Path(folder, output).write_text(done.out)
        return done.err
    if behind.startswith(SHELL):
        said = []
        succeed(elm(*run_to_the_last(done.out, said)))
        return run_in_shell(behind.removeprefix(SHELL), folder, {0}, ''.join(said))
    if behind:
        return done.err + run_in_shell(behind, folder, {0}, done.out)
    return done.err + done.out


def run_commands(page, body, folder):
    """Run the commands of a block, one by one where no line needs another; those of a loop for each of its words."""

    def repeat(loop):
        name, words, lines = loop.groups()
        return ''.join(
            line.replace(f'${name}', word) + '\n' for word in words.split() for line in re.split('[;\n]', lines)
        )

    body = LOOP.sub(repeat, body)
    if LINES_OF_ONE_SHELL.search(body):
        run_in_shell(body, folder, STATUSES['sh'])
    else:
        for command in filter(str.strip, body.replace('\\\n', ' ').splitlines()):
            run_command(page, command, folder, STATUSES['sh'])


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
            run_commands(page, body, folder)
        elif tag in STATUSES:
            for command, shown in shown_commands(body):
                printed = run_command(page, command, folder, STATUSES[tag])
                assert differences(as_anywhere(shown), as_anywhere(printed, folder)) == [], command
    return names


@pytest.mark.parametrize('page', [page for page in RUN if page != ON_THE_WIRE])
def test_every_block_of_a_page_that_needs_only_this_machine_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', '1')  # of programs: other tests run beside them
    with one_thread():
        run_page(page, tmp_path)


def test_the_reader_and_the_writer_of_the_page_on_the_wire_agree_with_ours(tmp_path, monkeypatch, by_hand_alone):
    monkeypatch.chdir(tmp_path)
    names = run_page(ON_THE_WIRE, tmp_path)
    text = b'a b,1,2\n\xc3\xa9%;,3,4\na b,5,6\nx,7\n'
    mapped = by_hand_alone(MRStats, text, '--landmarks', 2, '--bad-rows', 'skip', file='rows.csv')
    lines = by_hand_alone(MRStats, b'\n'.join(sorted(mapped)), '--landmarks', 2, task='reducer')
    lines += [make_key('sum', 'a b', 7).encode() + b'\t' + encode_arrays([[1.5, 2], [[0.1]], 3])]
    assert {line.split(b' ')[0].split(b'\t')[0] for line in lines} == {
        b'columns',
        b'counts',
        b'labels',
        b'landmarks',
        b'rejected',
        b'sum',
    }
    for line in lines:
        kind, coordinates, value = names['read_line'](line + b'\t\n')
        key, ours = WireProtocol().read(line)
        assert (kind, coordinates) == split_key(key)
        assert (
            value == ours
            if isinstance(ours, dict)
            else [(list(array.shape), array.ravel().tolist()) for array in ours] == value
        )
        again = WireProtocol().read(names['write_line'](kind, coordinates, value))
        assert again[0] == key and WireProtocol().write(*again) == WireProtocol().write(key, ours)


@pytest.mark.parametrize('page', PAGES)
def test_blocks_that_need_more_are_understood(page, parse):
    targets = re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(encoding='utf-8'), flags=re.MULTILINE)
    scripts = [body for tag, body in blocks_of(read_page(page)) if tag.startswith('sh ')]
    scripts += [command for command, _ in commands_on_hadoop(page)]
    for words in (words for script in scripts for words in commands(script)):
        if words[0] == 'make':
            assert {word for word in words[1:] if '=' not in word} <= set(targets)
        elif words[:4] == ['python', '-m', 'benchmarks', 'fetch']:
            assert words[4] in {*DATA_SETS, '--help'}
        elif words[:3] == ['python', '-m', 'benchmarks.scaling']:
            assert elm(*words[3:], '--help', main=scaling_main).status == 0
        elif words[0] == 'mr-elm':
            parse(words[1:])


@pytest.mark.parametrize('page', PAGES)
def test_there_is_no_block_without_a_tag(page):
    blocks = blocks_of(read_page(page))
    assert {tag for tag, _ in blocks} <= KINDS
    assert read_page(page).count('```') == 2 * len(blocks)


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_option_of_every_command_is_on_the_page_of_commands(name, parser_of):
    parser, _ = parser_of(name.split())
    named = set(re.findall(r'--[a-zA-Z][a-z0-9-]*', read_page('docs/commands.md')))
    assert {
        max(action.option_strings, key=len)
        for action in parser._actions
        if action.option_strings and action.dest != 'help'
    } - named == set()


def titles_of(page):
    """Return the anchors of the titles of a page."""
    return {
        re.sub(r'[^a-z0-9_ -]', '', title.lower()).replace(' ', '-')
        for title in re.findall(r'^#+ (.*)$', read_page(page), flags=re.MULTILINE)
    }


@pytest.mark.parametrize('page', PAGES)
def test_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'```.*?```', '', read_page(page), flags=re.DOTALL)):
        path, _, anchor = link.partition('#')
        if '//' not in path:
            target = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in titles_of(target.relative_to(ROOT)), link


@pytest.mark.parametrize('runner', ['hadoop', 'emr'])
def test_the_page_on_input_names_all_places_that_tasks_read_directly(runner):
    row = next(line for line in read_page('docs/input.md').splitlines() if line.startswith(f'| `{runner}`'))
    assert re.findall(r'`(\w+):`', row.split('|')[2]) == list(resolve_name(ENGINES[runner]).schemes)


@pytest.mark.parametrize('scheme', SCHEMES)
def test_the_page_on_input_names_every_place_of_a_file(scheme):
    assert f'`{scheme}://' in read_page('docs/input.md')

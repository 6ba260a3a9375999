"""Any words are a command that succeeds, or are refused in one sentence: never by an exception that nobody expected."""

import functools
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.commands import elm
from reference.files import FEW, GOOD, SPARSE

METHODS = ['auto', 'pesvm', 'elm', 'sparse-elm', 'oelm', 'sphere-svm', 'mr-kelm']
OTHERS = ['predict', 'evaluate', 'inspect', 'pack', 'update', 'forget', 'merge', 'verify', 'export', 'layer', 'parts']
COMMANDS = [*(f'train {method}' for method in METHODS), *OTHERS]
FILES = ['rows.csv', 'table.csv', 'rows.libsvm', 'm.npz', 'm.sums.npz', 'empty', 'none', '.', '*.csv', '']
VALUES = ['0', '1', '-1', '2', '3', '1e400', 'nan', '0.5', '1,2', '1e-9', '99999999999999999999', 'a', 'é', 'auto']
VALUES += [',', ';', ' ', '', '--', 'x.onnx', 'x.md', 'out', 'out.csv']
LEFT_OUT = {'--help', '--help-all', '--runner', '--master', '--bundle', '--python', '--jobs', '--debug', '--log-file'}


@functools.cache
def options_of(command):
    """List the options of a command as its help says: (option, values to try; none for a flag)."""
    text = ''.join(elm(*command.split(), page).out for page in ('--help-all', '--help-input'))
    found = re.findall(r'^  (?:-\w \S+, |-\w, )?(--[\w-]+)(?: (\{.*?\}|\S+))?', text, flags=re.MULTILINE)
    assert found
    return [
        (option, value.strip('{}').split(',') + VALUES[:3] if value.startswith('{') else value and VALUES + FILES)
        for option, value in found
        if option not in LEFT_OUT
    ]


@st.composite
def commands(draw):
    """Draw the words of a command."""
    command = draw(st.sampled_from(COMMANDS))
    words = [*command.split(), draw(st.sampled_from(FILES[:4] if draw(st.booleans()) else FILES))]
    for option, values in draw(st.lists(st.sampled_from(options_of(command)), max_size=4)):
        words += [option, draw(st.sampled_from(values))] if values else [option]
    if draw(st.booleans()):
        words.append(draw(st.sampled_from(FILES)))
    small = ['--hidden', '3'] if command in ('train pesvm', 'train elm') else []
    target = ['--model', 'made.npz'] if command.startswith(('train', 'update', 'forget')) else []
    return [
        *words,
        *(small if '--hidden' not in words else []),
        *(target if '--model' not in words else []),
        '-r',
        'inline',
    ]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Fill a folder with rows, and a model with its sums."""
    folder = tmp_path_factory.mktemp('words')
    (folder / 'rows.csv').write_text(GOOD)
    (folder / 'table.csv').write_text('y,a,b\n' + GOOD.replace('0,', '0,x', 1))
    (folder / 'rows.libsvm').write_text(SPARSE)
    (folder / 'empty').write_text('')
    done = elm('train', 'pesvm', folder / 'rows.csv', *FEW, '--model', folder / 'm.npz', '-q')
    assert done.status == 0
    return folder


@given(commands())
def test_any_words_are_a_command_or_refused_in_a_sentence(folder, words):
    here = os.getcwd()
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    os.chdir(folder)
    try:
        done = elm(*words)
    finally:
        os.chdir(here)
        for path in set(folder.iterdir()) - set(kept):
            path.unlink() if path.is_file() else None
        for path, contents in kept.items():
            path.write_bytes(contents)
    assert done.status in (0, 1, 2), words
    assert '--debug shows where' not in done.err and 'Traceback' not in done.err, (words, done.err)
    assert done.status == 0 or done.err.splitlines()[-1].startswith('mr-elm'), (words, done.err)


LINES = [
    'hidden = 3',
    'hidden = "3"',
    'nu = 1e400',
    'seed = -1',
    'scale = "minmax"',
    'scale = 1',
    'hidden = [3]',
    '[train]',
]
LINES += [
    'model = "made.npz"',
    'overwrite = true',
    'overwrite = "x"',
    'columns = ["1", 2]',
    'nothing = 0',
    'a.b = 1',
    '= 3',
]
LINES += ['hidden = 1979-05-27', 'input = "rows.csv"', '"" = 1', 'config = "c.toml"', 'hidden = nan', 'r = "inline"']


@given(
    st.lists(st.sampled_from(LINES), max_size=3).map(lambda lines: '\n'.join(lines).encode()) | st.binary(max_size=20)
)
def test_any_bytes_are_options_in_a_file_or_refused_in_a_sentence(folder, contents):
    (folder / 'c.toml').write_bytes(contents)
    target = ['--model', folder / 'made.npz', '--overwrite', '--hidden', '3']
    done = elm('train', 'pesvm', folder / 'rows.csv', *target, '--config', folder / 'c.toml', '-r', 'inline')
    assert done.status in (0, 1, 2)
    assert '--debug shows where' not in done.err and 'Traceback' not in done.err, done.err
    assert done.status == 0 or done.err.splitlines()[-1].startswith('mr-elm'), done.err

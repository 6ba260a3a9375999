"""docs/extending.md: every recipe, applied to a copy of the code, works, and touches as few files as it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.manual import blocks_of, read_page

ROOT = Path(__file__).parents[1]
SECTIONS = dict(part.split('\n', 1) for part in read_page('docs/extending.md').split('\n## ')[1:])
RECIPES = {title: text for title, text in SECTIONS.items() if title != 'The folders'}
FILES = {'A kind of hidden node': 1, 'An input format': 2, 'A dual method': 5, 'An engine': 2}

# runs lines of the shell; those of mr-elm in one process, as each start takes longer than what it does
RUN = """
import shlex, subprocess, sys
from mr_elm.cli import main

for line in sys.stdin:
    program, *words = shlex.split(line)
    try:
        status = main(words) if program == 'mr-elm' else subprocess.run(['sh', '-c', line]).returncode
    except SystemExit as stop:
        status = stop.code
    sys.stdout.flush()
    if status:
        sys.exit(f'{line}: status {status}')
"""


@pytest.fixture
def copy(tmp_path):
    """Copy the package, and what is compiled of it, to where it may be changed; returns the root of the copy."""
    shutil.copytree(ROOT / 'mr_elm', tmp_path / 'code' / 'mr_elm', ignore=shutil.ignore_patterns('*.pyc.*', '*.tmp.*'))
    return tmp_path / 'code'


def apply(text, root):
    """Do what a Python block of a recipe says; returns the file that it touches."""
    mark, body = text.split('\n', 1)
    kind, path = re.fullmatch(r'# (new|in): (\S+)', mark).groups()
    file = root / path
    if kind == 'new':
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(body)
        return path
    line, side, added = re.fullmatch(r'(.*)\n# (before|after) it:\n((?:.*\n)+)', body).groups()
    before = file.read_text()
    assert before.count(f'\n{line}\n') == 1, f'{path}: one line {line!r} was expected'
    parts = [f'{line}\n', added]
    file.write_text(before.replace(f'{line}\n', ''.join(parts if side == 'after' else parts[::-1]), 1))
    return path


@pytest.fixture
def rows(tmp_path):
    """Write rows of two classes, as `rows.csv`."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    rows = np.column_stack([labels, rng.standard_normal((300, 3)) + 2 * labels[:, None]])
    np.savetxt(tmp_path / 'rows.csv', rows, fmt='%.4f', delimiter=',')
    return tmp_path


@pytest.mark.parametrize('recipe', RECIPES)
def test_a_recipe_works_and_touches_no_more_files_than_it_says(recipe, copy, rows):
    blocks = blocks_of(RECIPES[recipe])
    touched = {apply(text, copy) for language, text in blocks if language == 'python'}
    assert len(touched) == FILES[recipe]
    commands = ''.join(text for language, text in blocks if language == 'sh').replace('\\\n', ' ')
    # no loop is compiled, as a new file lets all be compiled anew, for few rows
    environ = {**os.environ, 'PYTHONPATH': str(copy), 'NUMBA_DISABLE_JIT': '1'}
    environ['PATH'] = f'{os.path.dirname(sys.executable)}:{environ["PATH"]}'
    done = subprocess.run(
        [sys.executable, '-c', RUN], cwd=rows, input=commands, capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert float(re.search(r'accuracy\s+([\d.]+)', done.stdout).group(1)) > 0.9, done.stdout

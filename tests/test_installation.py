"""Installations: the program is the same from any folder, also from its own, editable or not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = ''.join(f'{row % 2},{row},{row % 7}\n' for row in range(40))


@pytest.fixture(scope='module')
def checkout(tmp_path_factory):
    """Copy the project, as a clone has it, to where an installation may write."""
    folder = tmp_path_factory.mktemp('clone') / 'mr_elm'
    folder.mkdir()
    for name in ('mr_elm', 'streaming', 'data'):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns('*.pyc.*', '*.tmp.*'))
    for name in ('setup.cfg', 'pyproject.toml', 'README.md', 'LICENSE'):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope='module', params=['plain', 'editable'])
def installed(request, checkout, tmp_path_factory):
    """Install the copy, plainly or editable, into a folder of its own; returns the variables of a process that uses it.

    The folder is read as site-packages are: the files of an editable installation are found through it.
    """
    folder = tmp_path_factory.mktemp(request.param)
    subprocess.run(
        [
            sys.executable,
            '-m',
            'pip',
            'install',
            '--quiet',
            '--no-deps',
            '--no-build-isolation',
            '--disable-pip-version-check',
            '--target',
            folder,
            *(['--editable'] if request.param == 'editable' else []),
            checkout,
        ],
        check=True,
    )
    (folder / 'sitecustomize.py').write_text(
        f'import site, sys\nsys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f)]\n'
        f'site.addsitedir({str(folder)!r})\n'
    )
    return {**os.environ, 'PYTHONPATH': str(folder)}


@pytest.mark.parametrize('own', [False, True], ids=['elsewhere', 'checkout'])
def test_stages_and_samples_are_there(installed, checkout, tmp_path, own):
    (tmp_path / 'rows.csv').write_text(ROWS)
    here = checkout if own else tmp_path
    stage = subprocess.run(
        [sys.executable, '-m', 'mr_elm.streaming.mr_stats', tmp_path / 'rows.csv'],
        cwd=here,
        env=installed,
        capture_output=True,
        text=True,
    )
    assert (stage.returncode, len(stage.stdout.splitlines()) > 2) == (0, True), stage.stderr
    found = subprocess.run(
        [sys.executable, '-c', 'import mr_elm.streaming, mr_elm.data; print(mr_elm.data.__file__)'],
        cwd=here,
        env=installed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not found.stdout.startswith(f'{ROOT}{os.sep}')


FAKE = """#!/bin/sh
echo "called $*"
case "$*" in "-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;; esac
"""


@pytest.mark.parametrize('words, pip', [((), '-m pip install --quiet'), (('QUIET=',), '-m pip install --editable')])
def test_make_venv_says_what_it_does_and_how_to_watch(tmp_path, words, pip):
    for name in ('Makefile', 'setup.cfg', 'pyproject.toml'):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / 'python').write_text(FAKE, encoding='utf-8')
    (tmp_path / 'python').chmod(0o755)
    known = {name: value for name, value in os.environ.items() if not name.startswith('MAKE')}  # of `make test`
    done = subprocess.run(
        ['make', 'venv', 'PYTHON=./python', *words], cwd=tmp_path, env=known, capture_output=True, text=True, check=True
    )
    first, *others = done.stdout.splitlines()
    assert first.startswith('pip installs') and 'minutes' in first and '`make venv QUIET=`' in first
    assert any(line.startswith(f'called {pip}') for line in others)

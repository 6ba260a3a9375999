"""Tests find public data sets in every folder that is named; what a missing one keeps from being tested is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference.public_sets import demand_set

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.parametrize('name', ['iris', 'nowhere', 'nowhere', 'elsewhere'])
def test_reading(public_set, name):
    assert public_set(name)[0].shape == (2, 1)

@pytest.mark.skipif(True, reason='no ideas')
def test_thinking():
    pass
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Make two folders of data, of which the second has a set, and name both."""
    for name in ('first', 'second'):
        (tmp_path / name).mkdir()
    (tmp_path / 'second' / 'iris.libsvm').write_text('1 1:2\n-1 1:3\n')
    monkeypatch.setenv('MR_ELM_DATA', f'{tmp_path}/first:{tmp_path}/second')
    return tmp_path


@pytest.fixture
def checkout(tmp_path):
    """Make a checkout with a few tests, and no data beside it."""
    checkout = tmp_path / 'there' / 'mr_elm'
    (checkout / 'tests').mkdir(parents=True)
    shutil.copy(ROOT / 'setup.cfg', checkout)
    (checkout / 'benchmarks').symlink_to(ROOT / 'benchmarks')
    shutil.copy(ROOT / 'tests' / 'conftest.py', checkout / 'tests')
    shutil.copytree(ROOT / 'tests' / 'reference', checkout / 'tests' / 'reference')
    (checkout / 'tests' / 'test_few.py').write_text(TESTS)
    return checkout


def test_a_set_is_found_in_every_folder_that_is_named(folders):
    assert demand_set('iris') == folders / 'second' / 'iris.libsvm'


def test_a_run_counts_the_tests_that_it_skipped_for_want_of_data(folders, checkout):
    done = run_tests(checkout, '--numprocesses', 1)
    assert done.returncode == 0 and '1 passed, 4 skipped' in done.stdout
    assert '   3  missing data sets: elsewhere (1), nowhere (2); name folders' in done.stdout
    assert '   1  no ideas' in done.stdout


def test_data_that_are_required_must_be_there(folders, checkout):
    done = run_tests(checkout, MR_ELM_REQUIRE_DATA='1')
    assert done.returncode == 1 and '3 failed, 1 passed, 1 skipped' in done.stdout
    assert 'missing data set: nowhere; ' in done.stdout and '   1  no ideas' in done.stdout


def test_a_run_ends_where_tests_hang_or_end_their_process(checkout):
    (checkout / 'tests' / 'test_few.py').write_text(
        'import os, time\ndef test_hang(): time.sleep(600)\ndef test_end(): os._exit(1)\ndef test_last(): pass\n'
    )
    done = run_tests(checkout, '--numprocesses', 1, '--timeout', 1)
    assert done.returncode == 1 and '2 failed, 1 passed' in done.stdout, done.stdout
    assert 'Timeout' in done.stdout and "crashed while running 'tests/test_few.py::test_end'" in done.stdout


@pytest.mark.parametrize('beside', ['shared/data', 'shared'])
def test_the_checks_of_a_change_require_the_data_that_are_beside_the_checkout(checkout, beside):
    (checkout.parent / beside).mkdir(parents=True)
    shutil.copytree(ROOT / '.ci', checkout / '.ci')
    make = checkout / 'make'
    make.write_text('#!/bin/sh\necho "$1 with ${MR_ELM_REQUIRE_DATA:-nothing}"\n')
    make.chmod(0o755)
    environ = {**os.environ, 'PATH': f'{checkout}:{os.environ["PATH"]}'}
    environ.pop('MR_ELM_REQUIRE_DATA', None)
    said = subprocess.run([checkout / '.ci' / 'run'], env=environ, capture_output=True, text=True, check=True).stdout
    value = '1' if beside == 'shared/data' else 'nothing'
    assert said.splitlines() == [f'{target} with {value}' for target in ('test', 'docs', 'test-hadoop')]


def test_the_checks_of_a_change_leave_a_page(checkout):
    shutil.copytree(ROOT / '.ci', checkout / '.ci')
    (checkout / 'tests' / 'mutants.json').write_text('{"sums": {"noticed": 3, "tried": 4, "commit": "abc"}}')
    make = checkout / 'make'
    make.write_text(
        f'#!/bin/sh\ntest "$1" = docs || {sys.executable} -m pytest --noconftest tests/test_few.py -k thinking\n'
    )
    make.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(('PYTEST', 'MR_ELM_REQUIRE'))}
    environ = {**kept, 'PATH': f'{checkout}:{os.environ["PATH"]}'}
    subprocess.run([checkout / '.ci' / 'run'], env=environ, capture_output=True, check=True, timeout=120)
    page = (checkout / 'build' / 'ci.md').read_text()
    rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in page.splitlines() if line.startswith('|')]
    steps = {row[0]: row[2] for row in rows if len(row) == 3}
    assert steps == {
        'step': 'result',
        '---': '---:',
        'sum (the contract checks run beside test-hadoop)': '',
        **dict.fromkeys(('test', 'docs', 'test-hadoop'), 'passed'),
    }
    assert page.count('0 passed, 0 failed, 1 skipped.') == 2
    assert ['sums', '3', '4', '75.0%', 'abc'] in rows


def test_a_page_that_cannot_be_written_changes_no_result(checkout):
    shutil.copytree(ROOT / '.ci', checkout / '.ci')
    (checkout / '.ci' / 'page.py').write_text('raise SystemExit(1)')
    make = checkout / 'make'
    make.write_text('#!/bin/sh\ntest "$1" = test || exit 3\n')
    make.chmod(0o755)
    environ = {**os.environ, 'PATH': f'{checkout}:{os.environ["PATH"]}'}
    done = subprocess.run([checkout / '.ci' / 'run'], env=environ, capture_output=True)
    assert done.returncode == 3
    make.write_text('#!/bin/sh\n')
    assert subprocess.run([checkout / '.ci' / 'run'], env=environ, capture_output=True).returncode == 0


def run_tests(checkout, *words, **environ):
    """Run the tests of a checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(('PYTEST', 'MR_ELM_REQUIRE'))}
    return subprocess.run(
        [sys.executable, '-m', 'pytest', *map(str, words)],
        cwd=checkout,
        env={**kept, **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )

"""Loops are compiled once, and anew when one that they call has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mr_elm
from mr_elm.compiled import ROOMS


@pytest.mark.parametrize('archived', [False, True])
def test_a_loop_is_compiled_anew_when_something_that_it_takes_has_changed_and_only_then(tmp_path, archived):
    def run():
        code = shutil.make_archive(str(tmp_path / 'code'), 'zip', tmp_path, 'mr_elm') if archived else str(tmp_path)
        done = subprocess.run(
            [sys.executable, '-c', SHOW, code],
            capture_output=True,
            text=True,
            env={**os.environ, 'XDG_CACHE_HOME': str(tmp_path / 'kept')},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    package = tmp_path / 'mr_elm'
    room = package / 'sums'
    room.mkdir(parents=True)
    for name in ('__init__', 'compiled', 'linalg', 'arithmetic'):
        shutil.copy(Path(mr_elm.__file__).parent / f'{name}.py', package)
    (room / 'outer.py').write_text(OUTER)
    (room / 'inner.py').write_text('VALUE = 1\n')
    assert run() == ['1', 'compiled']
    if not archived:
        (package / 'other.py').write_text('')
        (room / '.#inner.py').symlink_to('nowhere')  # as an editor leaves it
    assert run() == ['1', 'loaded']
    (room / 'inner.py').write_text('VALUE = 2\n')
    assert run() == ['2', 'compiled'] and (archived or run() == ['2', 'loaded'])


def test_all_loops_are_in_the_rooms_that_are_watched():
    folder = Path(mr_elm.__file__).parent
    holders = {
        path.relative_to(folder).parts[0]
        for path in folder.rglob('*.py')
        if 'compiled import' in path.read_text(encoding='utf-8')
    }
    assert holders == set(ROOMS)


OUTER = """
from mr_elm.compiled import jit
from mr_elm.sums.inner import VALUE


@jit()
def take():
    return VALUE
"""
SHOW = """
import sys
sys.path.insert(0, sys.argv[1])
from mr_elm.sums.outer import take
print(take(), 'loaded' if take.stats.cache_hits else 'compiled')
"""

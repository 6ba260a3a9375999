"""Style and types are as `make lint` wants them: checked among the tests, so that all cores share the work."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize('command', ['mypy', 'ruff check .', 'ruff format --check .'])
def test_style_and_types(command):
    program, *words = command.split()
    done = subprocess.run([Path(sys.executable).with_name(program), *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

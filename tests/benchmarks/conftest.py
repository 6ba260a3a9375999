"""The programs beside the package, run in this process."""

from functools import partial

import pytest
from reference.commands import elm, run_here

from benchmarks.scaling.__main__ import main


@pytest.fixture(scope='session')
def scaling():
    """Run `python -m benchmarks.scaling` in this process; returns the status and what it wrote."""
    return partial(elm, main=main)


@pytest.fixture
def commands_here(monkeypatch):
    """Let benchmarks run mr-elm in this process, which needs no start."""
    for module in ('cases.commands', 'scaling.experiments'):
        monkeypatch.setattr(f'benchmarks.{module}.run_mr_elm', run_here)

"""The programs beside the package, run in this process."""

from functools import partial

import pytest
from reference.commands import elm

from benchmarks.scaling.__main__ import main


@pytest.fixture(scope='session')
def scaling():
    """Run `python -m benchmarks.scaling` in this process; returns the status and what it wrote."""
    return partial(elm, main=main)


@pytest.fixture
def commands_here(monkeypatch):
    """Let benchmarks run mr-elm in this process, which needs no start."""

    def run(*words):
        done = elm(*words)
        assert done.status == 0, done.err
        return done.err

    for module in ('cases.commands', 'scaling.experiments'):
        monkeypatch.setattr(f'benchmarks.{module}.run_mr_elm', run)

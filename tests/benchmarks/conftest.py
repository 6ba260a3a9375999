"""The programs beside the package, run in this process."""

from functools import partial

import pytest
from reference.commands import elm

from benchmarks.scaling.__main__ import main


@pytest.fixture(scope='session')
def scaling():
    """Run `python -m benchmarks.scaling` in this process; returns the status and what it wrote."""
    return partial(elm, main=main)

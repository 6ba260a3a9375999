"""Tools for testing the library."""

import numpy as np
import pytest

from mr_elm.arithmetic import one_thread


@pytest.fixture(scope='module', autouse=True)
def one_thread_a_process():
    """Let BLAS compute with one thread: processes share the cores, and threads that wait for a core use it up."""
    with one_thread():
        yield


@pytest.fixture
def rng():
    """Draw the same numbers in every run."""
    return np.random.default_rng(7)

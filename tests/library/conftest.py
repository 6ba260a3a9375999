"""Tools for testing the library."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Draw the same numbers in every run."""
    return np.random.default_rng(7)

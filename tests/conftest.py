"""Tools for all tests."""
import json

import numpy as np
import pytest


@pytest.fixture(scope='session')
def model_of():
    """Read a model with numpy alone: (header, arrays)."""
    def read(path):
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return json.loads(str(arrays.pop('header'))), arrays
    return read

"""Tools for all tests."""
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

os.environ.setdefault('SOURCE_DATE_EPOCH', '1700000000')  # models tell when they were made, and are compared

SHARED = ('emr', 'cluster')  # folders of tests


def pytest_configure():
    """Let tests interrupt programs also where a shell runs pytest in the background, and has SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests in one process, and all that share a cluster; these are few and long, so they begin early."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition('::')[0]
            folder = file.split('/')[1]
            return folder if folder in SHARED else file

        def _assign_work_unit(self, node):
            if all(self.assigned_work.values()):  # each process has its first file, and compiles loops for all
                for folder in SHARED:
                    if folder in self.workqueue:
                        self.workqueue.move_to_end(folder, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


@pytest.fixture(scope='session')
def model_of():
    """Read a model with numpy alone: (header, arrays)."""
    def read(path):
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return json.loads(str(arrays.pop('header'))), arrays
    return read


@pytest.fixture
def public_set():
    """Read a public data set: (X dense, y); the test is skipped where the folders of MR_ELM_DATA do not have it."""
    def read(name):
        folders = [Path(folder) for folder in os.environ.get('MR_ELM_DATA', '').split(':') if folder]
        folders.append(Path(__file__).parents[2] / 'shared' / 'data')
        found = [path for folder in folders for path in sorted(folder.glob(f'{name}.libsvm*'))]
        if not found:
            pytest.skip(f'{name} is not here')
        X, y = load_svmlight_file(str(found[0]))
        return X.toarray(), y
    return read

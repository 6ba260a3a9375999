"""A real Hadoop of the tests' own: started once, stopped at the end, beside any that a user has running."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / 'build' / 'hadoop-test'
PORT_BASE = os.environ.get('TEST_PORT_BASE', '24500')
PROGRAM = Path(sys.executable).with_name('mr-elm')


class Cluster:
    """Run commands against the cluster."""

    def __init__(self):
        self.home = STATE / 'home'
        self.env = {**os.environ, 'HADOOP_HOME': str(self.home)}

    def manage(self, *words):
        """Run cluster.py."""
        command = [sys.executable, ROOT / 'hadoop-conf' / 'cluster.py', '--state', STATE, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    def listing(self, folder):
        """List a folder of HDFS."""
        command = [self.home / 'bin' / 'hadoop', 'fs', '-ls', folder]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def elm(self, *words, runner='hadoop'):
        """Run mr-elm; returns the completed process."""
        where = ['-r', runner] if runner else []
        return subprocess.run([PROGRAM, *map(str, words), *where], env=self.env, capture_output=True, text=True,
                              timeout=300)

    def done(self, *words, runner='hadoop'):
        """Run mr-elm, which must succeed; returns its standard output."""
        process = self.elm(*words, runner=runner)
        assert process.returncode == 0, process.stderr
        return process.stdout


@pytest.fixture(scope='session')
def cluster():
    """Start the cluster; skip where there is no Java or no Maven."""
    if not (shutil.which('java') and shutil.which('mvn')):
        pytest.skip('a Hadoop needs java and mvn')
    cluster = Cluster()
    try:
        cluster.manage('up', '--port-base', PORT_BASE)
        yield cluster
    finally:
        cluster.manage('down')


@pytest.fixture(scope='session')
def rows(tmp_path_factory):
    """Write rows of four classes: the path of a csv file whose name is awkward."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = (X[:, 0] > 0.4) + 2 * (X[:, 1] * X[:, 2] > 0.3)
    path = tmp_path_factory.mktemp('rows') / "it's a [1] {file}; $(touch x).csv"
    np.savetxt(path, np.column_stack([y, X]), delimiter=',', fmt=['%d'] + ['%.9g'] * 5)
    return path

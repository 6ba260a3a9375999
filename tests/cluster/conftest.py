"""A real Hadoop of the tests' own: started once, stopped behind its last test, beside any that a user has running."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from reference.hadoop_jobs import NAMENODE, TWO_MAPS, demand_same_bits

from mr_elm.rows.hdfs import open_web_hdfs, read_configuration
from mr_elm.rows.remote import RemoteStore

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / 'build' / 'hadoop-test'
PORT_BASE = int(os.environ.get('TEST_PORT_BASE', 24500))
PROGRAM = Path(sys.executable).with_name('mr-elm')
OPTIONS = ('--hidden', 600, '--nu', 10)
PATIENCE = 900  # s; a bundle takes minutes where the machine has other work


class Cluster:
    """Run commands against the cluster, and look into it."""

    def __init__(self):
        self.state, self.home, self.port = STATE, STATE / 'home', PORT_BASE
        self.env = {**os.environ, 'HADOOP_HOME': str(self.home)}

    def manage(self, *words):
        """Run cluster.py."""
        command = [sys.executable, ROOT / 'hadoop-conf' / 'cluster.py', '--state', STATE, *words]
        env = {**os.environ, 'XDG_DATA_HOME': str(STATE / 'data')}  # the user's own cluster stays the one that is found
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env)

    def up(self, *words):
        """Start what does not run."""
        self.manage('up', '--port-base', str(self.port), *words)

    def hadoop(self, *words):
        """Run the hadoop command; returns what it prints."""
        command = [self.home / 'bin' / 'hadoop', *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    @property
    def hdfs(self):
        """Open HDFS over HTTP: the hadoop command takes a second of the processor for each call."""
        return RemoteStore(*open_web_hdfs(read_configuration(self.home)))

    def listing(self, folder):
        """List the names in a folder of HDFS, by no code of ours."""
        answer = self.ask(NAMENODE, f'/webhdfs/v1{folder}?op=LISTSTATUS')
        return [status['pathSuffix'] for status in answer['FileStatuses']['FileStatus']]

    def put(self, source, target):
        """Copy a file or a folder of this machine to a path of HDFS."""
        for file in [source] if source.is_file() else filter(Path.is_file, source.rglob('*')):
            self.hdfs.put(file, f'hdfs://{Path(target) / file.relative_to(source)}')

    def get(self, source, target):
        """Copy a file of HDFS to a path of this machine."""
        with self.hdfs.open(source) as stream:
            target.write_bytes(stream.read())

    def remove(self, *patterns):
        """Remove what is there in HDFS."""
        for pattern in patterns:
            for path in self.hdfs.glob(f'hdfs://{pattern}'):
                self.hdfs.remove(path)

    def elm(self, *words, runner='hadoop', **environ):
        """Run mr-elm; returns the completed process."""
        with self.started(*words, runner=runner, **environ) as process:
            out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def done(self, *words, runner='hadoop', **environ):
        """Run mr-elm, which must succeed; returns its standard output."""
        process = self.elm(*words, runner=runner, **environ)
        assert process.returncode == 0, process.stderr
        return process.stdout

    @contextmanager
    def started(self, *words, runner='hadoop', **environ):
        """Start mr-elm; whatever becomes of the test, it does not outlive it."""
        where = ['-r', runner] if runner else []
        process = subprocess.Popen(
            [PROGRAM, *map(str, words), *where],
            env={**self.env, **environ},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def ask(self, offset, path, method='GET'):
        """Ask the daemon whose port is `offset` behind the first one; returns its JSON, None when it has none yet."""
        request = urllib.request.Request(f'http://127.0.0.1:{self.port + offset}{path}', method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.loads(answer.read() or 'null')
        except (OSError, ValueError):
            return None

    def until(self, found, seconds=120):
        """Return what a function finds, once it finds something."""
        deadline = time.monotonic() + seconds
        while not (value := found()):
            assert time.monotonic() < deadline, 'it took too long'
            time.sleep(0.05)
        return value


@pytest.fixture(scope='package')
def cluster(request):
    """Start the cluster, of one machine where no test makes one fail; skip where there is no JDK or no Maven."""
    missing = [name for name in ('java', 'javac', 'mvn') if not shutil.which(name)]
    if missing:
        pytest.skip(
            f'{" and ".join(missing)} missing: a local Hadoop needs a JDK and Maven '
            '(Debian: apt-get install default-jdk-headless maven)'
        )
    cluster = Cluster()
    try:
        n = 2 if any(item.get_closest_marker('long') for item in request.session.items) else 1
        cluster.up('--nodes', str(n), '--datanodes', str(n))
        cluster.remove('/tests', '/tmp/mr_elm-*')  # of an earlier session
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


@pytest.fixture(scope='session')
def packed_rows(here, rows, tmp_path_factory):
    """Pack these rows in blocks that several tasks share: the folder, on this machine."""
    folder = tmp_path_factory.mktemp('packed') / 'rows'
    here('pack', rows, '-o', folder, '--block-rows', 500, '-q')
    return folder


@pytest.fixture(scope='session')
def packed(here, tmp_path_factory):
    """Pack rows that keep two tasks busy for seconds: the folder, on this machine."""
    folder = tmp_path_factory.mktemp('packed')
    here('generate', 'ndc', '--rows', 100_000, '--features', 20, '-o', folder / 'rows.csv')
    here('pack', folder / 'rows.csv', '-o', folder / 'packed', '-q')
    return folder / 'packed'


@pytest.fixture(scope='package')
def inline(cluster, packed, model_of, tmp_path_factory):
    """Train inline: the arrays of the model."""
    path = tmp_path_factory.mktemp('inline') / 'm.npz'
    cluster.done('train', 'pesvm', packed, *OPTIONS, '--model', path, runner=None)
    return model_of(path)[1]


@pytest.fixture
def training(cluster, packed, tmp_path):
    """Start to train on the cluster: the running process, whose model is `model`."""

    def start(*options, model=tmp_path / 'm.npz', **environ):
        return cluster.started('train', 'pesvm', packed, *OPTIONS, '--model', model, *TWO_MAPS, *options, **environ)

    return start


@pytest.fixture
def same_model(tmp_path, inline, model_of):
    """Wait for a training, and demand the bits of the inline model and nothing beside it."""

    def check(process):
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert {path.name for path in tmp_path.iterdir()} == {'m.npz', 'm.sums.npz'}
        demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
        return err

    return check


@pytest.fixture
def nothing_is_left(cluster):
    """Demand of each test that HDFS holds no files of its runs afterwards."""
    before = set(cluster.listing('/tmp'))
    yield
    assert not [name for name in set(cluster.listing('/tmp')) - before if 'mr_elm-' in name]

"""Spark on YARN, with rows on HDFS: the bits of one process, also when processes are killed; `make test-spark`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.hadoop_jobs import demand_same_bits

pytestmark = [pytest.mark.long, pytest.mark.usefixtures('nothing_is_left')]

EXECUTOR, MASTER = b'YarnCoarseGrainedExecutorBackend', b'ExecutorLauncher'
WORKER = b'pyspark.daemon'
BUSY = 2.0  # processor seconds of a worker that computes; it starts in fewer
PATIENCE = 300  # seconds
PASSES = ('--solver', 'passes', '--tolerance', 0.1)


@pytest.fixture(scope='module')
def properties():
    """Give the properties of Spark on YARN with one small executor; the jars of this machine are not copied."""
    pyspark = pytest.importorskip('pyspark')
    return {
        'spark.yarn.jars': f'local:{Path(pyspark.__file__).parent}/jars/*',
        'spark.executor.instances': 1,
        'spark.executor.memory': '512m',
        'spark.yarn.am.memory': '512m',
    }


@pytest.fixture(scope='module')
def yarn(properties):
    """Give the options that run Spark on YARN."""
    return ['--master', 'yarn', *(word for name, value in properties.items() for word in ('-D', f'{name}={value}'))]


@pytest.fixture
def environ(cluster):
    """Let Spark find YARN and HDFS."""
    return {'HADOOP_CONF_DIR': str(cluster.home / 'etc' / 'hadoop')}


@pytest.fixture
def train(cluster, yarn, environ, tmp_path):
    """Start to train on YARN: the running process, whose model is m.npz."""

    def start(rows, *options):
        return cluster.started(
            'train',
            'pesvm',
            rows,
            *options,
            '--model',
            tmp_path / 'm.npz',
            *yarn,
            '--partitions-of-rows',
            8,
            runner='spark',
            **environ,
        )

    return start


@pytest.fixture(scope='module')
def inline_passes(here, packed, tmp_path_factory):
    """Train by passes in this process: the path of the model."""
    path = tmp_path_factory.mktemp('inline-passes') / 'm.npz'
    here('train', 'pesvm', packed, '--hidden', 300, *PASSES, '--model', path, '-q')
    return path


def demand_same_models(model_of, first, second):
    """Demand the same bits, the same passes, and the same account of the rows."""
    (expected, arrays), (header, found) = map(model_of, (first, second))
    demand_same_bits(arrays, found)
    for name in ('n_rows_used', 'n_rows_rejected'):
        assert header[name] == expected[name]
    for name in ('passes', 'residual'):
        assert header['parameters'][name] == expected['parameters'][name]


def processes(word, beginning=b'java'):
    """List the processes of this machine that have a word on their command line: pid -> working folder."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            words = (folder / 'cmdline').read_bytes().split(b'\0')
            if word in b' '.join(words) and Path(words[0].decode()).name.startswith(beginning.decode()):
                found[int(folder.name)] = os.readlink(folder / 'cwd')
        except OSError:
            continue
    return found


def of_cluster(cluster, word, beginning=b'java'):
    """List the processes among these that run in containers of the cluster."""
    return {pid: folder for pid, folder in processes(word, beginning).items() if str(cluster.state) in folder}


def busy_workers(cluster):
    """List the workers in Python that have computed for a while."""
    found = []
    for pid in of_cluster(cluster, WORKER, b'python'):
        try:
            times = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[11:13]
        except OSError:
            continue
        found += [pid] if sum(map(int, times)) > BUSY * os.sysconf('SC_CLK_TCK') else []
    return found


def node_of(folder):
    """Return the number of the NodeManager whose container has a working folder."""
    return next(part for part in Path(folder).parts if part.startswith('nodemanager-')).rpartition('-')[2]


def test_rows_on_hdfs_give_the_bits_of_one_process(cluster, yarn, environ, packed, inline, tmp_path, model_of):
    cluster.put(packed, '/tests/for-spark')
    words = ['hdfs:///tests/for-spark', *yarn, '--partitions-of-rows', 3]
    cluster.done(
        'train', 'pesvm', '--hidden', 600, '--nu', 10, '--model', tmp_path / 'm.npz', *words, runner='spark', **environ
    )
    demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
    cluster.done('predict', tmp_path / 'm.npz', '-o', tmp_path / 'spark', '-q', *words, runner='spark', **environ)
    cluster.done('predict', tmp_path / 'm.npz', '-o', tmp_path / 'inline', '-q', packed, runner=None)
    assert (tmp_path / 'spark').read_text() == (tmp_path / 'inline').read_text()


def test_an_executor_killed_in_the_middle_of_a_task_changes_nothing(cluster, train, packed, inline, tmp_path, model_of):
    with train(packed, '--hidden', 600, '--nu', 10) as process:
        cluster.until(lambda: busy_workers(cluster), PATIENCE)
        killed = next(iter(of_cluster(cluster, EXECUTOR)))
        os.kill(killed, signal.SIGKILL)
        cluster.until(lambda: set(of_cluster(cluster, EXECUTOR)) - {killed}, PATIENCE)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    header, arrays = model_of(tmp_path / 'm.npz')
    demand_same_bits(inline, arrays)
    assert (header['n_rows_used'], header['n_rows_rejected']) == (100_000, 0)


@pytest.mark.parametrize('victim', [EXECUTOR, MASTER], ids=['of the executor', 'of the master'])
def test_a_machine_lost_in_a_pass_changes_nothing(cluster, train, packed, inline_passes, tmp_path, model_of, victim):
    with train(packed, '--hidden', 300, *PASSES) as process:
        assert any('passes: pass 1 of' in line for line in process.stderr)
        number = node_of(next(iter(of_cluster(cluster, victim).values())))
        cluster.manage('kill', 'nodemanager', number, '--with-containers')
        try:
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            cluster.manage('start', 'nodemanager', number)
    assert process.returncode == 0, err
    demand_same_models(model_of, inline_passes, tmp_path / 'm.npz')


def test_a_driver_that_was_killed_goes_on_from_its_pass(cluster, train, packed, inline_passes, tmp_path, model_of):
    with train(packed, '--hidden', 300, *PASSES) as process:
        assert any('passes: pass 1 of' in line for line in process.stderr)
        process.kill()
    folder = json.loads((tmp_path / 'm.npz.work').read_text())['staging'].removeprefix('hdfs://') + '/jobs'
    assert any(name.endswith('.json') for name in cluster.listing(folder))
    with train(packed, '--hidden', 300, *PASSES, '--resume') as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and 'pass: finished in the earlier run' in err, err
    demand_same_models(model_of, inline_passes, tmp_path / 'm.npz')
    assert [path.name for path in tmp_path.iterdir()] == ['m.npz']


NOTEBOOK = """
import json, sys
from pyspark.sql import SparkSession
import mr_elm.spark
builder = SparkSession.builder.master('yarn')
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
df = session.read.csv('hdfs:///tests/notebook.csv', inferSchema=True).withColumnRenamed('_c0', 'y')
model = mr_elm.spark.train(df, 'pesvm', hidden=40)
model.save(sys.argv[2])
found = model.transform(df.repartition(3)).select('_c1', 'prediction')
json.dump(sorted(map(list, found.collect())), open(sys.argv[3], 'w'))
session.stop()
"""


def test_a_notebook_trains_and_predicts_on_yarn(cluster, properties, environ, here, rows, tmp_path, model_of):
    cluster.put(rows, '/tests/notebook.csv')
    command = [sys.executable, '-c', NOTEBOOK, json.dumps(properties), tmp_path / 'm.npz', tmp_path / 'found.json']
    known = {**cluster.env, **environ, 'PYSPARK_PYTHON': sys.executable}
    subprocess.run(command, check=True, timeout=PATIENCE, env=known)
    here('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'inline.npz', '-q')
    here('predict', tmp_path / 'inline.npz', rows, '-o', tmp_path / 'labels', '-q')
    (header, arrays), (_, expected) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    assert header['n_rows_used'] == 3000
    np.testing.assert_allclose(arrays['output_weights'], expected['output_weights'], atol=1e-8)
    first, labels = np.loadtxt(rows, delimiter=',')[:, 1], np.loadtxt(tmp_path / 'labels')
    assert json.loads((tmp_path / 'found.json').read_text()) == sorted(map(list, zip(first, labels, strict=True)))


STRANGER = """
import sys
from pyspark.sql import SparkSession
from mr_elm.engines.spark import data_frames
data_frames.runs_here = lambda session: False
print(data_frames.find_root(SparkSession.builder.master('local[1]').getOrCreate()))
"""


def test_a_session_that_does_not_reach_this_cluster_gets_no_folder_on_it(cluster):
    known = {**cluster.env, 'PYSPARK_PYTHON': sys.executable}
    known.pop('HADOOP_CONF_DIR', None)
    before = cluster.listing('/tmp')
    done = subprocess.run(
        [sys.executable, '-c', STRANGER], text=True, stdout=subprocess.PIPE, timeout=PATIENCE, env=known
    )
    assert (done.returncode, done.stdout) == (0, 'None\n')
    assert cluster.listing('/tmp') == before

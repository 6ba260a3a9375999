"""Spark on YARN, with rows on HDFS: the bits of one process, also when an executor is killed; `make test-spark`."""
import os
import signal
from pathlib import Path

import pytest
from reference.hadoop_jobs import demand_same_bits

pytestmark = [pytest.mark.long, pytest.mark.usefixtures('nothing_is_left')]

EXECUTOR = b'YarnCoarseGrainedExecutorBackend'


@pytest.fixture(scope='module')
def yarn():
    """Give the options that run Spark on YARN with one small executor; the jars of this machine are not copied."""
    pyspark = pytest.importorskip('pyspark')
    sizes = {'spark.yarn.jars': f'local:{Path(pyspark.__file__).parent}/jars/*', 'spark.executor.instances': 1,
             'spark.executor.memory': '512m', 'spark.yarn.am.memory': '512m'}
    return ['--master', 'yarn', *(word for name, value in sizes.items() for word in ('-D', f'{name}={value}'))]


@pytest.fixture
def environ(cluster):
    """Let Spark find YARN and HDFS."""
    return {'HADOOP_CONF_DIR': str(cluster.home / 'etc' / 'hadoop')}


def executors():
    """List the processes of executors on this machine."""
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            words = (folder / 'cmdline').read_bytes()
        except OSError:
            continue
        if EXECUTOR in words and words.split(b'\0')[0].endswith(b'java'):
            found.append(int(folder.name))
    return found


def test_rows_on_hdfs_give_the_bits_of_one_process(cluster, yarn, environ, packed, inline, tmp_path, model_of):
    cluster.hadoop('fs', '-mkdir', '-p', '/tests')
    cluster.hadoop('fs', '-put', packed, '/tests/for-spark')
    words = ['hdfs:///tests/for-spark', *yarn, '--partitions-of-rows', 3]
    cluster.done('train', 'pesvm', '--hidden', 600, '--nu', 10, '--model', tmp_path / 'm.npz', *words, runner='spark',
                 **environ)
    demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
    cluster.done('predict', tmp_path / 'm.npz', '-o', tmp_path / 'spark', '-q', *words, runner='spark', **environ)
    cluster.done('predict', tmp_path / 'm.npz', '-o', tmp_path / 'inline', '-q', packed, runner=None)
    assert (tmp_path / 'spark').read_text() == (tmp_path / 'inline').read_text()


def test_an_executor_that_is_killed_changes_nothing(cluster, yarn, environ, packed, inline, tmp_path, model_of):
    words = ['train', 'pesvm', packed, '--hidden', 600, '--nu', 10, '--model', tmp_path / 'm.npz', *yarn,
             '--partitions-of-rows', 8, '--cache']
    with cluster.started(*words, runner='spark', **environ) as process:
        os.kill(cluster.until(executors)[0], signal.SIGKILL)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])

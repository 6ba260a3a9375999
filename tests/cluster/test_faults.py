"""Tasks and machines that fail: the model has the bits of the inline one, or there is one clear error and no model.

`make test-hadoop` runs these.
"""

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from reference.hadoop_jobs import (
    MANAGER,
    NODEMANAGERS,
    TWO_MAPS,
    application,
    attempts,
    containers,
    demand_same_bits,
    failed,
    history,
    mappers,
    properties,
    rows_counted,
)

pytestmark = [pytest.mark.long, pytest.mark.usefixtures('nothing_is_left')]

MANY_NODES = '--hidden', 2000
ONE_MAP_A_MACHINE = properties('map.memory.mb=2816')  # the larger machine has 5,120 MB, with the master's part


def test_a_mapper_killed_in_mid_split_is_run_again(cluster, training, same_model):
    with training() as process:
        name = application(process)
        cluster.until(lambda: rows_counted(cluster, name))
        os.kill(next(iter(mappers(name))), signal.SIGKILL)
        same_model(process)
    assert attempts(cluster, name, 'failed') == 1


def test_a_mapper_killed_for_good_is_named(cluster, training, tmp_path):
    with training('-D', 'mapreduce.map.maxattempts=1') as process:
        name = application(process)
        pid, attempt = cluster.until(lambda: mappers(name)).popitem()
        os.kill(pid, signal.SIGKILL)
        assert attempt in failed(process, 'code 137')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('victim', ['of tasks', 'of the master'])
def test_a_machine_lost_while_maps_run_is_replaced(cluster, training, same_model, victim):
    with training(*ONE_MAP_A_MACHINE) as process:
        name = application(process)
        cluster.until(lambda: rows_counted(cluster, name))
        master = int(cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']['amHostHttpAddress'].rpartition(':')[2])
        first = master == cluster.port + NODEMANAGERS
        number = 1 if first == (victim == 'of the master') else 2
        cluster.until(lambda: containers(cluster, number))
        cluster.manage('kill', 'nodemanager', str(number), '--with-containers')
        try:
            same_model(process)
        finally:
            cluster.manage('start', 'nodemanager', str(number))
    if victim == 'of the master':
        assert history(cluster, name, '/jobattempts')['jobAttempts']['jobAttempt'][-1]['id'] > 1
    else:
        assert attempts(cluster, name, 'killed') + attempts(cluster, name, 'failed') >= 1


def test_a_datanode_lost_while_maps_run_is_not_missed(cluster, training, same_model):
    with training() as process:
        name = application(process)
        cluster.until(lambda: rows_counted(cluster, name))
        cluster.manage('kill', 'datanode', '1')
        try:
            same_model(process)
        finally:
            cluster.manage('start', 'datanode', '1')


def test_two_attempts_at_one_task_count_once(cluster, training, same_model):
    eager = properties(
        'map.speculative=true',
        'job.maps=4',
        'job.speculative.minimum-allowed-tasks=1',
        'job.speculative.slowtaskthreshold=0.1',
        'job.speculative.speculative-cap-running-tasks=0.9',
        'job.speculative.speculative-cap-total-tasks=0.9',
        'job.speculative.retry-after-no-speculate=500',
    )
    with training(*eager) as process:
        name = application(process)
        pid, attempt = cluster.until(lambda: mappers(name)).popitem()
        os.kill(pid, signal.SIGSTOP)
        cluster.until(
            lambda: [twin for twin, other in mappers(name).items() if twin != pid and other[:-2] == attempt[:-2]]
        )
        os.kill(pid, signal.SIGCONT)
        same_model(process)
    assert attempts(cluster, name, 'killed') >= 1


def test_a_mapper_killed_in_a_pass_of_conjugate_gradients_does_not_show(cluster, packed_rows, model_of, tmp_path):
    words = ('train', 'mr-kelm', packed_rows, '--solver', 'cg', '--tolerance', 0.01, '--model')
    cluster.done(*words, tmp_path / 'inline.npz', runner=None)
    with cluster.started(*words, tmp_path / 'm.npz', *TWO_MAPS) as process:
        assert any(line.startswith('cg: rank') for line in process.stderr)
        name = application(process)
        os.kill(next(iter(cluster.until(lambda: mappers(name)))), signal.SIGKILL)
        assert process.wait(timeout=300) == 0
    assert attempts(cluster, name, 'failed') == 1
    inline, hadoop = (model_of(tmp_path / f'{which}.npz')[1] for which in ('inline', 'm'))
    demand_same_bits(inline, hadoop)


@pytest.fixture(scope='module')
def one_block(cluster, here, tmp_path_factory):
    """Train inline on one block of rows: the folder of rows.csv, packed and inline.npz."""
    folder = tmp_path_factory.mktemp('one-block')
    here('generate', 'ndc', '--rows', 16_000, '--features', 5, '-o', folder / 'rows.csv')
    here('pack', folder / 'rows.csv', '-o', folder / 'packed', '--block-rows', 16_000, '-q')
    cluster.done('train', 'pesvm', folder / 'packed', *MANY_NODES, '--model', folder / 'inline.npz', runner=None)
    return folder


@pytest.fixture
def impatient(cluster, one_block, tmp_path):
    """Start to train on one block of rows, on a cluster that waits 15 s for a sign of life: (process, job, mapper)."""

    @contextmanager
    def start():
        words = ('train', 'pesvm', one_block / 'packed', *MANY_NODES, '--model', tmp_path / 'm.npz')
        waits = properties('job.maps=1', 'task.timeout=15000', 'task.timeout.check-interval-ms=500')
        with cluster.started(*words, *waits) as process:
            name = application(process)
            cluster.until(lambda: [pid for pid in mappers(name) if has_begun(pid)])
            yield process, name, next(iter(mappers(name)))

    return start


def has_begun(pid):
    """Tell whether a task has read its code: then a process beside it tells Hadoop that it lives."""
    return bool(Path(f'/proc/{pid}/task/{pid}/children').read_text())


@pytest.mark.parametrize('fault', ['slow', 'hung'])
def test_a_task_may_compute_for_longer_than_hadoop_waits_but_not_hang(
    impatient, one_block, cluster, model_of, tmp_path, fault
):
    with impatient() as (process, name, pid):
        for _ in range(40 if fault == 'slow' else 0):  # 20 s with a fiftieth of the processor
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.49)
        os.kill(pid, signal.SIGCONT if fault == 'slow' else signal.SIGSTOP)
        assert process.communicate(timeout=300) and process.returncode == 0
    demand_same_bits(*(model_of(path)[1] for path in (one_block / 'inline.npz', tmp_path / 'm.npz')))
    assert attempts(cluster, name, 'failed') == (fault == 'hung')

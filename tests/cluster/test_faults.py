"""A cluster that fails: the model has the bits of the inline one, or there is one clear error and no model.

`make test-hadoop` runs these.
"""
import csv
import json
import os
import pwd
import re
import shutil
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from mr_elm.engines.hadoop.yarn import Yarn
from mr_elm.files.hadoop import make_web_hdfs, read_configuration
from mr_elm.files.storage import HDFSStore

pytestmark = pytest.mark.long

NAMENODE, HISTORY, MANAGER, NODEMANAGERS = 1, 6, 14, 102  # web ports, counted from the first

def properties(*settings):
    """Write properties of a job as options."""
    return tuple(word for setting in settings for word in ('-D', f'mapreduce.{setting}'))


OPTIONS = ('--hidden', 600, '--nu', 10)
TWO_MAPS = properties('job.maps=2', 'task.progress-report.interval=300')
# The ways of Hadoop to say that there is no room.
FULL = r'DSQuotaExceededException|The DiskSpace quota of'


@pytest.fixture(scope='module')
def packed(cluster, tmp_path_factory):
    """Pack rows that keep two tasks busy for seconds: the folder, on this machine."""
    folder = tmp_path_factory.mktemp('packed')
    cluster.done('generate', 'ndc', '--rows', 100_000, '--features', 20, '-o', folder / 'rows.csv', runner=None)
    cluster.done('pack', folder / 'rows.csv', '-o', folder / 'packed', runner=None)
    return folder / 'packed'


@pytest.fixture(scope='module')
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
        assert [path.name for path in tmp_path.iterdir()] == ['m.npz']
        demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
        return err
    return check


@pytest.fixture(autouse=True)
def nothing_is_left(cluster):
    """Demand of each test that HDFS holds no files of its runs afterwards."""
    before = set(cluster.listing('/tmp').split())
    yield
    assert not [word for word in set(cluster.listing('/tmp').split()) - before if 'mr_elm-' in word]


def demand_same_bits(expected, arrays):
    """Demand that the arrays of two models are the same bit for bit."""
    assert [name for name in expected if expected[name].tobytes() != arrays[name].tobytes()] == []


def failed(process, pattern):
    """Wait for a command, and demand that it fails with one sentence, which is returned."""
    _, err = process.communicate(timeout=300)
    last = err.splitlines()[-1]
    assert process.returncode == 1 and last.startswith('mr-elm: ') and re.search(pattern, last), err
    assert 'Traceback' not in err
    return last


def application(process):
    """Read what a driver says until it names its job on YARN; returns that name."""
    for line in process.stderr:
        if found := re.search(r'application_\d+_\d+', line):
            return found.group(0)
    raise AssertionError('the driver ended without a job')


def rows_counted(cluster, name):
    """Ask the application master how many rows its tasks have counted."""
    job = name.replace('application', 'job')
    answer = cluster.ask(MANAGER, f'/proxy/{name}/ws/v1/mapreduce/jobs/{job}/counters') or {'jobCounters': {}}
    return {counter['name']: counter['totalCounterValue'] for group in answer['jobCounters'].get('counterGroup', ())
            for counter in group['counter']}.get('rows', 0)


def mappers(name):
    """Find the Python processes of the map tasks of a job that run: pid -> attempt."""
    found, job = {}, name.replace('application', 'attempt')
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            if b'--mapper' in words and b'python' in words[0]:
                environ = dict(line.partition(b'=')[::2] for line in (entry / 'environ').read_bytes().split(b'\0'))
                parent = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
                found[int(entry.name)] = environ[b'mapreduce_task_attempt_id'].decode(), parent
        except (OSError, KeyError):
            continue
    return {pid: attempt for pid, (attempt, parent) in found.items()
            if parent not in found and attempt.startswith(job)}


def containers(cluster, number):
    """Count the containers that a NodeManager runs."""
    answer = cluster.ask(NODEMANAGERS + 4 * (number - 1), '/ws/v1/node/containers') or {}
    return len((answer.get('containers') or {}).get('container', ()))


def history(cluster, name, what=''):
    """Ask the history server about a job."""
    job = name.replace('application', 'job')
    return cluster.until(lambda: cluster.ask(HISTORY, f'/ws/v1/history/mapreduce/jobs/{job}{what}'))


def attempts(cluster, name, state):
    """Ask how many map attempts of a job failed or were killed."""
    return history(cluster, name)['job'][f'{state}MapAttempts']


def jobs(cluster):
    """List the ids of all jobs that YARN has seen."""
    answer = cluster.ask(MANAGER, '/ws/v1/cluster/apps')
    return {app['id'] for app in (answer['apps'] or {}).get('app', ())}


def quota(cluster, folder, size):
    """Let no more than some bytes into a folder of HDFS; -1 for no limit."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    cluster.ask(NAMENODE, f'/webhdfs/v1{folder}?op=SETQUOTA&storagespacequota={size}&user.name={user}', 'PUT')


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
    with training() as process:
        name = application(process)
        cluster.until(lambda: rows_counted(cluster, name))
        master = int(cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']['amHostHttpAddress'].rpartition(':')[2])
        first = master == cluster.port + NODEMANAGERS
        number = 1 if first == (victim == 'of the master') else 2
        assert containers(cluster, number)
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
        'map.speculative=true', 'job.maps=4', 'job.speculative.minimum-allowed-tasks=1',
        'job.speculative.slowtaskthreshold=0.1', 'job.speculative.speculative-cap-running-tasks=0.9',
        'job.speculative.speculative-cap-total-tasks=0.9', 'job.speculative.retry-after-no-speculate=500')
    with training(*eager) as process:
        name = application(process)
        pid, attempt = cluster.until(lambda: mappers(name)).popitem()
        os.kill(pid, signal.SIGSTOP)
        cluster.until(lambda: [twin for twin, other in mappers(name).items()
                               if twin != pid and other[:-2] == attempt[:-2]])
        os.kill(pid, signal.SIGCONT)
        same_model(process)
    assert attempts(cluster, name, 'killed') >= 1


def test_a_mapper_killed_in_a_pass_of_conjugate_gradients_does_not_show(cluster, rows, model_of, tmp_path):
    cluster.done('pack', rows, '-o', tmp_path / 'packed', '--block-rows', 500, runner=None)
    words = ('train', 'mr-kelm', tmp_path / 'packed', '--solver', 'cg', '--tolerance', 1e-3, '--model')
    cluster.done(*words, tmp_path / 'inline.npz', runner=None)
    with cluster.started(*words, tmp_path / 'm.npz', *TWO_MAPS) as process:
        assert any(line.startswith('cg: pass 1') for line in process.stderr)
        name = application(process)
        os.kill(next(iter(cluster.until(lambda: mappers(name)))), signal.SIGKILL)
        assert process.wait(timeout=300) == 0
    assert attempts(cluster, name, 'failed') == 1
    inline, hadoop = (model_of(tmp_path / f'{which}.npz')[1] for which in ('inline', 'm'))
    demand_same_bits(inline, hadoop)


def test_a_driver_killed_twice_goes_on_with_what_has_finished(cluster, rows, model_of, tmp_path):
    words = ('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'm.npz')
    before = jobs(cluster)
    with cluster.started(*words) as process:
        assert any(line.startswith('statistics: ') and 'MB/s' in line for line in process.stderr)
        while not json.loads((tmp_path / 'm.npz.work').read_text())['jobs']:
            time.sleep(0.01)
        process.kill()
    assert [path.name for path in tmp_path.iterdir()] == ['m.npz.work']
    with cluster.started(*words, '--resume') as process:
        application(process)
        process.kill()
    done = cluster.elm(*words, '--resume')
    assert done.returncode == 0 and 'statistics: finished in the earlier run' in done.stderr, done.stderr
    assert len(jobs(cluster) - before) == 2
    assert [path.name for path in tmp_path.iterdir()] == ['m.npz']
    cluster.done('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'inline.npz', runner=None)
    (header, arrays), (expected, inline) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    assert {**header, 'parameters': 0} == {**expected, 'parameters': 0}
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8


def test_an_unfinished_run_is_thrown_away_with_the_job_it_left(cluster, training, same_model, monkeypatch):
    with training() as process:
        name = application(process)
        process.kill()
    with training() as process:
        assert 'deleting an unfinished run' in same_model(process)
    left = cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']
    assert left['finalStatus'] == 'KILLED'
    yarn = Yarn()
    yarn.properties = read_configuration(cluster.home)
    over_http = yarn.find(left['applicationTags'].split(',')[0])
    monkeypatch.setenv('HADOOP_HOME', str(cluster.home))
    yarn.properties = {'hadoop.security.authentication': 'kerberos'}  # where only the command will do
    assert yarn.find(left['applicationTags'].split(',')[0]) == over_http == {name: ('KILLED', 'KILLED')}


def test_an_interrupt_ends_the_job_and_leaves_nothing(cluster, training, tmp_path):
    with training() as process:
        name = application(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130 and list(tmp_path.iterdir()) == []
    assert cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']['finalStatus'] == 'KILLED'


@pytest.fixture
def one_block(cluster, tmp_path):
    """Start to train on one block of rows, on a cluster that waits 15 s for a sign of life: (process, job, mapper)."""
    @contextmanager
    def start():
        words = ('train', 'pesvm', tmp_path / 'packed', '--hidden', 2000, '--model')
        cluster.done('generate', 'ndc', '--rows', 16_000, '--features', 5, '-o', tmp_path / 'rows.csv', runner=None)
        cluster.done('pack', tmp_path / 'rows.csv', '-o', tmp_path / 'packed', '--block-rows', 16_000, runner=None)
        cluster.done(*words, tmp_path / 'inline.npz', runner=None)
        waits = properties('job.maps=1', 'task.timeout=15000', 'task.timeout.check-interval-ms=500')
        with cluster.started(*words, tmp_path / 'm.npz', *waits) as process:
            name = application(process)
            cluster.until(lambda: [pid for pid in mappers(name) if has_begun(pid)])
            yield process, name, next(iter(mappers(name)))
    return start


def has_begun(pid):
    """Tell whether a task has read its code: then a process beside it tells Hadoop that it lives."""
    return bool(Path(f'/proc/{pid}/task/{pid}/children').read_text())


@pytest.mark.parametrize('fault', ['slow', 'hung'])
def test_a_task_may_compute_for_longer_than_hadoop_waits_but_not_hang(one_block, cluster, model_of, tmp_path, fault):
    with one_block() as (process, name, pid):
        for _ in range(40 if fault == 'slow' else 0):  # 20 s with a fiftieth of the processor
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.49)
        os.kill(pid, signal.SIGCONT if fault == 'slow' else signal.SIGSTOP)
        assert process.communicate(timeout=300) and process.returncode == 0
    demand_same_bits(*(model_of(tmp_path / name)[1] for name in ('inline.npz', 'm.npz')))
    assert attempts(cluster, name, 'failed') == (fault == 'hung')


def test_a_full_hdfs_costs_no_finished_job(cluster, training, tmp_path, inline, model_of):
    """The folder of the model fills up while the job runs."""
    cluster.hadoop('fs', '-mkdir', '-p', '/tests/full')
    model = 'hdfs:///tests/full/m.npz'
    with training(model=model) as process:
        application(process)
        quota(cluster, '/tests/full', 1)
        last = failed(process, FULL)
        assert model in last and '--resume' in last
    assert cluster.listing('/tests/full').split()[-1] == '/tests/full/m.npz.work'
    quota(cluster, '/tests/full', -1)
    before = jobs(cluster)
    with training('--resume', model=model) as process:
        assert 'Gram: finished in the earlier run' in process.communicate(timeout=60)[1]
    assert jobs(cluster) == before
    cluster.hadoop('fs', '-get', '/tests/full/m.npz', tmp_path / 'm.npz')
    demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
    assert cluster.listing('/tests/full').split()[-1] == '/tests/full/m.npz'


def test_a_task_that_finds_no_room_says_so(cluster, training, tmp_path):
    with training('-D', 'mapreduce.reduce.maxattempts=1') as process:
        application(process)
        record = (tmp_path / 'm.npz.work').read_text()
        quota(cluster, re.search(r'hdfs://(/tmp/[\w.-]+)', record).group(1), 1)
        failed(process, FULL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('folder, problem', [('/tests/narrow', FULL), ('/tests/foreign', 'AccessControlException')])
def test_where_no_model_can_be_written_no_job_is_started(cluster, training, folder, problem):
    cluster.hadoop('fs', '-mkdir', '-p', folder)
    if folder == '/tests/narrow':
        quota(cluster, folder, 1)
    before = jobs(cluster)
    model = f'hdfs://{folder}/m.npz'
    with training(model=model, **({'HADOOP_USER_NAME': 'stranger'} if folder == '/tests/foreign' else {})) as process:
        assert model in failed(process, problem)
    assert jobs(cluster) == before and 'm.npz' not in cluster.listing(folder)


def test_lines_that_hadoop_counts_otherwise_are_no_model(cluster, rows, tmp_path):
    """Hadoop takes the whole file for one record, the tasks read its lines."""
    with cluster.started('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'm.npz',
                         '-D', 'textinputformat.record.delimiter=never') as process:
        failed(process, r'Hadoop gave its map tasks 1 lines, they say that they read 300\d')
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_between_two_passes_is_no_model(cluster, rows, tmp_path):
    cluster.hadoop('fs', '-mkdir', '-p', '/tests/grows')
    shutil.copy(rows, tmp_path / 'rows.csv')
    (tmp_path / 'more.csv').write_text('1,0,0,0,0,0\n')
    cluster.hadoop('fs', '-put', '-f', tmp_path / 'rows.csv', '/tests/grows')
    words = ('train', 'pesvm', 'hdfs:///tests/grows/rows.csv', '--hidden', 40, '--model', tmp_path / 'm.npz')
    with cluster.started(*words) as process:
        assert any(line.startswith('statistics: ') and 'MB/s' in line for line in process.stderr)
        cluster.hadoop('fs', '-appendToFile', tmp_path / 'more.csv', '/tests/grows/rows.csv')
        failed(process, r'rows.csv: the file must stay the same while jobs read it, but it changed meanwhile')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['more.csv', 'rows.csv']


def test_arguments_reach_the_tasks_as_they_are(cluster, tmp_path, model_of):
    """Names of classes are arguments of a job; so is the name of a file."""
    names = ["it's", '$(touch /tmp/executed)', 'a; touch /tmp/executed', '"`id`" \\ *']
    rng = np.random.default_rng(0)
    rows = tmp_path / 'rows.csv'
    with open(rows, 'w', newline='') as stream:
        csv.writer(stream).writerows([names[i % 4], *rng.standard_normal(3) + i % 4] for i in range(400))
    folder = f'/tests/awkward/{names[0]} {names[1].replace("/", "_")} [1] {{2}}'
    cluster.done('pack', rows, '-o', tmp_path / 'packed', runner=None)
    words = ('--hidden', 20, '--class-weight', 'balanced', '--model')
    cluster.done('train', 'pesvm', tmp_path / 'packed', *words, tmp_path / 'inline.npz', runner=None)
    store = HDFSStore(make_web_hdfs(read_configuration(cluster.home)))
    for path in (tmp_path / 'packed').iterdir():
        store.put(path, f'hdfs://{folder}/{path.name}')
    cluster.done('train', 'pesvm', f'hdfs://{folder}', *words, tmp_path / 'm.npz')
    (header, arrays), (expected, inline) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    demand_same_bits(inline, arrays)
    assert header['classes'] == expected['classes'] == sorted(names)
    assert not Path('/tmp/executed').exists()

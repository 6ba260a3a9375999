"""Runs that end too early, stores without room, input that changes: a later run goes on, or there is one clear error.

`make test-hadoop` runs these.
"""

import csv
import json
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from reference.hadoop_jobs import (
    MANAGER,
    application,
    demand_same_bits,
    failed,
    jobs,
    quota,
)

from mr_elm.engines.hadoop.yarn import Yarn
from mr_elm.model.sums import name_sums

pytestmark = [pytest.mark.long, pytest.mark.usefixtures('nothing_is_left')]

# The ways of Hadoop to say that there is no room.
FULL = r'DSQuotaExceededException|The DiskSpace quota of'


def test_a_driver_killed_twice_goes_on_with_what_has_finished(cluster, here, rows, model_of, tmp_path):
    words = ('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'm.npz')
    before = jobs(cluster)
    with cluster.started(*words) as process:
        assert any(line.startswith('statistics: ') and 'MB/s' in line for line in process.stderr)
        folder = json.loads((tmp_path / 'm.npz.work').read_text())['staging'].removeprefix('hdfs://') + '/jobs'
        while not any(name.endswith('.json') for name in cluster.listing(folder)):
            time.sleep(0.01)
        process.kill()
    assert [path.name for path in tmp_path.iterdir()] == ['m.npz.work']
    with cluster.started(*words, '--resume') as process:
        application(process)
        process.kill()
    done = cluster.elm(*words, '--resume')
    assert done.returncode == 0 and 'statistics: finished in the earlier run' in done.stderr, done.stderr
    assert len(jobs(cluster) - before) == 3  # the statistics, and the Gram that was cut short and begun anew
    assert {path.name for path in tmp_path.iterdir()} == {'m.npz', 'm.sums.npz'}
    here('train', 'pesvm', rows, '--hidden', 40, '--model', tmp_path / 'inline.npz', '-q')
    (header, arrays), (expected, inline) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    assert {**header, 'parameters': 0} == {**expected, 'parameters': 0}
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8


def test_a_training_by_passes_goes_on_from_the_pass_at_which_its_driver_was_killed(
    cluster, here, packed_rows, model_of, tmp_path
):
    words = ('train', 'pesvm', packed_rows, '--hidden', 40, '--solver', 'passes', '--tolerance', 0.1, '--model')
    with cluster.started(*words, tmp_path / 'm.npz') as process:
        assert any('passes: pass 1 of' in line for line in process.stderr)
        process.kill()
    done = cluster.elm(*words, tmp_path / 'm.npz', '--resume')
    assert done.returncode == 0 and 'pass: finished in the earlier run' in done.stderr, done.stderr
    here(*words, tmp_path / 'inline.npz', '-q')
    (header, arrays), (expected, inline) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    assert header['parameters']['residual'] == expected['parameters']['residual'] < 0.1
    assert header['parameters']['passes'] == expected['parameters']['passes']
    demand_same_bits(inline, arrays)


def test_an_unfinished_run_is_thrown_away_with_the_job_it_left(cluster, training, same_model, monkeypatch):
    with training() as process:
        name = application(process)
        process.kill()
    with training() as process:
        assert 'deleting an unfinished run' in same_model(process)
    left = cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']
    assert left['finalStatus'] == 'KILLED'
    monkeypatch.setenv('HADOOP_HOME', str(cluster.home))
    assert Yarn().find(left['applicationTags'].split(',')[0]) == {name: ('KILLED', 'KILLED')}


def test_an_interrupt_ends_the_job_and_leaves_nothing(cluster, training, tmp_path):
    with training() as process:
        name = application(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130 and list(tmp_path.iterdir()) == []
    assert cluster.ask(MANAGER, f'/ws/v1/cluster/apps/{name}')['app']['finalStatus'] == 'KILLED'


def test_a_full_hdfs_costs_no_finished_job(cluster, training, tmp_path, inline, model_of):
    """The folder of the model fills up while the job runs."""
    cluster.hdfs.make_folder('hdfs:///tests/full')
    model = 'hdfs:///tests/full/m.npz'
    with training(model=model) as process:
        application(process)
        quota(cluster, '/tests/full', 1)
        last = failed(process, FULL)
        assert 'hdfs:///tests/full/m.sums.npz' in last and '--resume' in last
    assert cluster.listing('/tests/full') == ['m.npz.work']
    quota(cluster, '/tests/full', -1)
    before = jobs(cluster)
    with training('--resume', model=model) as process:
        assert 'Gram: finished in the earlier run' in process.communicate(timeout=60)[1]
    assert jobs(cluster) == before
    for path, name in ((model, 'm.npz'), (name_sums(model), 'm.sums.npz')):
        cluster.get(path, tmp_path / name)
    demand_same_bits(inline, model_of(tmp_path / 'm.npz')[1])
    assert cluster.listing('/tests/full') == ['m.npz', 'm.sums.npz']


def test_a_task_that_finds_no_room_says_so(cluster, training, tmp_path):
    with training('-D', 'mapreduce.reduce.maxattempts=1') as process:
        application(process)
        record = (tmp_path / 'm.npz.work').read_text()
        quota(cluster, re.search(r'hdfs://(/tmp/[\w.-]+)', record).group(1), 1)
        failed(process, FULL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('folder, problem', [('/tests/narrow', FULL), ('/tests/foreign', 'Permission denied')])
def test_where_no_model_can_be_written_no_job_is_started(cluster, training, folder, problem):
    cluster.hdfs.make_folder(f'hdfs://{folder}')
    if folder == '/tests/narrow':
        quota(cluster, folder, 1)
    before = jobs(cluster)
    model = f'hdfs://{folder}/m.npz'
    with training(model=model, **({'HADOOP_USER_NAME': 'stranger'} if folder == '/tests/foreign' else {})) as process:
        assert model in failed(process, problem)
    assert jobs(cluster) == before and 'm.npz' not in cluster.listing(folder)


def test_lines_that_hadoop_counts_otherwise_are_no_model(cluster, rows, tmp_path):
    """Hadoop takes the whole file for one record, the tasks read its lines."""
    with cluster.started(
        'train',
        'pesvm',
        rows,
        '--hidden',
        40,
        '--model',
        tmp_path / 'm.npz',
        '-D',
        'textinputformat.record.delimiter=never',
    ) as process:
        failed(process, r'Hadoop gave its map tasks 1 lines, they say that they read 300\d')
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_between_two_passes_is_no_model(cluster, rows, tmp_path):
    shutil.copy(rows, tmp_path / 'rows.csv')
    (tmp_path / 'more.csv').write_text('1,0,0,0,0,0\n')
    cluster.put(tmp_path / 'rows.csv', '/tests/grows/rows.csv')
    words = ('train', 'pesvm', 'hdfs:///tests/grows/rows.csv', '--hidden', 40, '--model', tmp_path / 'm.npz')
    with cluster.started(*words) as process:
        assert any(line.startswith('statistics: ') and 'MB/s' in line for line in process.stderr)
        cluster.hadoop('fs', '-appendToFile', tmp_path / 'more.csv', '/tests/grows/rows.csv')
        failed(process, r'rows.csv: the file must stay the same while jobs read it, but it was changed or removed')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['more.csv', 'rows.csv']


def test_arguments_reach_the_tasks_as_they_are(cluster, here, tmp_path, model_of):
    """Names of classes are arguments of a job; so is the name of a file."""
    names = ["it's", '$(touch /tmp/executed)', 'a; touch /tmp/executed', '"`id`" \\ *']
    rng = np.random.default_rng(0)
    rows = tmp_path / 'rows.csv'
    with open(rows, 'w', newline='') as stream:
        csv.writer(stream).writerows([names[i % 4], *rng.standard_normal(3) + i % 4] for i in range(400))
    folder = f'/tests/awkward/{names[0]} {names[1].replace("/", "_")} [1] {{2}}'
    here('pack', rows, '-o', tmp_path / 'packed', '-q')
    words = ('--hidden', 20, '--class-weight', 'balanced', '--model')
    here('train', 'pesvm', tmp_path / 'packed', *words, tmp_path / 'inline.npz', '-q')
    cluster.put(tmp_path / 'packed', folder)
    cluster.done('train', 'pesvm', f'hdfs://{folder}', *words, tmp_path / 'm.npz')
    (header, arrays), (expected, inline) = map(model_of, (tmp_path / 'm.npz', tmp_path / 'inline.npz'))
    demand_same_bits(inline, arrays)
    assert header['classes'] == expected['classes'] == sorted(names)
    assert not Path('/tmp/executed').exists()

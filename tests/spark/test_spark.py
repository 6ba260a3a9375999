"""Spark gives what one process gives, and says what went wrong."""
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from reference.commands import elm
from reference.manual import blocks_of, commands, read_page
from reference.spark_stages import MRKilled, MRWrong

from benchmarks.scaling.runs import read_runs
from mr_elm.engines import make_engine
from mr_elm.engines.mrjob_engine import TaskError
from mr_elm.engines.progress import Reporter
from mr_elm.engines.spark import job, progress
from mr_elm.engines.spark.session import choose_settings
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.streaming.mr_stats import MRStats

MANY_PASSES = 'passes', 'conjugate gradients'
LISTENING, LOOPBACK = '0A', '0100007F'  # as the kernel writes them
TRAININGS = {
    'pesvm': ['pesvm', '--hidden', '12', '--nu', '10', '--probabilities'],
    'landmarks and a metric': ['elm', '--map', 'nystrom', '--hidden', '9', '--metric', 'diagonal', '--seed', '3'],
    'passes': ['pesvm', '--hidden', '9', '--nu', '10', '--solver', 'passes', '--tolerance', '0.1'],
    'sparse-elm': ['sparse-elm', '--sigma', '2', '--C', '10', '--partitions', '2'],
    'oelm': ['oelm', '--kernel', 'sigmoid', '--hidden', '5'],
    'sphere-svm': ['sphere-svm'],
    'mr-kelm': ['mr-kelm', '--sigma', '3', '--emit', 'tiles', '--solver', 'svd'],
    'conjugate gradients': ['mr-kelm', '--sigma', '3', '--solver', 'cg', '--rank', '20', '--tolerance', '0.1']}


def demand_same_arrays(first, second):
    """Demand that two models hold the same bits."""
    with np.load(first) as a, np.load(second) as b:
        assert a.files == b.files
        assert [name for name in a.files if name != 'header' and a[name].tobytes() != b[name].tobytes()] == []


@pytest.mark.parametrize('name, n', [('pesvm', 1), ('passes', 1), *((name, 7) for name in TRAININGS)])
def test_a_model_has_the_bits_of_one_process(spark, here, folder, tmp_path, name, n):
    options = TRAININGS[name]
    train = ['train', options[0], folder / 'packed', *options[1:], '-q', '--model']
    here(*train, tmp_path / 'inline.npz')
    spark(n, *train, tmp_path / 'spark.npz', *(['--cache'] if n > 1 and name in MANY_PASSES else []))
    demand_same_arrays(tmp_path / 'inline.npz', tmp_path / 'spark.npz')


def test_sums_of_many_tasks_are_added_up_by_a_tree(spark, here, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(job, 'FAN_IN', 2)
    train = ['train', 'pesvm', folder / 'packed', '--hidden', 300, '-q', '--model']
    here(*train, tmp_path / 'inline.npz')
    spark(7, *train, tmp_path / 'spark.npz', '--trace', tmp_path / 'trace')
    demand_same_arrays(tmp_path / 'inline.npz', tmp_path / 'spark.npz')
    trace = json.loads((tmp_path / 'trace').read_text().splitlines()[-1])
    assert trace['runner'] == 'spark' and len(trace['map_tasks']) == 7 and len(trace['reduce_tasks']) > 4 + 2


@pytest.fixture(scope='module')
def model(here, folder):
    """Train on the packed rows in this process."""
    here('train', 'pesvm', folder / 'packed', '--hidden', 12, '-q', '--model', folder / 'm.npz')
    return folder / 'm.npz'


@pytest.mark.parametrize('rows, n', [('rows.csv', 1), ('rows.csv', 7), ('packed', 3)])
def test_predictions_are_in_input_order(spark, here, model, folder, tmp_path, rows, n):
    predict = ['predict', model, folder / rows, '--scores', '-q', '-o']
    here(*predict, tmp_path / 'inline')
    spark(n, *predict, tmp_path / 'spark')
    assert (tmp_path / 'spark').read_text() == (tmp_path / 'inline').read_text()


def test_scores_and_choices_are_those_of_one_process(spark, here, model, folder):
    for words in (['evaluate', model, folder / 'packed', '--json'],
                  ['tune', 'pesvm', folder / 'packed', '--hidden', '5', '--nu', '1,10', '--folds', '2'],
                  ['tune', 'sparse-elm', folder / 'rows.csv', '--sigma', '1,2', '--C', '1', '--folds', '2']):
        assert spark(3, *words, '-q') == here(*words, '-q')


def test_a_model_learns_and_forgets(spark, here, model, folder, tmp_path):
    for run, name in ((lambda n, *words: here(*words), 'inline'), (spark, 'spark')):
        run(3, 'update', model, folder / 'packed', '--model', tmp_path / f'{name}-more.npz', '-q')
        run(3, 'forget', tmp_path / f'{name}-more.npz', folder / 'packed', '--model', tmp_path / f'{name}.npz', '-q')
    demand_same_arrays(tmp_path / 'inline-more.npz', tmp_path / 'spark-more.npz')
    demand_same_arrays(tmp_path / 'inline.npz', tmp_path / 'spark.npz')


def test_rows_are_packed(spark, here, folder, model, tmp_path):
    spark(3, 'pack', folder / 'rows.csv', '-o', tmp_path / 'pack', '-q')
    assert here('evaluate', model, tmp_path / 'pack', '-q') == here('evaluate', model, folder / 'packed', '-q')


@pytest.fixture
def bad(tmp_path):
    """Write 99 rows whose row 50 is too short."""
    rows = ['0,1,2\n', '1,2,1\n', '1,3,0\n'] * 33
    rows[49] = '1,2\n'
    (tmp_path / 'bad.csv').write_text(''.join(rows))
    return tmp_path / 'bad.csv'


@pytest.mark.parametrize('words', [[], ['--cache']])
def test_a_bad_row_is_named(context, bad, tmp_path, words):
    done = elm('train', 'pesvm', bad, '--hidden', 4, '--model', tmp_path / 'm.npz', '-q', '-r', 'spark',
               '--partitions-of-rows', 3, *words)
    assert done.status == 1 and 'bad.csv, line 50: ' in done.err and done.err.count('\n') == 1


@pytest.mark.parametrize('words', [[], ['--cache']])
def test_bad_rows_are_skipped_and_counted(spark, bad, tmp_path, model_of, words):
    spark(3, 'train', 'pesvm', bad, '--bad-rows', 'skip', '--hidden', 4, '--model', tmp_path / 'm.npz', '-q', *words)
    header, _ = model_of(tmp_path / 'm.npz')
    assert (header['n_rows_used'], header['n_rows_rejected']) == (98, 1)
    assert 'bad.csv\t50\t' in (tmp_path / 'm.npz.rejected').read_text()


@pytest.fixture
def run(context, folder):
    """Run a stage over the packed rows in two partitions: its pairs."""
    def pairs(stage, *words, reporter=None):
        engine = make_engine('spark', ('--partitions-of-rows', '2'), reporter)
        data = DataSet(plan_inputs([str(folder / 'packed')], RowOptions()), engine)
        return list(data.run(stage, [*map(str, words)], 'counting'))
    return pairs


def test_a_killed_worker_changes_nothing(run, tmp_path):
    said = io.StringIO()
    pairs = run(MRKilled, '--mark', tmp_path / 'mark', reporter=Reporter(stream=said))
    assert (tmp_path / 'mark').exists() and sum(value['rows'] for _, value in pairs) == 300
    assert said.getvalue().startswith('counting: ')


@pytest.fixture
def read_again(context, folder, monkeypatch):
    """Run passes over rows that are kept in memory, in two partitions: (engine, function that runs one)."""
    monkeypatch.setattr('mr_elm.engines.spark.engine.demand_unchanged', lambda plan: None)
    with make_engine('spark', ('--partitions-of-rows', '2', '--cache')) as engine:
        shutil.copytree(folder / 'packed', folder / 'kept')
        data = DataSet(engine.keep_parsed(plan_inputs([str(folder / 'kept')], RowOptions())), engine)
        yield engine, lambda stage, *words: sorted(data.run(stage, [*map(str, words)], 'pass'), key=str)
        shutil.rmtree(folder / 'kept')


def test_rows_in_memory_are_read_once(read_again, run, folder):
    _, read = read_again
    first = read(MRStats)
    assert str(first) == str(sorted(run(MRStats), key=str))
    (folder / 'kept' / 'part-00000').write_bytes(b'')
    assert str(read(MRStats)) == str(first)


def test_rows_that_are_lost_from_memory_are_read_again(read_again, tmp_path):
    engine, read = read_again
    first = read(MRStats)
    kept, = engine.cache.kept.values()
    level = kept.getStorageLevel()
    kept.unpersist(blocking=True).persist(level)
    assert sum(value['rows'] for _, value in read(MRKilled, '--mark', tmp_path / 'mark')) == 300
    assert (tmp_path / 'mark').exists()
    assert str(read(MRStats)) == str(first)


def test_the_user_hears_how_many_tasks_of_a_cluster_have_ended(context, monkeypatch):
    monkeypatch.setattr(progress, 'PAUSE', 0.05)
    said = io.StringIO()
    with progress.follow_tasks(context, Reporter(stream=said), 'Gram'):
        context.parallelize(range(4), 4).foreach(lambda _: time.sleep(0.4))
    assert re.fullmatch(r'(Gram: [0-3] of 4 tasks have ended\n)+', said.getvalue())


@pytest.mark.parametrize('words, cause, task', [
    ([], 'no map', r'task mapper [01] on \S+, split file 0 from byte \d+'),
    (['--reduce'], 'no reduce', r'task reducer 0 on \S+ executor driver')])
def test_a_task_that_fails_is_explained(run, words, cause, task):
    with pytest.raises(TaskError, match=rf"^MRWrong: KeyError: '{cause}' \({task}\)$"):
        run(MRWrong, *words)


def test_the_page_on_spark_runs(context, here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for tag, body in blocks_of(read_page('docs/spark.md')):
        if tag == 'python spark':
            exec(compile(body, 'docs/spark.md', 'exec'), names)
        elif tag in ('sh', 'sh spark'):
            for words in commands(body):
                here(*words[1:])
    assert names['right'] > 0.9
    assert len(Path('labels.txt').read_text().splitlines()) == 5000


def test_another_master_than_that_of_the_session_is_refused(context):
    with pytest.raises(ValueError, match='expected the master of the session'):
        make_engine('spark', ('--master', 'yarn')).prepare([])


def test_no_port_is_open_to_other_machines(context):
    java = Path(f'/proc/{context._gateway.proc.pid}')
    sockets = {os.readlink(link) for link in (java / 'fd').iterdir()}
    lines = [line.split() for name in ('tcp', 'tcp6') for line in (java / 'net' / name).read_text().splitlines()[1:]]
    heard = [line[1].partition(':')[0] for line in lines if line[3] == LISTENING and f'socket:[{line[9]}]' in sockets]
    assert heard and all(address.endswith(LOOPBACK) for address in heard)
    assert context.uiWebUrl is None


@pytest.mark.parametrize('arguments, expected', [
    ((), 'expected --master'),
    (('--master', 'local', '-D', 'mapreduce.job.maps=2'), 'expects a property spark.NAME=VALUE'),
    (('--master', 'local', '--num-cores', '2'), 'does not take this option'),
])
def test_wrong_options_are_refused(monkeypatch, arguments, expected):
    monkeypatch.setattr('mr_elm.engines.spark.session.find_context', lambda: None)
    with pytest.raises(ValueError, match=expected):
        make_engine('spark', arguments).prepare([])


def test_without_pyspark_the_extra_is_named(monkeypatch, folder, tmp_path):
    monkeypatch.setitem(sys.modules, 'pyspark', None)
    done = elm('train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', 'local')
    assert done.status == 1 and 'mr_elm[spark]' in done.err and done.err.count('\n') == 1


def test_without_java_one_sentence_says_so(monkeypatch, folder, tmp_path):
    monkeypatch.setenv('JAVA_HOME', '/nowhere')
    monkeypatch.setattr('mr_elm.engines.spark.session.find_context', lambda: None)
    monkeypatch.setattr('mr_elm.engines.spark.engine.find_context', lambda: None)
    done = elm('train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', 'local')
    assert done.status == 1 and 'expected Java' in done.err and done.err.count('\n') == 1


def test_tasks_get_one_blas_thread_and_another_try():
    settings = choose_settings('local[3]', {'spark.ui.enabled': 'true'})
    assert settings['spark.executorEnv.OPENBLAS_NUM_THREADS'] == '1'
    assert settings['spark.master'] == 'local[3,4]' and settings['spark.ui.enabled'] == 'true'
    assert 'spark.driver.host' not in choose_settings('yarn', {})


def test_speedup_is_measured_on_cores_of_spark(context, tmp_path):
    words = ('speedup', '-r', 'spark', '--nodes', '2', '--sizes', '5000', '--hidden', '5', '--repeats', '1', '-q')
    subprocess.run([sys.executable, '-m', 'benchmarks.scaling', *words, '-o', tmp_path], check=True,
                   cwd=Path(__file__).parents[2])
    assert [(run.runner, run.nodes, run.maps) for run in read_runs(tmp_path / 'speedup.csv')] == [('spark', 2, 2)]

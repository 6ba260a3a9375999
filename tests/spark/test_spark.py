"""Spark gives what one process gives, and says what went wrong."""

import contextlib
import io
import json
import os
import re
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reference.commands import elm, run_here, succeed
from reference.ledgers import demand_ledger_of_inline
from reference.manual import blocks_of, commands, read_page
from reference.spark_stages import MRKilled, MRWrong

from benchmarks.scaling import experiments
from benchmarks.scaling.__main__ import main as scaling
from mr_elm.engines import make_engine
from mr_elm.engines.spark import engine, job
from mr_elm.engines.spark.session import add_attempts, choose_settings
from mr_elm.engines.spark.task import ENDED, REPEATED, StageTask
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter, Stage
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions

LISTENING, LOOPBACK = '0A', '0100007F'  # as the kernel writes them
TRAININGS = {
    'pesvm': ['pesvm', '--hidden', '12', '--nu', '10', '--probabilities'],
    'leaves and landmarks': ['pesvm', '--map', 'leaves+nystrom', '--hidden', '8', '--leaves', '16'],
    'landmarks and a metric': ['elm', '--map', 'nystrom', '--hidden', '9', '--metric', 'diagonal', '--seed', '3'],
    'passes': ['pesvm', '--hidden', '9', '--nu', '10', '--solver', 'passes', '--tolerance', '0.1'],
    'sparse-elm': ['sparse-elm', '--sigma', '2', '--C', '10', '--partitions', '2'],
    'oelm': ['oelm', '--kernel', 'sigmoid', '--hidden', '5'],
    'sphere-svm': ['sphere-svm', '--probabilities'],
    'mr-kelm': ['mr-kelm', '--sigma', '3', '--emit', 'entries', '--solver', 'svd'],
    'conjugate gradients': ['mr-kelm', '--sigma', '3', '--solver', 'cg', '--rank', '20', '--tolerance', '0.1'],
}


def demand_same_arrays(first, second):
    """Demand that two models hold the same bits."""
    with np.load(first) as a, np.load(second) as b:
        assert a.files == b.files
        assert [name for name in a.files if name != 'header' and a[name].tobytes() != b[name].tobytes()] == []


@pytest.mark.parametrize('name, n', [('pesvm', 1), ('passes', 1), ('pesvm', 7), *((name, 3) for name in TRAININGS)])
def test_a_model_has_the_bits_of_one_process(spark, here, folder, tmp_path, name, n):
    options = TRAININGS[name]
    rows = folder / ('few' if 'entries' in options else 'packed')  # each pair of rows is a line of its own
    train = ['train', options[0], rows, *options[1:], '-q', '--model']
    here(*train, tmp_path / 'inline.npz')
    spark(n, *train, tmp_path / 'spark.npz')
    demand_same_arrays(tmp_path / 'inline.npz', tmp_path / 'spark.npz')


def test_a_ledger_has_the_rows_that_it_has_inline(spark, here, folder, tmp_path):
    demand_ledger_of_inline(partial(spark, 3), here, folder / 'rows.csv', tmp_path, '--hidden', 10)


def test_sums_of_many_tasks_are_added_up_by_a_tree(spark, here, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(job, 'FAN_IN', 2)
    shuffles, shuffle = [], job.SparkJob.shuffle
    monkeypatch.setattr(job.SparkJob, 'shuffle', lambda *words: shuffles.append(words[2]) or shuffle(*words))
    train = ['train', 'pesvm', folder / 'packed', '--hidden', 300, '-q', '--model']
    here(*train, tmp_path / 'inline.npz')
    spark(7, *train, tmp_path / 'spark.npz')
    demand_same_arrays(tmp_path / 'inline.npz', tmp_path / 'spark.npz')
    assert 4 in shuffles and 2 in shuffles  # groups of two of seven tasks, and of two of these groups


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
    for words in (
        ['evaluate', model, folder / 'packed', '--json'],
        ['tune', 'pesvm', folder / 'packed', '--hidden', '5', '--nu', '1,10', '--folds', '2'],
        ['tune', 'sparse-elm', folder / 'rows.csv', '--sigma', '1,2', '--C', '1', '--folds', '2'],
    ):
        assert here(*words, '-q') == spark(3, *words, '-q')  # this process compiles loops for the workers


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


def test_a_bad_row_is_named(session, bad, tmp_path):
    done = elm(
        'train',
        'pesvm',
        bad,
        '--hidden',
        4,
        '--model',
        tmp_path / 'm.npz',
        '-q',
        '-r',
        'spark',
        '--partitions-of-rows',
        3,
    )
    assert done.status == 1 and 'bad.csv, line 50: ' in done.err and done.err.count('\n') == 1


def test_bad_rows_are_skipped_and_counted(spark, bad, tmp_path, model_of):
    spark(3, 'train', 'pesvm', bad, '--bad-rows', 'skip', '--hidden', 4, '--model', tmp_path / 'm.npz', '-q')
    header, _ = model_of(tmp_path / 'm.npz')
    assert (header['n_rows_used'], header['n_rows_rejected']) == (98, 1)
    assert 'bad.csv\t50\t' in (tmp_path / 'm.npz.rejected').read_text()


@pytest.fixture
def run(session, folder):
    """Run a stage over the packed rows in two partitions: its pairs."""

    def pairs(stage, *words, **values):
        runner = make_engine('spark', ('--partitions-of-rows', '2'), **values)
        data = DataSet(plan_inputs([str(folder / 'packed')], RowOptions()), runner)
        return list(data.run(stage, [*map(str, words)], 'counting'))

    return pairs


def test_a_killed_worker_changes_nothing(run, tmp_path):
    said = io.StringIO()
    pairs = run(MRKilled, '--mark', tmp_path / 'mark', reporter=Reporter(stream=said))
    assert (tmp_path / 'mark').exists() and sum(value['rows'] for _, value in pairs) == 300
    assert re.search(r'^counting: mapper [01] ran again, its attempt [1-3] failed$', said.getvalue(), re.MULTILINE)


def test_the_user_hears_how_many_tasks_have_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, 'POLL_SECONDS', 0.05)
    reporter, folder = Reporter(stream=io.StringIO()), str(tmp_path / 'reports')
    task, progress = StageTask('', (), {}, [[]] * 4, folder), Stage(reporter, 'Gram', 10)
    with engine.LocalSpark(reporter=reporter).follow(folder, 4, progress):
        for number in range(3):
            task.put_report(f'{ENDED}{number}')
        task.put_report(f'{REPEATED}mapper-2-1')
        end = time.monotonic() + 30
        while not progress.status.startswith('3') and time.monotonic() < end:
            time.sleep(0.05)
    assert progress.status == '3 of 4 tasks have ended' and not (tmp_path / 'reports').exists()
    assert reporter.stream.getvalue() == 'Gram: mapper 2 ran again, its attempt 1 failed\n'


@pytest.mark.parametrize(
    'words, cause, task',
    [
        ([], 'no map', r'task mapper [01] on \S+, split file 0 from byte \d+'),
        (['--reduce'], 'no reduce', r'task reducer 0 on \S+'),
    ],
)
def test_a_task_that_fails_is_explained(run, words, cause, task):
    with pytest.raises(TaskError, match=rf"^MRWrong: KeyError: '{cause}' \({task}\)$"):
        run(MRWrong, *words)


def test_the_readme_prints_the_first_run_of_the_page_on_spark():
    first, second = (
        [body for tag, body in blocks_of(read_page(page)) if tag == 'sh spark'][0]
        for page in ('README.md', 'docs/spark.md')
    )
    assert first == second


def test_the_page_on_spark_runs(session, here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for tag, body in blocks_of(read_page('docs/spark.md')):
        if tag == 'python spark':
            exec(compile(body, 'docs/spark.md', 'exec'), names)
        elif tag in ('sh', 'sh spark'):
            for words in commands(body):
                here(*words[1:])
    assert names['right'] > 0.9
    assert len(Path('labels-by-spark.txt').read_text().splitlines()) == 5000


def test_another_master_than_that_of_the_session_is_refused(session):
    with pytest.raises(ValueError, match='expected the master of the session'):
        make_engine('spark', ('--master', 'yarn')).prepare([])


def is_java_of_this_process(folder):
    """Tell whether a folder of /proc is that of the Java that this process has started."""
    with contextlib.suppress(OSError):
        name, _, rest = (folder / 'stat').read_text().partition(')')
        return name.endswith('(java') and int(rest.split()[1]) == os.getpid()


def test_no_port_is_open_to_other_machines(session):
    (java,) = (folder for folder in Path('/proc').glob('[0-9]*') if is_java_of_this_process(folder))
    sockets = {os.readlink(link) for link in (java / 'fd').iterdir()}
    lines = [line.split() for name in ('tcp', 'tcp6') for line in (java / 'net' / name).read_text().splitlines()[1:]]
    heard = [line[1].partition(':')[0] for line in lines if line[3] == LISTENING and f'socket:[{line[9]}]' in sockets]
    assert heard and all(address.endswith(LOOPBACK) for address in heard)
    assert session.conf.get('spark.ui.enabled') == 'false'


@pytest.mark.parametrize(
    'arguments, expected',
    [
        ((), 'expected --master'),
        (('--master', 'local', '-D', 'mapreduce.job.maps=2'), 'expects a property spark.NAME=VALUE'),
        (('--master', 'local', '--num-cores', '2'), 'does not take this option'),
    ],
)
def test_wrong_options_are_refused(monkeypatch, arguments, expected):
    monkeypatch.setattr(engine, 'find_session', lambda: None)
    with pytest.raises(ValueError, match=expected):
        make_engine('spark', arguments).prepare([])


def test_without_pyspark_the_extra_is_named(monkeypatch, folder, tmp_path):
    monkeypatch.setitem(sys.modules, 'pyspark', None)
    done = elm('train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', 'local')
    assert done.status == 1 and "pip install 'pyspark[connect]'" in done.err and done.err.count('\n') == 1


def test_without_java_one_sentence_says_so(monkeypatch, folder, tmp_path):
    monkeypatch.setenv('JAVA_HOME', '/nowhere')
    monkeypatch.setattr(engine, 'find_session', lambda: None)
    done = elm('train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', 'local')
    assert done.status == 1 and 'expected Java' in done.err and done.err.count('\n') == 1


def test_tasks_get_one_blas_thread_and_another_try():
    settings = choose_settings('local[3]', {'spark.ui.enabled': 'true'})
    assert settings['spark.executorEnv.OPENBLAS_NUM_THREADS'] == '1'
    assert add_attempts('local[3]') == 'local[3,4]' and settings['spark.ui.enabled'] == 'true'
    assert 'spark.driver.host' not in choose_settings('yarn', {})


def test_speedup_is_measured_on_cores_of_spark(session, tmp_path, monkeypatch):
    """The commands run in this process. Each opens a session of its own, for which Spark gives it that of the tests."""
    monkeypatch.setattr(experiments, 'run_mr_elm', run_here)
    monkeypatch.setattr(engine, 'find_session', lambda: None)
    monkeypatch.setattr('mr_elm.engines.spark.session.OURS', set())
    monkeypatch.setattr(engine, 'close_session', (ended := []).append)
    words = ('-r', 'spark', '--nodes', 2, '--sizes', 500, '--hidden', 5, '--repeats', 1, '-o', tmp_path)
    succeed(elm('speedup', *words, main=scaling))
    assert ended and {*ended} == {session}
    (run,) = json.loads((tmp_path / 'speedup.json').read_text())['rows']
    assert (run['runner'], run['nodes'], list(run['jobs'])) == ('spark', 2, ['Gram'])

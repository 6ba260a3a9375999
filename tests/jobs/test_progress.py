"""Progress goes to standard error, a line a stage; quiet means silent."""

import contextlib
import io
import logging
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from numba import njit
from reference.files import LOCAL

from mr_elm.compiled import ONCE, Announcer, jit
from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.engines.hadoop.yarn import SHORT_TIMEOUT
from mr_elm.errors import TaskError
from mr_elm.progress import LogLines, Meter, Reporter, Stage, describe_time

LINE = re.compile(r'^(\w+): ([\d,]+) rows, ([\d,.]+) MB in ([\d,.]+) s, ([\d,.]+) MB/s$')


def test_the_rows_of_all_tasks_are_added_up():
    stream = io.StringIO()
    with Stage(Reporter(stream=stream), 'Gram', 3_000_000) as stage, ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(stage.count, 'rows'), [1] * 1234))
    name, rows, megabytes, _, _ = LINE.match(stream.getvalue().strip()).groups()
    assert (name, rows, megabytes) == ('Gram', '1,234', '3.0')


def test_a_stage_that_fails_says_nothing_of_rows():
    stream = io.StringIO()
    with pytest.raises(KeyError), Stage(Reporter(stream=stream), 'Gram', 10):
        raise KeyError
    assert stream.getvalue() == ''


@pytest.fixture
def talkative(monkeypatch):
    """Give a reporter that writes a log and waits for no seconds before a line."""
    for name in ('FIRST_LINE_SECONDS', 'LONGEST_PAUSE_SECONDS'):
        monkeypatch.setattr(f'mr_elm.progress.{name}', 0.0)
    return Reporter(stream=io.StringIO())


def test_a_log_tells_the_rows_the_share_and_the_time_left(talkative):
    blocks = [(None, [0] * 25)] * 4
    assert list(talkative.count(blocks, 'blobs', 100)) == blocks
    lines = talkative.stream.getvalue().splitlines()
    assert [line.split(', ')[:2] for line in lines[:3]] == [[f'blobs: {n} rows', f'{n}% done'] for n in (25, 50, 75)]
    assert all(re.search(r', about \d+ s left$', line) for line in lines[:3])


def test_work_in_this_process_tells_its_time_until_it_counts_rows(talkative):
    with talkative.follow('kernel', 40) as count:
        wait_until(lambda: talkative.stream.getvalue())
        count(10)
        wait_until(lambda: '10 rows' in talkative.stream.getvalue())
    lines = talkative.stream.getvalue().splitlines()
    assert re.fullmatch(r'kernel: 40 rows, \d+ s so far', lines[0])
    assert re.fullmatch(r'kernel: 10 rows, 25% done, about \d+ s left', lines[-2])
    assert re.fullmatch(r'kernel: 40 rows in [\d.]+ s', lines[-1])


@pytest.mark.parametrize(('n_rows', 'share'), [(20, '25% done'), (None, '50% done')])
def test_a_log_tells_the_share_of_rows_or_of_bytes_where_nobody_knows_the_rows(talkative, n_rows, share):
    with Stage(talkative, 'Gram', 20, n_rows) as stage:
        stage.count('bytes', 10)
        stage.count('rows', 5)
        wait_until(lambda: share in talkative.stream.getvalue())
    assert re.search(rf'^Gram: 5 rows, {share}, about \d+ s left$', talkative.stream.getvalue(), re.MULTILINE)


def test_a_job_that_counts_no_rows_yet_tells_its_time_and_no_count(talkative):
    with Stage(talkative, 'packing', 10):
        wait_until(lambda: talkative.stream.getvalue())
    assert re.match(r'packing: \d+ s so far\n', talkative.stream.getvalue())


def test_a_log_tells_what_a_reduce_task_does_and_for_how_long(talkative):
    with Stage(talkative, 'dual', 10) as stage:
        stage.count('bytes', 10)
        stage.count('rows', 5)
        stage.set_status('machine 2 of 2')
        wait_until(lambda: talkative.stream.getvalue())
    assert re.match(r'dual: machine 2 of 2, \d+ s so far\n', talkative.stream.getvalue())


@pytest.mark.parametrize(
    ('share', 'seconds', 'text'),
    [
        (0.0, 40.0, '0% done, 40 s so far'),
        (0.05, 20.0, '5% done, 20 s so far'),
        (0.05, 40.0, '5% done, about 13 min left'),
        (0.25, 20.0, '25% done, about 60 s left'),
        (1.0, 20.0, '100% done, 20 s so far'),
        (None, 20.0, '20 s so far'),
    ],
)
def test_the_time_left_is_said_when_enough_is_done_to_know_it(talkative, share, seconds, text):
    assert Meter(talkative, 'work', 200).describe_share(share and 200 * share, seconds) == text


def test_work_is_announced_unless_it_is_short(talkative):
    talkative.announce('solving', 1000)
    talkative.announce('solving more', 10_000)
    assert talkative.stream.getvalue() == 'solving more\n'
    assert [describe_time(seconds) for seconds in (3, 200, 9000)] == ['3 s', '3 min', '2.5 h']


@pytest.mark.parametrize(
    ('words', 'line'),
    [
        (('train', 'sparse-elm', '--partitions', 2), 'round 1: machine 1 of 3, 0% done, 0 s so far'),
        (
            ('train', 'sparse-elm', '--partitions', 2),
            r'round 1: machine 2 of 3, iteration \d+, largest violation \S+ '
            r'\(stops at 0.001\), 33% done, about \d+ s left',
        ),
        (('train', 'sparse-elm', '--partitions', 2), r'round 1: .* gap \S+ of the objective \(stops at 0.001\), .*'),
        (('train', 'mr-kelm'), r'filling the kernel matrix: 45,150 entries, 100% done, \d+ s so far'),
        (
            ('tune', 'pesvm', '--map', 'sigmoid,tanh', '--hidden', '8'),
            r'scoring: 1 of \d layers of nodes, \d+% done, about \d+ s left',
        ),
        (('tune', 'mr-kelm', '--sigma', '1,2'), 'eigenvalues of 2 kernel matrices of 300 rows'),
        (('train', 'auto'), r'choosing: 300 rows, \d+ s so far'),
    ],
)
def test_work_in_the_driver_tells_how_far_it_is(elm, write, tmp_path, monkeypatch, words, line):
    for name in ('FIRST_LINE_SECONDS', 'LONGEST_PAUSE_SECONDS', 'LARGE_SIZE'):
        monkeypatch.setattr(f'mr_elm.progress.{name}', 0.0)
    path = write('rows.csv', ''.join(f'{i % 3},{i % 17},{i * i % 7}\n' for i in range(300)))
    done = elm(*words, path, *(('--model', tmp_path / 'm.npz') if words[0] == 'train' else ()))
    assert re.search(rf'^{line}$', done.err, re.MULTILINE), done.err


@pytest.mark.parametrize(
    ('words', 'line'),
    [
        (('train', 'sparse-elm'), r'machines: machine [123] of 3\b.*, \d+ s so far'),
        (('train', 'sparse-elm', *LOCAL), r'machines: machine [123] of 3\b.*, \d+ s so far'),
        (('tune', 'sparse-elm', '--sigma', '1,2', '--C', '1'), r'grid: candidate [12] of 2, \d+ s so far'),
        (('tune', 'mr-kelm', '--sigma', '1,2'), r'leave-one-out: candidate [12] of 2, \d+ s so far'),
    ],
)
def test_reducers_tell_what_they_do(elm, write, tmp_path, monkeypatch, words, line):
    for name in ('FIRST_LINE_SECONDS', 'LONGEST_PAUSE_SECONDS'):
        monkeypatch.setattr(f'mr_elm.progress.{name}', 0.0)
    monkeypatch.setattr('mr_elm.progress.REDRAW_SECONDS', 0.001)
    path = write('rows.csv', ''.join(f'{i % 3},{i % 17},{i * i % 7}\n' for i in range(1000)))
    done = elm(*words, path, *(('--model', tmp_path / 'm.npz') if words[0] == 'train' else ()))
    assert re.search(rf'^{line}$', done.err, re.MULTILINE), done.err


@pytest.mark.parametrize(
    ('words', 'work'),
    [
        (('train', 'pesvm', '--hidden', 1000), 'solving for 1001 unknowns'),
        (('tune', 'pesvm', '--hidden', 50, '--nu', '1,10'), r'solving \d+ systems of at most 51 unknowns'),
        (('train', 'mr-kelm', '--solver', 'svd'), 'svd of the kernel matrix of 1,000 rows'),
        (('train', 'mr-kelm', '--solver', 'cg'), 'cg: computing a preconditioner of rank at most 1,000'),
    ],
)
def test_a_large_solve_is_announced(elm, write, tmp_path, monkeypatch, words, work):
    monkeypatch.setattr('mr_elm.progress.LARGE_SIZE', 0)
    path = write('rows.csv', ''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(1000)))
    done = elm(*words, path, *(('--model', tmp_path / 'm.npz') if words[0] == 'train' else ()))
    assert re.search(rf'^{work}$', done.err, re.MULTILINE), done.err


def test_a_job_on_hadoop_says_that_it_waits_and_how_far_maps_and_reducers_are(talkative):
    with Stage(talkative, 'Gram', 10) as progress, HadoopProgress(progress).listening('mrjob'):
        logging.getLogger('mrjob').info('  The url to track the job: http://here/1')
        logging.getLogger('mrjob').info('   map 60% reduce 20%')
        wait_until(lambda: 'map 60' in talkative.stream.getvalue())
    lines = talkative.stream.getvalue().splitlines()
    assert 'Gram: submitted, waiting for the first task; http://here/1' in lines
    assert re.search(r'^Gram: map 60 %, reduce 20 %, \d+ s so far$', talkative.stream.getvalue(), re.MULTILINE)


def wait_until(met):
    """Wait for what another thread does, at most 30 s."""
    end = time.monotonic() + 30
    while not met() and time.monotonic() < end:
        time.sleep(0.05)


def test_generating_rows_is_silent_when_it_takes_no_time_or_is_quiet(elm, tmp_path):
    for name, quiet in (('a.csv', ()), ('b.csv', ('-q',))):
        assert elm('generate', 'blobs', '--rows', 50, '-o', tmp_path / name, *quiet) == (0, '', '')


def test_a_line_is_written_at_once_since_other_threads_write_lines_too():
    class Stream(io.StringIO):
        def write(self, text):
            assert text == '' or text.endswith('\n')
            return super().write(text)

    stream = Stream()
    Reporter(stream=stream).say('a line')
    assert stream.getvalue() == 'a line\n'


def test_quiet_means_silent():
    stream = io.StringIO()
    reporter = Reporter(quiet=True, stream=stream)
    reporter.say('something')
    with Stage(reporter, 'Gram', 10) as stage:
        stage.count('rows', 1000)
    assert stream.getvalue() == ''


@pytest.mark.parametrize('runner', [('-r', 'inline'), (*LOCAL, '-D', 'mapreduce.job.maps=2')])
def test_each_stage_of_a_training_has_its_line(elm, write, tmp_path, runner):
    path = write('rows.csv', ''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(3000)))
    done = elm('train', 'pesvm', path, '--hidden', 3, '--model', tmp_path / 'm.npz', *runner)
    stages = [match.groups() for match in map(LINE.match, done.err.splitlines()) if match]
    assert [(name, rows) for name, rows, *_ in stages] == [('statistics', '3,000'), ('Gram', '3,000')]
    assert done.out == '' and '3,000 rows, 2 features, 3 hidden nodes' in done.err.splitlines()[-1]


def test_a_quiet_training_prints_nothing(program, write, tmp_path):
    path = write('rows.csv', '0,1,2\n1,2,1\n' * 9)
    done = program('train', 'pesvm', path, '--hidden', 3, '--model', tmp_path / 'm.npz', '-q', *LOCAL)
    assert done == (0, '', '')


@pytest.mark.parametrize('quiet, said', [(False, f'{ONCE}\n'), (True, '')])
def test_the_first_loop_that_is_compiled_is_announced_unless_quiet(quiet, said, monkeypatch):
    stream, log = io.StringIO(), logging.getLogger('mr_elm')
    for name in ('handlers', 'propagate', 'level'):
        monkeypatch.setattr(log, name, getattr(log, name))
    LogLines(Reporter(quiet, stream)).listen()
    monkeypatch.setattr(Announcer, 'announced', False)
    for _ in range(2):
        njit(lambda x: x + 1)(1)
    assert stream.getvalue() == said


def test_loops_that_cannot_be_kept_are_announced_with_what_would_keep_them(monkeypatch, caplog):
    def refuse(cache=False, **options):
        if cache:
            raise RuntimeError('cannot cache function: no locator available')
        return njit(**options)

    for name, value in (('announced', False), ('text', ONCE)):
        monkeypatch.setattr(Announcer, name, value)
    monkeypatch.setattr('numba.njit', refuse)
    monkeypatch.setattr('mr_elm.compiled.LOOPS', [])
    caplog.set_level('INFO')
    jit()(lambda x: x + 1)(1)
    (said,) = caplog.messages
    assert re.fullmatch('compiling loops, which cannot be kept .* cannot be written: set NUMBA_CACHE_DIR to .*', said)


def test_nothing_is_announced_on_the_stream_of_a_command_that_has_ended(monkeypatch):
    stream, log = io.StringIO(), logging.getLogger('mr_elm')
    for name in ('handlers', 'propagate', 'level'):
        monkeypatch.setattr(log, name, getattr(log, name))
    LogLines(Reporter(False, stream)).listen()
    stream.close()
    monkeypatch.setattr(Announcer, 'announced', False)
    assert njit(lambda x: x + 2)(1) == 3


AM_LIMIT = (  # of YARN 3.4.2
    '[Sat Nov 28 11:22:57 +0000 2026] Application is added to the scheduler and is not yet activated. '
    "Queue's AM resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>; "
)
REQUESTS = [{'resourceName': place, 'numContainers': 2} for place in ('localhost', '/default-rack', '*')]
FREE = {'availableVirtualCores': 0, 'availableMB': 2560}
NO_CONTAINER = 'no container for its tasks yet: 2 wanted, 0 cores and 2,560 MB free in the cluster'


@pytest.mark.parametrize(
    ('app', 'reason'),
    [
        (
            {'state': 'ACCEPTED', 'runningContainers': 0, 'diagnostics': AM_LIMIT},
            'YARN has not started it: Application is added to the scheduler and is not yet activated. '
            "Queue's AM resource limit exceeded. Details : AM Partition = <DEFAULT_PARTITION>;",
        ),
        (
            {'state': 'ACCEPTED', 'runningContainers': 0, 'diagnostics': ''},
            'YARN has not started it: it gives no reason',
        ),
        ({'state': 'RUNNING', 'runningContainers': 1, 'resourceRequests': REQUESTS}, NO_CONTAINER),
        ({'state': 'RUNNING', 'runningContainers': 2, 'resourceRequests': REQUESTS}, None),
        ({'state': 'RUNNING', 'runningContainers': 1}, None),
        ({'state': 'FINISHED', 'runningContainers': -1}, None),
    ],
    ids=['not started', 'no reason', 'no container', 'tasks run', 'tasks have run', 'ended'],
)
def test_a_job_on_hadoop_that_waits_says_once_why(talkative, monkeypatch, app, reason):
    asked = []

    def answer(path):
        asked.append(path)
        if path.endswith('metrics'):
            return {'clusterMetrics': FREE}
        return {'app': app}

    monkeypatch.setattr('mr_elm.engines.hadoop.yarn.ask_manager', answer)
    monkeypatch.setattr('mr_elm.engines.hadoop.progress.LONG_SECONDS', 0.01)
    with HadoopProgress(Stage(talkative, 'Gram', 10)).listening('mrjob'):
        logging.getLogger('mrjob').info('  The url to track the job: http://here/proxy/application_17_0007/')
        wait_until(lambda: len(asked) > 9)
    assert asked[0] == 'ws/v1/cluster/apps/application_17_0007'
    said = talkative.stream.getvalue().splitlines()[1:]
    assert said == [f'Gram: {reason}'] * bool(reason)


def test_a_job_on_hadoop_that_goes_on_is_not_asked_why_it_waits(talkative, monkeypatch):
    monkeypatch.setattr('mr_elm.engines.hadoop.progress.explain_waiting', lambda job: pytest.fail('asked'))
    progress = HadoopProgress(Stage(talkative, 'Gram', 10))
    for percent in range(0, 100, 20):
        progress.emit(
            logging.LogRecord('mrjob', 20, '', 0, f'  application_17_0007 map {percent}% reduce 0%', (), None)
        )
        progress.tell_reason()


@pytest.mark.parametrize('problem', [OSError('nobody answers'), KeyError('app'), ValueError('no JSON')])
def test_a_yarn_that_does_not_answer_is_no_reason_to_stop(talkative, monkeypatch, problem):
    def fail(path):
        raise problem

    monkeypatch.setattr('mr_elm.engines.hadoop.yarn.ask_manager', fail)
    progress = HadoopProgress(Stage(talkative, 'Gram', 10))
    progress.job = '17_0007'
    progress.tell_reason()
    assert talkative.stream.getvalue() == ''


@pytest.fixture
def answer_of_manager(monkeypatch):
    """Give a function that lets the ResourceManager answer each request with some bytes; None: nobody listens."""
    with socket.create_server(('127.0.0.1', 0)) as server:

        def serve(answer):
            with contextlib.suppress(OSError):  # the test has ended
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(answer)

        def start(answer):
            address = '{}:{}'.format(*server.getsockname())
            monkeypatch.setattr(
                'mr_elm.engines.hadoop.yarn.read_configuration',
                lambda home: {'yarn.resourcemanager.webapp.address': address},
            )
            if answer is None:
                server.close()
            else:
                threading.Thread(target=serve, args=[answer], daemon=True).start()

        yield start
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    'answer',
    [
        b'HTTP/1.1 401 Authentication required\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>',
        b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull',
        b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"app": null}',
        b'\x15\x03\x03\x00\x02\x02\x46\r\n',
        b'',
        None,
    ],
    ids=['kerberos', 'a page', 'null', 'no application', 'TLS', 'closed', 'refused'],
)
def test_a_yarn_that_refuses_to_answer_costs_neither_words_nor_time(talkative, answer_of_manager, answer):
    answer_of_manager(answer)
    progress = HadoopProgress(Stage(talkative, 'Gram', 10))
    progress.job = '17_0007'
    start = time.monotonic()
    progress.tell_reason()
    assert talkative.stream.getvalue() == '' and time.monotonic() - start < SHORT_TIMEOUT / 2


@pytest.fixture
def hadoop_log(monkeypatch):
    """Give the standard error of all attempts to what asks Hadoop for it: a list of its lines."""
    lines = []
    answer = {'taskAttempt': {'diagnostics': 'subprocess failed with code 137\n'}}
    monkeypatch.setattr('mr_elm.engines.hadoop.progress.ask_manager', lambda question: answer)
    monkeypatch.setattr('mr_elm.engines.hadoop.progress.read_log', lambda *attempt: '\n'.join(lines))
    return lines


def tell_failed_attempt():
    """Log what Hadoop's client prints of an attempt that failed."""
    logging.getLogger('mrjob').info('  Task Id : attempt_1700000000000_0007_m_000003_1, Status : FAILED')


def test_an_attempt_that_fails_on_hadoop_is_told_with_its_reason(talkative, hadoop_log):
    progress = Stage(talkative, 'Gram', 10)
    with HadoopProgress(progress).listening('mrjob'):
        tell_failed_attempt()
        hadoop_log += ['Traceback (most recent call last):', '  File "a.py"', 'OSError: no space left']
        tell_failed_attempt()
    first, second = talkative.stream.getvalue().splitlines()
    assert first.startswith('Gram: map task 3, attempt 2 failed: subprocess failed with code 137: the system killed it')
    assert second == 'Gram: map task 3, attempt 2 failed: OSError: no space left'


def test_a_job_that_hadoop_refuses_ends_with_the_reason(talkative):
    refused = (
        'Failed to submit application_1_2 to YARN : Application application_1_2 submitted by user to unknown queue: q'
    )
    progress = HadoopProgress(Stage(talkative, 'Gram', 10))
    with progress.listening('mrjob'), pytest.raises(TaskError, match=f'^Hadoop did not take the job: {refused}$'):
        logging.getLogger('mrjob').error(
            f'  Error Launching job : org.apache.hadoop.yarn.YarnException: {refused}\n\tat a.b'
        )


def test_a_bad_row_ends_a_job_on_hadoop_with_the_first_attempt(talkative, hadoop_log):
    hadoop_log += ['Traceback (most recent call last):', '  File "a.py"', 'mr_elm.errors.BadRowError: {"file": 0}']
    progress = HadoopProgress(Stage(talkative, 'Gram', 10))
    with pytest.raises(TaskError, match='BadRowError: {"file": 0}'), progress.listening('mrjob'):
        tell_failed_attempt()

"""A server of Spark Connect gives what one process gives, and says what went wrong."""

import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from reference.commands import elm

from mr_elm.engines.spark import session
from mr_elm.engines.spark.session import ON_THIS_MACHINE, demand_answer

TESTS = Path(__file__).parents[1]
SERVER = 'org.apache.spark.sql.connect.service.SparkConnectServer'
PATIENCE = 120  # seconds
PATH = os.pathsep.join(filter(None, [str(TESTS), os.environ.get('PYTHONPATH')]))


def find_port():
    """Return a port that nobody listens to."""
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


@contextmanager
def run_server(folder):
    """Run a server on this machine, whose workers would take another Python: (its address, its process)."""
    pyspark = pytest.importorskip('pyspark')
    pytest.importorskip('grpc')
    if shutil.which('java') is None:
        pytest.skip('Spark needs Java')
    port = find_port()
    properties = {
        'connect.grpc.binding.address': '127.0.0.1',
        'connect.grpc.binding.port': port,
        'driver.host': '127.0.0.1',
        'driver.bindAddress': '127.0.0.1',
        'driver.extraJavaOptions': ON_THIS_MACHINE['spark.driver.extraJavaOptions'],
        'ui.enabled': 'false',
    }
    words = [word for name, value in properties.items() for word in ('--conf', f'spark.{name}={value}')]
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, 'SPARK_HOME': str(home), 'PYTHONPATH': PATH, 'PYSPARK_PYTHON': '/nowhere/python'}
    with (folder / 'log').open('w') as log:
        process = subprocess.Popen(
            [home / 'bin' / 'spark-submit', '--class', SERVER, '--master', 'local[2,2]', *words, 'spark-internal'],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_for(port, process)
        yield f'sc://127.0.0.1:{port}', process
    finally:
        with suppress(ProcessLookupError):  # a test has killed it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope='module')
def running(tmp_path_factory):
    """Start a server: its address, and its process, which the last test kills."""
    with run_server(tmp_path_factory.mktemp('server')) as (address, process):
        yield address, process


@pytest.fixture(scope='module')
def server(running):
    """Give the address of the server."""
    return running[0]


def wait_for(port, process):
    """Wait until a process listens at a port."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as sock:
            if sock.connect_ex(('127.0.0.1', port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError('the server does not listen')


@pytest.fixture(scope='module')
def results(server, folder):
    """Let a client do all that the tests look at: what it found."""
    rows = ['0,1,2\n', '1,2,1\n', '1,3,0\n'] * 33
    rows[49] = '1,2\n'
    (folder / 'bad.csv').write_text(''.join(rows))
    environment = {**os.environ, 'PYTHONPATH': PATH}
    done = subprocess.run(
        [sys.executable, TESTS / 'reference' / 'connect_client.py', server, folder],
        text=True,
        capture_output=True,
        env=environment,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-9000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_model_has_the_bits_of_one_process(results, here, folder):
    assert [(status, out, err) for status, out, err in results['trained']] == [(0, '', '')] * 2
    here('train', 'pesvm', folder / 'packed', '--hidden', 300, '-q', '--model', folder / 'inline.npz')
    for name in ('1.npz', '7.npz'):
        with np.load(folder / 'inline.npz') as expected, np.load(folder / name) as found:
            assert all(expected[key].tobytes() == found[key].tobytes() for key in expected.files if key != 'header')


def test_predictions_are_those_of_one_process(results, here, folder):
    assert results['predicted'][0] == 0
    here('predict', folder / '7.npz', folder / 'packed', '-o', folder / 'expected', '-q')
    assert (folder / 'labels').read_text() == (folder / 'expected').read_text()


def test_a_bad_row_is_named(results):
    status, _, err = results['bad']
    assert status == 1 and 'bad.csv, line 50: ' in err and err.count('\n') == 1


def test_a_server_on_this_machine_reads_its_files(results):
    assert results['place'] == 'LocalSpark'


def test_a_killed_worker_changes_nothing(results):
    assert results['killed'] == 300


def test_a_task_that_fails_is_explained(results):
    in_map, in_reduce = results['wrong']
    assert in_map.startswith("MRWrong: KeyError: 'no map' (task mapper ") and 'split file 0 from byte' in in_map
    assert in_reduce.startswith("MRWrong: KeyError: 'no reduce' (task reducer 0 on ")


def test_a_data_frame_is_trained_on_and_predicted(results):
    difference, right = results['frame']
    assert difference < 1e-8 and right > 0.9


def test_an_interrupt_ends_the_tasks(results):
    assert results['interrupted']


@pytest.mark.parametrize('master', ['spark://127.0.0.1:1', 'sc://127.0.0.1:1', 'sc://127.0.0.1'])
def test_a_master_that_does_not_answer_ends_a_command(folder, tmp_path, master, monkeypatch):
    monkeypatch.setattr('mr_elm.engines.spark.engine.find_session', lambda: None)
    begin = time.monotonic()
    done = elm('train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', master)
    assert (
        done.status == 1 and f'{master}: expected Spark there, nobody answers' in done.err and done.err.count('\n') == 1
    )
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    'master, reason',
    [('locl[2]', 'Master must '), ('local:2', 'Could not parse Master URL'), ('yarn', 'When running with master')],
)
def test_a_wrong_master_is_one_sentence(server, folder, tmp_path, master, reason):
    words = ['train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', master]
    environment = {name: value for name, value in os.environ.items() if not name.endswith('_CONF_DIR')}
    program = Path(sys.executable).with_name('mr-elm')
    done = subprocess.run(list(map(str, [program, *words])), text=True, capture_output=True, env=environment)
    assert done.returncode == 1 and done.stderr.startswith(f'mr-elm: --master {master}: Spark did not start: {reason}')
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('kind', ['spark', 'sc', 'k8s', 'yarn'])
def test_a_process_that_takes_connections_and_says_nothing_is_no_master(tmp_path, kind, monkeypatch):
    """There are two of them, asked in turn; each has an eighth of the usual time."""
    monkeypatch.setattr(session, 'MASTER_SECONDS', session.MASTER_SECONDS / 8)
    begin = time.monotonic()
    with socket.create_server(('127.0.0.1', 0)) as first, socket.create_server(('127.0.0.1', 0)) as second:
        places = [f'127.0.0.1:{silent.getsockname()[1]}' for silent in (first, second)]
        address = {'spark': ','.join(places), 'k8s': f'https://{places[0]}'}.get(kind, places[0])
        master = 'yarn' if kind == 'yarn' else f'{kind}://{address}'
        monkeypatch.setenv('HADOOP_CONF_DIR', str(tmp_path))
        (tmp_path / 'yarn-site.xml').write_text(
            '<configuration><property><name>yarn.resourcemanager.address</name>'
            f'<value>{places[0]}</value></property></configuration>'
        )
        with pytest.raises(OSError, match=f'^--master {master}: expected Spark there, nobody answers'):
            demand_answer(master)
    assert time.monotonic() - begin < 2


def test_a_process_that_is_no_server_of_spark_is_named_in_one_sentence(folder, tmp_path):
    """The command is a process of its own: a session of Connect would stay in this one."""

    class Refusal(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(100)
            self.request.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n')

    with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Refusal) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        master = f'sc://127.0.0.1:{other.server_address[1]}'
        words = ['train', 'pesvm', folder / 'packed', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', master]
        program = Path(sys.executable).with_name('mr-elm')
        done = subprocess.run(list(map(str, [program, *words])), text=True, capture_output=True, timeout=PATIENCE)
        other.shutdown()
    assert done.returncode == 1 and done.stderr.count('\n') == 1, done
    assert f'{master}: expected a server of Spark there: ' in done.stderr and 'RPC' not in done.stderr


def test_a_server_answers(server):
    demand_answer(server)


def test_a_server_that_is_killed_ends_a_command(running, folder, tmp_path):
    """The last test of this file: the server is killed behind the first pass over the rows, which text needs."""
    address, server = running
    words = ['train', 'pesvm', folder / 'rows.csv', '--model', tmp_path / 'm.npz', '-r', 'spark', '--master', address]
    command = subprocess.Popen(
        list(map(str, [Path(sys.executable).with_name('mr-elm'), *words, '--hidden', 6000])),
        text=True,
        stderr=subprocess.PIPE,
    )
    assert any(line.startswith('statistics: ') for line in command.stderr)
    os.killpg(server.pid, signal.SIGKILL)
    said = command.communicate(timeout=PATIENCE)[1]
    assert command.returncode == 1 and said.count('mr-elm: ') == 1, said
    assert 'the server of Spark Connect does not answer any more' in said

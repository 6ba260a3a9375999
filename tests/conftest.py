"""Tools for all tests."""

import fcntl
import gc
import io
import json
import os
import signal
import sys

import numpy as np
import pytest
from reference.commands import elm, succeed
from reference.public_sets import count_skips, demand_set

from mr_elm.arithmetic import one_thread
from mr_elm.rows.wire import WireProtocol, split_key

os.environ.setdefault('SOURCE_DATE_EPOCH', '1700000000')  # models tell when they were made, and are compared

ALONE = ('library', 'properties', 'benchmarks')  # folders of tests that run no jobs, which limit threads themselves
SHARED = ('emr', 'cluster', 'spark')  # folders of tests
APART = 'tests/spark/test_connect.py'  # shares only rows with its folder, and waits for a server of its own
LONG = (  # files whose few tests take long
    'tests/benchmarks/test_joint.py',
    'tests/test_lint.py',
    'tests/test_extending.py',
    'tests/jobs/test_manual.py',
    'tests/benchmarks/test_claims.py',
    'tests/test_house.py',
    'tests/jobs/test_by_hand.py',
    'tests/test_data_sets.py',
    'tests/benchmarks/test_papers.py',
    'tests/library/test_auto_estimators.py',
    'tests/library/test_compiled.py',
)


LONG_SECONDS = 570  # for a test of a real Hadoop, or of a thousand tasks; others have what setup.cfg says


def pytest_configure():
    """Let tests interrupt programs also where a shell runs pytest in the background, and has SIGINT ignored.

    Programs keep their bytecode, whatever the environment says: without it each of hundreds compiles the package.
    """
    os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
    sys.dont_write_bytecode = False
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among thousands of tests, which all stay: that took a fifth of the time to collect them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Let some tests take longer than others."""
    for item in items:
        if item.get_closest_marker('long') or item.path.parent.name == 'cluster':
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Take two processes more than there are cores: those that run `SHARED` often wait for other programs."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests in one process, and all that share a cluster; what is long begins early."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition('::')[0]
            folder = file.split('/')[1]
            return folder if folder in SHARED and file != APART else file

        def _assign_work_unit(self, node):
            if all(self.assigned_work.values()):  # each process has its first file, and compiles loops for all
                for scope in (APART, *reversed(LONG), *SHARED):
                    if scope in self.workqueue:
                        self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)
            if self._pending_of(self.assigned_work[node]) < 2:
                self._reschedule(node)  # a process begins no test before it knows the next one, or that there is none

        def remove_node(self, node):
            """Return the test that ended its process, which is not run again: xdist would, some dozen times."""
            workload = self.assigned_work.pop(node)
            waiting = [(unit, test) for unit in workload.values() for test, done in unit.items() if not done]
            if not waiting:
                return None
            unit, crashed = waiting[0]
            unit[crashed] = True
            self.workqueue.update({scope: unit for scope, unit in workload.items() if not all(unit.values())})
            for other in self.assigned_work:
                self._reschedule(other)
            return crashed

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter):
    """Say at the end what was not tested, and what would be needed to test it."""
    reasons = [report.longrepr[2].removeprefix('Skipped: ') for report in terminalreporter.stats.get('skipped', ())]
    if reasons:
        terminalreporter.section('skipped tests')
        for line in count_skips(reasons):
            terminalreporter.line(line)


@pytest.fixture(scope='session', autouse=True)
def compile_once(tmp_path_factory):
    """Let one process compile a loop while others wait for it: from an empty cache each of them would compile all."""
    if 'PYTEST_XDIST_WORKER' not in os.environ or 'numba' not in sys.modules:
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder, compile_or_load = (
        tmp_path_factory.getbasetemp().parent,
        Dispatcher.compile,
    )  # all processes have this folder

    def wait_and_load(dispatcher, signature):
        function = dispatcher.py_func
        with global_compiler_lock, open(folder / f'{function.__module__}.{function.__qualname__}', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_or_load(dispatcher, signature)

    Dispatcher.compile = wait_and_load


@pytest.fixture(scope='module', autouse=True)
def one_thread_a_process(request):
    """Let BLAS compute with one thread: processes share the cores, and threads that wait for a core use it up."""
    if request.path.parent.name not in ALONE:
        yield
        return
    with one_thread():
        yield


@pytest.fixture(scope='session')
def here():
    """Run the command line in this process, inline unless words say otherwise; it must succeed."""
    return lambda *words: succeed(elm(*words))


@pytest.fixture(scope='session')
def model_of():
    """Read a model with numpy alone, and the sums beside it, where there are some: (header, arrays)."""

    def read_archive(path):
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def read(path):
        arrays, sums = read_archive(path), f'{str(path).removesuffix(".npz")}.sums.npz'
        if os.path.exists(sums):
            arrays = {**read_archive(sums), **arrays}
        return json.loads(str(arrays.pop('header'))), arrays

    return read


@pytest.fixture
def public_set():
    """Read a public data set: (X dense, y); the test is skipped where no folder has it."""
    from sklearn.datasets import load_svmlight_file  # a second to import, and few tests read a set

    def read(name):
        X, y = load_svmlight_file(str(demand_set(name)))
        return X.toarray(), y

    return read


@pytest.fixture
def by_hand(tmp_path, by_hand_alone):
    """Run one task of a job as Hadoop does, lines on standard input: the lines that it writes.

    file, start, length : what Hadoop says of the split; without a length it is that of the input. The task must have
    read its input to the end.
    """

    def run(job_class, plan, stdin, *arguments, task='mapper', **split):
        path = tmp_path / 'plan.json'
        path.write_text(json.dumps(plan.to_json()))
        return by_hand_alone(job_class, stdin, '--plan', path, *arguments, task=task, **split)

    return run


@pytest.fixture
def by_hand_alone(monkeypatch):
    """Do what `by_hand` does without a plan, as where no driver of ours has started the job."""

    def run(job_class, stdin, *arguments, task='mapper', **split):
        for name, value in {'file': None, 'start': 0, 'length': len(stdin), **split}.items():
            monkeypatch.setenv(f'mapreduce_map_input_{name}', str(value))
        job = job_class(args=['--no-conf', *map(str, arguments)])
        stream = io.BytesIO(stdin)
        job.sandbox(stdin=stream)
        getattr(job, f'run_{task}')(0)
        assert stream.read() == b''
        return job.stdout.getvalue().splitlines()

    return run


def read_pairs(lines):
    """Read lines of the wire: a list of (kind, coordinates, value)."""
    return [(*split_key(key), value) for key, value in map(WireProtocol().read, lines)]


@pytest.fixture(name='read_pairs')
def read_pairs_fixture():
    """Give the reader of lines of the wire."""
    return read_pairs

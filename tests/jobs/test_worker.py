"""A process that runs one task after another runs each as if it were alone."""
import os
import signal

import pytest

from mr_elm.engines.worker import Worker

SHOW = "import os, sys; print(os.getcwd(), sys.argv[1:], sorted(os.environ), sys.stdin.read(), file=sys.stderr)"


@pytest.fixture
def worker(tmp_path):
    process = Worker(str(tmp_path), {**os.environ})
    yield process
    process.close()


@pytest.fixture
def run(worker, tmp_path):
    """Run lines of Python: (status, standard output, standard error)."""
    def task(code, *words, given='', folder='.', **environment):
        (tmp_path / folder).mkdir(exist_ok=True)
        files = [tmp_path / name for name in ('in', 'out', 'err', 'task.py')]
        for path, text in zip(files, (given, '', '', code), strict=True):
            path.write_text(text)
        status = worker.run([str(files[3]), *words], list(map(str, files[:3])), str(tmp_path / folder), environment)
        return status, files[1].read_text(), files[2].read_text()
    return task


def test_a_task_has_its_own_words_folder_variables_and_streams(run, tmp_path):
    for folder, name in (('a', 'X'), ('b', 'Y')):
        status, out, err = run(SHOW, folder, given=f'in {folder}', folder=folder, **{name: '1'})
        assert (status, out) == (0, '')
        assert err == f"{tmp_path / folder} ['{folder}'] ['{name}'] in {folder}\n"


@pytest.mark.parametrize('code, status, said', [
    ('raise SystemExit', 0, ''), ('raise SystemExit(3)', 3, ''), ('raise SystemExit("no")', 1, 'no\n'),
    ('print("x", end="")', 0, '')])
def test_the_status_is_that_of_a_process(run, code, status, said):
    found = run(code)
    assert (found[0], found[2]) == (status, said)


def test_a_task_that_fails_writes_why_and_the_next_one_runs_in_the_same_process(run, worker):
    status, _, err = run('1 / 0')
    assert status == 1 and err.endswith('ZeroDivisionError: division by zero\n')
    assert run('import os; print(os.getpid())')[1] == f'{worker.process.pid}\n'


def test_a_process_that_is_killed_has_the_status_of_the_signal(run, worker):
    assert run('import os; os.kill(os.getpid(), 9)')[0] == -signal.SIGKILL
    assert not worker.is_running()
    assert run('print()')[0] == -signal.SIGKILL

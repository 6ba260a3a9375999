"""What decides whether a job has run before, and whom the record of an unfinished run belongs to."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from mr_elm.passes.work import Work, key_of, new_staging, read_remote, tag_of, this_driver, write_remote
from mr_elm.progress import Reporter
from mr_elm.rows import storage
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.remote import RemoteStore
from mr_elm.store import temporary_folder, temporary_prefix
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.streaming.mr_stats import MRStats

STAGING = 'hdfs:///tmp/mr_elm-me-0123456789ab'


@pytest.fixture
def plan(write):
    """Plan to read one file of rows."""
    return plan_inputs([str(write('rows.csv', '0,1,2\n1,2,1\n'))], RowOptions())


@pytest.fixture
def work(tmp_path):
    """Make the work of a run whose output is on this machine."""
    return lambda **options: Work(STAGING, Reporter(quiet=True), output=str(tmp_path / 'm.npz'), **options)


def test_a_job_is_known_by_all_that_decides_its_output(plan, write):
    def key(job_class=MRStats, plan=plan, arguments=('--seed', '1'), code='a'):
        return key_of(job_class, plan, arguments, code)

    file = plan.files[0]
    others = [
        replace(file, size=file.size + 1),
        replace(file, modified='later'),
        replace(file, path='/elsewhere'),
        replace(file, format=replace(file.format, n_features=9)),
    ]
    keys = [
        key(),
        key(MRGram),
        key(arguments=('--seed', '2')),
        key(code='b'),
        *(key(plan=replace(plan, files=[other])) for other in others),
    ]
    assert key() == key() and len(set(keys)) == len(keys)


def test_a_file_among_the_arguments_counts_by_what_is_in_it(plan, write):
    paths = [write(name, text) for name, text in (('a', 'same'), ('b', 'same'), ('c', 'other'))]
    keys = [key_of(MRGram, plan, ['--layer', str(path)], '') for path in paths]
    assert keys[0] == keys[1] != keys[2]


def test_a_file_that_is_written_again_is_another_input(plan):
    path = plan.files[0].path
    os.utime(path, (1, 1))
    assert plan_inputs([path], RowOptions()).files[0].modified != plan.files[0].modified


@pytest.mark.parametrize(
    'text',
    ['', '{}', '[]', 'null', json.dumps({'format': 'mr_elm-work', 'version': 2})]
    + [
        json.dumps({'format': 'mr_elm-work', 'version': 1, 'staging': staging})
        for staging in ('hdfs:///', 'hdfs:///data', '/home/me', 'hdfs:///tmp/mr_elm-me-0123456789ab/..')
    ],
)
def test_what_is_no_record_is_refused_and_removes_nothing(work, write, text):
    path = write('m.npz.work', text)
    with pytest.raises(ValueError, match='expected the record of an unfinished run'):
        work().open()
    assert path.exists()


@pytest.fixture
def cluster(monkeypatch):
    """Let a file system in memory stand for that of a cluster."""
    system = fsspec.filesystem('memory', skip_instance_cache=True)
    monkeypatch.setattr(system, 'store', {})
    monkeypatch.setattr(system, 'pseudo_dirs', [''])
    remote, local = RemoteStore(system), storage.LocalStore()
    monkeypatch.setattr(storage, 'make_store', lambda scheme: remote if scheme else local)
    return remote


@pytest.fixture
def leave(cluster, tmp_path):
    """Leave the folder of a run on the cluster, by a driver that has ended, or that is this one: its path."""

    def run(number, record=None, alive=False, host=None):
        with subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE) as other:
            driver = {**this_driver(), 'pid': os.getpid() if alive else other.pid}
            other.communicate()
        staging = f'hdfs:///tmp/mr_elm-{getuser()}-{number:012d}'
        record = record and str(tmp_path / record)
        if record:
            Path(record).write_text(json.dumps({'format': 'mr_elm-work', 'version': 1, 'staging': staging}))
        with storage.write_file(f'{staging}/driver.json') as local:
            Path(local).write_text(json.dumps({**driver, 'host': host or driver['host'], 'record': record}))
        return staging

    return run


@pytest.mark.skipif(not os.path.exists('/proc/self/stat'), reason='/proc is missing: run this test on Linux')
def test_the_next_run_removes_the_folders_of_killed_drivers(cluster, leave, tmp_path):
    """It keeps those that run, that ran elsewhere, or that --resume can continue; clean removes the last ones too."""
    killed, running, elsewhere = leave(1), leave(2, alive=True), leave(3, host='another')
    kept, replaced = leave(4, record='a.npz.work'), leave(5, record='b.npz.work')
    leave(6, record='b.npz.work')  # another run of the same output
    nobody = 'hdfs:///tmp/mr_elm-somebody-000000000007'
    with storage.write_file(f'{nobody}/driver.json') as local:
        Path(local).write_text(Path(tmp_path / 'a.npz.work').read_text())
    work = Work(new_staging(), Reporter(quiet=True))
    work.begin()
    left = [path for path in (killed, running, elsewhere, kept, replaced, nobody) if cluster.find(path)]
    assert left == [running, elsewhere, kept, nobody] and cluster.find(work.staging)
    assert work.sweep(resumable=True) == [kept, 'hdfs:///tmp/mr_elm-root-000000000006'.replace('root', getuser())]
    assert not (tmp_path / 'a.npz.work').exists() and cluster.find(running)
    work.close()
    assert cluster.find(work.staging) is None


def test_clean_removes_the_temporary_files_of_processes_that_were_killed(elm, tmp_path, monkeypatch):
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    line = 'import sys; from mr_elm.store import temporary_folder; x = temporary_folder(); print(x.name); input()'
    environment = {**os.environ, 'TMPDIR': str(tmp_path)}
    words = [sys.executable, '-c', line]
    with (
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as other,
        temporary_folder() as own,
    ):
        folder = other.stdout.readline().strip()
        Path(folder, 'rows').write_text('0,1\n')
        assert elm('clean', '-q') == (0, '', '') and Path(folder, 'rows').exists()
        other.kill()
        other.wait()
        assert elm('clean', '-q') == (0, f'{folder}\n', '') and not Path(folder).exists()
        assert Path(own).exists()


def test_several_runs_of_clean_at_once_disturb_one_another_in_nothing(tmp_path):
    with subprocess.Popen([sys.executable, '-c', '']) as other:
        pass  # it has ended: nobody else has its number soon
    for number in range(60):
        folder = tmp_path / f'{temporary_prefix(other.pid)}{number}'
        folder.mkdir()
        for name in 'abcde':
            (folder / name).touch()
    environment = {**os.environ, 'TMPDIR': str(tmp_path)}
    line = 'from mr_elm.store import remove_leftovers; print(*remove_leftovers())'
    words = [sys.executable, '-c', line]
    runs = [subprocess.Popen(words, stderr=subprocess.PIPE, env=environment, text=True) for _ in range(4)]
    assert [run.communicate()[1] for run in runs] == [''] * 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists('/proc/self/stat'), reason='/proc is missing: run this test on Linux')
def test_two_drivers_do_not_make_one_output(cluster, work):
    with subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE) as other:
        first = work()
        first.begin()
        first.finish('a', f'{STAGING}/jobs/a', 3)
        driver = read_remote(f'{STAGING}/driver.json')
        assert driver.items() >= this_driver().items()
        with pytest.raises(FileExistsError, match=f'process {os.getpid()}'):
            work(resume=True).open()
        other.communicate()
    write_remote(f'{STAGING}/driver.json', {**driver, 'pid': other.pid})  # it has ended
    again = work(resume=True)
    again.open()
    assert again.staging == STAGING and again.resumed and again.jobs == first.jobs


def test_that_there_is_nothing_to_continue_is_said(work, elm, write, tmp_path, capsys):
    Work(STAGING, Reporter(quiet=False), output=str(tmp_path / 'm.npz'), resume=True).open()
    assert '--resume: no unfinished run to continue' in capsys.readouterr().err
    done = elm('train', 'pesvm', write('rows.csv', '0,1\n1,2\n' * 9), '--model', tmp_path / 'm.npz', '--resume')
    assert done.status == 0 and '--resume: no unfinished run to continue on this machine' in done.err


def test_a_cluster_that_is_down_is_not_asked_for_jobs_and_leaves_no_record(cluster, work, monkeypatch, tmp_path):
    """Neither where the run could not begin, nor where it could not be removed."""

    def fail(*_):
        raise OSError('no answer')

    asked = []
    queue = SimpleNamespace(end=asked.append)
    run = work(queue=queue)
    with monkeypatch.context() as down:
        down.setattr(cluster, 'put', fail)
        down.setattr(cluster, 'find', fail)
        with pytest.raises(OSError, match='^no answer$'):
            run.begin()
    run.close(OSError('no answer'))
    assert not (tmp_path / 'm.npz.work').exists() and not asked
    run = work(queue=queue)
    run.begin()
    monkeypatch.setattr(cluster, 'find', fail)
    run.close(OSError('no answer'))
    assert not (tmp_path / 'm.npz.work').exists() and asked == [tag_of(STAGING)]

"""A pool of processes runs tasks of stages: what failed, where and why, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from reference.files import GOOD
from reference.local_stages import MRChatty, MRFails, list_children

from mr_elm.engines import make_engine
from mr_elm.engines.tasks import Worker, plan_reduces, read_runs
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import DataSet
from mr_elm.processes import read_start_time
from mr_elm.progress import Listener, Reporter
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.streaming.mr_stats import MRStats


@pytest.fixture
def run(rows):
    """Run a stage over the rows by tasks in two processes: its pairs."""

    def job(job_class, *words, n_maps=3, runner='local'):
        options = {'jobs': 2} if runner == 'local' else {}
        with make_engine(runner, ('-D', f'mapreduce.job.maps={n_maps}'), Reporter(quiet=True), **options) as engine:
            return list(DataSet(plan_inputs([str(rows)], RowOptions()), engine).run(job_class, list(words), 'stage'))

    return job


MAP = r"MRFails: Odd: \('two', 'words'\) \(map task 1, split file 0 from byte \d+\)"
REDUCE = r"MRFails: Odd: \('two', 'words'\) \(reduce task \d\)"


@pytest.mark.parametrize(
    'runner, words, why',
    [
        ('inline', ['--how', 'raise'], MAP),
        ('inline', ['--how', 'raise', '--reduce'], REDUCE),
        ('local', ['--how', 'raise'], MAP),
        ('local', ['--how', 'raise', '--reduce'], REDUCE),
        ('local', ['--how', 'exit'], 'MRFails: SystemExit: 3 .*map task 1'),
        (
            'local',
            ['--how', 'kill'],
            r'MRFails: its process was killed by SIGKILL, perhaps because memory ran out: try --jobs 1, or a smaller '
            r'--memory \(map task 1, .*',
        ),
        ('local', ['--how', 'end'], r'MRFails: its process ended with status 7 \(map task 1, .*'),
    ],
)
def test_a_task_that_fails_is_named_with_its_split_and_the_cause(run, runner, words, why):
    with pytest.raises(TaskError, match=f'^{why}'):
        run(MRFails, *words, runner=runner, n_maps=2)


def test_a_process_that_is_killed_while_it_answers_is_explained(tmp_path):
    worker = Worker(str(tmp_path))
    worker.kill()
    worker.process = subprocess.Popen(
        ['sh', '-c', 'printf "{"; kill -9 $$'], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with pytest.raises(TaskError, match='^its process was killed by SIGKILL'):
        worker.run({}, Listener())
    worker.kill()


def test_what_a_task_prints_goes_to_standard_error(run, capfd):
    run(MRChatty)
    out, err = capfd.readouterr()
    assert out == '' and err.count('a word of a task') == 3


def test_an_option_of_a_stage_may_hold_anything(run):
    word = 'a "b" \'c\' $d %20 \t é \\'
    assert {value['word'] for _, value in run(MRChatty, '--word', word)} == {word}


def test_processes_are_used_again_and_end_with_the_engine(rows):
    plan = plan_inputs([str(rows)], RowOptions())
    before = set(list_children(os.getpid()))
    with make_engine('local', ('-D', 'mapreduce.job.maps=4'), jobs=2) as engine:
        data = DataSet(plan, engine)
        numbers = {value['pid'] for _ in range(3) for _, value in data.run(MRChatty, [], 'stage')}
        assert len(numbers) <= 2 and set(list_children(os.getpid())) - before == numbers
    assert set(list_children(os.getpid())) == before


@pytest.mark.parametrize('number, status', [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_the_end_of_the_driver_is_the_end_of_its_tasks(rows, tmp_path, number, status):
    """Ctrl-C reaches the driver alone: tasks that would run for a minute end at once."""
    lines = (
        'import sys; from mr_elm.processes import terminable; from reference.local_stages import *\n'
        'from mr_elm.engines import make_engine; from mr_elm.passes.data_set import DataSet\n'
        'from mr_elm.rows.inputs import plan_inputs; from mr_elm.rows.options import RowOptions\n'
        'plan = plan_inputs([sys.argv[1]], RowOptions())\n'
        'try:\n'
        '    with terminable(), make_engine("local", ("-D", "mapreduce.job.maps=2"), jobs=2) as engine:\n'
        '        list(DataSet(plan, engine).run(MRFails, ["--how", "sleep", "--mark", sys.argv[2]], "stage"))\n'
        'except KeyboardInterrupt as error:\n'
        '    sys.exit(130 if type(error) is KeyboardInterrupt else 143)\n'
    )  # no guard for __main__
    process = subprocess.Popen(
        [sys.executable, '-c', lines, str(rows), str(tmp_path / 'begun')],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
    )
    while not (tmp_path / 'begun').exists():
        assert process.poll() is None
        time.sleep(0.02)
    workers = list_children(process.pid)
    begin = time.monotonic()
    process.send_signal(number)
    assert process.wait(30) == status and workers
    while any(read_start_time(pid) is not None for pid in workers):
        time.sleep(0.02)
        assert time.monotonic() - begin < 10
    assert time.monotonic() - begin < 3


@pytest.mark.parametrize('n_maps', [1, 4, 30])
def test_the_pool_gives_the_pairs_of_one_process_in_their_order(run, n_maps):
    def comparable(pairs):
        return [
            (key, json.dumps(value) if isinstance(value, dict) else [array.tobytes() for array in value])
            for key, value in pairs
        ]

    assert comparable(run(MRStats, n_maps=n_maps)) == comparable(run(MRStats, n_maps=n_maps, runner='inline'))


def test_a_reduce_task_reads_more_outputs_than_a_process_may_open_files(tmp_path):
    outputs = []
    for number in range(1500):
        lines = [b'%b\t%d\n' % (key, number) for key in (b'b', b'a')]
        (tmp_path / str(number)).write_bytes(b''.join(lines))
        outputs.append((str(tmp_path / str(number)), [(line[:1].decode(), len(line)) for line in lines]))
    tasks = plan_reduces(outputs, 2)
    read = [line for runs in tasks for line in read_runs(runs)]
    assert len(tasks) == 2 and read == [b'%b\t%d\n' % (key, number) for key in (b'a', b'b') for number in range(1500)]


def test_no_key_is_shared_by_two_reduce_tasks_and_none_is_lost():
    index = [('a', 1), ('b', 100), ('c', 1), ('b', 100), ('d', 50), ('e', 50)]
    for n_tasks in range(1, 9):
        tasks = plan_reduces([('x', index), ('y', index[::-1])], n_tasks)
        keys = [
            [
                dict(zip([0, 1, 101, 102, 202, 252], 'abcbde', strict=True))[start]
                for path, start, _ in runs
                if path == 'x'
            ]
            for runs in tasks
        ]
        assert sorted(key for part in keys for key in part) == sorted('abcbde') and len(tasks) <= n_tasks
        assert sum(len(set(part)) for part in keys) == 5


@pytest.mark.parametrize('words', [(), ('-r', 'local'), ('--jobs', '2'), ('-r', 'local', '--jobs', '2')])
def test_small_rows_start_no_process_unless_local_was_typed(elm, rows, tmp_path, monkeypatch, words):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, 'Popen', lambda *args, **options: started.append(args) or popen(*args, **options))
    assert elm('train', 'pesvm', rows, '--hidden', 5, '--model', tmp_path / 'm.npz', '-q', *words).status == 0
    assert bool(started) == ('-r' in words)


def test_large_rows_are_read_by_all_cores_without_asking(write, monkeypatch):
    monkeypatch.setenv('MR_ELM_JOBS', '3')
    small, large = (plan_inputs([str(write(f'{n}.csv', GOOD * n))], RowOptions()) for n in (1, 20_000))
    engine = make_engine('local', small=5_000_000)
    stage = MRStats(args=[])
    assert large.size > 5_000_000 > small.size
    assert [engine.count_processes(plan, stage) for plan in (small, large)] == [1, 3]
    assert make_engine('local').count_processes(small, stage) == 3
    assert make_engine('local', jobs=2).count_processes(small, stage) == 2


def test_no_more_processes_run_than_the_memory_holds_sums_for(rows):
    class MRHuge(MRStats):
        task_bytes = 400_000_000

    plan, stage = plan_inputs([str(rows)], RowOptions()), MRHuge(args=[])
    assert [
        make_engine('local', jobs=8, memory=memory).count_processes(plan, stage) for memory in (None, 100, 1000, 1e5)
    ] == [8, 1, 2, 8]


@pytest.mark.parametrize('value', ['0', 'all', '-1'])
def test_a_number_of_processes_that_is_none_is_refused(elm, rows, tmp_path, monkeypatch, value):
    assert elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', '--jobs', value).status == 2
    monkeypatch.setenv('MR_ELM_JOBS', value)
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', '-q')
    assert done.status in (1, 2) and 'MR_ELM_JOBS' in done.err and value in done.err

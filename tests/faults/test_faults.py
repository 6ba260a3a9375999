"""Whatever happens to processes, disks, clocks and memory: the bits of an undisturbed command, or one sentence.

`make test` runs what takes seconds, `make faults` the rest too.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from reference.commands import elm, succeed
from reference.faults import Command, kill, kill_parent, take_memory

RUNNERS = ['local', pytest.param('spark', marks=pytest.mark.long)]
OUTPUTS = 'm.npz', 'labels', 'pack'
N_ROWS, N_TASKS = 2000, 40
MANY_ROWS, MANY_TASKS = 20_000, 1000
LITTLE_MEMORY = 200_000, 300_000, 400_000, 600_000, 1_200_000, 1_500_000  # kilobytes
# reads of a file of packed rows until the driver has planned its job, and more; no process of Spark reads as often
EARLIEST = 60


def prepare(folder, n_rows, n_tasks):
    """Pack rows, a block for each task, and make each output undisturbed; returns output -> command."""
    succeed(elm('generate', 'twonorm', '--rows', n_rows, '--features', 10, '-o', folder / 'rows.csv', '-q'))
    succeed(elm('pack', folder / 'rows.csv', '-o', folder / 'rows', '--block-rows', n_rows // n_tasks, '-q'))
    commands = {
        'm.npz': ['train', 'pesvm', folder / 'rows', '--hidden', 200],
        'labels': ['predict', folder / 'm.npz', folder / 'rows', '--scores'],
        'pack': ['pack', folder / 'rows.csv'],
    }
    for out, words in commands.items():
        option = '--model' if words[0] == 'train' else '-o'
        succeed(elm(*words, option, folder / out, '-q', '-r', 'inline'))
    return commands


@pytest.fixture(scope='module')
def few(tmp_path_factory):
    """Give a folder with few rows, and the commands that read them."""
    folder = tmp_path_factory.mktemp('few')
    return folder, prepare(folder, N_ROWS, N_TASKS)


@pytest.fixture(scope='module')
def many(tmp_path_factory):
    """The same of many rows."""
    folder = tmp_path_factory.mktemp('many')
    return folder, prepare(folder, MANY_ROWS, MANY_TASKS)


@pytest.fixture(scope='session')
def faulty(tmp_path_factory):
    """Compile the library that lets disks and clocks fail: the variable that loads it."""
    if shutil.which('cc') is None:
        pytest.skip('no C compiler, which makes disks and clocks that fail')
    library = tmp_path_factory.mktemp('faulty') / 'faulty.so'
    source = Path(__file__).parents[1] / 'reference' / 'faulty.c'
    subprocess.run(['cc', '-O1', '-shared', '-fPIC', '-o', library, source], check=True)
    return {'LD_PRELOAD': str(library)}


@pytest.fixture(scope='session')
def mounts():
    """Demand a system that lets this user mount a small disk."""
    done = subprocess.run(['unshare', '-rm', 'mount', '-t', 'tmpfs', 'small', '/mnt'], capture_output=True)
    if done.returncode:
        pytest.skip('this user cannot mount a small disk')


@pytest.fixture
def run(few, tmp_path):
    """Run a command over few rows and judge it, after what `disturb` does to it: (status, what it said)."""

    def judged(runner, out='m.npz', disturb=None, **options):
        folder, commands = few
        with Command(tmp_path, commands[out], runner, out=out, n_tasks=N_TASKS, **options) as command:
            if disturb is not None:
                assert disturb(command)
            return command.judge(folder / out)

    return judged


@pytest.mark.parametrize('runner', RUNNERS)
@pytest.mark.parametrize('out', ['m.npz', *(pytest.param(out, marks=pytest.mark.long) for out in OUTPUTS[1:])])
def test_a_full_disk_for_the_output(run, mounts, runner, out):
    status, said = run(runner, out, small='out', disk=32_768)
    assert status == 1 and 'No space left on device' in said


@pytest.mark.parametrize('runner', RUNNERS)
def test_a_full_disk_for_what_tasks_write(run, mounts, runner):
    status, said = run(runner, small='scratch', disk=65_536)
    assert status == 1 and 'No space left on device' in said


@pytest.mark.parametrize(
    'runner, first',
    [('local', EARLIEST), *(pytest.param(runner, 1, marks=pytest.mark.long) for runner in ('local', 'spark'))],
)
def test_a_disk_that_dies_under_the_rows(run, faulty, runner, first):
    status, said = run(runner, FAULTY_PATH='/rows/', FAULTY_FROM=str(first), **faulty)
    assert status == 1 and 'Input/output error' in said


@pytest.mark.parametrize('runner', RUNNERS)
def test_a_slow_disk_and_a_clock_that_jumps_change_nothing(run, faulty, runner):
    assert run(runner, FAULTY_PATH='/rows/', FAULTY_DELAY='2000', FAULTY_JUMP='100000', **faulty)[0] == 0


@pytest.mark.parametrize('kilobytes', [1_000_000, *(pytest.param(n, marks=pytest.mark.long) for n in LITTLE_MEMORY)])
def test_memory_that_runs_out(few, tmp_path, kilobytes):
    folder, commands = few
    words = [*commands['m.npz'][:-1], 8000]  # nodes, whose sums are a gigabyte
    with Command(tmp_path, words, memory=kilobytes) as command:
        assert command.judge(folder / 'm.npz')[0] == 1


@pytest.mark.long
@pytest.mark.parametrize('seed', range(3))
def test_memory_that_runs_out_in_tasks_of_spark(run, seed):
    run('spark', disturb=lambda command: command.strike(take_memory, seed, n=2))


@pytest.mark.parametrize('runner', RUNNERS)
@pytest.mark.parametrize('out', OUTPUTS)
@pytest.mark.parametrize('seed', range(3))
@pytest.mark.long
def test_a_killed_task(run, runner, out, seed):
    status, said = run(runner, out, disturb=lambda command: command.strike(kill, seed, n=seed + 1))
    assert runner == 'spark' or status == 0 or 'SIGKILL' in said


@pytest.mark.long
def test_of_a_thousand_tasks_of_spark_a_tenth_are_killed(many, tmp_path):
    folder, commands = many
    with Command(tmp_path, commands['m.npz'], 'spark', MANY_TASKS) as command:
        # a task that is killed four times ends the command, and a new process takes a second to begin
        assert command.strike(kill, seed=0, n=MANY_TASKS // 10, seconds=2) > 1
        command.judge(folder / 'm.npz')


@pytest.mark.long
@pytest.mark.parametrize('runner', ['local', 'spark'])
def test_of_a_thousand_tasks_some_cannot_read(many, tmp_path, faulty, runner):
    folder, commands = many
    with Command(
        tmp_path,
        commands['m.npz'],
        runner,
        MANY_TASKS,
        FAULTY_PATH='/rows/',
        FAULTY_FROM='100',
        FAULTY_EVERY='200',
        **faulty,
    ) as command:
        status, said = command.judge(folder / 'm.npz')
    assert status == 0 or 'Input/output error' in said


@pytest.mark.long
@pytest.mark.parametrize('seed', range(10))
def test_one_of_a_thousand_tasks_is_killed(many, tmp_path, seed):
    folder, commands = many
    with Command(tmp_path, commands['m.npz'], 'local', MANY_TASKS) as command:
        command.strike(kill, seed, seconds=6)
        status, said = command.judge(folder / 'm.npz')
    assert status == 0 or 'SIGKILL' in said


@pytest.mark.long
def test_the_process_that_starts_the_tasks_of_spark_is_killed(run):
    assert run('spark', disturb=lambda command: command.strike(kill_parent, seed=0))[0] == 0


@pytest.mark.long
def test_java_is_killed(run):
    def kill_java(command):
        return command.strike(lambda pid, parent: kill(command.processes()[parent][0], None), seed=0)

    assert run('spark', disturb=kill_java)[0] == 1
